"""The key a table is walked by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.tables import Column, Key, TableName


def key_of(
    connection: Connection,
    table: str,
    column: str,
    *,
    schema: str | None = None,
    lasting: bool = False,
) -> tuple[TableName, Column, Key]:
    """The table and column as the catalogs have them, and the key to walk by.

    The primary key comes first, then a unique index over columns that are NOT NULL; on SQLite the rowid
    where the table has one. The column itself is never part of it.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column to be rewritten.
        schema: The table's schema.
        lasting: Only a key that a row keeps as long as nobody updates it.

    Raises:
        MigrationBlockedError: The table or column is not there, or there is no such key.
    """
    catalog = catalog_of(connection)
    found = catalog.table(table, schema)
    described = catalog.column(found, column)
    keys = catalog.keys(found)
    reasons = []
    for key in keys:
        reason = catalog.key_trouble(key, described)
        if lasting and not key.is_lasting:
            reason = "its rows have no lasting number of their own"
        if reason is None:
            return found, described, key.key
        reasons.append(reason)
    why = (
        "; ".join(reasons)
        if reasons
        else "it has neither a primary key nor a unique index over NOT NULL columns"
    )
    raise MigrationBlockedError(
        f"{found} cannot be walked by a key: {why}. Give the table a primary key, or rewrite it with "
        'strategy="atomic" once it has one.',
        (f"no usable key: {why}",),
    )
