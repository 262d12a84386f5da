"""Rows a second of the rewrite job over the engine's own full UPDATE, on fresh copies of the same rows.

    python benchmarks/rewrite_throughput.py postgresql+psycopg://user:password@host/scratch

Tables ``sqlcompress_bench*`` in the database of the URL are dropped and made again. Ratios are taken within
one round; the median of the rounds is printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import zstandard
from documents import documents
from sqlalchemy import Connection, Engine, create_engine, text

from sqlcompress import CompressedText, Dictionary, Zstd
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite

SOURCE, TABLE = "sqlcompress_bench_source", "sqlcompress_bench"
OWN = {
    "sqlite": f"UPDATE {TABLE} SET d = d || 'x'",
    "postgresql": f"UPDATE {TABLE} SET d = d || 'x'::bytea",
    "mysql": f"UPDATE {TABLE} SET d = COMPRESS(d)",
    "mariadb": f"UPDATE {TABLE} SET d = COMPRESS(d)",
}
TYPES = {"sqlite": "TEXT", "postgresql": "bytea", "mysql": "LONGBLOB", "mariadb": "LONGBLOB"}


def load(engine: Engine, rows: list[bytes]) -> None:
    name = engine.dialect.name
    with engine.begin() as connection:
        for table in (SOURCE, TABLE):
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))
        connection.execute(text(f"CREATE TABLE {SOURCE} (id BIGINT PRIMARY KEY, d {TYPES[name]})"))
        values = [(row.decode() if name == "sqlite" else row) for row in rows]
        for start in range(0, len(values), 2000):
            part = values[start : start + 2000]
            connection.execute(
                text(f"INSERT INTO {SOURCE} (id, d) VALUES (:id, :d)"),
                [{"id": start + i, "d": value} for i, value in enumerate(part, 1)],
            )


def fresh(engine: Engine) -> None:
    """A copy of the rows, as a table is that has been there for a while."""
    name = engine.dialect.name
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
        key = "INTEGER" if name == "sqlite" else "BIGINT"
        connection.execute(text(f"CREATE TABLE {TABLE} (id {key} PRIMARY KEY, d {TYPES[name]})"))
        if name == "postgresql":
            connection.execute(text(f"ALTER TABLE {TABLE} ALTER COLUMN d SET STORAGE EXTERNAL"))
        connection.execute(text(f"INSERT INTO {TABLE} SELECT * FROM {SOURCE}"))
        settle(connection)


def settle(connection: Connection) -> None:
    name = connection.dialect.name
    if name == "postgresql":
        connection.execute(text(f"VACUUM ANALYZE {TABLE}"))
        connection.execute(text("CHECKPOINT"))
    elif name in {"mysql", "mariadb"}:
        connection.execute(text(f"ANALYZE TABLE {TABLE}"))
    time.sleep(0.5)


def timed(engine: Engine, work: Callable[[], None]) -> float:
    fresh(engine)
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--documents", metavar="FILE", help="one document a line; made-up events otherwise")
    arguments = parser.parse_args()
    engine = create_engine(arguments.url)
    rows = documents(arguments.rows, arguments.documents)
    load(engine, rows)
    content = zstandard.train_dictionary(65_536, rows[:5000]).as_bytes()
    types = {
        "": CompressedText(),
        ", dictionary": CompressedText(Zstd(dictionary=Dictionary("bench", content))),
    }

    def own() -> None:
        with engine.begin() as connection:
            connection.execute(text(OWN[engine.dialect.name]))

    def job(type_: CompressedText, workers: int) -> Callable[[], None]:
        return lambda: check(
            rewrite(engine, TABLE, "d", convert=Compress(type_), workers=workers).rows_written
        )

    def check(written: int) -> None:
        assert written > arguments.rows * 0.99  # noqa: S101 - a measurement of less would be of something else

    arms = {
        f"rewrite, {workers} workers{label}": job(type_, workers)
        for workers in arguments.workers
        for label, type_ in types.items()
    }
    ratios: dict[str, list[float]] = {name: [] for name in arms}
    seconds = []
    for _ in range(arguments.rounds):
        base = timed(engine, own)
        seconds.append(base)
        for name, work in arms.items():
            ratios[name].append(base / timed(engine, work))
    mean = sum(map(len, rows)) / len(rows)
    print(f"{engine.dialect.name}: {arguments.rows:,} rows of {mean:.0f} bytes")
    print(f"  the engine's own UPDATE: {arguments.rows / statistics.median(seconds):,.0f} rows/s")
    for name, values in ratios.items():
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"  {name}: {statistics.median(values):.2f} of it ({spread})")
    with engine.begin() as connection:
        for table in (SOURCE, TABLE):
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


if __name__ == "__main__":
    main()
