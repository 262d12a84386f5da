"""Binary columns in committed batches: first, or last, the values that begin like a frame, all at once.

Of a plain binary value and a frame the first bytes can be the same. Compressing, the plain values that begin
like a frame are framed in one transaction, with writers kept out, which also leaves the mark that it has
happened. From then on every value that begins like a frame is one, and the others are compressed in batches
that can be interrupted anywhere. Decompressing goes the same way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.jobtable import alone
from sqlcompress.dialects.rows import Change, rows_of
from sqlcompress.errors import DecodeError, MigrationBlockedError, MigrationFailedError
from sqlcompress.frames import is_framed
from sqlcompress.jobs.conversions import Compress, Decompress
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.marks import create_job_table, is_marked, set_mark
from sqlcompress.jobs.pages import PageSize, read_page
from sqlcompress.jobs.patience import patiently, session_of
from sqlcompress.jobs.rewrite import RewriteResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection, Engine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.rows import Rows
    from sqlcompress.dialects.tables import TableName
    from sqlcompress.jobs.column import Batching
    from sqlcompress.jobs.conversions import Conversion
    from sqlcompress.jobs.marks import State

_SHOWN_KEYS = 10


class _InBatches(Protocol):
    def __call__(self, convert: Conversion) -> RewriteResult: ...


class DecompressUnambiguous(Decompress):
    """Frames whose plain value does not begin like a frame: after it nothing tells them from others."""

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion."""
        plain = super().convert(stored)
        return stored if is_framed(plain) else plain


def compress_binary(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: Compressed[Any],
    batching: Batching,
    in_batches: _InBatches,
) -> RewriteResult:
    """Compress a binary column.

    Args:
        connection: A connection in autocommit.
        rows_bind: Where rows are rewritten.
        table: The table; its column is wide enough for frames.
        column: The column.
        type_: The compressed type.
        batching: How rows are rewritten.
        in_batches: Runs the rewrite job with a conversion.

    Raises:
        MigrationBlockedError: The mark is for another table of this name.
        MigrationFailedError: Rows could not be converted.
    """
    first = RewriteResult(0, 0, 0, 0, 0.0, 0)
    if not is_marked(connection, table, column, "framed"):
        convert = Compress(type_, each_once=True)
        first = _at_once(connection, rows_bind, table, column, convert, batching, "framed")
    return _sum(first, in_batches(Compress(type_)))


def decompress_binary(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: Compressed[Any],
    batching: Batching,
    in_batches: _InBatches,
) -> RewriteResult:
    """:func:`compress_binary` backwards; the column keeps its type."""
    if is_marked(connection, table, column, "plain"):
        return RewriteResult(0, 0, 0, 0, 0.0, 0)
    first = in_batches(DecompressUnambiguous(type_))
    convert = Decompress(type_, each_once=True)
    return _sum(first, _at_once(connection, rows_bind, table, column, convert, batching, "plain"))


def refuse_where(table: TableName, column: str, batching: Batching) -> None:
    """Stop a rewrite of some rows of a binary column: nothing could tell which those were.

    Raises:
        MigrationBlockedError: There is a condition.
    """
    if batching.where is not None:
        sentence = f"{table}.{column} is binary, and nothing could tell which rows where= left out; leave it"
        raise MigrationBlockedError(sentence, (sentence,))


def _at_once(
    connection: Connection,
    bind: Engine | Connection,
    table: TableName,
    column: str,
    convert: Compress | Decompress,
    batching: Batching,
    state: State,
) -> RewriteResult:
    """Convert all values that begin like a frame, and set the mark."""
    job = create_job_table(connection, table.schema)
    _, _, key = key_of(connection, table.name, column, schema=table.schema)
    rows = rows_of(connection, table, catalog_of(connection).column(table, column), key)
    rows.todo = rows.framed_sql()
    size = PageSize(batching.batch_rows, batching.batch_bytes, rows.statement_bytes)
    with session_of(bind, rows) as session:

        def work() -> RewriteResult:
            with alone(rows, session, job):
                result = _every_page(session, rows, convert.convert, size)
                set_mark(session, table, column, state)
            return result

        return patiently(rows, session, work)


def _every_page(
    session: Connection, rows: Rows, convert: Callable[[bytes], bytes], size: PageSize
) -> RewriteResult:
    failures: list[tuple[object, str]] = []
    seen = before = after = 0
    last = None
    while page := read_page(session, rows, size, last, None, lock=False):
        last = page[-1].key
        changes = []
        for row in page:
            key = row.key[0] if len(row.key) == 1 else row.key
            if row.value is None:
                failures.append((key, "longer than max_allowed_packet"))
                continue
            try:
                changes.append(Change(row.key, convert(row.value)))
            except DecodeError as error:
                failures.append((key, type(error).__name__))
                continue
            seen += 1
            before += row.size
            after += len(changes[-1].value or b"")
        # After a failure all is undone, and the rest is read to name every row.
        if changes and not failures:
            matched = rows.write(session, changes)
            if matched not in {-1, len(changes)}:
                raise MigrationFailedError(
                    f"{rows.table}: {len(changes)} rows were written and the server reports {matched}; "
                    "the transaction was undone"
                )
    if failures:
        listed = "; ".join(f"{key!r} ({reason})" for key, reason in failures[:_SHOWN_KEYS])
        more = len(failures) - _SHOWN_KEYS
        raise MigrationFailedError(
            f"{rows.table}.{rows.column.name}: {len(failures):,} rows whose values begin like a frame could "
            f"not be converted, so none of that kind was. By key: {listed}"
            f"{f'; and {more:,} more' if more > 0 else ''}. Mend or delete these rows and run the migration "
            "again; it goes on from here.",
            tuple(key for key, _ in failures[:_SHOWN_KEYS]),
        )
    return RewriteResult(seen, seen, before, after, 0.0, 1)


def _sum(one: RewriteResult, other: RewriteResult) -> RewriteResult:
    return RewriteResult(
        one.rows_seen + other.rows_seen,
        one.rows_written + other.rows_written,
        one.bytes_before + other.bytes_before,
        one.bytes_after + other.bytes_after,
        one.seconds + other.seconds,
        one.passes + other.passes,
    )
