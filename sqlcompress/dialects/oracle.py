"""Oracle: BLOB; an empty value and NULL are one and the same there."""

from __future__ import annotations

from typing import ClassVar

from sqlcompress.dialects.base import Database


class Oracle(Database):
    """Oracle; compile-tested."""

    name: ClassVar[str] = "oracle"

    def binary_literal(self, value: bytes) -> str:
        return f"TO_BLOB(HEXTORAW('{value.hex()}'))"

    def stored_size_sql(self, stored: str) -> str:
        return f"DBMS_LOB.GETLENGTH({stored})"
