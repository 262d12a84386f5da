"""``op.recompress_column``: the same values, stored differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.alembic.dry_run import show_plan
from sqlcompress.alembic.log import Logged
from sqlcompress.alembic.places import batching_of, bind_of, places, read_only
from sqlcompress.alembic.settings import ColumnOp
from sqlcompress.compressed import Compressed
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.plan import plan_recompress
from sqlcompress.jobs.recompress import check_recompress, recompress_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from alembic.operations.base import Operations
    from sqlalchemy.types import TypeEngine


class RecompressColumnOp(ColumnOp):
    """Store a compressed column's values with another codec, level or dictionary."""

    name: ClassVar[str] = "recompress_column"

    def __init__(self, table_name: str, column_name: str, *, type_: TypeEngine[Any], **kw: Any) -> None:
        super().__init__(table_name, column_name, type_=type_, **kw)
        if self.strategy == "shadow":
            raise ValueError('recompress_column() changes no type: its strategies are "rewrite" and "atomic"')
        for given in (self.type_, self.existing_type):
            if given is not None and not isinstance(given, Compressed):
                raise TypeError(
                    "recompress_column(type_=…, existing_type=…) takes CompressedText, CompressedJSON or "
                    "CompressedBinary"
                )

    @classmethod
    def recompress_column(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any] | None = None,
        schema: str | None = None,
        strategy: str = "rewrite",
        batch_rows: int = 1000,
        batch_bytes: int = 4_194_304,
        pause_seconds: float = 0.0,
        workers: int = 2,
        lag_seconds: Callable[[], float | None] | None = None,
        max_lag_seconds: float = 5.0,
        where: str | None = None,
        dry_run: bool = False,
    ) -> None:
        """Store a compressed column's values with another codec, level or dictionary, or out of old formats.

        Values are compared byte by byte with what ``type_`` stores, and only those that differ are written.
        Killed at any moment, it goes on from there when ``alembic upgrade`` runs again. Applications may go
        on reading and writing with either type, where both know the dictionaries.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The column.
            type_: How values are to be stored.
            existing_type: How they are read: with its ``legacy`` formats and its dictionary. None for
                ``type_`` itself, which reads every codec.
            schema: The table's schema.
            strategy: ``"rewrite"`` for committed batches, ``"atomic"`` for the migration's own transaction.
            batch_rows: As for ``compress_column``.
            batch_bytes: As for ``compress_column``.
            pause_seconds: As for ``compress_column``.
            workers: As for ``compress_column``.
            lag_seconds: As for ``compress_column``.
            max_lag_seconds: As for ``compress_column``.
            where: A condition in SQL: only these rows, such as those nobody changes any more.
            dry_run: As for ``compress_column``.

        Raises:
            MigrationBlockedError: The column is not compressed; nothing has been changed.
            MigrationFailedError: Rows could not be converted; all others were.
        """
        operations.invoke(
            cls(
                table_name,
                column_name,
                type_=type_,
                existing_type=existing_type,
                schema=schema,
                strategy=strategy,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause_seconds,
                workers=workers,
                lag_seconds=lag_seconds,
                max_lag_seconds=max_lag_seconds,
                where=where,
                dry_run=dry_run,
            )
        )

    def reverse(self) -> RecompressColumnOp:
        """The operation that undoes this one."""
        if self.existing_type is None:
            raise ValueError("recompress_column() without existing_type= cannot be reversed")
        if isinstance(self.existing_type, Compressed) and self.existing_type.legacy:
            raise ValueError("recompress_column() out of legacy formats cannot be reversed")
        return RecompressColumnOp(
            self.table_name,
            self.column_name,
            type_=self.existing_type,
            existing_type=self.type_,
            schema=self.schema,
            **self.settings(),
        )


def recompress(operations: Operations, op: RecompressColumnOp) -> None:
    """Store the column of ``op`` differently."""
    if operations.migration_context.as_sql:
        sentence = (
            f"{op.table_name}.{op.column_name}: a script cannot recompress rows; run this revision "
            "online, or sqlcompress rewrite --recompress"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    connection = bind_of(operations)
    given: Compressed[Any] = op.type_  # type: ignore[assignment]  # the operation has checked both
    given_existing: Compressed[Any] = op.existing_type or given  # type: ignore[assignment]
    with read_only(connection):
        type_ = with_dictionaries(connection, given, op.schema)
        existing = with_dictionaries(connection, given_existing, op.schema)
    if op.dry_run:
        show_plan(
            operations,
            op,
            lambda: plan_recompress(
                connection,
                op.table_name,
                op.column_name,
                type_,
                existing,
                schema=op.schema,
                strategy=op.strategy,
                batching=batching_of(op, None),
            ),
        )
        return
    with read_only(connection):
        table = check_recompress(connection, op.table_name, op.column_name, type_, existing, schema=op.schema)
    atomic = op.strategy == "atomic"
    with (
        places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("recompressed", ddl, table) as log,
    ):
        log.result = recompress_column(
            rows, table, op.column_name, type_, existing, batching_of(op, log.progress), atomic=atomic
        )
