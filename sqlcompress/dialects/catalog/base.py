"""What the catalogs say about a table and all that hangs on one of its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.dialects.catalog.words import mentions, without_null_tests
from sqlcompress.dialects.tables import Binds, Key
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.tables import Column, TableName


#: Stands in the sentence about each trigger and rule that the rewrite job would set off.
FOR_EACH_ROW = "for each rewritten row"


@dataclass(frozen=True)
class FoundKey:
    """A key, and the types of its columns as the server prints them.

    Attributes:
        is_lasting: Whether a row keeps it as long as nobody updates it: not so the numbers that VACUUM deals
            out anew.
    """

    key: Key
    types: tuple[str, ...]
    is_lasting: bool = True


class Catalog(ABC):
    """The catalogs of one database, read over one connection."""

    #: Whether column privileges go along when a column is renamed, so that the one in its place has none.
    grants_follow_the_column: ClassVar[bool] = False

    def __init__(self, connection: Connection, *, renames: bool = False) -> None:
        """Read the catalogs.

        Args:
            connection: A connection to the database.
            renames: The column is to give its name to another, which then lacks what hangs on it, harmless
                or not.
        """
        self.renames = renames
        self.connection = connection
        self.dialect = connection.dialect

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement with ``?`` for each value."""
        binds = Binds(self.dialect.paramstyle)
        head, *rest = sql.split("?")
        text = head + "".join(binds.next() + part for part in rest)
        return [tuple(row) for row in self.connection.exec_driver_sql(text, values).all()]

    def mentions(self, sql: str | None, *names: str) -> bool:
        """Whether SQL that a person wrote holds every one of the names."""
        return mentions(sql, *names, quoted=self.dialect.identifier_preparer.reserved_words)

    def uses(self, sql: str | None, name: str) -> str:
        """``sql`` without those uses of the column that mean the same once it holds bytes."""
        return sql or "" if self.renames else without_null_tests(sql, name)

    @abstractmethod
    def table(self, name: str, schema: str | None) -> TableName:
        """The table, with the schema it stands in.

        Raises:
            MigrationBlockedError: There is no such table, or it is something else.
        """

    @abstractmethod
    def column(self, table: TableName, name: str) -> Column:
        """The column.

        Raises:
            MigrationBlockedError: There is no such column.
        """

    @abstractmethod
    def keys(self, table: TableName) -> list[FoundKey]:
        """The keys that tell rows apart, the best first."""

    def key_trouble(self, key: FoundKey, column: Column) -> str | None:
        """Why the table cannot be walked by this key, or None."""
        if any(part.name == column.name and not part.raw for part in key.key.columns):
            return f"the key holds the column {column.name} itself"
        return None

    @abstractmethod
    def blockers(
        self, table: TableName, column: Column, *, compress: bool, collation: str | None = None
    ) -> list[str]:
        """What hangs on the column and would be lost, changed or broken: one sentence for each thing.

        Args:
            table: The table.
            column: The column.
            compress: Compress, or the way back.
            collation: A collation that the type of the way back names, so that it is not lost.
        """

    def carried(self, table: TableName, column: Column) -> list[str]:
        """What hangs on the column and comes along exactly: a few words for each thing."""
        del table
        found = []
        if not column.nullable:
            found.append("NOT NULL")
        if column.default is not None:
            found.append(f"the default {column.default}")
        if column.comment:
            found.append("the column's comment")
        if column.invisible:
            found.append("INVISIBLE")
        return found

    def grants_for(self, table: TableName, column: str, new_name: str) -> list[str]:
        """Statements that give ``new_name`` the column privileges of ``column``.

        Where a column is renamed its privileges go along, or stay with the name, but never come to another.
        """
        del table, column, new_name
        return []

    def table_bytes(self, table: TableName) -> int:
        """What the table takes on disk, with its indexes, by the server's count; 0 where it keeps none."""
        del table
        return 0


def no_table(name: str, schema: str | None) -> MigrationBlockedError:
    """There is no such table."""
    shown = name if schema is None else f"{schema}.{name}"
    sentence = f"there is no table {shown} in this database"
    return MigrationBlockedError(sentence, (sentence,))


def no_column(table: TableName, name: str) -> MigrationBlockedError:
    """There is no such column."""
    sentence = f"the table {table} has no column {name}"
    return MigrationBlockedError(sentence, (sentence,))
