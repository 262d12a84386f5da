"""What a column holds, where its reflected type does not tell."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import JSON, String, Text
from sqlalchemy.types import LargeBinary, _Binary

from sqlcompress.dialects.tables import Binds
from sqlcompress.frames import MAGICS, is_framed

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection
    from sqlalchemy.types import TypeEngine

    from sqlcompress.dialects.tables import Column, TableName

#: Enough to meet the codec that a column is written with, few enough to be read for every column compared.
SAMPLED_VALUES = 100
# Of a value that is no frame: one that holds binary data shows it here.
_SAMPLED_BYTES = 1024


class Contents:
    """A column of one database; here of the servers, whose declared types tell text from bytes."""

    #: Whether the declared type says what the values are.
    is_declared: ClassVar[bool] = True

    def __init__(self, connection: Connection, table: TableName, column: Column) -> None:
        self.connection = connection
        self.table = table
        self.column = column

    def plain_type(self, reflected: TypeEngine[Any], *, as_json: bool) -> TypeEngine[Any]:
        """The type the column has before it is compressed, as its owner declared it.

        Args:
            reflected: The type that SQLAlchemy's reflection gives.
            as_json: The model wants JSON documents.
        """
        del as_json
        return reflected

    def has_plain_values(self) -> bool:
        """Whether a value is not stored as bytes; asked where ``is_declared`` is false."""
        return False

    def has_stored_values(self) -> bool:
        """Whether values are stored as compressed types do it; asked where ``is_declared`` is false."""
        return False

    def magic(self) -> bytes | None:
        """The first bytes of a frame in the column, out of the first values; None where none is framed."""
        dialect = self.connection.dialect
        name = self.column.quoted(dialect)
        rows = self.connection.exec_driver_sql(
            f"SELECT substr({name}, 1, 4) AS v FROM {self.table.quoted(dialect)}"
            f" WHERE {name} IS NOT NULL LIMIT {SAMPLED_VALUES}"
        )
        # SQLite's substr() of an empty blob is NULL.
        values = [_bytes(value) for value in rows.scalars() if value is not None]
        return next((magic for magic in MAGICS for value in values if value.startswith(magic)), None)


class SQLiteContents(Contents):
    """The declared type stays as it was whatever the values become, so the values are asked."""

    is_declared: ClassVar[bool] = False

    def plain_type(self, reflected: TypeEngine[Any], *, as_json: bool) -> TypeEngine[Any]:
        # Text values in a column declared as BLOB: it was created compressed and decompressed later.
        if isinstance(reflected, (LargeBinary, _Binary)):
            return JSON() if as_json else Text()
        return reflected

    def has_plain_values(self) -> bool:
        # A row's header tells the storage class; what does not fit the page of a row is not read.
        dialect = self.connection.dialect
        name = self.column.quoted(dialect)
        return bool(
            self.connection.exec_driver_sql(
                f"SELECT EXISTS (SELECT 1 FROM {self.table.quoted(dialect)}"
                f" WHERE typeof({name}) NOT IN ('blob', 'null'))"
            ).scalar_one()
        )

    def has_stored_values(self) -> bool:
        dialect = self.connection.dialect
        name = self.column.quoted(dialect)
        begins = f"coalesce(substr({name}, 1, {_SAMPLED_BYTES}), x'')"  # substr() of an empty blob is NULL
        rows = self.connection.exec_driver_sql(
            f"SELECT CASE WHEN typeof({name}) = 'blob' THEN {begins} END"
            f" FROM {self.table.quoted(dialect)} WHERE {name} IS NOT NULL LIMIT {SAMPLED_VALUES}"
        )
        values = [value for value in rows.scalars() if value is not None]
        return bool(values) and all(is_framed(value) or _begins_as_text(value) for value in values)


class MySQLContents(Contents):
    """MariaDB's JSON is LONGTEXT with a check that reflection does not see."""

    def plain_type(self, reflected: TypeEngine[Any], *, as_json: bool) -> TypeEngine[Any]:
        if not as_json or not isinstance(reflected, String):
            return reflected
        dialect: Any = self.connection.dialect
        if not dialect.is_mariadb:
            return reflected
        binds = Binds(dialect.paramstyle)
        clauses = self.connection.exec_driver_sql(
            "SELECT check_clause AS c FROM information_schema.check_constraints"
            f" WHERE constraint_schema = coalesce({binds.next()}, database())"
            f" AND table_name = {binds.next()} AND constraint_name = {binds.next()}",
            (self.table.schema, self.table.name, self.column.name),
        )
        quoted = self.column.name.replace("`", "``")
        return JSON() if f"json_valid(`{quoted}`)" in set(clauses.scalars()) else reflected


_BY_NAME: dict[str, type[Contents]] = {
    "postgresql": Contents,
    "sqlite": SQLiteContents,
    "mysql": MySQLContents,
    "mariadb": MySQLContents,
}


def contents_of(connection: Connection, table: TableName, column: Column) -> Contents | None:
    """What the column holds; None on databases whose columns are not migrated here."""
    made = _BY_NAME.get(connection.dialect.name)
    return None if made is None else made(connection, table, column)


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


def _begins_as_text(value: bytes) -> bool:
    """Whether the bytes, cut anywhere, are the beginning of UTF-8 text."""
    try:
        getincrementaldecoder("utf-8")().decode(value)
    except UnicodeDecodeError:
        return False
    return True
