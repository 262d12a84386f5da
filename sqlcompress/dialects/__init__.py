"""What differs between databases, one small class for each."""

from __future__ import annotations

from sqlcompress.dialects.base import Database
from sqlcompress.dialects.mssql import SQLServer
from sqlcompress.dialects.mysql import MariaDB, MySQL
from sqlcompress.dialects.oracle import Oracle
from sqlcompress.dialects.postgresql import PostgreSQL
from sqlcompress.dialects.sqlite import SQLite

__all__ = ["Database", "database_of"]

_BY_NAME: dict[str, Database] = {
    database.name: database
    for database in (SQLite(), PostgreSQL(), MySQL(), MariaDB(), SQLServer(), Oracle())
}
_OTHER = Database()


def database_of(name: str) -> Database:
    """The description of the database whose SQLAlchemy dialect is called ``name``.

    A dialect that is not known gets the general description: LargeBinary columns, values passed through
    the dialect's own binary type, standard SQL hex literals.
    """
    return _BY_NAME.get(name, _OTHER)
