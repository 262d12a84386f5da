"""One worker of the rewrite job: its connection, its pages, its retries."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from sqlcompress.dialects.rows import Change
from sqlcompress.errors import MigrationFailedError
from sqlcompress.jobs.pages import PageSize, read_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlcompress.dialects.rows import KeyValue, Row, Rows
    from sqlcompress.jobs.conversions import Conversion
    from sqlcompress.jobs.lag import ReplicaLag
    from sqlcompress.jobs.rewrite import Walk
    from sqlcompress.jobs.tally import Tally

_T = TypeVar("_T")

# Ten tries with a wait that doubles from 20 ms to 5 s: 25 s in all, beside the server's own lock wait.
_TRIES = 10
_FIRST_WAIT, _LONGEST_WAIT = 0.02, 5.0
# A server that refuses one row after the other has another trouble than those rows.
_REFUSED_IN_A_ROW = 100


@dataclass
class _Outcome:
    """What a batch did, counted only once it is committed."""

    seen: int = 0
    written: int = 0
    before: int = 0
    after: int = 0
    written_before: int = 0
    written_after: int = 0
    failures: list[tuple[object, str]] = field(default_factory=list)

    def report(self, tally: Tally) -> None:
        for key, reason in self.failures:
            tally.failed(key, reason)
        tally.batch(
            seen=self.seen,
            written=self.written,
            before=self.before,
            after=self.after,
            written_before=self.written_before,
            written_after=self.written_after,
        )


class Batches:
    """Takes pages from a walk and rewrites them on a connection of its own."""

    def __init__(
        self,
        bind: Engine | Connection,
        rows: Rows,
        convert: Conversion,
        tally: Tally,
        size: PageSize,
        *,
        own_transactions: bool,
        pause: float,
        lag: ReplicaLag | None = None,
    ) -> None:
        self._bind = bind
        self._rows = rows
        self._conversion = convert
        self._tally = tally
        self._size = size
        self._own_transactions = own_transactions
        self._pause = pause
        self._lag = lag
        self._connection: Connection | None = None
        self._writes = convert.writes(rows)
        self._refused = 0

    # Connection -------------------------------------------------------------------------------------------

    def open(self) -> Connection:
        """The worker's connection, opened on first use."""
        if self._connection is None:
            if isinstance(self._bind, Engine):
                self._connection = self._bind.connect()
                self._connection = self._rows.open(self._connection)
                self._rows.hurry(self._connection)
            elif self._own_transactions:
                self._connection = self._rows.open(self._bind)
                self._rows.hurry(self._connection)
            else:
                self._connection = self._bind
        return self._connection

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None and isinstance(self._bind, Engine):
            if self._rows.connection_is_disposable and not self._connection.closed:
                # What open() set for the session must not come back from the pool to an application.
                self._connection.rollback()
                self._connection.invalidate()
            self._connection.close()
        self._connection = None

    def _begin(self) -> None:
        if self._own_transactions:
            self._rows.begin(self.open())

    def _commit(self) -> None:
        if self._own_transactions:
            self._rows.commit(self.open())

    def _rollback(self) -> None:
        if self._own_transactions and self._connection is not None:
            self._rows.rollback(self._connection)

    def settle(self) -> None:
        """Return once all that any worker has committed is on disk."""
        self._with_retries(lambda: self._rows.settle(self.open()))

    # Questions before a pass ------------------------------------------------------------------------------

    def count(self) -> int | None:
        """Rows to come."""
        return self._with_retries(lambda: self._asked(self._rows.total))

    def largest(self) -> KeyValue | None:
        """The last key of the table as it is now."""
        return self._with_retries(lambda: self._asked(self._rows.largest))

    def _asked(self, question: Callable[[Connection], _T]) -> _T:
        self._begin()
        answer = question(self.open())
        self._commit()
        return answer

    # Work -------------------------------------------------------------------------------------------------

    def run(self, walk: Walk) -> None:
        """Take pages until the walk is done."""
        self.open()
        turn = time.monotonic()
        try:
            while not walk.done:
                with walk.lock:
                    if walk.done:
                        return
                    after = walk.after
                    page = self._with_retries(partial(self._read, after, walk.upto))
                    if not page:
                        walk.done = True
                        self._commit()
                        return
                    walk.after = page[-1].key
                self._finish(page, after)
                if self._pause:
                    time.sleep(self._pause)
                if time.monotonic() - turn > self._rows.turn_after_seconds and self._own_transactions:
                    time.sleep(self._rows.turn_seconds)
                    turn = time.monotonic()
                if self._lag is not None:
                    self._lag.wait(lambda: walk.done)
        except BaseException:
            walk.done = True
            self._rollback()
            raise

    def _finish(  # noqa: C901 - one loop with one state: what is left of the span
        self, page: list[Row], after: KeyValue | None
    ) -> None:
        """Rewrite a page that is read and locked; on trouble read what is left of its span again."""
        end = page[-1].key
        tries = 0
        singly = False
        while True:
            try:
                if not page:
                    page = self._read(after, end, limit=1 if singly else None)
                    if not page:
                        self._commit()
                        return
                outcome = self._write(page)
                self._commit()
            except DBAPIError as error:
                self._rollback()
                if not self._own_transactions:
                    raise
                if self._rows.is_transient(error) and tries < _TRIES:
                    tries += 1
                    _wait(tries)
                elif page and _refuses_the_row(error) and self._refused < _REFUSED_IN_A_ROW:
                    # One row spoils the statement: find it by taking the rest of the span one by one.
                    if len(page) == 1:
                        self._refused += 1
                        self._tally.failed(_shown(page[0].key), f"the server refused it: {_code(error)}")
                        after = page[0].key
                    singly = True
                else:
                    raise
            else:
                tries = self._refused = 0
                after = page[-1].key
                outcome.report(self._tally)
            if after == end:
                return
            page = []

    def _read(self, after: KeyValue | None, upto: KeyValue | None, limit: int | None = None) -> list[Row]:
        """Begin a transaction and read and lock rows within the budget, all with their values."""
        self._begin()
        return read_page(self.open(), self._rows, self._size, after, upto, limit, lock=True)

    def _write(self, page: list[Row]) -> _Outcome:
        # Local names: this loop is what the job's own time goes into, beside the codec.
        writes, copies = self._writes, self._rows.copies
        converted = iter(self._conversion.convert_all([row.value for row in page if row.value is not None]))
        failures: list[tuple[object, str]] = []
        changes: list[Change] = []
        before = written_before = written_after = 0
        for key, size, value, stored_as, _ in page:
            before += size
            if value is None:
                failures.append((_shown(key), "longer than max_allowed_packet"))
                continue
            new = next(converted)
            if new is None:
                continue
            if not isinstance(new, bytes):
                failures.append((_shown(key), self._conversion.reason(new)))
            elif copies or new is not value or stored_as != writes:
                changes.append(Change(key, new if writes == "binary" else new.decode()))
                written_before += size
                written_after += len(new)
        outcome = _Outcome(
            seen=len(page),
            before=before,
            after=before - written_before + written_after,
            written_before=written_before,
            written_after=written_after,
            failures=failures,
        )
        outcome.written = len(changes)
        for part in self._statements(changes):
            matched = self._rows.write(self.open(), part)
            if matched not in {-1, len(part)}:
                raise MigrationFailedError(
                    f"{self._rows.table}: {len(part)} locked rows were written and the server reports "
                    f"{matched}; the batch was undone"
                )
        return outcome

    def _statements(self, changes: list[Change]) -> list[list[Change]]:
        """The changes in as few statements as the server's limit allows: mostly one."""
        if not changes:
            return []
        if sum([len(change.value or b"") for change in changes]) <= self._size.bytes:
            return [changes]
        parts: list[list[Change]] = [[]]
        total = 0
        for change in changes:
            size = len(change.value or b"")
            if parts[-1] and total + size > self._size.bytes:
                parts.append([])
                total = 0
            parts[-1].append(change)
            total += size
        return parts

    def _with_retries(self, read: Callable[[], _T]) -> _T:
        tries = 0
        while True:
            try:
                return read()
            except DBAPIError as error:  # noqa: PERF203 - the loop is for the exception
                self._rollback()
                if not self._own_transactions or not self._rows.is_transient(error) or tries >= _TRIES:
                    raise
                tries += 1
                _wait(tries)


def _wait(tries: int) -> None:
    """Wait longer each time, and never in step with whoever else is waiting."""
    time.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries) * random.uniform(0.5, 1.0))  # noqa: S311


def _refuses_the_row(error: DBAPIError) -> bool:
    return isinstance(error, (DataError, IntegrityError))


def _code(error: DBAPIError) -> str:
    """What kind of error it was; the message may quote the row."""
    return type(error.orig).__name__


def _shown(key: KeyValue) -> object:
    """A key as errors show it: the bare value where it is one column."""
    return key[0] if len(key) == 1 else key
