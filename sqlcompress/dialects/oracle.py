"""Oracle: BLOB; an empty value and NULL are one and the same there."""

from __future__ import annotations

from typing import ClassVar

from sqlcompress.dialects import gzipsql
from sqlcompress.dialects.base import ColumnSettings, Database, NoDecoderError


class Oracle(Database):
    """Oracle; compile-tested."""

    name: ClassVar[str] = "oracle"

    def binary_literal(self, value: bytes) -> str:
        return f"TO_BLOB(HEXTORAW('{value.hex()}'))"

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        gzipsql.check_decodable("Oracle", settings)
        if settings.kind == "json":
            # It was not tried on a server whether that covers the error of a document that is not decoded.
            raise NoDecoderError("JSON_QUERY gives NULL on an error, which would leave rows out")
        is_text = settings.kind == "text"
        return gzipsql.oracle_text_sql(stored) if is_text else gzipsql.oracle_bytes_sql(stored)

    def plain_size_sql(self, stored: str, settings: ColumnSettings) -> str:
        gzipsql.check_decodable("Oracle", settings)
        return f"DBMS_LOB.GETLENGTH({gzipsql.oracle_bytes_sql(stored)})"

    def stored_size_sql(self, stored: str) -> str:
        return f"DBMS_LOB.GETLENGTH({stored})"

    def stored_text_sql(self, text: str) -> str:
        return gzipsql.oracle_utf8_sql(text)
