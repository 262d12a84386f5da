"""Defaults of a text column as bytes, and back to exactly what they were.

Only constants are carried: of an expression the server prints what it made of it, and the way back would make
something else of that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import String

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import Dialect

    from sqlcompress.dialects.tables import Column

# As pg_get_expr prints a constant: E'…' where it holds a backslash.
_CONSTANT = r"(?P<value>E?'(?:[^']|'')*'|NULL)::(?P<type>text|character varying|jsonb?)"
_POSTGRESQL_TEXT = re.compile(_CONSTANT)
_POSTGRESQL_BYTES = re.compile(rf"convert_to\(\(?{_CONSTANT}(?:\)::text)?, 'UTF8'::name\)")

# MySQL prints the quotes of a constant inside an expression with backslashes, and what is not ASCII as other
# characters than it is (9.7: its UTF-8 bytes taken for latin1).
_INTRODUCED = re.compile(r"\(_utf8mb4\\?'(?P<value>[ -&(-\[\]-~]*)\\?'\)")
_QUOTED = re.compile(r"'(?P<value>(?:[^']|'')*)'", re.DOTALL)
_HEX = re.compile(r"\(?(?:0x(?P<digits>(?:[0-9a-fA-F]{2})+)|X\\?'\\?')\)?", re.IGNORECASE)


class PostgreSQLDefault:
    """``convert_to(<constant>::text, 'UTF8')`` while the column holds bytes."""

    def __init__(self, column: Column) -> None:
        self._column = column
        pattern = _POSTGRESQL_BYTES if column.kind == "binary" else _POSTGRESQL_TEXT
        self._match = pattern.fullmatch(column.default or "")

    @property
    def is_carried(self) -> bool:
        """Whether the default is none, or one that comes back exactly."""
        if self._column.default is None:
            return True
        if self._match is None:
            return False
        # A constant of another type than the column's would be printed differently afterwards.
        return self._column.kind == "binary" or self._column.type_sql.split("(")[0] == self._match["type"]

    def as_bytes(self) -> str | None:
        """The default of the column as bytes, or None."""
        if self._match is None or not self.is_carried:
            return None
        if self._column.kind == "binary":
            return self._column.default
        return f"convert_to(({self._match[0]})::text, 'UTF8')"

    def as_text(self, type_sql: str) -> str | None:
        """The default of the column as ``type_sql``, or None."""
        if self._match is None:
            return None
        # A bare constant becomes one of the column's own type; a bare NULL would drop the default.
        value = self._match["value"]
        if value != "NULL":
            return value
        # A length would be printed as part of the default.
        return f"NULL::{re.split(' COLLATE|[(]', type_sql, maxsplit=1)[0]}"


class MySQLDefault:
    """The UTF-8 bytes in hexadecimal digits while the column holds bytes."""

    def __init__(self, column: Column, dialect: Dialect) -> None:
        self._column = column
        self._dialect = dialect
        self._is_mariadb = bool(getattr(dialect, "is_mariadb", False))
        self.text = self._read()

    @property
    def is_carried(self) -> bool:
        """Whether the default is none, or one that comes back exactly."""
        return self._column.default is None or self.text is not None

    def _read(self) -> str | None:
        default = self._column.default
        if default is None:
            return None
        if self._column.kind == "binary":
            return self._read_bytes(default)
        if "?" in default:
            # The catalog is in utf8mb3 and shows one for each character that it does not have.
            return None
        if introduced := _INTRODUCED.fullmatch(default):
            # On the way back a VARCHAR gets a literal, so this form must not be taken from one.
            is_long = self._column.kind == "json" or self._column.type_sql.lower().endswith("text")
            return introduced["value"] if is_long else None
        quoted = _QUOTED.fullmatch(default)
        # MariaDB escapes differently what was given as a literal and as an expression.
        if quoted is None or (self._is_mariadb and "\\" in default):
            return None
        return quoted["value"].replace("''", "'")

    def _read_bytes(self, default: str) -> str | None:
        match = _HEX.fullmatch(default)
        if match is None or self._column.type_sql.lower() != "longblob":
            return None
        try:
            return bytes.fromhex(match["digits"] or "").decode()
        except UnicodeError:
            return None

    def as_bytes(self) -> str | None:
        """The default of the column as LONGBLOB, or None."""
        if self.text is None:
            return None
        digits = f"0x{self.text.encode().hex()}" if self.text else "X''"
        # MySQL takes an expression (8.0.13) where it takes no literal.
        return digits if self._is_mariadb else f"({digits})"

    def as_text(self, type_sql: str) -> str | None:
        """The default of the column as ``type_sql``, or None."""
        if self.text is None:
            return None
        make: Any = self._dialect.ddl_compiler
        literal = str(make(self._dialect, None).sql_compiler.render_literal_value(self.text, String()))
        if self._is_mariadb or "CHAR" in type_sql.upper().split(" CHARACTER")[0]:
            return literal
        return f"(_utf8mb4{literal})"
