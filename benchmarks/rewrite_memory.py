"""Peak memory of the rewrite job over a small and a large table, each in a process of its own.

    python benchmarks/rewrite_memory.py postgresql+psycopg://user:password@host/scratch

The table ``sqlcompress_memory`` in the database of the URL is dropped and made again.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

from sqlalchemy import create_engine, text

from sqlcompress import CompressedText
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite

TABLE = "sqlcompress_memory"
TYPES = {"sqlite": "BLOB", "postgresql": "bytea", "mysql": "LONGBLOB", "mariadb": "LONGBLOB"}
_PART = 20_000


def document(i: int) -> bytes:
    """Long enough to be compressed, short enough for a million of them."""
    return f'{{"event": "seen", "number": {i}, "tags": ["red", "red", "green", "green", "red"]}}'.encode()


def load(url: str, rows: int) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
        connection.execute(
            text(f"CREATE TABLE {TABLE} (id INTEGER PRIMARY KEY, d {TYPES[engine.dialect.name]})")
        )
    for start in range(0, rows, _PART):
        with engine.begin() as connection:
            connection.execute(
                text(f"INSERT INTO {TABLE} (id, d) VALUES (:id, :d)"),
                [{"id": i, "d": document(i)} for i in range(start, min(rows, start + _PART))],
            )
    engine.dispose()


def child(url: str, rows: int) -> None:
    engine = create_engine(url)
    result = rewrite(engine, TABLE, "d", convert=Compress(CompressedText()))
    assert result.rows_seen == rows, result  # noqa: S101 - a measurement of less would be of something else
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, nargs=2, default=[100_000, 1_000_000])
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        child(arguments.url, arguments.child)
        return
    peaks = []
    for rows in arguments.rows:
        load(arguments.url, rows)
        command = [sys.executable, __file__, arguments.url, "--child", str(rows)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        peaks.append(float(done.stdout))
        print(f"{rows:,} rows: {peaks[-1]:.1f} MB")
    print(f"difference: {peaks[1] - peaks[0]:.1f} MB")
    engine = create_engine(arguments.url)
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {TABLE}"))


if __name__ == "__main__":
    main()
