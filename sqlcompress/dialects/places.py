"""Where a database may keep frames, and the moment from which on all that was written can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.types import _Binary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection


@dataclass(frozen=True)
class Place:
    """A table and its columns that can hold frames."""

    schema: str | None
    table: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return self.table if self.schema is None else f"{self.schema}.{self.table}"


def places(connection: Connection, schemas: Sequence[str] | None) -> Iterator[Place]:
    """Every table with columns that can hold frames.

    Args:
        connection: A connection to the database.
        schemas: Where to look; None for all schemas on PostgreSQL, for the connection's database elsewhere.
    """
    inspector = sa.inspect(connection)
    name = connection.dialect.name
    looked_at: list[str | None] = [None] if schemas is None else list(schemas)
    if schemas is None and name == "postgresql":
        listed = inspector.get_schema_names()
        looked_at = [s for s in listed if s != "information_schema" and not s.startswith("pg_")]
    for schema in looked_at:
        for table in sorted(inspector.get_table_names(schema=schema)):
            columns = tuple(
                column["name"]
                for column in inspector.get_columns(table, schema=schema)
                # On SQLite any column can hold bytes, whatever its type.
                if name == "sqlite" or isinstance(column["type"], _Binary)
            )
            if columns:
                yield Place(schema, table, columns)


def see_all_writers(connection: Connection, table_sql: str) -> None:
    """Return at a moment at which no transaction is open that has written to a table.

    While this waits, new writers wait behind it: for 0.2 s on PostgreSQL, 1 s on MySQL and MariaDB and the
    time-out of the connection on SQLite; then it raises what the driver raises.

    Args:
        connection: A connection outside a transaction, and it is outside one afterwards.
        table_sql: The table's quoted name.
    """
    name = connection.dialect.name
    if name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = '200ms'")
        connection.exec_driver_sql(f"LOCK TABLE {table_sql} IN SHARE MODE")
    elif name in {"mysql", "mariadb"}:
        before = connection.exec_driver_sql("SELECT @@lock_wait_timeout").scalar_one()
        connection.exec_driver_sql("SET SESSION lock_wait_timeout = 1")
        try:
            connection.exec_driver_sql(f"LOCK TABLES {table_sql} READ")
            connection.exec_driver_sql("UNLOCK TABLES")
        finally:
            connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {int(before)}")
    elif name == "sqlite":
        driver: Any = connection.connection.dbapi_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
    connection.rollback()
