"""SQL Server: VARBINARY(max)."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy.dialects.mssql import VARBINARY
from sqlalchemy.types import TypeEngine

from sqlcompress.dialects import gzipsql
from sqlcompress.dialects.base import ColumnSettings, Database


class SQLServer(Database):
    """SQL Server; compile-tested."""

    name: ClassVar[str] = "mssql"

    def binary_type(self) -> TypeEngine[Any]:
        return VARBINARY("max")  # type: ignore[no-untyped-call]

    def binary_literal(self, value: bytes) -> str:
        return f"0x{value.hex()}"

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        gzipsql.check_decodable("SQL Server", settings)
        # A JSON document is its text: JSON_VALUE and JSON_QUERY take NVARCHAR.
        is_text = settings.kind != "binary"
        return gzipsql.mssql_text_sql(stored) if is_text else gzipsql.mssql_bytes_sql(stored)

    def plain_size_sql(self, stored: str, settings: ColumnSettings) -> str:
        gzipsql.check_decodable("SQL Server", settings)
        return gzipsql.mssql_size_sql(stored)

    def stored_size_sql(self, stored: str) -> str:
        return f"DATALENGTH({stored})"

    def stored_text_sql(self, text: str) -> str:
        return gzipsql.mssql_utf8_sql(f"CAST({text} AS NVARCHAR(MAX))")
