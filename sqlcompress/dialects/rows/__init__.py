"""Reading and writing a column's rows, one class for each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.rows.base import Change, KeyValue, Row, Rows, StoredAs
from sqlcompress.dialects.rows.mysql import MySQLRows
from sqlcompress.dialects.rows.postgresql import PostgreSQLRows
from sqlcompress.dialects.rows.sqlite import SQLiteRows

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.tables import Column, Key, TableName

__all__ = ["Change", "KeyValue", "Row", "Rows", "StoredAs", "rows_of"]

_BY_NAME: dict[str, type[Rows]] = {
    "sqlite": SQLiteRows,
    "postgresql": PostgreSQLRows,
    "mysql": MySQLRows,
    "mariadb": MySQLRows,
}


def rows_of(
    connection: Connection, table: TableName, column: Column, key: Key, target: Column | None = None
) -> Rows:
    """The rows of ``column``, in the way of the database that ``connection`` is to.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column that is read.
        key: The key to walk by.
        target: The column that is written, where it is another one.
    """
    return _BY_NAME.get(connection.dialect.name, Rows)(connection, table, column, key, target)
