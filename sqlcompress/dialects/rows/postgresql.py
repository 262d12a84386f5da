"""PostgreSQL: one UPDATE … FROM unnest(…) a batch."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.dialects.postgresql import utf8_sql
from sqlcompress.dialects.rows.base import Change, Rows
from sqlcompress.dialects.tables import Binds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

    from sqlcompress.dialects.rows.base import KeyValue

# Statistics are gone right after the type has changed; plans that read the table for each batch come of it.
_PLANNER = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_sort", "jit")

# With row_security off the server refuses where a policy would hide rows, which would be left out otherwise.
_OFF = (*_PLANNER, "row_security")

_SETTINGS = (*_OFF, "synchronous_commit", "sqlcompress.job")

_TRANSIENT = frozenset({"40001", "40P01", "55P03"})  # serialization, deadlock, lock not available


class PostgreSQLRows(Rows):
    """Batches in READ COMMITTED, keys bound with the column's own type."""

    # Foreign keys that point at the row are checked under FOR KEY SHARE and need not wait.
    lock: ClassVar[str] = " FOR NO KEY UPDATE"
    connection_is_disposable: ClassVar[bool] = True

    def open(self, connection: Connection) -> Connection:
        connection = super().open(connection)
        if self.dialect.driver == "psycopg":
            _read_binary(connection)
        # The connection is closed afterwards, or lent.
        for setting in _OFF:
            connection.exec_driver_sql(f"SET {setting} = off")
        # Triggers that know of it stay out of the job's way: those of a shadow column, and a user's own.
        connection.exec_driver_sql("SET sqlcompress.job = '1'")
        connection.commit()
        return connection

    def session_state(self, connection: Connection) -> Any:
        values = ", ".join(f"current_setting('{name}', true)" for name in _SETTINGS)
        driver: Any = connection.connection.driver_connection
        factory = driver.cursor_factory if self.dialect.driver == "psycopg" else None
        return tuple(connection.exec_driver_sql(f"SELECT {values}").one()), factory

    def set_session_state(self, connection: Connection, state: Any) -> None:
        values, factory = state
        binds = self.binds()
        calls = ", ".join(f"set_config('{name}', {binds.next()}::text, false)" for name in _SETTINGS)
        connection.exec_driver_sql(f"SELECT {calls}", tuple(value or "" for value in values))
        connection.commit()
        if factory is not None:
            driver: Any = connection.connection.driver_connection
            driver.cursor_factory = factory

    def hurry(self, connection: Connection) -> None:
        # One wait for the disk in the end, not one after each batch. The log keeps its order: after
        # a crash a batch is there with all that was committed before it, and a rerun finds the others plain.
        connection.exec_driver_sql("SET synchronous_commit = off")
        connection.commit()

    def settle(self, connection: Connection) -> None:
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        # A transaction that has written nothing does not wait for the log.
        connection.exec_driver_sql("SELECT pg_logical_emit_message(true, 'sqlcompress', 'done')")
        connection.commit()

    @contextmanager
    def surrounded(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql(f"LOCK TABLE {self.table_sql} IN ACCESS EXCLUSIVE MODE")
        before = {name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in _OFF}
        for name in _OFF:
            connection.exec_driver_sql(f"SET LOCAL {name} = off")
        connection.exec_driver_sql("SET LOCAL sqlcompress.job = '1'")
        yield
        connection.exec_driver_sql("SET LOCAL sqlcompress.job = ''")
        # After an error the transaction is lost, and its settings with it.
        for name, value in before.items():
            connection.exec_driver_sql(f"SET LOCAL {name} = {value}")

    def is_transient(self, error: DBAPIError) -> bool:
        original: Any = error.orig
        code = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
        return code in _TRANSIENT

    def estimate(self, connection: Connection) -> int:
        binds = self.binds()
        found = connection.exec_driver_sql(
            "SELECT sum(c.reltuples)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.relname = {binds.next()}::text AND n.nspname = {binds.next()}::text",
            (self.table.name, self.table.schema),
        ).scalar_one()
        return int(found)

    def prefix_sql(self, count: int) -> str:
        return f"substring({self.column_sql} FROM 1 FOR {count})"

    def size_sql(self) -> str:
        if self.column.kind in {"text", "json"}:
            return f"octet_length({self.column_sql}::text)"
        return f"octet_length({self.column_sql})"

    def value_sql(self) -> str:
        if self.column.kind in {"text", "json"}:
            return utf8_sql(self.column_sql, is_json=self.column.kind == "json")
        return self.column_sql

    def new_value_sql(self, value: str) -> str:
        if self.target.kind == "binary":
            return value
        # Without a cast the assignment to VARCHAR(n) refuses what is too long; with one it would cut.
        cast = "" if self.target.kind == "text" else f"::{self.target.type_sql}"
        return f"convert_from({value}, 'UTF8'){cast}"

    def key_read_sql(self) -> tuple[str, ...]:
        return tuple(
            f"{sql}::text" if part.as_text else sql
            for part, sql in zip(self.key.columns, self.key_sql, strict=True)
        )

    def key_bind_sql(self, binds: Binds) -> tuple[str, ...]:
        return tuple(
            f"{binds.next()}::text::{part.cast}" if part.as_text else f"{binds.next()}::{part.cast}"
            for part in self.key.columns
        )

    def having_keys(self, keys: Sequence[KeyValue]) -> tuple[str, tuple[Any, ...]]:
        # A condition for each key, and an order, make one long walk over the whole index of it where sorting
        # is off: 157 ms for 200 of 60,000 rows, against 4 ms.
        arrays = self._key_arrays(self.binds())
        names = [f"k{i}" for i in range(len(arrays))]
        typed = [
            f"n.{name}::{part.cast}" if part.as_text else f"n.{name}"
            for name, part in zip(names, self.key.columns, strict=True)
        ]
        sql = (
            f"({', '.join(self.key_sql)}) IN (SELECT {', '.join(typed)}"
            f" FROM unnest({', '.join(arrays)}) AS n ({', '.join(names)}))"
        )
        return sql, tuple(map(list, zip(*keys, strict=True)))

    def _array_bind(self, binds: Binds) -> str:
        # psycopg would write an array as text, with every backslash of it escaped.
        return "%b" if self.dialect.driver in {"psycopg", "psycopg_async"} else binds.next()

    def _key_arrays(self, binds: Binds) -> list[str]:
        types = ["text" if part.as_text else part.cast for part in self.key.columns]
        return [f"{self._array_bind(binds)}::{type_sql}[]" for type_sql in types]

    def write(self, connection: Connection, changes: Sequence[Change]) -> int:
        keys = zip(*[change.key for change in changes], strict=True)
        values = [change.value for change in changes]
        return connection.exec_driver_sql(self._statement, (*map(list, keys), values)).rowcount

    @cached_property
    def _statement(self) -> str:
        # One array for each column: the same text for every batch, planned once, and a third of the time that
        # a row of VALUES for each change takes.
        binds = self.binds()
        arrays = self._key_arrays(binds)
        names = [f"k{i}" for i in range(len(arrays))]
        match = " AND ".join(
            f"t.{sql} = n.{name}" + (f"::{part.cast}" if part.as_text else "")
            for sql, name, part in zip(self.key_sql, names, self.key.columns, strict=True)
        )
        arrays.append(f"{self._array_bind(binds)}::bytea[]")
        return (
            f"UPDATE {self.table_sql} AS t SET {self.target_sql} = {self.new_value_sql('n.v')}"
            f" FROM unnest({', '.join(arrays)}) AS n ({', '.join(names)}, v) WHERE {match}"
        )


def _read_binary(connection: Connection) -> None:
    """Have psycopg fetch results in the binary format: bytea as hex digits is twice as long."""
    from psycopg.pq import Format  # noqa: PLC0415 - the driver is there where this is called

    binary = Format.BINARY
    driver: Any = connection.connection.driver_connection
    plain: Any = driver.cursor_factory
    if getattr(plain, "is_binary_cursor", False):
        return

    class BinaryCursor(plain):  # type: ignore[misc]
        is_binary_cursor = True

        def __init__(self, *args: Any, **kw: Any) -> None:
            super().__init__(*args, **kw)
            self.format: Any = binary

    driver.cursor_factory = BinaryCursor
