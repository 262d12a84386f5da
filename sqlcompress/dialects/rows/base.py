"""Reading and writing a column in batches, in standard SQL."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from sqlcompress.dialects import database_of
from sqlcompress.dialects.rows.sessions import Sessions
from sqlcompress.dialects.tables import Binds, Column, Key, TableName
from sqlcompress.frames import MAGICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

#: How the server keeps one value: the same bytes may stand there as text or as binary on SQLite.
StoredAs = Literal["binary", "text", "number"]

KeyValue = tuple[Any, ...]


# Counting costs about 2 microseconds a row on InnoDB; the estimate of a large table is good enough for a bar.
_COUNTED_ROWS = 1_000_000


class Row(NamedTuple):
    """One row of a page.

    Attributes:
        key: The values of the key columns.
        size: Length of the stored value in bytes.
        value: The stored value; None where it was too long to come along with its page.
        stored_as: How the server keeps it.
        is_null: The value is NULL, in a row of :meth:`Rows.by_key`, or one that changed while it was read.
    """

    key: KeyValue
    size: int
    value: bytes | None
    stored_as: StoredAs = "binary"
    is_null: bool = False


class Change(NamedTuple):
    """A new value for the row with ``key``; None for NULL."""

    key: KeyValue
    value: bytes | str | None


class Rows(Sessions):
    """One column of one table, read by pages in key order and written in batches.

    New values go where the old ones were, or into another column of the same row: the ``target``. A column
    of text is then read as its UTF-8 bytes, and one is written from them.

    Statements are text given to the driver as it is: SQLAlchemy's expressions cost half the speed of a batch
    (measured with CASE on MariaDB).
    """

    #: Appended to the statement that reads a page.
    lock: ClassVar[str] = " FOR UPDATE"
    #: How a plain value is stored by the application: text where the column keeps its declared type.
    plain_stored_as: ClassVar[StoredAs] = "binary"

    #: Seconds of work after which other writers get a turn, and how long it is; for a database with one
    #: writer at a time and no queue of those who wait.
    turn_after_seconds: ClassVar[float] = inf
    turn_seconds: ClassVar[float] = 0.0

    def __init__(
        self,
        connection: Connection,
        table: TableName,
        column: Column,
        key: Key,
        target: Column | None = None,
    ) -> None:
        self.dialect = connection.dialect
        self.database = database_of(self.dialect.name)
        self.table = table
        self.column = column
        self.target = target or column
        #: Whether new values go into another column.
        self.copies = target is not None
        self.key = key
        self.table_sql = table.quoted(self.dialect)
        self.column_sql = column.quoted(self.dialect)
        self.target_sql = self.target.quoted(self.dialect)
        self.key_sql = tuple(part.quoted(self.dialect) for part in key.columns)
        #: Bytes a statement may have, or None where the server sets no such bound.
        self.statement_bytes: int | None = None
        #: SQL that is true for rows which are still to be read, or None for all.
        self.todo: str | None = None

    # Pieces of SQL ----------------------------------------------------------------------------------------

    def binds(self) -> Binds:
        """Placeholders for a new statement."""
        return Binds(self.dialect.paramstyle)

    def prefix_sql(self, count: int) -> str:
        """The first ``count`` bytes of the stored value."""
        return f"LEFT({self.column_sql}, {count})"

    def size_sql(self) -> str:
        """The length of the stored value in bytes."""
        return f"LENGTH({self.column_sql})"

    def value_sql(self) -> str:
        """The stored value as bytes."""
        return self.column_sql

    def new_value_sql(self, value: str) -> str:
        """``value``, bytes, as the target takes it."""
        return value

    def stored_as_sql(self) -> str | None:
        """How the value is kept, where rows of one column differ in that."""
        return None

    def is_binary_sql(self) -> str | None:
        """True for values kept as bytes, where rows of one column differ in that."""
        return None

    def framed_sql(self, magics: Sequence[bytes] = MAGICS) -> str:
        """True for values that begin like one of the frames."""
        literal = self.database.binary_literal
        return "(" + " OR ".join(f"{self.prefix_sql(len(m))} = {literal(m)}" for m in magics) + ")"

    def key_read_sql(self) -> tuple[str, ...]:
        """The key columns as they are read."""
        return self.key_sql

    def key_bind_sql(self, binds: Binds) -> tuple[str, ...]:
        """Placeholders for one key."""
        return tuple(binds.next() for _ in self.key_sql)

    def compare_sql(self, operator: Literal[">", "<="], key: KeyValue, binds: Binds) -> tuple[str, KeyValue]:
        """The whole key compared with ``key``, and the values to bind."""
        bound = self.key_bind_sql(binds)
        if len(bound) == 1:
            return f"{self.key_sql[0]} {operator} {bound[0]}", key
        return f"({', '.join(self.key_sql)}) {operator} ({', '.join(bound)})", key

    # Reading ----------------------------------------------------------------------------------------------

    def largest(self, connection: Connection) -> KeyValue | None:
        """The last key in the database's own order, or None for an empty table."""
        order = ", ".join(f"{part} DESC" for part in self.key_sql)
        row = connection.exec_driver_sql(
            f"SELECT {', '.join(self.key_read_sql())} FROM {self.table_sql} ORDER BY {order} LIMIT 1"
        ).first()
        return None if row is None else tuple(row)

    def every(self, connection: Connection, step: int) -> Iterator[KeyValue]:
        """The key of every ``step``-th row, in order: one walk through the index."""
        last: KeyValue | None = None
        while True:
            where, values = "", ()
            if last is not None:
                condition, values = self.compare_sql(">", last, self.binds())
                where = f" WHERE {condition}"
            found = connection.exec_driver_sql(
                f"SELECT {', '.join(self.key_read_sql())} FROM {self.from_sql()}{where}"
                f" ORDER BY {', '.join(self.key_sql)} LIMIT 1 OFFSET {step - 1}",
                tuple(values),
            ).first()
            if found is None:
                return
            last = tuple(found)
            yield last

    def estimate(self, connection: Connection) -> int:
        """The server's own estimate of the rows of the table; 0 where there is none."""
        del connection
        return 0

    def total(self, connection: Connection) -> int:
        """How many rows are still to be read; for large tables the server's estimate of all rows."""
        estimate = self.estimate(connection)
        if estimate > _COUNTED_ROWS:
            return estimate
        where = f" WHERE {self.column_sql} IS NOT NULL" + (f" AND {self.todo}" if self.todo else "")
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {self.table_sql}{where}").scalar_one())

    def page(
        self,
        connection: Connection,
        after: KeyValue | None,
        upto: KeyValue | None,
        limit: int,
        inline_bytes: int,
        *,
        lock: bool,
    ) -> list[Row]:
        """The next rows with a value, by key; locked until the transaction ends where ``lock`` says so.

        Args:
            connection: Where to read.
            after: Rows up to this key were read before.
            upto: The last key of interest; None for all there are.
            limit: Rows at most.
            inline_bytes: Longer values are left out (``Row.value`` is None) and read by :meth:`values`, so
                that the memory a page takes is bounded whatever stands in it.
            lock: Whether to lock the rows.
        """
        binds = self.binds()
        size, stored_as = self.size_sql(), self.stored_as_sql()
        values: list[Any] = [inline_bytes, inline_bytes]
        # The order of the text is the order of the placeholders. One of the two is NULL: drivers written in
        # Python spend a microsecond on each field that is not.
        selected = [
            *self.key_read_sql(),
            f"CASE WHEN {size} > {binds.next()} THEN {size} END",
            f"CASE WHEN {size} <= {binds.next()} THEN {self.value_sql()} END",
        ]
        if stored_as is not None:
            selected.append(stored_as)
        where = [f"{self.column_sql} IS NOT NULL"]
        if self.todo:
            where.append(self.todo)
        if after is not None:
            sql, bound = self.compare_sql(">", after, binds)
            where.append(sql)
            values += bound
        if upto is not None:
            sql, bound = self.compare_sql("<=", upto, binds)
            where.append(sql)
            values += bound
        statement = (
            f"SELECT {', '.join(selected)} FROM {self.from_sql()} WHERE {' AND '.join(where)}"
            f" ORDER BY {', '.join(self.key_sql)} LIMIT {binds.next()}{self.lock if lock else ''}"
        )
        values.append(limit)
        result = connection.exec_driver_sql(statement, tuple(values))
        # As the driver has them: SQLAlchemy's rows cost a microsecond each.
        found = result.cursor.fetchall()
        result.close()
        return self.page_of(found)

    def page_of(self, found: Sequence[tuple[Any, ...]]) -> list[Row]:
        """The rows of a page out of what the driver handed over."""
        width = len(self.key_sql)
        return [self.row(tuple(row[:width]), *row[width:]) for row in found]

    def from_sql(self) -> str:
        """The table in FROM, with whatever holds the planner to the key."""
        return self.table_sql

    def row(self, key: KeyValue, size: int | None, value: Any) -> Row:
        """A row from what the driver handed over; a size only where there is no value."""
        if value is None:
            return Row(key, size or 0, None)
        stored = value if value.__class__ is bytes else bytes(value)
        return Row(key, len(stored), stored)

    def having_keys(self, keys: Sequence[KeyValue]) -> tuple[str, tuple[Any, ...]]:
        """The end of a SELECT from WHERE on, that leaves the rows with these keys, and the values to bind."""
        binds = self.binds()
        matches = []
        for _ in keys:
            pairs = zip(self.key_sql, self.key_bind_sql(binds), strict=True)
            matches.append("(" + " AND ".join(f"{name} = {bind}" for name, bind in pairs) + ")")
        values = tuple(value for key in keys for value in key)
        return f"{' OR '.join(matches)} ORDER BY {', '.join(self.key_sql)}", values

    def values(self, connection: Connection, rows: Sequence[Row]) -> list[Row]:
        """``rows`` with their values; rows that are gone are left out."""
        stored_as = self.stored_as_sql()
        selected = [*self.key_read_sql(), self.value_sql()] + ([stored_as] if stored_as else [])
        having_keys, values = self.having_keys([row.key for row in rows])
        statement = f"SELECT {', '.join(selected)} FROM {self.from_sql()} WHERE {having_keys}"
        width = len(self.key_sql)
        found = connection.exec_driver_sql(statement, values).all()
        return [self.row(tuple(r[:width]), None, *r[width:]) for r in found if r[width] is not None]

    def by_key(self, connection: Connection, keys: Sequence[KeyValue]) -> list[Row]:
        """The rows with these keys, NULL values included, locked until the transaction ends.

        Keys that no row has are left out.
        """
        stored_as = self.stored_as_sql()
        selected = [*self.key_read_sql(), f"CASE WHEN {self.column_sql} IS NULL THEN 1 END", self.value_sql()]
        having_keys, values = self.having_keys(keys)
        statement = (
            f"SELECT {', '.join(selected + ([stored_as] if stored_as else []))} FROM {self.from_sql()}"
            f" WHERE {having_keys}{self.lock}"
        )
        width = len(self.key_sql)
        rows = []
        for found in connection.exec_driver_sql(statement, values).all():
            key, is_null = tuple(found[:width]), found[width] is not None
            rows.append(
                Row(key, 0, None, is_null=True) if is_null else self.row(key, None, *found[width + 1 :])
            )
        return rows

    # Writing ----------------------------------------------------------------------------------------------

    def write(self, connection: Connection, changes: Sequence[Change]) -> int:
        """Write the batch in one round trip; the rows matched, or -1 where the driver cannot tell."""
        binds = self.binds()
        new = binds.next()
        pairs = zip(self.key_sql, self.key_bind_sql(binds), strict=True)
        statement = (
            f"UPDATE {self.table_sql} SET {self.target_sql} = {self.new_value_sql(new)}"
            f" WHERE {' AND '.join(f'{name} = {bind}' for name, bind in pairs)}"
        )
        found = connection.exec_driver_sql(statement, [(change.value, *change.key) for change in changes])
        return found.rowcount
