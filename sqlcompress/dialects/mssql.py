"""SQL Server: VARBINARY(max)."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy.dialects.mssql import VARBINARY
from sqlalchemy.types import TypeEngine

from sqlcompress.dialects.base import Database


class SQLServer(Database):
    """SQL Server; compile-tested."""

    name: ClassVar[str] = "mssql"

    def binary_type(self) -> TypeEngine[Any]:
        return VARBINARY("max")  # type: ignore[no-untyped-call]

    def binary_literal(self, value: bytes) -> str:
        return f"0x{value.hex()}"

    def stored_size_sql(self, stored: str) -> str:
        return f"DATALENGTH({stored})"
