"""The operations on a live database: which connection does what, and what the log says."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import LargeBinary, _Binary

from sqlcompress.alembic.log import Logged
from sqlcompress.dialects.alter import alteration_of
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.column import Batching, compress_column, decompress_column
from sqlcompress.jobs.preflight import check_compress, check_decompress
from sqlcompress.types import CompressedBinary, CompressedJSON, CompressedText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.operations.base import Operations
    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.types import TypeEngine

    from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
    from sqlcompress.compressed import Compressed

_NO_AUTOCOMMIT = (
    'the batches of strategy="rewrite" are committed one by one, and this environment runs all migrations in '
    "a transaction of its own that cannot be interrupted (env.py with engine.begin(), or with a connection "
    'that something was executed on and not committed). Use strategy="atomic", or let env.py use '
    '"with connectable.connect() as connection" and "with context.begin_transaction()", as Alembic\'s own '
    "template does"
)


def compress_online(operations: Operations, op: CompressColumnOp) -> None:
    """Compress the column of ``op``."""
    atomic = op.strategy == "atomic"
    connection = _bind(operations)
    type_: Compressed[Any] = op.type_  # type: ignore[assignment]  # the operation has checked it
    with _read_only(connection):
        table, _ = check_compress(
            connection, op.table_name, op.column_name, type_, schema=op.schema, atomic=atomic
        )
    with (
        _places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("compressed", ddl, table) as log,
    ):
        log.result = compress_column(
            ddl, rows, table, op.column_name, type_, _batching(op, log), atomic=atomic
        )


def decompress_online(operations: Operations, op: DecompressColumnOp) -> None:
    """Decompress the column of ``op``."""
    atomic = op.strategy == "atomic"
    connection = _bind(operations)
    existing: Compressed[Any] = op.existing_type or _reading(op.type_, connection)  # type: ignore[assignment]
    with _read_only(connection):
        table, _ = check_decompress(
            connection, op.table_name, op.column_name, op.type_, existing, schema=op.schema, atomic=atomic
        )
    with (
        _places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("decompressed", ddl, table) as log,
    ):
        log.result = decompress_column(
            ddl, rows, table, op.column_name, op.type_, existing, _batching(op, log), atomic=atomic
        )


@contextmanager
def _read_only(connection: Connection) -> Iterator[None]:
    """Leave the connection outside a transaction where it was outside before: SQLAlchemy begins one to read.

    Alembic's autocommit block knows the transactions it began itself and stumbles over any other; operations
    called outside ``run_migrations()`` would meet one.
    """
    was_in_transaction = connection.in_transaction()
    yield
    if not was_in_transaction:
        connection.rollback()


def _bind(operations: Operations) -> Connection:
    connection: Connection = operations.get_bind()
    return connection


def _reading(type_: TypeEngine[Any], connection: Connection) -> TypeEngine[Any]:
    """A compressed type that reads what a column of the plain ``type_`` was compressed from."""
    plain = type_.dialect_impl(connection.dialect)
    if isinstance(plain, JSON):
        return CompressedJSON()
    return CompressedBinary() if isinstance(plain, (LargeBinary, _Binary)) else CompressedText()


def _batching(op: CompressColumnOp | DecompressColumnOp, log: Logged) -> Batching:
    return Batching(op.batch_rows, op.batch_bytes, op.pause_seconds, op.workers, log.progress)


@contextmanager
def _places(
    operations: Operations, schema: str | None, *, atomic: bool
) -> Iterator[tuple[Connection, Engine | Connection]]:
    """Where the type is changed and where rows are rewritten.

    For "rewrite": DDL in Alembic's own autocommit block, which ends the migration's transaction first and
    begins a new one afterwards, so that the version moves only when all is done; rows on connections of their
    own. The migration's connection is never committed by hand: later revisions of the same run would be lost.
    """
    if atomic:
        connection = _bind(operations)
        yield connection, connection
        return
    block = operations.get_context().autocommit_block()
    try:
        block.__enter__()
    except AssertionError as error:
        raise MigrationBlockedError(_NO_AUTOCOMMIT, (_NO_AUTOCOMMIT,)) from error
    try:
        connection = _bind(operations)
        shared = alteration_of(connection.dialect).needs_same_connection(connection, schema)
        yield connection, connection if shared else connection.engine
    except BaseException:
        # After a lost connection or Ctrl-C the block cannot be left in order; what ended it says more.
        with suppress(SQLAlchemyError):
            block.__exit__(None, None, None)
        raise
    block.__exit__(None, None, None)
