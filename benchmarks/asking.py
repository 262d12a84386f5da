"""What a question to a compressed column costs, over the same question to a plain one, in one run.

    python benchmarks/asking.py postgresql+psycopg://user:password@host/scratch
    python benchmarks/asking.py sqlite:////var/tmp/scratch.db

LIKE and a JSON path over every row, microseconds a row and the ratio; then ``==`` by ``digest_of`` over
``==`` by an index over a plain column, in tables of a million short rows. On PostgreSQL the functions of
``op.create_decompress_function()`` are made. Tables ``sqlcompress_bench*`` are dropped and made again.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from documents import documents

from sqlcompress import CompressedJSON, CompressedText, Zlib, digest_of, install

LONGTEXT = sa.Text().with_variant(sa.dialects.mysql.LONGTEXT(), "mysql", "mariadb")


def tables(metadata: sa.MetaData) -> tuple[sa.Table, sa.Table]:
    def columns() -> list[sa.Column[Any]]:
        return [sa.Column("id", sa.Integer, primary_key=True, autoincrement=False)]

    plain = sa.Table(
        "sqlcompress_bench_plain", metadata, *columns(), sa.Column("d", LONGTEXT), sa.Column("j", sa.JSON)
    )
    packed = sa.Table(
        "sqlcompress_bench_packed",
        metadata,
        *columns(),
        sa.Column("d", CompressedText(Zlib())),
        sa.Column("j", CompressedJSON(Zlib())),
    )
    return plain, packed


def keyed(metadata: sa.MetaData) -> tuple[sa.Table, sa.Table]:
    # 160 characters: what MySQL indexes whole under utf8mb4, and more than most keys of plain columns have.
    plain = sa.Table(
        "sqlcompress_bench_keyed",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", sa.String(160), index=True),
    )
    packed = sa.Table(
        "sqlcompress_bench_digest",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", CompressedText(Zlib())),
        digest_of("d", "d_digest", index=True),
    )
    return plain, packed


def fill(engine: sa.Engine, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 5000):
        with engine.begin() as connection:
            connection.execute(table.insert(), rows[start : start + 5000])


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def ratio(rounds: int, rows: int, plain: Callable[[], object], packed: Callable[[], object]) -> str:
    base, other = [], []
    for number in range(rounds + 1):
        pair = (timed(plain), timed(packed))
        if number:  # the first round warms the caches
            base.append(pair[0])
            other.append(pair[1])
    ratios = [one / two for one, two in zip(other, base, strict=True)]
    each = [statistics.median(seconds) / rows * 1e6 for seconds in (base, other)]
    return (
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"{each[0]:.1f} and {each[1]:.1f} microseconds"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--lookups", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--documents", metavar="FILE", help="one JSON document a line; made-up events otherwise"
    )
    arguments = parser.parse_args()
    engine = install(sa.create_engine(arguments.url))
    metadata = sa.MetaData()
    scanned, found = tables(metadata), keyed(metadata)
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            Operations(MigrationContext.configure(connection)).create_decompress_function()
    metadata.drop_all(engine)
    metadata.create_all(engine)

    texts = [row.decode() for row in documents(arguments.rows, arguments.documents)]
    rows = [{"id": i, "d": text, "j": json.loads(text)} for i, text in enumerate(texts)]
    for table in scanned:
        fill(engine, table, rows)
    path = next(key for key, value in rows[0]["j"].items() if isinstance(value, str))
    mean = sum(map(len, texts)) / len(texts)
    print(f"{engine.dialect.name}: {len(texts):,} documents of {mean:.0f} bytes; plain and compressed")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:

        def asked(condition: Callable[[sa.Table], Any]) -> list[Callable[[], object]]:
            return [
                lambda table=table: connection.scalar(
                    sa.select(sa.func.count()).select_from(table).where(condition(table))
                )
                for table in scanned
            ]

        for title, condition in (
            ("LIKE", lambda t: t.c.d.like("%no such words%")),
            ("JSON path", lambda t: t.c.j[path].as_string() == "no such value"),
        ):
            print(f"  {title}: {ratio(arguments.rounds, len(texts), *asked(condition))} a row")

    dice = random.Random(7)  # noqa: S311 - which rows
    words = "of the key that is looked up, in a hundred characters or so,"
    keys = [f"{dice.getrandbits(64):016x} {words} {number}" for number in range(arguments.keys)]
    for table in found:
        fill(engine, table, [{"id": i, "d": key} for i, key in enumerate(keys)])
    wanted = [dice.choice(keys) for _ in range(arguments.lookups)]
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name != "sqlite":
            for table in found:
                word = "ANALYZE" if engine.dialect.name == "postgresql" else "ANALYZE TABLE"
                connection.execute(sa.text(f"{word} {table.name}"))

        def looked_up(table: sa.Table) -> Callable[[], object]:
            statement = sa.select(table.c.id).where(table.c.d == sa.bindparam("key"))
            return lambda: [connection.execute(statement, {"key": key}).scalar_one() for key in wanted]

        found_ratio = ratio(arguments.rounds, len(wanted), *map(looked_up, found))
        print(f"  == among {len(keys):,} rows: {found_ratio} a question")
    metadata.drop_all(engine)


if __name__ == "__main__":
    main()
