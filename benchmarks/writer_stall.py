"""How long an application's writes wait while a column is compressed, by strategy and phase.

    python benchmarks/writer_stall.py postgresql+psycopg://user:password@host/scratch

Processes of their own change and add single rows back to back, each in a transaction, and note how long
every write took from the first try to the commit. Tables ``sqlcompress_stall*`` in the database of the URL
are dropped and made again. Compare within one run: milliseconds depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any

from documents import documents
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from sqlcompress import CompressedText
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.jobs.column import Batching, compress_column
from sqlcompress.jobs.progress import Progress
from sqlcompress.jobs.shadow import compress_shadow

SOURCE, TABLE = "sqlcompress_stall_source", "sqlcompress_stall"
TYPES = {"sqlite": "TEXT", "postgresql": "text", "mysql": "LONGTEXT", "mariadb": "LONGTEXT"}
# What one would do by hand. PostgreSQL and SQLite have no function that compresses: their UPDATE writes each
# row once, as such a function would.
BY_HAND = {
    "sqlite": {"UPDATE": f"UPDATE {TABLE} SET d = CAST(d AS BLOB)"},
    "postgresql": {
        "ALTER": f"ALTER TABLE {TABLE} ALTER COLUMN d TYPE bytea USING convert_to(d, 'UTF8')",
        "UPDATE": f"UPDATE {TABLE} SET d = substr(d, 1, 300)",
    },
    "mysql": {
        "ALTER": f"ALTER TABLE {TABLE} MODIFY d LONGBLOB",
        "UPDATE": f"UPDATE {TABLE} SET d = COMPRESS(d)",
    },
}
BY_HAND["mariadb"] = BY_HAND["mysql"]
STRATEGIES = ["idle", "by hand", "rewrite", "shadow"]
SETTLED_SECONDS = 2.0


def write_back_to_back(url: str, rows: int, documents_of_rows: list[bytes], number: int, pipe: Pipe) -> None:
    """The application: writes until it is told to stop, then sends (begun, ended) of each write."""
    engine = create_engine(url)
    frames = [CompressedText().to_stored(document) for document in documents_of_rows]
    dice = random.Random(number)  # noqa: S311
    writes_frames = False
    next_id = rows + number * 10_000_000
    noted = []
    with engine.connect() as connection:
        pipe.send("ready")
        while True:
            if pipe.poll():
                if pipe.recv() == "stop":
                    break
                writes_frames = True
            chosen = dice.randrange(len(frames))
            inserts = dice.random() < 0.3
            next_id += inserts
            key = next_id if inserts else dice.randrange(1, rows + 1)
            begun = time.monotonic()
            while True:
                # A text is refused by a binary column on PostgreSQL, and only then are bytes written: a text
                # column would take them as their hexadecimal digits.
                d = "CAST(:d AS text)" if engine.dialect.name == "postgresql" and not writes_frames else ":d"
                sql = (
                    f"INSERT INTO {TABLE} (id, d) VALUES (:id, {d})"
                    if inserts
                    else f"UPDATE {TABLE} SET d = {d} WHERE id = :id"
                )
                value = frames[chosen] if writes_frames else documents_of_rows[chosen].decode()
                try:
                    connection.execute(text(sql), {"id": key, "d": value})
                    connection.commit()
                    break
                except DBAPIError as error:
                    connection.rollback()
                    if "is of type bytea" in str(error.orig):
                        writes_frames = True
            noted.append((begun, time.monotonic()))
    pipe.send(noted)
    engine.dispose()


@dataclass
class Phases:
    """What the migration did when."""

    begun: list[tuple[float, str]] = field(default_factory=list)
    statements: list[tuple[float, float, str]] = field(default_factory=list)
    name_of_last: str = ""
    deploy: Callable[[], None] = lambda: None

    def begin(self, name: str) -> None:
        """What begins now."""
        self.begun.append((time.monotonic(), name))

    def progress(self, progress: Progress) -> None:
        """The end of a batch: the first ends the preparations, the last begins what comes after the rows."""
        del progress
        if self.begun[-1][1] == self.name_of_last:
            self.begun.pop()
        elif self.begun[-1][1] != "rows":
            self.begin("rows")
            if self.name_of_last == "last rows":
                self.deploy()
        self.begin(self.name_of_last)

    def during(self, begun: float, ended: float) -> str:
        """The phase that holds the largest part of this time."""
        ends = [start for start, _ in self.begun[1:]] + [float("inf")]
        parts = [
            (min(ended, end) - max(begun, start), name)
            for (start, name), end in zip(self.begun, ends, strict=True)
        ]
        return max(parts)[1]

    def statement_during(self, begun: float, ended: float) -> str:
        """The migration's statement that ran for the largest part of this time."""
        parts = [
            (min(ended, end) - max(begun, start), statement)
            for start, end, statement in self.statements
            if start < ended and end > begun
        ]
        return " ".join(max(parts)[1].split())[:70] if parts else ""

    def watch(self, engine: Engine) -> None:
        """Note the statements of this engine."""
        starts: dict[int, float] = {}

        @event.listens_for(engine, "before_cursor_execute")
        def before(_conn: Any, cursor: Any, *_: Any) -> None:
            starts[id(cursor)] = time.monotonic()

        @event.listens_for(engine, "after_cursor_execute")
        def after(_conn: Any, cursor: Any, statement: str, *_: Any) -> None:
            self.statements.append((starts.pop(id(cursor)), time.monotonic(), statement))


def load(engine: Engine, rows: int, values: list[bytes]) -> None:
    with engine.begin() as connection:
        for table in (SOURCE, TABLE):
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))
        connection.execute(text(_create(SOURCE, engine.dialect.name)))
        for start in range(0, rows, 2000):
            connection.execute(
                text(f"INSERT INTO {SOURCE} (id, d) VALUES (:id, :d)"),
                [
                    {"id": i + 1, "d": values[i % len(values)].decode()}
                    for i in range(start, min(rows, start + 2000))
                ],
            )


def fresh(engine: Engine) -> None:
    """A copy of the rows, as a table is that has been there for a while."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
        connection.execute(text(_create(TABLE, engine.dialect.name)))
        connection.execute(text(f"INSERT INTO {TABLE} SELECT * FROM {SOURCE}"))
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"VACUUM ANALYZE {TABLE}"))
            connection.execute(text("CHECKPOINT"))
        elif engine.dialect.name in {"mysql", "mariadb"}:
            connection.execute(text(f"ANALYZE TABLE {TABLE}"))


def _create(table: str, name: str) -> str:
    key = "INTEGER" if name == "sqlite" else "BIGINT"
    charset = " CHARACTER SET utf8mb4" if name in {"mysql", "mariadb"} else ""
    return f"CREATE TABLE {table} (id {key} PRIMARY KEY, d {TYPES[name]}){charset}"


def migrate(engine: Engine, strategy: str, phases: Phases, batching: Batching) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if strategy == "idle":
            phases.begin("nothing")
            time.sleep(5)
        elif strategy == "by hand":
            for name, statement in BY_HAND[engine.dialect.name].items():
                phases.begin(name)
                connection.execute(text(statement))
        else:
            phases.begin("type change" if strategy == "rewrite" else "prepare")
            phases.name_of_last = "last rows" if strategy == "rewrite" else "swap, clean"
            table = catalog_of(connection).table(TABLE, None)
            # On SQLite rows are rewritten where the lock is held; elsewhere by connections of their own.
            bind: Engine | Connection = connection if engine.dialect.name == "sqlite" else engine
            if strategy == "rewrite":
                compress_column(connection, bind, table, "d", CompressedText(), batching, atomic=False)
            else:
                compress_shadow(connection, bind, table, "d", CompressedText(), batching, drop_original=False)
    phases.begin("afterwards")


def measure(
    engine: Engine, rows: int, values: list[bytes], work: Callable[[Engine, Phases], None], writers: int
) -> tuple[Phases, list[tuple[float, float]]]:
    """The phases of one migration of fresh rows, and the writes meanwhile."""
    fresh(engine)
    url = engine.url.render_as_string(hide_password=False)
    context = multiprocessing.get_context("spawn")
    pipes = []
    processes = []
    for number in range(writers):
        here, there = context.Pipe()
        arguments = (url, rows, values, number, there)
        processes.append(context.Process(target=write_back_to_back, args=arguments, daemon=True))
        processes[-1].start()
        here.recv()
        pipes.append(here)

    def tell(what: str) -> None:
        for pipe in pipes:
            pipe.send(what)

    phases = Phases(deploy=lambda: tell("deploy"))
    # The warm-up belongs to no strategy.
    phases.begin("before")
    time.sleep(SETTLED_SECONDS)
    watched = create_engine(engine.url)
    phases.watch(watched)
    work(watched, phases)
    watched.dispose()
    tell("stop")
    noted = [write for pipe in pipes for write in pipe.recv()]
    for process in processes:
        process.join()
    return phases, noted


def show(strategy: str, phases: Phases, noted: list[tuple[float, float]]) -> None:
    by_phase: dict[str, list[tuple[float, float]]] = {}
    for begun, ended in noted:
        by_phase.setdefault(phases.during(begun, ended), []).append((begun, ended))
    ends = [start for start, _ in phases.begun[1:]]
    seconds = {name: end - start for (start, name), end in zip(phases.begun, ends, strict=False)}
    for name, duration in seconds.items():
        if name == "before":
            continue
        waits = sorted(((ended - begun) * 1000, begun, ended) for begun, ended in by_phase.get(name, []))
        if not waits:
            print(f"  {strategy:8} {name:12} {duration:8.2f} {0:8}")
            continue
        longest, begun, ended = waits[-1]
        p99 = waits[int(len(waits) * 0.99)][0]
        doing = phases.statement_during(begun, ended)
        print(f"  {strategy:8} {name:12} {duration:8.2f} {len(waits):8} {p99:10.1f} {longest:10.1f}  {doing}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--batch-rows", type=int, default=Batching().batch_rows)
    parser.add_argument("--pause-seconds", type=float, default=Batching().pause_seconds)
    parser.add_argument("--workers", type=int, default=Batching().workers)
    parser.add_argument("--documents", metavar="FILE", help="one document a line; made-up events otherwise")
    arguments = parser.parse_args()
    engine = create_engine(arguments.url)
    values = documents(min(arguments.rows, 20_000), arguments.documents)
    load(engine, arguments.rows, values)
    mean = sum(map(len, values)) / len(values)
    print(f"{engine.dialect.name}: {arguments.rows:,} rows of {mean:.0f} bytes")
    print(
        "  strategy phase         seconds   writes    p99 ms longest ms  the migration's statement meanwhile"
    )

    def work(strategy: str) -> Callable[[Engine, Phases], None]:
        return lambda watched, phases: migrate(
            watched,
            strategy,
            phases,
            Batching(
                batch_rows=arguments.batch_rows,
                pause_seconds=arguments.pause_seconds,
                workers=arguments.workers,
                progress=phases.progress,
            ),
        )

    for strategy in arguments.strategies:
        show(
            strategy,
            *measure(engine, arguments.rows, values[:2000], work(strategy), arguments.writers),
        )
    with engine.begin() as connection:
        for table in (SOURCE, TABLE):
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


if __name__ == "__main__":
    main()
