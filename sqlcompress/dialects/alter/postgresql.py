"""PostgreSQL: one ALTER TABLE, which rewrites the table under an exclusive lock."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.dialects.alter.base import Alteration, TargetType, at_most_characters, valid_json
from sqlcompress.dialects.carry import PostgreSQLDefault
from sqlcompress.dialects.postgresql import utf8_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

    from sqlcompress.dialects.tables import Column, TableName


class PostgreSQLAlteration(Alteration):
    """BYTEA with STORAGE EXTERNAL, so that the server does not try pglz on what is compressed already."""

    changes_type: ClassVar[bool] = True

    def to_binary(self, connection: Connection, table: TableName, column: Column) -> list[str]:
        if column.kind != "binary":
            return self.offline(table, column)
        storage = connection.exec_driver_sql(
            "SELECT a.attstorage::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.relname = {_literal(table.name)} AND n.nspname = {_literal(table.schema or 'public')}"
            f" AND a.attname = {_literal(column.name)}".replace("%", self._percent)
        ).scalar_one()
        return [] if storage == "e" else [f"{self._alter(table, column)} SET STORAGE EXTERNAL"]

    def offline(self, table: TableName, column: Column) -> list[str]:
        name = column.quoted(self.dialect)
        alter = self._alter(table, column)
        if column.kind == "binary":
            return [f"{alter} SET STORAGE EXTERNAL"]
        default = self.default_for(column, None)
        change = f"TYPE BYTEA USING {utf8_sql(name, is_json=column.kind == 'json')}"
        return [
            self._with_default(alter, name, f"{change}, ALTER COLUMN {name} SET STORAGE EXTERNAL", default)
        ]

    def to_plain(
        self, connection: Connection, table: TableName, column: Column, target: TargetType
    ) -> list[str]:
        del connection
        name = column.quoted(self.dialect)
        if target.base == "BYTEA":
            return [f"{self._alter(table, column)} SET STORAGE EXTENDED"]
        if column.kind != "binary":
            plain = target.sql.upper().split(" COLLATE")[0]
            same = column.type_sql.replace("character varying", "varchar").upper() == plain
            return [] if same else [f"{self._alter(table, column)} TYPE {target.sql}"]
        # Without a cast the assignment to VARCHAR(n) refuses what is too long; with one it would cut.
        cast = f"::{target.sql}" if "JSON" in target.base else ""
        change = f"TYPE {target.sql} USING convert_from({name}, 'UTF8'){cast}"
        default = self.default_for(column, target)
        return [self._with_default(self._alter(table, column), name, change, default)]

    def default_for(self, column: Column, target: TargetType | None) -> str | None:
        default = PostgreSQLDefault(column)
        is_binary = target is None or target.base == "BYTEA"
        found = default.as_bytes() if target is None or is_binary else default.as_text(target.sql)
        return None if found is None else found.replace("%", self._percent)

    def _with_default(self, alter: str, name: str, change: str, default: str | None) -> str:
        """The type change; the server converts no default by USING, so it goes and comes in one statement."""
        if default is None:
            return f"{alter} {change}"
        return (
            f"{alter} DROP DEFAULT, ALTER COLUMN {name} {change}, ALTER COLUMN {name} SET DEFAULT {default}"
        )

    def _alter(self, table: TableName, column: Column) -> str:
        return f"ALTER TABLE {table.quoted(self.dialect)} ALTER COLUMN {column.quoted(self.dialect)}"

    @property
    def _percent(self) -> str:
        return "%%" if self.dialect.paramstyle in {"format", "pyformat"} else "%"

    def fits(self, target: TargetType, default_charset: str | None) -> list[Callable[[bytes], str | None]]:
        del default_charset
        checks: list[Callable[[bytes], str | None]] = []
        if target.base in {"TEXT", "VARCHAR"}:
            checks.append(_no_nul)
        if target.base == "VARCHAR" and target.length is not None:
            checks.append(at_most_characters(target.length))
        if "JSON" in target.base:
            checks += [_no_nul, valid_json]
        if target.base == "JSONB":
            checks.append(_no_nul_escape)
        return checks

    @contextmanager
    def exclusively(self, connection: Connection, table: TableName) -> Iterator[None]:
        with connection.begin():
            # While this waits, everybody else waits behind it.
            connection.exec_driver_sql("SET LOCAL lock_timeout = '200ms'")
            connection.exec_driver_sql(f"LOCK TABLE {table.quoted(self.dialect)} IN ACCESS EXCLUSIVE MODE")
            yield

    def refuses_the_values(self, error: DBAPIError) -> bool:
        original: Any = error.orig
        code = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None) or ""
        return str(code).startswith("22")  # data exception

    def change_lock(self, connection: Connection, table: TableName, column: Column, statement: str) -> str:
        del connection, column
        if " TYPE " not in statement:
            return f"ACCESS EXCLUSIVE on {table} for a moment"
        # Measured with documents of 900 bytes.
        return (
            f"ACCESS EXCLUSIVE on {table} while the server rewrites it, about 250,000 rows a second: readers "
            "and writers wait"
        )

    def space_command(self, table: TableName) -> str:
        return f"VACUUM FULL {table.quoted(self.dialect)}"


def _no_nul(plain: bytes) -> str | None:
    return "holds a NUL character, which PostgreSQL's text cannot" if b"\0" in plain else None


def _no_nul_escape(plain: bytes) -> str | None:
    # An escaped backslash before it makes it harmless text; those are few and refused on the safe side only
    # when an odd number of backslashes precedes.
    position = plain.find(b"\\u0000")
    while position != -1:
        slashes = 0
        while position - slashes - 1 >= 0 and plain[position - slashes - 1 : position - slashes] == b"\\":
            slashes += 1
        if slashes % 2 == 0:
            return "holds \\u0000, which JSONB cannot"
        position = plain.find(b"\\u0000", position + 1)
    return None


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
