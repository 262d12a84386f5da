"""What differs between databases for the benchmark: servers, sizes, rebuilding, backups."""

from __future__ import annotations

from typing import Final

from sqlcompress.bench.databases.base import Database
from sqlcompress.bench.databases.innodb import EncryptedMariaDB, MariaDB, MySQL
from sqlcompress.bench.databases.postgresql import PostgreSQL
from sqlcompress.bench.databases.sqlite import SQLite

__all__ = ["DATABASES", "Database"]

#: By the name on the command line, in the order of a run.
DATABASES: Final[dict[str, type[Database]]] = {
    database.name: database for database in (MariaDB, EncryptedMariaDB, MySQL, PostgreSQL, SQLite)
}
