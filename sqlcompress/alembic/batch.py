"""The operations inside ``with op.batch_alter_table(…) as batch``: before its steps, not among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alembic.operations.base import BatchOperations

from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from alembic.operations.base import Operations


class InBatch:
    """The operations without the table's name and schema, which the block knows.

    Alembic collects the steps of a block and runs them at its end; ours commit batches of rows and run at
    once. So that the steps happen in the order they are written in, ours come first.
    """

    @classmethod
    def batch_compress_column(cls, operations: BatchOperations, column_name: str, **settings: Any) -> None:
        """``op.compress_column`` for the table of the block, before its other steps.

        Args:
            operations: Given by Alembic.
            column_name: The column.
            settings: As for ``op.compress_column``.

        Raises:
            MigrationBlockedError: Other steps come before it in the block.
        """
        cls._run("compress_column", operations, column_name, settings)

    @classmethod
    def batch_decompress_column(cls, operations: BatchOperations, column_name: str, **settings: Any) -> None:
        """``op.decompress_column``, likewise."""
        cls._run("decompress_column", operations, column_name, settings)

    @classmethod
    def batch_recompress_column(cls, operations: BatchOperations, column_name: str, **settings: Any) -> None:
        """``op.recompress_column``, likewise."""
        cls._run("recompress_column", operations, column_name, settings)

    @classmethod
    def batch_drop_compressed_original(cls, operations: BatchOperations, column_name: str) -> None:
        """``op.drop_compressed_original``, likewise."""
        cls._run("drop_compressed_original", operations, column_name, {})

    @staticmethod
    def _run(name: str, operations: BatchOperations, column_name: str, settings: dict[str, Any]) -> None:
        block = operations.impl
        if block.batch:
            sentence = (
                f"{name}() of {block.table_name}.{column_name} comes after other steps of its "
                "batch_alter_table block, which Alembic runs at the end of the block: put it first in the "
                f"block, or after the block as op.{name}({block.table_name!r}, {column_name!r}, …)"
            )
            raise MigrationBlockedError(sentence, (sentence,))
        outer: Operations = block.operations
        getattr(outer, name)(block.table_name, column_name, schema=block.schema, **settings)


def register() -> None:
    """Give the blocks the operations."""
    for name in ("compress_column", "decompress_column", "recompress_column", "drop_compressed_original"):
        BatchOperations.register_operation(name, f"batch_{name}")(InBatch)
