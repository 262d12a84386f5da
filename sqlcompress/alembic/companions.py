"""``op.add_digest`` and ``op.add_extracted``: companion columns of a table that has rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations import ops as alembic_ops
from sqlalchemy import Column
from sqlalchemy.types import to_instance

from sqlcompress.alembic.log import Logged
from sqlcompress.alembic.places import batching_of, bind_of, places, read_only
from sqlcompress.alembic.settings import ColumnOp
from sqlcompress.companions import Digest, Extraction, companion_of, path_of
from sqlcompress.compressed import Compressed
from sqlcompress.dialects.digesttype import digest_type
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.column import rewrite_column
from sqlcompress.jobs.fill import Fill, check_fill, digest_bytes, path_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from alembic.operations.base import Operations
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

    from sqlcompress.companions import Companion


class AddCompanionOp(ColumnOp):
    """Add a companion column, where it is not there yet, and fill it.

    Args:
        table_name: The table.
        column_name: The compressed column.
        companion_name: The companion.
        companion: What it is.
        type_: The companion's type.
        existing_type: The compressed type.
        schema: The table's schema.
        is_there: Whether an operation before this one adds the column, and takes it back.
        settings: As for `ColumnOp`.
    """

    def __init__(
        self,
        table_name: str,
        column_name: str,
        companion_name: str,
        companion: Companion,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any],
        schema: str | None = None,
        is_there: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(
            table_name, column_name, type_=type_, existing_type=existing_type, schema=schema, **settings
        )
        self.companion_name = companion_name
        self.companion = companion
        self._is_there = is_there
        if self.strategy == "shadow":
            raise ValueError(f'{self.name}() adds a column: its strategies are "rewrite" and "atomic"')
        if not isinstance(self.existing_type, Compressed):
            raise TypeError(f"{self.name}(existing_type=…) takes the compressed type of the column")
        companion.check(self.existing_type, self.type_)

    def reverse(self) -> alembic_ops.MigrateOperation:
        """The operation that undoes this one; an empty one where another does."""
        if self._is_there:
            return alembic_ops.ModifyTableOps(self.table_name, [], schema=self.schema)
        return alembic_ops.DropColumnOp(self.table_name, self.companion_name, schema=self.schema)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema, self.table_name, self.column_name, self.companion_name)


class AddDigestOp(AddCompanionOp):
    """Of a digest."""

    name: ClassVar[str] = "add_digest"

    @classmethod
    def add_digest(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        digest_name: str,
        *,
        existing_type: TypeEngine[Any],
        schema: str | None = None,
        strategy: str = "rewrite",
        batch_rows: int = 1000,
        batch_bytes: int = 4_194_304,
        pause_seconds: float = 0.0,
        workers: int = 2,
        lag_seconds: Callable[[], float | None] | None = None,
        max_lag_seconds: float = 5.0,
    ) -> None:
        """Add a column with the digest of a compressed one, and fill it in committed batches.

        Applications have to write the digest before this fills it: let the model have
        ``digest_of(…, filled=False)`` and add the column first, or let nobody write meanwhile. Killed at any
        moment, it goes on from there when ``alembic upgrade`` runs again; rows that have a digest are left
        alone. An index or unique constraint is built with Alembic's own operations.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The compressed column.
            digest_name: The new column; one that is there already is filled.
            existing_type: The compressed type: CompressedText or CompressedBinary.
            schema: The table's schema.
            strategy: ``"rewrite"`` for committed batches, ``"atomic"`` for the migration's own transaction.
            batch_rows: As for ``compress_column``.
            batch_bytes: As for ``compress_column``.
            pause_seconds: As for ``compress_column``.
            workers: As for ``compress_column``.
            lag_seconds: As for ``compress_column``.
            max_lag_seconds: As for ``compress_column``.

        Raises:
            MigrationBlockedError: There is no such column, or no key to walk by; nothing has been changed.
            MigrationFailedError: Values could not be read; all others were filled.
        """
        operations.invoke(
            cls(
                table_name,
                column_name,
                digest_name,
                Digest(column_name, filled=True),
                type_=digest_type(),
                existing_type=existing_type,
                schema=schema,
                strategy=strategy,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause_seconds,
                workers=workers,
                lag_seconds=lag_seconds,
                max_lag_seconds=max_lag_seconds,
            )
        )


class AddExtractedOp(AddCompanionOp):
    """Of what stands at a path."""

    name: ClassVar[str] = "add_extracted"

    @classmethod
    def add_extracted(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        extracted_name: str,
        path: Any,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any],
        schema: str | None = None,
        strategy: str = "rewrite",
        batch_rows: int = 1000,
        batch_bytes: int = 4_194_304,
        pause_seconds: float = 0.0,
        workers: int = 2,
        lag_seconds: Callable[[], float | None] | None = None,
        max_lag_seconds: float = 5.0,
    ) -> None:
        """Add a column with what stands at a path of a compressed document, and fill it in committed batches.

        As for ``add_digest``. Documents that have something of another type at the path are counted and
        reported by key; all others are filled.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The compressed column.
            extracted_name: The new column; one that is there already is filled.
            path: A key, an index, or a tuple of them.
            type_: The new column's type.
            existing_type: The compressed type: CompressedJSON.
            schema: The table's schema.
            strategy: As for ``add_digest``.
            batch_rows: As for ``compress_column``.
            batch_bytes: As for ``compress_column``.
            pause_seconds: As for ``compress_column``.
            workers: As for ``compress_column``.
            lag_seconds: As for ``compress_column``.
            max_lag_seconds: As for ``compress_column``.

        Raises:
            MigrationBlockedError: As for ``add_digest``.
            MigrationFailedError: Documents could not be read, or have something else at the path.
        """
        operations.invoke(
            cls(
                table_name,
                column_name,
                extracted_name,
                Extraction(column_name, filled=True, path=path_of(path)),
                type_=to_instance(type_),
                existing_type=existing_type,
                schema=schema,
                strategy=strategy,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause_seconds,
                workers=workers,
                lag_seconds=lag_seconds,
                max_lag_seconds=max_lag_seconds,
            )
        )


def fill_of(
    op: alembic_ops.AddColumnOp, column: Column[Any], dialect: Dialect
) -> AddDigestOp | AddExtractedOp | None:
    """What has to follow where a column of a model is added to a table with rows.

    None for a column that is no companion, and for one that the model does not take for filled.
    """
    companion = companion_of(column)
    if companion is None or not companion.filled or column.table is None:
        return None
    source = column.table.c[companion.source]
    existing_type = source.type.dialect_impl(dialect)
    if not isinstance(existing_type, Compressed):
        return None
    kind = AddDigestOp if isinstance(companion, Digest) else AddExtractedOp
    return kind(
        str(op.table_name),
        str(source.name),
        str(column.name),
        companion,
        type_=column.type,
        existing_type=existing_type,
        schema=None if op.schema is None else str(op.schema),
        is_there=True,
    )


def add_companion(operations: Operations, op: AddCompanionOp) -> None:
    """Add and fill the column of ``op``."""
    if operations.migration_context.as_sql:
        sentence = (
            f"{op.table_name}.{op.companion_name}: a script cannot compute what a companion column holds; run"
            " this revision online"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    connection = bind_of(operations)
    given: Compressed[Any] = op.existing_type  # type: ignore[assignment]  # the operation has checked it
    with read_only(connection):
        type_ = with_dictionaries(connection, given, op.schema)
        table, is_there = check_fill(
            connection, op.table_name, op.column_name, op.companion_name, schema=op.schema
        )
    is_digest = isinstance(op.companion, Digest)
    if isinstance(op.companion, Extraction):
        compute = path_bytes(op.companion.path, op.type_.python_type)
    else:
        compute = digest_bytes
    convert = Fill(type_, compute, is_binary=is_digest)
    atomic = op.strategy == "atomic"
    with (
        places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("filled", ddl, table) as log,
    ):
        if not is_there:
            operations.add_column(op.table_name, Column(op.companion_name, op.type_), schema=op.schema)
        log.result = rewrite_column(
            rows,
            table,
            op.column_name,
            convert,
            batching_of(op, log.progress),
            atomic=atomic,
            target=op.companion_name,
        )
