"""The general database: what standard SQL and SQLAlchemy's own types give."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from sqlalchemy import LargeBinary
from sqlalchemy.types import TypeEngine

from sqlcompress.codec import Codec


class NoDecoderError(Exception):
    """A database cannot decode a column of these settings; the text says why."""


class ColumnSettings(Protocol):
    """What has to be known of a compressed type to decode its values in SQL."""

    kind: ClassVar[str]
    codec: Codec
    legacy: tuple[str, ...]
    max_size: int


class Database:
    """What one database does in its own way."""

    name: ClassVar[str] = "default"

    #: Drivers that bind ``bytes`` as they are. For these the dialect's own bind processor, which copies the
    #: value or wraps it, is left out; for any other driver it is applied.
    drivers_taking_bytes: ClassVar[frozenset[str]] = frozenset()

    #: Drivers that ask for results as text, in which a binary value has more bytes, and can ask otherwise.
    drivers_with_text_results: ClassVar[frozenset[str]] = frozenset()

    #: Whether dictionaries can be kept in the database.
    keeps_dictionaries: ClassVar[bool] = False

    #: Whether a program gives its connections functions of its own.
    takes_functions: ClassVar[bool] = False

    #: Whether a database can be in one connection's memory, where no other connection finds it.
    may_live_in_a_connection: ClassVar[bool] = False

    def binary_type(self) -> TypeEngine[Any]:
        """The type of a compressed column."""
        return LargeBinary()

    def binary_literal(self, value: bytes) -> str:
        """``value`` as an SQL literal, for ``literal_binds`` and DDL."""
        return f"X'{value.hex()}'"

    def is_bytes_turned_to_text(self, value: str) -> bool:
        """Whether a text from a column that is not binary is what the database makes of bytes."""
        del value
        return False

    def column_created(self, table: str, column: str) -> str | None:
        """The statement to run once a table with a compressed column is created, if one is due.

        Args:
            table: The table's name, quoted, with its schema.
            column: The column's name, quoted.
        """
        del table, column
        return None

    def plain_sql(self, stored: str, settings: ColumnSettings) -> str:
        """The expression for the plain value of a stored one: a text, a JSON document or bytes.

        Args:
            stored: The expression for the stored value; it may be repeated.
            settings: Of the column.

        Raises:
            NoDecoderError: This database has nothing that decodes it.
        """
        del stored, settings
        raise NoDecoderError("this database has no function that decodes it")

    def plain_size_sql(self, stored: str, settings: ColumnSettings) -> str:
        """The expression for the bytes of the plain value: UTF-8 of a text or document.

        Args:
            stored: As for `plain_sql`.
            settings: As for `plain_sql`.

        Raises:
            NoDecoderError: As for `plain_sql`.
        """
        return f"OCTET_LENGTH({self.plain_sql(stored, settings)})"

    def stored_size_sql(self, stored: str) -> str:
        """The expression for the bytes of a stored value."""
        return f"OCTET_LENGTH({stored})"

    def stored_text_sql(self, text: str) -> str:
        """The expression for a computed text as a compressed column stores it: its UTF-8.

        Raises:
            NoDecoderError: This database has nothing that decodes a column either, so there is no such text.
        """
        del text
        raise NoDecoderError("this database has no function that decodes it")
