"""``op.drop_compressed_original``: the column that ``strategy="shadow"`` has kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations.ops import MigrateOperation

from sqlcompress.alembic.places import bind_of, places, read_only
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.leftovers import drop_originals

if TYPE_CHECKING:
    from alembic.operations.base import Operations

_LOG = logging.getLogger("alembic.sqlcompress")


class DropCompressedOriginalOp(MigrateOperation):
    """Drop what a shadow migration of a column has kept."""

    name: ClassVar[str] = "drop_compressed_original"

    def __init__(self, table_name: str, column_name: str, *, schema: str | None = None) -> None:
        self.table_name = table_name
        self.column_name = column_name
        self.schema = schema

    @classmethod
    def drop_compressed_original(
        cls, operations: Operations, table_name: str, column_name: str, *, schema: str | None = None
    ) -> None:
        """Drop the column that ``strategy="shadow"`` has kept under another name.

        What it holds is of the time of the migration. Nothing to drop is no error, so that a revision can be
        run again, and run where the table was created compressed.

        Args:
            operations: Given by Alembic.
            table_name: The table.
            column_name: The compressed column, under its own name.
            schema: The table's schema.

        Raises:
            MigrationBlockedError: In ``--sql`` mode.
        """
        operations.invoke(cls(table_name, column_name, schema=schema))

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema, self.table_name, self.column_name)


def drop_kept(operations: Operations, op: DropCompressedOriginalOp) -> None:
    """Drop the kept column of ``op``."""
    if operations.migration_context.as_sql:
        sentence = (
            "drop_compressed_original() looks at the database for what was kept; in a script, drop the "
            "column sqlcompress_original_… by name"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    connection = bind_of(operations)
    with read_only(connection):
        table = catalog_of(connection).table(op.table_name, op.schema)
    with places(operations, table.schema, atomic=False) as (ddl, _):
        dropped = drop_originals(ddl, table, op.column_name)
    if not dropped:
        _LOG.info("%s.%s: no original is kept; nothing to drop", table, op.column_name)
    for name in dropped:
        _LOG.info("%s: dropped %s", table, name)
