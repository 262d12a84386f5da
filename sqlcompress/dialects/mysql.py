"""MySQL and MariaDB: LONGBLOB, since BLOB ends at 65,535 bytes and a lax server cuts there silently."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy.dialects.mysql import LONGBLOB
from sqlalchemy.types import TypeEngine

from sqlcompress.codec import Zlib
from sqlcompress.dialects.base import ColumnSettings, Database, NoDecoderError
from sqlcompress.dialects.plainsql import mysql_plain_sql


class MySQL(Database):
    """MySQL through PyMySQL, mysqlclient and asyncmy."""

    name: ClassVar[str] = "mysql"
    keeps_dictionaries: ClassVar[bool] = True
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset({"pymysql", "mysqldb", "asyncmy"})

    def binary_type(self) -> TypeEngine[Any]:
        return LONGBLOB()

    def binary_literal(self, value: bytes) -> str:
        # The introducer keeps the server from checking the bytes as text (warning 1300).
        return f"_binary X'{value.hex()}'"

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        if not isinstance(settings.codec, Zlib):
            raise NoDecoderError("MySQL and MariaDB decode zlib alone")
        if settings.legacy:
            raise NoDecoderError("MySQL and MariaDB cannot tell values of legacy formats from plain ones")
        return mysql_plain_sql(stored, is_text=settings.kind != "binary", max_size=settings.max_size)

    def stored_text_sql(self, text: str) -> str:
        return f"CAST(CONVERT({text} USING utf8mb4) AS BINARY)"


class MariaDB(MySQL):
    """MariaDB through the same drivers."""

    name: ClassVar[str] = "mariadb"
