"""SQLite: no type change at all; what matters is which connection leads to the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.alter.base import Alteration

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


class SQLiteAlteration(Alteration):
    """A column keeps its declared type: any column takes bytes."""

    def needs_same_connection(self, connection: Connection, schema: str | None) -> bool:
        """True in memory, for an attached file, and where the pool has one connection only."""
        if schema not in {None, "main"}:
            return True
        files = connection.exec_driver_sql("PRAGMA database_list").all()
        if not any(name == "main" and file for _, name, file in files):
            return True
        driver: Any = connection.connection.driver_connection
        with connection.engine.connect() as other:
            return other.connection.driver_connection is driver
