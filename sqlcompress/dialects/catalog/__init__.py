"""Reading the catalogs, one class for each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.catalog.base import FOR_EACH_ROW, Catalog, FoundKey
from sqlcompress.dialects.catalog.mariadb import MariaDBCatalog
from sqlcompress.dialects.catalog.mysql import MySQLCatalog
from sqlcompress.dialects.catalog.postgresql import PostgreSQLCatalog
from sqlcompress.dialects.catalog.sqlite import SQLiteCatalog
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

__all__ = ["FOR_EACH_ROW", "Catalog", "FoundKey", "catalog_of"]

_BY_NAME: dict[str, type[Catalog]] = {
    "sqlite": SQLiteCatalog,
    "postgresql": PostgreSQLCatalog,
    "mysql": MySQLCatalog,
    "mariadb": MariaDBCatalog,
}


def catalog_of(connection: Connection, *, renames: bool = False) -> Catalog:
    """The catalogs of the database that ``connection`` is to.

    Args:
        connection: A connection to the database.
        renames: The column in question is to give its name to another.

    Raises:
        MigrationBlockedError: Rewriting is not supported on this database.
    """
    name = connection.dialect.name
    # A URL that says mysql may lead to a MariaDB, whose catalogs differ.
    if name == "mysql" and getattr(connection.dialect, "is_mariadb", False):
        name = "mariadb"
    if name not in _BY_NAME:
        sentence = f"rewriting a column is supported on {', '.join(_BY_NAME)}; this is {name}"
        raise MigrationBlockedError(sentence, (sentence,))
    return _BY_NAME[name](connection, renames=renames)
