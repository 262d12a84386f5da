"""PostgreSQL: BYTEA, stored EXTERNAL so that the server does not compress a second time."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.types import TypeEngine

from sqlcompress.dialects import plpython
from sqlcompress.dialects.base import ColumnSettings, Database, NoDecoderError

_HEX = re.compile(r"\\x(?:[0-9a-f]{2})+")


def utf8_sql(column_sql: str, *, is_json: bool) -> str:
    """The bytes of a text or JSON column; refused by the server where the column is binary by then.

    ``::text`` would take bytea too and give its output form, hexadecimal digits: of two migrations that run
    at the same time the second would make that of the first one's work.
    """
    if not is_json:
        return f"convert_to({column_sql}, 'UTF8')"
    # A text that is not NULL is never cast to json; that it could be is checked, and bytea cannot.
    return f"convert_to(coalesce({column_sql}::text, {column_sql}::json::text), 'UTF8')"


class PostgreSQL(Database):
    """PostgreSQL through psycopg, psycopg2 and asyncpg."""

    name: ClassVar[str] = "postgresql"
    keeps_dictionaries: ClassVar[bool] = True
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset(
        {"psycopg", "psycopg_async", "psycopg2", "asyncpg"}
    )

    drivers_with_text_results: ClassVar[frozenset[str]] = frozenset({"psycopg", "psycopg_async"})

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

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        plain = f"{self._function(settings)}({stored})"
        return f"CAST({plain} AS JSON)" if settings.kind == "json" else plain

    def plain_size_sql(self, stored: str, settings: ColumnSettings) -> str:
        # The bytes of a document are those of its text.
        return f"OCTET_LENGTH({self._function(settings)}({stored}))"

    def stored_text_sql(self, text: str) -> str:
        return f"convert_to({text}, 'UTF8')"

    def _function(self, settings: ColumnSettings) -> str:
        if settings.legacy:
            raise NoDecoderError("the functions of op.create_decompress_function() read no legacy formats")
        return plpython.BINARY if settings.kind == "binary" else plpython.TEXT
