"""What a job has seen, written and failed at, counted over all its workers."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from sqlcompress.jobs.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

# A report that names more keys helps nobody, and a job over bad data must not eat the memory.
MAX_KEYS = 100


class Tally:
    """Counters of one job; safe to use from its workers."""

    def __init__(self, table: str, column: str, callback: Callable[[Progress], None] | None) -> None:
        self.table = table
        self.column = column
        self.rows_total: int | None = None
        self.rows_seen = 0
        self.rows_written = 0
        self.rows_failed = 0
        self.bytes_before = 0
        self.bytes_after = 0
        self.failures: dict[object, str] = {}
        self.waiting_for: str | None = None
        self._first_pass = True
        self._begun = time.monotonic()
        self._callback = callback
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds since the job began."""
        return time.monotonic() - self._begun

    def begin_pass(self) -> int:
        """Forget what failed, since it is tried again; rows written before this pass."""
        self._first_pass = not self.rows_seen
        self.failures.clear()
        self.rows_failed = 0
        return self.rows_written

    def batch(
        self, *, seen: int, written: int, before: int, after: int, written_before: int, written_after: int
    ) -> None:
        """Count a committed batch and report.

        Args:
            seen: Rows read.
            written: Rows that got a new value.
            before: Bytes of the values read.
            after: Bytes of the same values now.
            written_before: Bytes of the values that were replaced.
            written_after: Bytes of the values that replaced them.
        """
        with self._lock:
            if self._first_pass:
                self.rows_seen += seen
                self.bytes_before += before
                self.bytes_after += after
            else:
                # What an earlier pass saw and left is met again; only what is new to be done counts.
                self.rows_seen += written
                self.bytes_before += written_before
                self.bytes_after += written_after
            self.rows_written += written
            self._report(done=False)

    def failed(self, key: object, reason: str) -> None:
        """Count a row that is left as it was."""
        with self._lock:
            self.rows_failed += 1
            if len(self.failures) < MAX_KEYS:
                self.failures[key] = reason

    def waiting(self, what: str | None) -> None:
        """Report that the job waits, or goes on."""
        with self._lock:
            self.waiting_for = what
            if what is not None:
                self._report(done=False)

    def finish(self) -> None:
        """Report for the last time."""
        with self._lock:
            self._report(done=True)

    def failure_message(self) -> str:
        """What went wrong, for an error: counts, reasons and some keys, no values."""
        shown = list(self.failures.items())[:10]
        listed = "; ".join(f"{key!r} ({reason})" for key, reason in shown)
        more = f"; and {self.rows_failed - len(shown):,} more" if self.rows_failed > len(shown) else ""
        return (
            f"{self.table}.{self.column}: {self.rows_failed:,} rows could not be converted and were left as "
            f"they were, {self.rows_written:,} were converted. By key: {listed}{more}. "
            "Mend or delete these rows and run the migration again; it goes on from here."
        )

    def _report(self, *, done: bool) -> None:
        if self._callback is not None:
            total = self.rows_seen if done else self.rows_total
            if total is not None:
                total = max(total, self.rows_seen)
            self._callback(
                Progress(
                    self.table,
                    self.column,
                    self.rows_seen,
                    total,
                    self.rows_written,
                    self.rows_failed,
                    self.bytes_before,
                    self.bytes_after,
                    self.seconds,
                    done,
                    self.waiting_for,
                )
            )
