"""What a migration tells in Alembic's log."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.jobs.figures import byte_size
from sqlcompress.jobs.progress import current_callback

if TYPE_CHECKING:
    from types import TracebackType

    from sqlalchemy.engine import Connection
    from typing_extensions import Self

    from sqlcompress.dialects.tables import TableName
    from sqlcompress.jobs.progress import Progress
    from sqlcompress.jobs.rewrite import RewriteResult

# Alembic's stock alembic.ini shows INFO of "alembic".
_LOG = logging.getLogger("alembic.sqlcompress")

# Often enough to see that it moves, seldom enough for a log that is kept.
_SECONDS_BETWEEN_LINES = 5.0


class Logged:
    """Logs progress at most every few seconds, the result, and how the space is given back."""

    def __init__(
        self, verb: str, connection: Connection, table: TableName, *, keeps_original: bool = False
    ) -> None:
        self._keeps_original = keeps_original
        self.result: RewriteResult | None = None
        self._verb = verb
        self._table = table
        self._space = alteration_of(connection.dialect).space_command(table)
        self._next = time.monotonic() + _SECONDS_BETWEEN_LINES
        self._callback = current_callback()
        self._waited_for: str | None = None

    def progress(self, progress: Progress) -> None:
        """Log a line where it is time for one, and tell whoever else listens."""
        if self._callback is not None:
            self._callback(progress)
        if progress.waiting_for is not None:
            if progress.waiting_for != self._waited_for:
                _LOG.info("%s.%s: waiting for %s", progress.table, progress.column, progress.waiting_for)
            self._waited_for = progress.waiting_for
            return
        now = time.monotonic()
        if now < self._next or progress.done:
            return
        self._next = now + _SECONDS_BETWEEN_LINES
        total = "" if progress.rows_total is None else f" of {progress.rows_total:,}"
        left = progress.seconds_left
        _LOG.info(
            "%s.%s: %s%s rows, %s -> %s (ratio %.2f)%s",
            progress.table,
            progress.column,
            f"{progress.rows_seen:,}",
            total,
            byte_size(progress.bytes_before),
            byte_size(progress.bytes_after),
            progress.ratio,
            "" if left is None else f", {left:,.0f} s left",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            _LOG.warning(
                "%s: interrupted; what is done stays done, and the same command goes on from here",
                self._table,
            )
        if self.result is None or kind is not None:
            return
        result = self.result
        _LOG.info(
            "%s: %s %s rows of %s read, %s -> %s, in %.1f s.%s",
            self._table,
            self._verb,
            f"{result.rows_written:,}",
            f"{result.rows_seen:,}",
            byte_size(result.bytes_before),
            byte_size(result.bytes_after),
            result.seconds,
            self._advice() if result.bytes_after < result.bytes_before else "",
        )

    def _advice(self) -> str:
        command = self._space.replace("%%", "%")
        if self._keeps_original:
            return (
                " The original column is kept until op.drop_compressed_original; after that "
                f"{command} gives the space back."
            )
        return f" The files do not shrink by themselves; {command} gives the space back."
