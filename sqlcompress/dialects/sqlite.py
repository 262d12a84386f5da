"""SQLite: any column holds any type of value, whatever it was declared as."""

from __future__ import annotations

from typing import ClassVar, Final

from sqlcompress.dialects.base import ColumnSettings, Database

#: The function that ``install()`` gives to connections, of four arguments: the value, the kind (text, json or
#: binary), the legacy formats with commas between them, and max_size.
PLAIN: Final = "sqlcompress_plain"


class SQLite(Database):
    """SQLite through sqlite3 and aiosqlite."""

    name: ClassVar[str] = "sqlite"
    keeps_dictionaries: ClassVar[bool] = True
    takes_functions: ClassVar[bool] = True
    may_live_in_a_connection: ClassVar[bool] = True
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset({"pysqlite", "aiosqlite"})

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        legacy = ",".join(settings.legacy)
        return f"{PLAIN}({stored}, '{settings.kind}', '{legacy}', {settings.max_size})"

    def plain_size_sql(self, stored: str, settings: ColumnSettings) -> str:
        return self.stored_size_sql(self.plain_sql(stored, settings))

    def stored_size_sql(self, stored: str) -> str:
        # LENGTH counts the characters of a text.
        return f"LENGTH(CAST({stored} AS BLOB))"

    def stored_text_sql(self, text: str) -> str:
        return f"CAST({text} AS BLOB)"
