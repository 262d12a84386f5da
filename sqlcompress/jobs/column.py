"""A column compressed or decompressed whole: checks, type change, rows, in the order that survives a kill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

from sqlcompress.dialects.alter import TargetType, alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.rows import rows_of
from sqlcompress.errors import MigrationFailedError
from sqlcompress.jobs.binary import compress_binary, decompress_binary, refuse_where
from sqlcompress.jobs.conversions import Compress, Decompress
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.leftovers import end_begun_shadow, end_other_direction
from sqlcompress.jobs.patience import patiently, session_of
from sqlcompress.jobs.rewrite import RewriteResult, rewrite
from sqlcompress.types import CompressedBinary

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.types import TypeEngine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.alter import Alteration
    from sqlcompress.dialects.tables import Column, TableName
    from sqlcompress.jobs.conversions import Conversion
    from sqlcompress.jobs.progress import Progress

# Passes before the first try to change the type; what is left after them is done under a lock.
_PASSES = 3

_REFUSED = (
    "the rows are plain, or were compressed again by an application that is still running; stop it, or "
    "correct the rows, and run this again"
)
_NOT_CHANGED = "nothing is lost, and the database's own error says why; run this again"


@dataclass(frozen=True)
class Batching:
    """How rows are rewritten.

    Attributes:
        batch_rows: Rows in one transaction at most.
        batch_bytes: Bytes of stored values in one transaction, roughly.
        pause_seconds: Seconds of rest after each batch.
        workers: Threads that rewrite side by side, where the driver and the database allow it.
        progress: Called after each batch.
        lag_seconds: Gives the seconds by which replicas are behind, or None where that is not known; asked
            between batches. None for no such question.
        max_lag_seconds: The job waits while replicas are further behind than this.
        where: A condition in SQL; only these rows are rewritten.
    """

    batch_rows: int = 1000
    batch_bytes: int = 4_194_304
    pause_seconds: float = 0.0
    workers: int = 2
    progress: Callable[[Progress], None] | None = None
    lag_seconds: Callable[[], float | None] | None = None
    max_lag_seconds: float = 5.0
    where: str | None = None


def compress_column(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: Compressed[Any],
    batching: Batching,
    *,
    atomic: bool,
) -> RewriteResult:
    """Make the column binary and its values frames.

    The state is found from the database: what is binary already is not changed again, and rows that are
    framed are left out. A call after a kill goes on where the first stopped.

    Args:
        connection: Where the type is changed: in autocommit, or for ``atomic`` in the open transaction.
        rows_bind: Where rows are rewritten; for ``atomic`` the same connection.
        table: The table, after :func:`~sqlcompress.jobs.preflight.check_compress`.
        column: The column.
        type_: The compressed type.
        batching: How rows are rewritten.
        atomic: All in the open transaction of ``connection``.
    """
    in_steps = isinstance(type_, CompressedBinary) and not atomic
    if in_steps:
        refuse_where(table, column, batching)
    end_begun_shadow(connection, table, column, atomic=atomic)
    alteration = alteration_of(connection.dialect)
    described = catalog_of(connection).column(table, column)
    with alteration.strictly(connection):
        for statement in alteration.to_binary(connection, table, described):
            connection.exec_driver_sql(statement)
    if in_steps:
        in_batches = partial(rewrite_column, rows_bind, table, column, batching=batching)
        result = compress_binary(connection, rows_bind, table, column, type_, batching, in_batches)
    else:
        convert = Compress(type_, each_once=isinstance(type_, CompressedBinary))
        result = rewrite_column(rows_bind, table, column, convert, batching, atomic=atomic)
    end_other_direction(connection, table, column, to_compressed=True, atomic=atomic)
    return result


def decompress_column(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: TypeEngine[Any],
    existing_type: Compressed[Any],
    batching: Batching,
    *,
    atomic: bool,
) -> RewriteResult:
    """Make the column's values plain and give it the plain type: :func:`compress_column` backwards.

    Raises:
        MigrationFailedError: Rows could not be decompressed, or the database refused the type change.
    """
    end_begun_shadow(connection, table, column, atomic=atomic)
    alteration = alteration_of(connection.dialect)
    target = TargetType(type_, connection.dialect)
    is_binary = isinstance(existing_type, CompressedBinary)
    convert = Decompress(existing_type, each_once=is_binary or (atomic and bool(existing_type.legacy)))
    described = catalog_of(connection).column(table, column)
    result = RewriteResult(0, 0, 0, 0, 0.0, 0)
    statements = alteration.to_plain(connection, table, described, target)
    changes = alteration.changes_type and not atomic
    if described.kind == "binary" or not alteration.changes_type:
        # A pass that finds nothing may never come while an application goes on compressing.
        passes = _PASSES if changes else None
        if is_binary and not atomic:
            in_batches = partial(rewrite_column, rows_bind, table, column, batching=batching, passes=passes)
            result = decompress_binary(
                connection, rows_bind, table, column, existing_type, batching, in_batches
            )
        else:
            result = rewrite_column(rows_bind, table, column, convert, batching, atomic=atomic, passes=passes)
    try:
        with alteration.strictly(connection):
            for statement in statements:
                connection.exec_driver_sql(statement)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        # A frame is not valid UTF-8, so the server refuses the type change as long as there is one.
        if is_binary or not changes or not alteration.refuses_the_values(error):
            raise _refused(table, column, target, alteration, error) from error
        described = catalog_of(connection).column(table, column)
        statements = alteration.to_plain(connection, table, described, target)
        _under_lock(connection, rows_bind, table, described, convert, statements, batching, target)
    end_other_direction(connection, table, column, to_compressed=False, atomic=atomic)
    return result


def _under_lock(
    connection: Connection,
    bind: Engine | Connection,
    table: TableName,
    column: Column,
    convert: Decompress,
    statements: list[str],
    batching: Batching,
    target: TargetType,
) -> None:
    """The rows that an application has compressed meanwhile and the type change, with nobody between them.

    The type change copies the table under such a lock anyway.
    """
    alteration = alteration_of(connection.dialect)
    _, _, key = key_of(connection, table.name, column.name, schema=table.schema)
    rows = rows_of(connection, table, column, key)
    with session_of(bind, rows) as session:

        def convert_and_change() -> None:
            with alteration.exclusively(session, table), alteration.strictly(session):
                if column.kind == "binary":
                    rewrite_column(session, table, column.name, convert, batching, atomic=True)
                for statement in statements:
                    session.exec_driver_sql(statement)

        try:
            patiently(rows, session, convert_and_change)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            raise _refused(table, column.name, target, alteration, error) from error


def _refused(
    table: TableName, column: str, target: TargetType, alteration: Alteration, error: DBAPIError
) -> MigrationFailedError:
    why = _REFUSED if alteration.refuses_the_values(error) else _NOT_CHANGED
    return MigrationFailedError(
        f"{table}.{column}: the database refused the change to {target.sql} "
        f"({type(error.orig).__name__}); {why}"
    )


def rewrite_column(
    bind: Engine | Connection,
    table: TableName,
    column: str,
    convert: Conversion,
    batching: Batching,
    *,
    atomic: bool = False,
    target: str | None = None,
    passes: int | None = None,
) -> RewriteResult:
    """The rewrite job with the settings of an operation.

    Args:
        bind: Where rows are rewritten.
        table: The table.
        column: The column.
        convert: What to make of a value.
        batching: How rows are rewritten.
        atomic: In the transaction that is open on ``bind``.
        target: The column that new values go into, where it is another one.
        passes: Passes at most; None for as many as it takes.
    """
    return rewrite(
        bind,
        table.name,
        column,
        schema=table.schema,
        target=target,
        convert=convert,
        batch_rows=batching.batch_rows,
        batch_bytes=batching.batch_bytes,
        pause_seconds=batching.pause_seconds,
        workers=batching.workers,
        own_transactions=not atomic,
        progress=batching.progress,
        lag_seconds=batching.lag_seconds,
        max_lag_seconds=batching.max_lag_seconds,
        where=batching.where,
        passes=passes,
    )
