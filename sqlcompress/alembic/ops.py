"""``op.compress_column`` and ``op.decompress_column``; registers these and the other operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations.base import Operations

from sqlcompress.alembic.batch import register as register_in_batch
from sqlcompress.alembic.companions import AddDigestOp, AddExtractedOp, add_companion
from sqlcompress.alembic.dictionaries import (
    CreateDictionaryTableOp,
    DropDictionaryTableOp,
    TrainDictionaryOp,
    create_table,
    drop_table,
    train_dictionary,
)
from sqlcompress.alembic.functions import (
    CreateDecompressFunctionOp,
    DropDecompressFunctionOp,
    create_function,
    drop_function,
)
from sqlcompress.alembic.kept import DropCompressedOriginalOp, drop_kept
from sqlcompress.alembic.online import compress_online, decompress_online
from sqlcompress.alembic.recompress import RecompressColumnOp, recompress
from sqlcompress.alembic.script import compress_in_script, refuse_in_script
from sqlcompress.alembic.settings import ColumnOp
from sqlcompress.compressed import Compressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine


class CompressColumnOp(ColumnOp):
    """Turn a plain column into a compressed one."""

    name: ClassVar[str] = "compress_column"

    def __init__(self, table_name: str, column_name: str, *, type_: TypeEngine[Any], **kw: Any) -> None:
        super().__init__(table_name, column_name, type_=type_, **kw)
        if not isinstance(self.type_, Compressed):
            raise TypeError(
                "compress_column(type_=…) takes CompressedText, CompressedJSON or CompressedBinary"
            )

    @classmethod
    def compress_column(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any] | None = None,
        existing_nullable: bool | None = None,
        schema: str | None = None,
        strategy: str = "rewrite",
        batch_rows: int = 1000,
        batch_bytes: int = 4_194_304,
        pause_seconds: float = 0.0,
        workers: int = 2,
        lag_seconds: Callable[[], float | None] | None = None,
        max_lag_seconds: float = 5.0,
        where: str | None = None,
        drop_original: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Turn a plain column into a compressed one, type and rows.

        Killed at any moment, it goes on from there when ``alembic upgrade`` runs again.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The column.
            type_: The compressed type.
            existing_type: The plain type, for ``--sql`` mode and for reversing; online the database tells.
            existing_nullable: Needed in ``--sql`` mode on MySQL and MariaDB only.
            schema: The table's schema.
            strategy: ``"rewrite"`` changes the type, then rewrites the rows in committed batches;
                ``"shadow"`` fills a second column and swaps the two in a moment, for tables that must not
                stop; ``"atomic"`` does all in the migration's own transaction, for small tables.
            batch_rows: Rows in one transaction at most, 1 to 10,000.
            batch_bytes: Bytes of stored values in one transaction, roughly. 4 MiB: larger batches were no
                faster, and locks are held longer.
            pause_seconds: Seconds of rest after each batch, for replicas and other writers.
            workers: Threads that rewrite side by side; synchronous drivers on servers only.
            lag_seconds: A function that gives the seconds by which replicas are behind, None where that is
                not known; asked between batches.
            max_lag_seconds: The job waits while they are further behind than this, or it is not known.
            where: A condition in SQL: only these rows are compressed. The others stay plain, which the
                compressed types read; ``strategy="rewrite"`` only.
            drop_original: Drop the plain column at the end of ``strategy="shadow"`` instead of keeping it
                until ``op.drop_compressed_original``.
            dry_run: Print what would be done, and change nothing. Under ``alembic upgrade`` the command ends
                there, so that the revision does not count as applied.

        Raises:
            MigrationBlockedError: Something would be lost, changed or broken; nothing has been changed.
            MigrationFailedError: Rows could not be converted; all others were.
        """
        operations.invoke(
            cls(
                table_name,
                column_name,
                type_=type_,
                existing_type=existing_type,
                existing_nullable=existing_nullable,
                schema=schema,
                strategy=strategy,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause_seconds,
                workers=workers,
                lag_seconds=lag_seconds,
                max_lag_seconds=max_lag_seconds,
                where=where,
                drop_original=drop_original,
                dry_run=dry_run,
            )
        )

    def reverse(self) -> DecompressColumnOp:
        """The operation that undoes this one."""
        if self.existing_type is None:
            raise ValueError("compress_column() without existing_type= cannot be reversed")
        return DecompressColumnOp(
            self.table_name,
            self.column_name,
            type_=self.existing_type,
            existing_type=_without_legacy(self.type_),
            existing_nullable=self.existing_nullable,
            schema=self.schema,
            # Whatever was left out on the way here, everything goes back.
            **(self.settings() | {"where": None}),
        )


class DecompressColumnOp(ColumnOp):
    """Turn a compressed column into a plain one."""

    name: ClassVar[str] = "decompress_column"

    def __init__(self, table_name: str, column_name: str, *, type_: TypeEngine[Any], **kw: Any) -> None:
        super().__init__(table_name, column_name, type_=type_, **kw)
        if self.where is not None:
            raise ValueError("decompress_column() takes no where=: the type changes for all rows")
        if isinstance(self.type_, Compressed):
            raise TypeError(
                "decompress_column(type_=…) takes the plain type, existing_type= the compressed one"
            )
        if self.existing_type is not None and not isinstance(self.existing_type, Compressed):
            raise TypeError("decompress_column(existing_type=…) takes the compressed type")

    @classmethod
    def decompress_column(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any] | None = None,
        existing_nullable: bool | None = None,
        schema: str | None = None,
        strategy: str = "rewrite",
        batch_rows: int = 1000,
        batch_bytes: int = 4_194_304,
        pause_seconds: float = 0.0,
        workers: int = 2,
        lag_seconds: Callable[[], float | None] | None = None,
        max_lag_seconds: float = 5.0,
        drop_original: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Turn a compressed column into a plain one: the reverse of ``compress_column``.

        Every row is decoded and measured against ``type_`` before anything changes.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The column.
            type_: The plain type the column gets.
            existing_type: The compressed type it has; None for one with default settings, which reads
                every codec without a dictionary.
            existing_nullable: As for ``compress_column``.
            schema: The table's schema.
            strategy: As for ``compress_column``.
            batch_rows: As for ``compress_column``.
            batch_bytes: As for ``compress_column``.
            pause_seconds: As for ``compress_column``.
            workers: As for ``compress_column``.
            lag_seconds: As for ``compress_column``.
            max_lag_seconds: As for ``compress_column``.
            drop_original: Drop the compressed column at the end of ``strategy="shadow"``.
            dry_run: As for ``compress_column``.

        Raises:
            MigrationBlockedError: A value does not fit, or something would be lost; nothing was changed.
            MigrationFailedError: Rows could not be converted, or an application went on compressing them.
        """
        operations.invoke(
            cls(
                table_name,
                column_name,
                type_=type_,
                existing_type=existing_type,
                existing_nullable=existing_nullable,
                schema=schema,
                strategy=strategy,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause_seconds,
                workers=workers,
                lag_seconds=lag_seconds,
                max_lag_seconds=max_lag_seconds,
                drop_original=drop_original,
                dry_run=dry_run,
            )
        )

    def reverse(self) -> CompressColumnOp:
        """The operation that undoes this one."""
        if self.existing_type is None:
            raise ValueError("decompress_column() without existing_type= cannot be reversed")
        return CompressColumnOp(
            self.table_name,
            self.column_name,
            type_=self.existing_type,
            existing_type=self.type_,
            existing_nullable=self.existing_nullable,
            schema=self.schema,
            **self.settings(),
        )


def _without_legacy(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """The type that reads what ``type_`` has compressed: values in legacy formats are frames by then."""
    if not isinstance(type_, Compressed) or not type_.legacy:
        return type_
    copied = type_.copy()
    copied.legacy = ()
    return copied


def _compress(operations: Operations, operation: CompressColumnOp) -> None:
    if operations.migration_context.as_sql:
        compress_in_script(operations, operation)
    else:
        compress_online(operations, operation)


def _decompress(operations: Operations, operation: DecompressColumnOp) -> None:
    if operations.migration_context.as_sql:
        refuse_in_script(operation)
    else:
        decompress_online(operations, operation)


def register() -> None:
    """Give ``op`` the operations; again without effect."""
    if hasattr(Operations, "compress_column"):
        return
    for op, run in (
        (CompressColumnOp, _compress),
        (DecompressColumnOp, _decompress),
        (RecompressColumnOp, recompress),
        (DropCompressedOriginalOp, drop_kept),
        (CreateDictionaryTableOp, create_table),
        (DropDictionaryTableOp, drop_table),
        (TrainDictionaryOp, train_dictionary),
        (AddDigestOp, add_companion),
        (AddExtractedOp, add_companion),
        (CreateDecompressFunctionOp, create_function),
        (DropDecompressFunctionOp, drop_function),
    ):
        Operations.register_operation(op.name)(op)
        Operations.implementation_for(op)(run)
    register_in_batch()


register()
