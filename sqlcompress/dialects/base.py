"""The general database: what standard SQL and SQLAlchemy's own types give."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import LargeBinary
from sqlalchemy.types import TypeEngine


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
