"""How each database measures the demonstration's tables, and gives freed space back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from sqlalchemy import Connection, Engine, inspect, text

from sqlcompress.demo.models import TABLES
from sqlcompress.errors import SqlcompressError

VERSION_TABLE = "alembic_version"


class DemoDatabase(ABC):
    """What the demonstration asks of a database in its own SQL.

    Attributes:
        title: The database's own name.
        measure: What ``storage_bytes`` counts, in words.
        compaction: The command that gives freed space back to the system.
        plain_bytes: The SQL expression for the bytes of a value in the plain column.
        stored_bytes: The SQL expression for the bytes of a value in the compressed column.
    """

    title: ClassVar[str]
    measure: ClassVar[str]
    compaction: ClassVar[str]
    plain_bytes: ClassVar[str] = "LENGTH({column})"
    stored_bytes: ClassVar[str] = "LENGTH({column})"

    @abstractmethod
    def storage_bytes(self, connection: Connection) -> int:
        """Bytes on disk."""

    @abstractmethod
    def compact(self, engine: Engine) -> bool:
        """Give the freed space of our own tables back; False where that would touch a user's tables."""


class SQLite(DemoDatabase):
    """One file."""

    title: ClassVar[str] = "SQLite"
    measure: ClassVar[str] = "database file"
    compaction: ClassVar[str] = "VACUUM"
    # LENGTH counts the characters of a text.
    plain_bytes: ClassVar[str] = "LENGTH(CAST({column} AS BLOB))"
    stored_bytes: ClassVar[str] = "LENGTH(CAST({column} AS BLOB))"

    def storage_bytes(self, connection: Connection) -> int:
        """The size of the file, pages that are free included."""
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        return int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())

    def compact(self, engine: Engine) -> bool:
        """VACUUM, which knows no single table: only where all tables are ours."""
        if not set(inspect(engine).get_table_names()) <= {*TABLES, VERSION_TABLE}:
            return False
        _execute_outside_transaction(engine, "VACUUM")
        return True


class PostgreSQL(DemoDatabase):
    """Files for each table, its indexes and its TOAST table."""

    title: ClassVar[str] = "PostgreSQL"
    measure: ClassVar[str] = "tables with indexes and TOAST"
    compaction: ClassVar[str] = "VACUUM FULL"
    plain_bytes: ClassVar[str] = "OCTET_LENGTH(CAST({column} AS TEXT))"

    def storage_bytes(self, connection: Connection) -> int:
        """Both tables with all that belongs to them."""
        size = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")
        return sum(int(connection.execute(size, {"name": table}).scalar_one()) for table in TABLES)

    def compact(self, engine: Engine) -> bool:
        """VACUUM FULL of both tables."""
        _execute_outside_transaction(engine, *(f"VACUUM (FULL, ANALYZE) {table}" for table in TABLES))
        return True


class MariaDB(DemoDatabase):
    """A tablespace for each table."""

    title: ClassVar[str] = "MariaDB"
    measure: ClassVar[str] = "tables by the catalog"
    compaction: ClassVar[str] = "OPTIMIZE TABLE"

    def storage_bytes(self, connection: Connection) -> int:
        """Data, indexes and free space of both tables, after a fresh count."""
        connection.exec_driver_sql(f"ANALYZE TABLE {', '.join(TABLES)}").all()
        size = text(
            "SELECT SUM(data_length + index_length + data_free) FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_name IN (:first, :second)"
        )
        return int(connection.execute(size, {"first": TABLES[0], "second": TABLES[1]}).scalar_one())

    def compact(self, engine: Engine) -> bool:
        """OPTIMIZE TABLE for both tables."""
        _execute_outside_transaction(engine, f"OPTIMIZE TABLE {', '.join(TABLES)}")
        return True


class MySQL(MariaDB):
    """As MariaDB."""

    title: ClassVar[str] = "MySQL"

    def storage_bytes(self, connection: Connection) -> int:
        """As MariaDB; the catalog's figures would otherwise be up to a day old."""
        connection.exec_driver_sql("SET SESSION information_schema_stats_expiry = 0")
        return super().storage_bytes(connection)


_BY_NAME: dict[str, DemoDatabase] = {
    "sqlite": SQLite(),
    "postgresql": PostgreSQL(),
    "mariadb": MariaDB(),
    "mysql": MySQL(),
}


def demo_database(engine: Engine) -> DemoDatabase:
    """What the demonstration knows about the engine's database.

    A server that speaks MySQL's protocol is asked whether it is MariaDB, so the engine must have connected.

    Raises:
        SqlcompressError: The demonstration does not run on this database.
    """
    is_mariadb = getattr(engine.dialect, "is_mariadb", False)
    database = _BY_NAME.get("mariadb" if is_mariadb else engine.dialect.name)
    if database is None:
        raise SqlcompressError(
            f"The demonstration runs on SQLite, PostgreSQL, MariaDB and MySQL, not on {engine.dialect.name}."
        )
    return database


def _execute_outside_transaction(engine: Engine, *statements: str) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.exec_driver_sql(statement).close()
