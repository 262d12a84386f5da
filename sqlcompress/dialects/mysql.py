"""MySQL and MariaDB: LONGBLOB, since BLOB ends at 65,535 bytes and a lax server cuts there silently."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy.dialects.mysql import LONGBLOB
from sqlalchemy.types import TypeEngine

from sqlcompress.dialects.base import Database


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


class MariaDB(MySQL):
    """MariaDB through the same drivers."""

    name: ClassVar[str] = "mariadb"
