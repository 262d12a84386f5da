"""What a session does: load, read by key, scan, update, delete; every value that is read is compared."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, Table, bindparam, delete, insert, select, update

from sqlcompress.bench.arms.base import OURS, Arm
from sqlcompress.bench.arms.types import ServerCompressed
from sqlcompress.bench.connecting import Reach
from sqlcompress.bench.corpora import Corpus
from sqlcompress.dictionaries import Dictionary
from sqlcompress.engine import install
from sqlcompress.errors import SqlcompressError

#: Rows of a transaction that writes, and of a statement that reads many.
BATCH_ROWS: Final = 100


@dataclass(frozen=True)
class Client:
    """All that a process needs to know; plain data.

    Attributes:
        reach: How to connect.
        arm: The arm, whose table is there.
        corpus_file: What `Corpus.save` has written.
        dictionary: For the arms that need one.
    """

    reach: Reach
    arm: Arm
    corpus_file: Path
    dictionary: Dictionary | None

    @property
    def corpus(self) -> Corpus:
        """Its documents, read once in a process."""
        return _corpus(self.corpus_file)

    @cached_property
    def table(self) -> Table:
        """The arm's table."""
        return self.arm.table(is_json=self.corpus.is_json, dictionary=self.dictionary)

    @cached_property
    def engine(self) -> Engine:
        """This process's own."""
        engine = self.reach.engine(self.arm.connect_args)
        return install(engine) if self.arm.family == OURS else engine

    def check(self, number: int, value: Any) -> None:
        """Compare what was read with the row's document.

        Raises:
            SqlcompressError: They differ.
        """
        if value != self.corpus.row(number):
            raise SqlcompressError(
                f"{self.arm.name}: the value of row {number} is not the one that was written"
            )

    def insert(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """One statement with many rows, as the drivers make of ``executemany``."""
        if isinstance(self.table.c.d.type, ServerCompressed):
            # MySQL's drivers join rows only where VALUES holds nothing but parameters.
            processor = self.table.c.d.type.bind_processor(connection.dialect) or _same
            values = [(row["id"], row["n"], processor(row["d"])) for row in rows]
            text = f"INSERT INTO {self.table.name} (id, n, d) VALUES {_tuples(len(rows))}"
            connection.exec_driver_sql(text, tuple(part for row in values for part in row))
        else:
            connection.execute(insert(self.table), rows)


def _same(value: Any) -> Any:
    return value


@lru_cache(maxsize=8)
def _tuples(count: int) -> str:
    return ",".join(["(%s,%s,COMPRESS(%s))"] * count)


@lru_cache(maxsize=2)
def _corpus(file: Path) -> Corpus:
    return Corpus.load(file)


class Work(ABC):
    """Something that sessions do; plain data, handed to each of them."""

    @abstractmethod
    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """What has to be there before the clock runs; calling what it gives does the work.

        Returns:
            A function that gives back how many rows it wrote or read.
        """


def _batches(first: int, rows: int, session: int, sessions: int) -> Iterator[range]:
    starts = range(first, first + rows, BATCH_ROWS)
    for start in starts[session::sessions]:
        yield range(start, min(start + BATCH_ROWS, first + rows))


@dataclass(frozen=True)
class Load(Work):
    """Rows ``first`` to ``first + rows``, a hundred in a transaction; sessions take batches in turn."""

    rows: int
    first: int = 0

    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """Rows are made ready, and a connection."""
        batches = [
            [{"id": number, "n": number % 97, "d": client.corpus.row(number)} for number in batch]
            for batch in _batches(self.first, self.rows, session, sessions)
        ]
        engine = client.engine
        with engine.connect():
            pass

        def work() -> int:
            for batch in batches:
                with engine.begin() as connection:
                    client.insert(connection, batch)
            engine.dispose()
            return sum(map(len, batches))

        return work


@dataclass(frozen=True)
class Read(Work):
    """``reads`` rows by their keys, at random, one a statement; every value is compared.

    ``warm`` is how many more are read before the clock runs, as a part of ``reads``.
    """

    rows: int
    reads: int
    seed: int
    warm: float = 0.2

    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """Reads some before the clock runs, so that the pool holds what reads leave in it."""
        dice = random.Random(self.seed * 1000 + session)  # noqa: S311 - which rows, the same for every arm
        mine = self.reads // sessions
        keys = [dice.randrange(self.rows) for _ in range(mine)]
        warm = [dice.randrange(self.rows) for _ in range(int(mine * self.warm))]
        t = client.table
        statement = select(t.c.d).where(t.c.id == bindparam("key"))
        connection = client.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

        def read(numbers: Sequence[int]) -> int:
            execute, check = connection.execute, client.check
            for number in numbers:
                check(number, execute(statement, {"key": number}).scalar_one())
            return len(numbers)

        read(warm)

        def work() -> int:
            done = read(keys)
            connection.close()
            client.engine.dispose()
            return done

        return work


@dataclass(frozen=True)
class Scan(Work):
    """All rows, a hundred a statement, in the order of their keys."""

    rows: int

    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """A connection."""
        t = client.table
        statement = select(t.c.id, t.c.d).where(t.c.id.between(bindparam("low"), bindparam("high")))
        connection = client.engine.connect().execution_options(isolation_level="AUTOCOMMIT")

        def work() -> int:
            done = 0
            for batch in _batches(0, self.rows, session, sessions):
                for number, value in connection.execute(statement, {"low": batch[0], "high": batch[-1]}):
                    client.check(number, value)
                    done += 1
            connection.close()
            client.engine.dispose()
            return done

        return work


@dataclass(frozen=True)
class UpdateOther(Work):
    """Another column of all rows, a hundred in a transaction."""

    rows: int

    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """A connection."""
        t = client.table
        between = t.c.id.between(bindparam("low"), bindparam("high"))
        return _in_batches(client, update(t).where(between).values(n=t.c.n + 1), self.rows, session, sessions)


@dataclass(frozen=True)
class Delete(Work):
    """The first ``rows`` rows, a hundred in a transaction."""

    rows: int

    def prepare(self, client: Client, session: int, sessions: int) -> Callable[[], int]:
        """A connection."""
        t = client.table
        statement = delete(t).where(t.c.id.between(bindparam("low"), bindparam("high")))
        return _in_batches(client, statement, self.rows, session, sessions)


def _in_batches(client: Client, statement: Any, rows: int, session: int, sessions: int) -> Callable[[], int]:
    engine = client.engine
    with engine.connect():
        pass

    def work() -> int:
        done = 0
        for batch in _batches(0, rows, session, sessions):
            with engine.begin() as connection:
                done += connection.execute(statement, {"low": batch[0], "high": batch[-1]}).rowcount
        engine.dispose()
        return done

    return work
