"""Which connection does what while an operation runs, and how its rows are rewritten."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.column import Batching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alembic.operations.base import Operations
    from sqlalchemy.engine import Connection, Engine

    from sqlcompress.alembic.settings import ColumnOp
    from sqlcompress.jobs.progress import Progress

_NO_AUTOCOMMIT = (
    'the batches of strategy="rewrite" are committed one by one, and this environment runs all migrations in '
    "a transaction of its own that cannot be interrupted (env.py with engine.begin(), or with a connection "
    'that something was executed on and not committed). Use strategy="atomic", or let env.py use '
    '"with connectable.connect() as connection" and "with context.begin_transaction()", as Alembic\'s own '
    "template does"
)


@contextmanager
def read_only(connection: Connection) -> Iterator[None]:
    """Leave the connection outside a transaction where it was outside before: SQLAlchemy begins one to read.

    Alembic's autocommit block knows the transactions it began itself and stumbles over any other; operations
    called outside ``run_migrations()`` would meet one.
    """
    was_in_transaction = connection.in_transaction()
    yield
    if not was_in_transaction:
        connection.rollback()


def bind_of(operations: Operations) -> Connection:
    """The migration's connection."""
    connection: Connection = operations.get_bind()
    return connection


@contextmanager
def places(
    operations: Operations, schema: str | None, *, atomic: bool
) -> Iterator[tuple[Connection, Engine | Connection]]:
    """Where the type is changed and where rows are rewritten.

    For "rewrite": DDL in Alembic's own autocommit block, which ends the migration's transaction first and
    begins a new one afterwards, so that the version moves only when all is done; rows on connections of their
    own. The migration's connection is never committed by hand: later revisions of the same run would be lost.
    """
    if atomic:
        connection = bind_of(operations)
        yield connection, connection
        return
    block = operations.get_context().autocommit_block()
    try:
        block.__enter__()
    except AssertionError as error:
        raise MigrationBlockedError(_NO_AUTOCOMMIT, (_NO_AUTOCOMMIT,)) from error
    try:
        connection = bind_of(operations)
        shared = alteration_of(connection.dialect).needs_same_connection(connection, schema)
        yield connection, connection if shared else connection.engine
    except BaseException:
        # After a lost connection or Ctrl-C the block cannot be left in order; what ended it says more.
        with suppress(SQLAlchemyError):
            block.__exit__(None, None, None)
        raise
    block.__exit__(None, None, None)


def batching_of(op: ColumnOp, progress: Callable[[Progress], None] | None) -> Batching:
    """How the rows of ``op`` are rewritten."""
    return Batching(
        op.batch_rows,
        op.batch_bytes,
        op.pause_seconds,
        op.workers,
        progress,
        op.lag_seconds,
        op.max_lag_seconds,
        op.where,
    )
