"""The rows that changed while a shadow column was filled: their keys stand in a queue."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from sqlcompress.dialects.rows import Change
from sqlcompress.errors import DecodeError, MigrationFailedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.rows import KeyValue, Row
    from sqlcompress.dialects.shadow import Shadow
    from sqlcompress.jobs.conversions import Conversion

# Alembic's stock alembic.ini shows INFO of "alembic".
_LOG = logging.getLogger("alembic.sqlcompress")
_SECONDS_BETWEEN_LINES = 5.0
_COUNTED = 100_000

# Rows of one round: their values are in memory together, and their locks are held together.
_MOST_ROWS = 200
_FIRST_ROWS = 20
# Entries that are left for the time under the lock: a few milliseconds.
_UNDER_LOCK = 50
# Ten tries with a wait that doubles from 20 ms to 5 s, as for any batch.
_TRIES = 10
_FIRST_WAIT, _LONGEST_WAIT = 0.02, 5.0


class CatchUp:
    """Brings rows of the queue up to date; an entry goes in the transaction that has seen to its row."""

    def __init__(self, shadow: Shadow, convert: Conversion, batch_bytes: int) -> None:
        self._shadow = shadow
        self._conversion = convert
        self._writes = convert.writes(shadow.rows)
        self._batch_bytes = batch_bytes
        self._limit = _FIRST_ROWS
        self._most = _MOST_ROWS
        self._keys: list[KeyValue] = []

    def until_few_are_left(self, connection: Connection) -> None:
        """Work until what is left can be done under the lock.

        Raises:
            MigrationFailedError: A row cannot be converted, or the server refuses its new value.
        """
        told = time.monotonic()
        while self._round(connection) > _UNDER_LOCK:
            if time.monotonic() - told > _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                waiting = self._shadow.waiting(connection, _COUNTED)
                self._shadow.rows.rollback(connection)
                _LOG.info(
                    "%s: %s%s changed rows to catch up with",
                    self._shadow.table,
                    "more than " if waiting == _COUNTED else "",
                    f"{waiting:,}",
                )

    def to_the_end(self, connection: Connection) -> None:
        """Work until nothing is left, row by row, after one was refused under the lock."""
        self._limit = self._most = 1
        while self._round(connection):
            pass

    def _round(self, connection: Connection) -> int:
        """One batch in a transaction of its own; how many entries were waiting, counted up to a bound."""
        rows = self._shadow.rows
        tries = 0
        while True:
            try:
                rows.begin(connection)
                self._batch(connection)
                waiting = self._shadow.waiting(connection, _UNDER_LOCK + 1)
                rows.commit(connection)
            except (DataError, IntegrityError) as error:  # noqa: PERF203 - the loop is for the exception
                rows.rollback(connection)
                if self._most == 1:
                    raise self._refused(error) from error
                # One row spoils the statement: find it by taking one after the other.
                self._limit = self._most = 1
            except DBAPIError as error:
                rows.rollback(connection)
                if not rows.is_transient(error) or tries >= _TRIES:
                    raise
                tries += 1
                time.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries) * random.uniform(0.5, 1.0))  # noqa: S311
            except BaseException:
                rows.rollback(connection)
                raise
            else:
                return waiting

    def under_lock(self, connection: Connection) -> bool:
        """Empty the queue in the transaction that is open; False where that would take too long."""
        if self._shadow.waiting(connection, _UNDER_LOCK + 1) > _UNDER_LOCK:
            return False
        while self._batch(connection):
            pass
        return True

    def _batch(self, connection: Connection) -> int:
        entries = self._shadow.take(connection, self._limit)
        if not entries:
            return 0
        # Read after the entries and under a lock: what is newer has an entry of its own.
        self._keys = list(dict.fromkeys(key for _, key in entries))
        found = self._shadow.rows.by_key(connection, self._keys)
        changes = [self._changed(row) for row in found]
        self._write(connection, changes)
        self._shadow.forget(connection, [number for number, _ in entries])
        mean = max(1, sum(row.size for row in found) // max(1, len(found)))
        self._limit = max(1, min(self._most, self._batch_bytes // mean))
        return len(entries)

    def _changed(self, row: Row) -> Change:
        if row.is_null:
            return Change(row.key, None)
        shown = _shown(row.key)
        try:
            if row.value is None:
                raise MigrationFailedError(self._failure(shown, "is longer than the server hands over"))
            new = self._conversion.convert(row.value)
            return Change(row.key, new.decode() if self._writes == "text" else new)
        except (DecodeError, UnicodeError) as error:
            raise MigrationFailedError(
                self._failure(shown, f"cannot be converted ({type(error).__name__})"), (shown,)
            ) from error

    def _refused(self, error: DBAPIError) -> MigrationFailedError:
        shown = _shown(self._keys[0])
        return MigrationFailedError(
            self._failure(shown, f"was refused by the server ({type(error.orig).__name__})"), (shown,)
        )

    def _failure(self, key: object, reason: str) -> str:
        return (
            f"{self._shadow.table}.{self._shadow.column.name}: the value of the row {key!r}, which changed "
            f"during the migration, {reason}; nothing was swapped. Mend or delete this row and run the "
            "migration again; it goes on from here"
        )

    def _write(self, connection: Connection, changes: list[Change]) -> None:
        rows = self._shadow.rows
        part: list[Change] = []
        size = 0
        budget = self._batch_bytes
        if rows.statement_bytes is not None:
            budget = min(budget, rows.statement_bytes // 3)
        for change in changes:
            length = len(change.value or b"")
            if part and size + length > budget:
                self._matched(rows.write(connection, part), part)
                part, size = [], 0
            part.append(change)
            size += length
        if part:
            self._matched(rows.write(connection, part), part)

    def _matched(self, matched: int, part: list[Change]) -> None:
        if matched not in {-1, len(part)}:
            raise MigrationFailedError(
                f"{self._shadow.table}: {len(part)} locked rows were written and the server reports "
                f"{matched}; the batch was undone"
            )


def _shown(key: KeyValue) -> object:
    """A key as errors show it: the bare value where it is one column."""
    return key[0] if len(key) == 1 else key
