"""How a long job tells how far it is."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        table: The table, with its schema where it has one.
        column: The column.
        rows_seen: Rows read so far; each row counts once, however many passes look at it.
        rows_total: Rows to read in all: counted, or the server's estimate for large tables; None if unknown.
        rows_written: Rows that got a new value.
        rows_failed: Rows that were left as they were because they could not be converted.
        bytes_before: Bytes of the values read so far.
        bytes_after: Bytes of the same values as they stand now.
        seconds: Seconds since the job began.
        done: Whether this is the last report.
        waiting_for: What the job is waiting for, in a few words; None while it works.
    """

    table: str
    column: str
    rows_seen: int
    rows_total: int | None
    rows_written: int
    rows_failed: int
    bytes_before: int
    bytes_after: int
    seconds: float
    done: bool
    waiting_for: str | None = None

    @property
    def ratio(self) -> float:
        """Bytes before over bytes after; 1.0 where nothing was read."""
        return self.bytes_before / self.bytes_after if self.bytes_after else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds to go at the speed so far; None where that cannot be told."""
        if self.done:
            return 0.0
        if self.rows_total is None or not self.rows_seen:
            return None
        return max(0, self.rows_total - self.rows_seen) * self.seconds / self.rows_seen


_callback: ContextVar[Callable[[Progress], None] | None] = ContextVar("sqlcompress_progress", default=None)


@contextmanager
def reporting_to(callback: Callable[[Progress], None]) -> Iterator[None]:
    """Jobs inside the block that have no callback of their own report to ``callback``.

    So that ``with reporting_to(bar): command.upgrade(config, "head")`` shows a bar. The callback is called
    after every batch, by one thread at a time though not always the same, and should return soon.
    """
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


def current_callback() -> Callable[[Progress], None] | None:
    """The callback of the innermost :func:`reporting_to`, or None."""
    return _callback.get()
