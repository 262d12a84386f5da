"""SQLite: any column holds any type of value, whatever it was declared as."""

from __future__ import annotations

from typing import ClassVar

from sqlcompress.dialects.base import Database


class SQLite(Database):
    """SQLite through sqlite3 and aiosqlite."""

    name: ClassVar[str] = "sqlite"
    keeps_dictionaries: ClassVar[bool] = True
    takes_functions: ClassVar[bool] = True
    may_live_in_a_connection: ClassVar[bool] = True
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset({"pysqlite", "aiosqlite"})
