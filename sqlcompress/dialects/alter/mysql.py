"""MySQL and MariaDB: MODIFY, which forgets whatever is not restated."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import String
from sqlalchemy.exc import SQLAlchemyError

from sqlcompress.dialects.alter.base import (
    Alteration,
    TargetType,
    at_most_bytes,
    at_most_characters,
    valid_json,
)
from sqlcompress.dialects.carry import MySQLDefault
from sqlcompress.dialects.locks import locked_for_writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

    from sqlcompress.dialects.tables import Column, TableName

# The stored bytes of these are UTF-8 already (utf8 is the old name of utf8mb3).
_UTF8 = frozenset({"utf8", "utf8mb3", "utf8mb4"})

_BYTES = {"TINYTEXT": 255, "TEXT": 65_535, "MEDIUMTEXT": 16_777_215}

_ENCODINGS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "latin1": "cp1252",
    "ascii": "ascii",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
}
# Wrong string value, too long, wrong value, no JSON, CHECK violated, cannot convert.
_REFUSED_VALUES = frozenset({1366, 1406, 1292, 3140, 4025, 3854})

# MySQL's latin1 is cp1252 with the five holes filled by the control characters of ISO 8859-1 (MySQL manual,
# "West European Character Sets").
_LATIN1_EXTRA = str.maketrans(dict.fromkeys("\x81\x8d\x8f\x90\x9d", " "))


class MySQLAlteration(Alteration):
    """LONGBLOB by way of utf8mb4, so that the bytes are UTF-8 whatever the column's character set was."""

    changes_type: ClassVar[bool] = True
    commits_by_itself: ClassVar[bool] = True
    restates: ClassVar[bool] = True

    def to_binary(self, connection: Connection, table: TableName, column: Column) -> list[str]:
        del connection
        return self.offline(table, column)

    def offline(self, table: TableName, column: Column) -> list[str]:
        if column.kind == "binary":
            wide = column.type_sql.lower() == "longblob"
            return [] if wide else [self._modify(table, column, "LONGBLOB", self.default_for(column, None))]
        statements = []
        if column.kind == "text" and column.charset not in _UTF8:
            statements.append(self._wide(table, column))
        return [*statements, self._modify(table, column, "LONGBLOB", self.default_for(column, None))]

    def _wide(self, table: TableName, column: Column) -> str:
        wide = "LONGTEXT CHARACTER SET utf8mb4"
        return self._modify(table, column, wide, MySQLDefault(column, self.dialect).as_text(wide))

    def default_for(self, column: Column, target: TargetType | None) -> str | None:
        default = MySQLDefault(column, self.dialect)
        if target is None or target.base.endswith(("BLOB", "BINARY")):
            return default.as_bytes()
        return default.as_text(target.sql)

    def to_plain(
        self, connection: Connection, table: TableName, column: Column, target: TargetType
    ) -> list[str]:
        if target.base.endswith(("BLOB", "BINARY")):
            same = column.type_sql.lower() == target.sql.lower()
            return [] if same else [self._modify(table, column, target.sql, self.default_for(column, target))]
        charset = self._charset(target, self.default_charset(connection, table))
        last = self._modify(table, column, target.sql, self.default_for(column, target))
        if column.kind != "binary":
            same = (
                column.type_sql.lower() == target.sql.split(" CHARACTER SET")[0].split(" COLLATE")[0].lower()
            )
            same = same and target.collation is None and column.charset in {charset, None}
            return [] if same or column.kind == "json" else [last]
        if "JSON" not in target.base and charset in _UTF8:
            return [last]
        # LONGBLOB to latin1 would take the UTF-8 bytes for latin1; LONGBLOB to JSON is refused (3144).
        return [self._wide(table, column), last]

    def _modify(self, table: TableName, column: Column, type_sql: str, default: str | None) -> str:
        parts = [type_sql, "NULL" if column.nullable else "NOT NULL"]
        if default is not None:
            parts.append(f"DEFAULT {default}")
        if column.invisible:
            parts.append("INVISIBLE")
        if column.comment:
            # As SQLAlchemy's own DDL does it: quotes, percent signs, backslashes where the server reads them.
            make: Any = self.dialect.ddl_compiler
            compiler = make(self.dialect, None)
            literal = compiler.sql_compiler.render_literal_value(column.comment, String())
            parts.append(f"COMMENT {literal}")
        return (
            f"ALTER TABLE {table.quoted(self.dialect)} MODIFY COLUMN {column.quoted(self.dialect)}"
            f" {' '.join(parts)}"
        )

    def default_charset(self, connection: Connection, table: TableName) -> str | None:
        found = connection.exec_driver_sql(
            "SELECT c.character_set_name AS c FROM information_schema.tables t"
            " JOIN information_schema.collations c ON c.collation_name = t.table_collation"
            " WHERE t.table_schema = %s AND t.table_name = %s",
            (table.schema, table.name),
        ).scalar()
        if found is None and table.schema is not None:
            # MariaDB lists collations such as uca1400_ai_ci without the character set's name.
            collation = connection.exec_driver_sql(
                "SELECT table_collation AS c FROM information_schema.tables"
                " WHERE table_schema = %s AND table_name = %s",
                (table.schema, table.name),
            ).scalar()
            found = str(collation or "").split("_")[0] or None
        return None if found is None else str(found)

    def fits(self, target: TargetType, default_charset: str | None) -> list[Callable[[bytes], str | None]]:
        if target.base.endswith(("BLOB", "BINARY")):
            return []
        if "JSON" in target.base:
            return [valid_json]
        charset = self._charset(target, default_charset) or "utf8mb4"
        encoding = _ENCODINGS.get(charset)
        checks = [] if encoding is None else [_holds(charset, encoding)]
        if target.length is not None and target.base == "VARCHAR":
            checks.append(at_most_characters(target.length))
        if target.base in _BYTES:
            # TEXT(n) picks the smallest type for n characters; what is over the server refuses, being strict.
            checks.append(at_most_bytes(_BYTES[target.base], encoding or "utf-8"))
        return checks

    def _charset(self, target: TargetType, default: str | None) -> str | None:
        if target.charset is not None:
            return target.charset
        return target.collation.split("_")[0] if target.collation is not None else default

    @contextmanager
    def strictly(self, connection: Connection) -> Iterator[None]:
        before = connection.exec_driver_sql("SELECT @@SESSION.sql_mode").scalar_one()
        strict = f"{before},STRICT_ALL_TABLES".lstrip(",")
        connection.exec_driver_sql("SET SESSION sql_mode = %s", (strict,))
        restore = "SET SESSION sql_mode = %s"
        try:
            yield
        except BaseException:
            # The connection may be lost; what ended the block says more.
            with suppress(SQLAlchemyError):
                connection.exec_driver_sql(restore, (before,))
            raise
        connection.exec_driver_sql(restore, (before,))

    @contextmanager
    def exclusively(self, connection: Connection, table: TableName) -> Iterator[None]:
        connection.exec_driver_sql("SET SESSION lock_wait_timeout = 1")
        with locked_for_writing(connection, table.quoted(self.dialect)):
            yield

    def refuses_the_values(self, error: DBAPIError) -> bool:
        original: Any = error.orig
        return bool(original.args) and original.args[0] in _REFUSED_VALUES

    def change_lock(self, connection: Connection, table: TableName, column: Column, statement: str) -> str:
        del connection
        in_place = (
            not getattr(self.dialect, "is_mariadb", False)
            and column.type_sql.lower() == "longtext"
            and column.charset in _UTF8
            and "LONGBLOB" in statement
        )
        if in_place:
            return (
                f"the metadata lock of {table} for a moment: LONGTEXT in UTF-8 to LONGBLOB happens in place"
            )
        return f"the server copies {table}: readers go on, writers wait until it is done"

    def space_command(self, table: TableName) -> str:
        return f"OPTIMIZE TABLE {table.quoted(self.dialect)}"


def _holds(charset: str, encoding: str) -> Callable[[bytes], str | None]:
    """A check that the character set has every character of the text."""
    reason = f"holds characters that {charset} does not have"

    def check(plain: bytes) -> str | None:
        if charset == "utf8mb4":
            return None
        text = plain.decode()
        if charset in _UTF8:
            return reason if any(character > "\uffff" for character in text) else None
        if charset == "latin1":
            text = text.translate(_LATIN1_EXTRA)
        try:
            text.encode(encoding)
        except UnicodeError:
            return reason
        return None

    return check
