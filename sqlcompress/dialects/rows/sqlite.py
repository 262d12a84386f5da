"""SQLite: one writer, rows of any type in any column."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.dialects.rows.base import KeyValue, Row, Rows, StoredAs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

    from sqlcompress.dialects.tables import Column, Key, TableName

_STORED_AS: dict[str, StoredAs] = {"blob": "binary", "text": "text", "integer": "number", "real": "number"}


class SQLiteRows(Rows):
    """Batches under BEGIN IMMEDIATE, so that no writer comes between reading and writing.

    Text is read as its bytes: the driver refuses a whole page for one value that is not valid UTF-8.
    """

    lock: ClassVar[str] = ""
    plain_stored_as: ClassVar[StoredAs] = "text"
    writes_side_by_side: ClassVar[bool] = False
    # Whoever finds the file locked asks again at last every 100 ms (SQLite's sqliteDefaultBusyCallback), and
    # the moment between two batches is one: single rows waited for 20 to 40 s, which is "database is locked"
    # to an application.
    turn_after_seconds: ClassVar[float] = 1.0
    turn_seconds: ClassVar[float] = 0.11

    def __init__(
        self,
        connection: Connection,
        table: TableName,
        column: Column,
        key: Key,
        target: Column | None = None,
    ) -> None:
        super().__init__(connection, table, column, key, target)
        # CAST(text AS BLOB) gives the bytes in the encoding of the file.
        self._encoding = str(connection.exec_driver_sql("PRAGMA encoding").scalar_one())

    def open(self, connection: Connection) -> Connection:
        if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            return connection
        return connection.execution_options(isolation_level="AUTOCOMMIT")

    # SQLAlchemy's own transaction stays open around ours: on a database in memory it is Alembic's.

    def begin(self, connection: Connection) -> None:
        # An engine may carry an event hook that begins a deferred transaction, as SQLAlchemy's manual shows;
        # a deferred one fails with "database is locked" when it turns into a writer.
        if not connection.in_transaction():
            connection.begin()
        if _in_transaction(connection):
            connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def commit(self, connection: Connection) -> None:
        connection.exec_driver_sql("COMMIT")

    def rollback(self, connection: Connection) -> None:
        if _in_transaction(connection):
            connection.exec_driver_sql("ROLLBACK")

    @contextmanager
    def surrounded(self, connection: Connection) -> Iterator[None]:
        # The driver begins by itself only before it writes; what is read has to be covered too.
        if not _in_transaction(connection):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield

    def is_transient(self, error: DBAPIError) -> bool:
        message = str(error.orig)
        return "database is locked" in message or "database table is locked" in message

    def prefix_sql(self, count: int) -> str:
        return f"substr({self.column_sql}, 1, {count})"

    def size_sql(self) -> str:
        # Of a blob the length stands in the row's header; of text it would be counted in characters.
        c = self.column_sql
        return f"(CASE WHEN typeof({c}) = 'blob' THEN length({c}) ELSE length(CAST({c} AS BLOB)) END)"

    def value_sql(self) -> str:
        c = self.column_sql
        return f"(CASE WHEN typeof({c}) IN ('integer', 'real') THEN {c} ELSE CAST({c} AS BLOB) END)"

    def stored_as_sql(self) -> str:
        return f"typeof({self.column_sql})"

    def is_binary_sql(self) -> str:
        return f"typeof({self.column_sql}) = 'blob'"

    def page_of(self, found: Sequence[tuple[Any, ...]]) -> list[Row]:
        if len(self.key_sql) != 1 or self._encoding != "UTF-8":
            return super().page_of(found)
        # The common case, flat: numbers come as they are, everything else as bytes.
        kinds = _STORED_AS
        return [
            Row((key,), len(value), value, kinds[kind])
            if value.__class__ is bytes
            else self.row((key,), size, value, kind)
            for key, size, value, kind in found
        ]

    def row(self, key: KeyValue, size: int | None, value: Any, stored_as: str = "blob") -> Row:
        kind = _STORED_AS[stored_as]
        if value is None:
            return Row(key, size or 0, None, kind)
        if kind == "number":
            # A JSON document that is a number: the column's NUMERIC affinity made it one. Python's repr of
            # a float reads back exactly, SQLite's own cast to text keeps 15 digits.
            stored = repr(value).encode()
        elif kind == "text" and self._encoding != "UTF-8":
            codec = "utf-16-le" if self._encoding == "UTF-16le" else "utf-16-be"
            try:
                stored = bytes(value).decode(codec).encode()
            except UnicodeError:
                # Bytes that are not UTF-8 either are refused by the type, and the row is reported.
                stored = b"\xff"
        else:
            stored = bytes(value)
        return Row(key, len(stored), stored, kind)


def _in_transaction(connection: Connection) -> bool:
    if connection.invalidated:  # by Ctrl-C in the middle of a statement
        return False
    driver: Any = connection.connection.driver_connection
    return bool(driver.in_transaction)
