"""MariaDB: information_schema where it differs from MySQL's."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlcompress.dialects.catalog.mysql import MySQLCatalog, text_of
from sqlcompress.dialects.catalog.words import mentions
from sqlcompress.dialects.tables import Column, TableName

if TYPE_CHECKING:
    from collections.abc import Iterator


class MariaDBCatalog(MySQLCatalog):
    """MariaDB: JSON is LONGTEXT with a check, tables may be versioned, indexes may be ignored."""

    _usable_part: ClassVar[str] = "s.sub_part IS NULL AND s.ignored = 'NO'"

    def column(self, table: TableName, name: str) -> Column:
        column = super().column(table, name)
        if column.kind == "text" and any(self._json_checks(table, column)):
            return Column(**{**column.__dict__, "kind": "json"})
        return column

    def _default(self, printed: str, extra: str) -> str | None:
        del extra
        # A literal comes in quotes here, and NULL is a default that is none.
        return None if printed == "NULL" else printed

    def _json_checks(self, table: TableName, column: Column) -> Iterator[str]:
        for name, clause in self.query(
            "SELECT constraint_name AS n, check_clause AS k FROM information_schema.check_constraints"
            " WHERE constraint_schema = ? AND table_name = ? AND level = 'Column'",
            table.schema,
            table.name,
        ):
            quoted = column.name.replace("`", "``")
            if name == column.name and text_of(clause).lower() == f"json_valid(`{quoted}`)".lower():
                yield name

    def _expressions(self, table: TableName, column: Column) -> Iterator[str]:
        del table, column
        yield from ()

    def _checks(self, table: TableName, column: Column) -> Iterator[str]:
        implied = set(self._json_checks(table, column))
        for name, level, clause in self.query(
            "SELECT constraint_name AS n, level AS l, check_clause AS k"
            " FROM information_schema.check_constraints WHERE constraint_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        ):
            text = text_of(clause)
            if level == "Table":
                # MODIFY keeps these; it drops those of the column itself.
                text = self.uses(text, column.name)
            if mentions(text, column.name) and not (level == "Column" and name in implied):
                yield f"the CHECK constraint {name} uses {column.name}; drop it first"

    def _storage(self, table: TableName, column: Column) -> Iterator[str]:
        yield from super()._storage(table, column)
        (kind,) = self.query(
            "SELECT table_type AS k FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            table.schema,
            table.name,
        )[0]
        if kind == "SYSTEM VERSIONED":
            yield (
                f"the table {table.name} is system versioned: every rewritten row would be kept twice; "
                "drop the versioning first"
            )
