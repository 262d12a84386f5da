"""PostgreSQL: BYTEA, stored EXTERNAL so that the server does not compress a second time."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.types import TypeEngine

from sqlcompress.dialects.base import Database

_HEX = re.compile(r"\\x(?:[0-9a-f]{2})+")


class PostgreSQL(Database):
    """PostgreSQL through psycopg, psycopg2 and asyncpg."""

    name: ClassVar[str] = "postgresql"
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset(
        {"psycopg", "psycopg_async", "psycopg2", "asyncpg"}
    )

    def binary_type(self) -> TypeEngine[Any]:
        return BYTEA()

    def binary_literal(self, value: bytes) -> str:
        # '\\x…'::bytea holds a backslash, which the server's standard_conforming_strings and the compiler of
        # a dialect that has not connected yet take in more than one way.
        return f"decode('{value.hex()}', 'hex')"

    def is_bytes_turned_to_text(self, value: str) -> bool:
        # Any type is converted to text where it is assigned to a TEXT column, without an error: bytea becomes
        # its output form (PostgreSQL manual, CREATE CAST and "bytea Hex Format").
        return value.startswith("\\x") and _HEX.fullmatch(value) is not None

    def column_created(self, table: str, column: str) -> str | None:
        # Under the default EXTENDED the server tries pglz on what is compressed already: 69 against 44
        # microseconds an inserted row. CREATE TABLE takes STORAGE only from version 16 on.
        return f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL"
