"""One table spread over many machines: ranges of the key, fixed once, on which all shards agree."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError

from sqlcompress.dialects.jobtable import job_table
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.marks import create_job_table
from sqlcompress.jobs.patience import session_of

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

    from sqlcompress.dialects.rows import KeyValue, Rows

MAX_SHARDS = 1000
_TRIES = 10

_Row = dict[str, Any]


class Span(NamedTuple):
    """Keys above ``after`` up to and with ``upto``; None where it is open, so that no row is outside."""

    after: KeyValue | None
    upto: KeyValue | None


class Shard:
    """One of the ``n`` parts of a table that jobs rewrite side by side, wherever and whenever they run.

    Args:
        shard: ``"k/n"``, k from 1 to n.
        rows: The rows of the whole table.
        kind: What is done to the rows; jobs of another kind have ranges of their own.
        where: The condition of the job; so have jobs with another one.

    Raises:
        ValueError: ``shard`` is not of that form.
    """

    def __init__(self, shard: str, rows: Rows, kind: str, where: str | None) -> None:
        found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", shard)
        self._number, self.count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= self._number <= self.count <= MAX_SHARDS:
            raise ValueError(
                f'shard={shard!r}: it is "k/n", k from 1 to n and n up to {MAX_SHARDS:,}, such as "3/16"'
            )
        self._rows = rows
        digest = hashlib.blake2s((where or "").encode(), digest_size=4).hexdigest()
        self._set = f"{kind.lower()} {digest} "
        self._part = f"{self._set}{self._number}/{self.count}"

    def span(self, bind: Engine) -> Span | None:
        """The range of this shard; None where the table has too few rows for so many.

        The first shard that asks divides the table by rows. The ranges stand in the job table until all
        shards are done.

        Raises:
            MigrationBlockedError: Shards of another number are at work on the column.
        """
        with bind.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            job = create_job_table(connection, self._rows.table.schema)
        for tries in range(1, _TRIES + 1):
            with session_of(bind, self._rows) as session:
                try:
                    ranges = self._ranges(session, job) or self._divide(session, job)
                    return self._own(ranges)
                except DBAPIError as error:
                    session.rollback()
                    # Another shard has divided the table at the same moment, or is about to.
                    is_race = isinstance(error, IntegrityError) or self._rows.is_transient(error)
                    if not is_race or tries == _TRIES:
                        raise
            time.sleep(0.1 * tries)
        raise AssertionError  # the last try has returned or raised

    def finish(self, bind: Engine) -> None:
        """Note that this shard is done; the last one takes the ranges away."""
        with session_of(bind, self._rows) as session:
            job = job_table(self._rows.table.schema)
            session.execute(
                job.update().where(*self._all(job), job.c.part == self._part).values(state="done")
            )
            session.commit()
            # In a transaction of its own: two that end at once see each other here.
            if all(row["state"] == "done" for row in self._ranges(session, job)):
                session.execute(job.delete().where(*self._all(job)))
            session.commit()

    def _own(self, ranges: list[_Row]) -> Span | None:
        found = {row["part"]: row for row in ranges}
        if self._part not in found:
            other = ranges[0]["part"].rpartition("/")[2]
            table, column = self._rows.table, self._rows.column.name
            sentence = (
                f"{table}.{column} is being rewritten in {other} shards; finish those, or delete the rows of "
                f"sqlcompress_job where table_name = '{table.name}' AND column_name = '{column}' AND part "
                f"LIKE '{self._set}%' once none of them runs any more"
            )
            raise MigrationBlockedError(sentence, (sentence,))
        own = found[self._part]
        if own["after_key"] is None and self._number > 1:
            return None
        return Span(_key_from(own["after_key"]), _key_from(own["upto_key"]))

    def _ranges(self, session: Connection, job: sa.Table) -> list[_Row]:
        query = sa.select(job.c.part, job.c.state, job.c.after_key, job.c.upto_key).where(*self._all(job))
        found = [dict(row) for row in session.execute(query).mappings()]
        return [row for row in found if row["part"].startswith(self._set)]

    def _divide(self, session: Connection, job: sa.Table) -> list[_Row]:
        bounds = self._bounds(session)
        ranges: list[_Row] = [
            {
                "part": f"{self._set}{i + 1}/{self.count}",
                "state": "open",
                "after_key": _key_to(bounds[i - 1]) if 0 < i <= len(bounds) else None,
                "upto_key": _key_to(bounds[i]) if i < len(bounds) else None,
            }
            for i in range(self.count)
        ]
        column = {"table_name": self._rows.table.name, "column_name": self._rows.column.name}
        session.execute(job.insert(), [row | column for row in ranges])
        session.commit()
        return ranges

    def _bounds(self, session: Connection) -> list[KeyValue]:
        """The last keys of all shards but the last: one walk through the index."""
        rows = self._rows
        todo, rows.todo = rows.todo, None
        step = max(1, rows.total(session) // self.count)
        rows.todo = todo
        return list(islice(rows.every(session, step), self.count - 1))

    def _all(self, job: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
        own = job.c.part.startswith(self._set, autoescape=True)
        return (
            job.c.table_name == self._rows.table.name,
            job.c.column_name == self._rows.column.name,
            own,
        )


# Keys as text ---------------------------------------------------------------------------------------------

_TO: dict[type, tuple[str, Callable[[Any], Any]]] = {
    int: ("int", int),
    str: ("str", str),
    float: ("float", float.hex),
    bytes: ("bytes", bytes.hex),
    bytearray: ("bytes", bytearray.hex),
    memoryview: ("bytes", memoryview.hex),
    Decimal: ("decimal", str),
    uuid.UUID: ("uuid", str),
    dt.datetime: ("datetime", dt.datetime.isoformat),
    dt.date: ("date", dt.date.isoformat),
    dt.time: ("time", dt.time.isoformat),
    dt.timedelta: ("microseconds", lambda span: span // dt.timedelta(microseconds=1)),
}
_FROM: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "str": str,
    "float": float.fromhex,
    "bytes": bytes.fromhex,
    "decimal": Decimal,
    "uuid": uuid.UUID,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "microseconds": lambda count: dt.timedelta(microseconds=count),
}


def _key_to(key: KeyValue) -> str:
    """A key as JSON, each part with its type."""
    for part in key:
        if type(part) not in _TO:
            sentence = f"a key of type {type(part).__name__} cannot be divided into shards"
            raise MigrationBlockedError(sentence, (sentence,))
    return json.dumps([(_TO[type(part)][0], _TO[type(part)][1](part)) for part in key])


def _key_from(text: str | None) -> KeyValue | None:
    return None if text is None else tuple(_FROM[kind](value) for kind, value in json.loads(text))
