"""The words in which jobs and databases talk about tables: names, columns, keys, statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

#: What a column holds: text, a JSON type of the server, bytes, or anything else.
Kind = Literal["text", "json", "binary", "other"]


@dataclass(frozen=True)
class TableName:
    """A table that exists, with the schema it was found in."""

    name: str
    schema: str | None = None

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    def quoted(self, dialect: Dialect) -> str:
        """The name for a statement that is given to the driver with parameters."""
        quote = dialect.identifier_preparer.quote_identifier
        return quote(self.name) if self.schema is None else f"{quote(self.schema)}.{quote(self.name)}"


@dataclass(frozen=True)
class Column:
    """A column as the catalogs describe it.

    Attributes:
        type_sql: The type as the server prints it.
        charset: The character set, on databases where each column has its own.
        default: The default as SQL, or None.
        invisible: Left out of ``SELECT *`` (MariaDB and MySQL).
    """

    name: str
    kind: Kind
    type_sql: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None
    charset: str | None = None
    collation: str | None = None
    invisible: bool = False

    def quoted(self, dialect: Dialect) -> str:
        """The name for a statement that is given to the driver with parameters."""
        return dialect.identifier_preparer.quote_identifier(self.name)


@dataclass(frozen=True)
class KeyColumn:
    """A column to walk by.

    Attributes:
        cast: The type a bound value is cast to, where the database wants one.
        as_text: Read and bound as text, so that every type the server can order passes the driver unchanged.
        raw: An expression the database understands without quoting, such as ``rowid``.
    """

    name: str
    cast: str | None = None
    as_text: bool = False
    raw: bool = False

    def quoted(self, dialect: Dialect) -> str:
        """The name for a statement that is given to the driver with parameters."""
        return self.name if self.raw else dialect.identifier_preparer.quote_identifier(self.name)


@dataclass(frozen=True)
class Key:
    """Columns that tell every row from every other, in an order the database keeps an index in."""

    columns: tuple[KeyColumn, ...]
    index: str | None = None


class Binds:
    """Placeholders in the driver's own style, in the order in which values will be given."""

    def __init__(self, paramstyle: str) -> None:
        self._paramstyle = paramstyle
        self._count = 0

    def next(self) -> str:
        """The placeholder of the next value."""
        self._count += 1
        if self._paramstyle == "numeric_dollar":
            return f"${self._count}"
        if self._paramstyle == "qmark":
            return "?"
        # psycopg and the MySQL drivers say "pyformat" and take a sequence for %s all the same.
        return "%s"
