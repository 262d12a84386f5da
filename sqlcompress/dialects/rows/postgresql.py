"""PostgreSQL: one UPDATE … FROM (VALUES …) a batch."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlcompress.dialects.postgresql import utf8_sql
from sqlcompress.dialects.rows.base import Change, Rows
from sqlcompress.dialects.tables import Binds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

# The protocol counts parameters in 16 bits.
_MAX_PARAMETERS = 65_000

# Statistics are gone right after the type has changed; plans that read the table for each batch come of it.
_PLANNER = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_sort", "jit")

_TRANSIENT = frozenset({"40001", "40P01", "55P03"})  # serialization, deadlock, lock not available


class PostgreSQLRows(Rows):
    """Batches in READ COMMITTED, keys bound with the column's own type."""

    # Foreign keys that point at the row are checked under FOR KEY SHARE and need not wait.
    lock: ClassVar[str] = " FOR NO KEY UPDATE"
    connection_is_disposable: ClassVar[bool] = True

    def open(self, connection: Connection) -> Connection:
        connection = super().open(connection)
        # The connection is the job's own and is closed afterwards.
        for setting in _PLANNER:
            connection.exec_driver_sql(f"SET {setting} = off")
        # Triggers that know of it stay out of the job's way: those of a shadow column, and a user's own.
        connection.exec_driver_sql("SET sqlcompress.job = '1'")
        connection.commit()
        return connection

    @contextmanager
    def surrounded(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql(f"LOCK TABLE {self.table_sql} IN ACCESS EXCLUSIVE MODE")
        before = {name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in _PLANNER}
        for name in _PLANNER:
            connection.exec_driver_sql(f"SET LOCAL {name} = off")
        yield
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
        if self.target.kind not in {"text", "json"}:
            return value
        # Without a cast the assignment to VARCHAR(n) refuses what is too long; with one it would cut.
        cast = f"::{self.target.type_sql}" if self.target.kind == "json" else ""
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

    def write(self, connection: Connection, changes: Sequence[Change]) -> int:
        at_most = _MAX_PARAMETERS // (1 + len(self.key_sql))
        matched = 0
        for start in range(0, len(changes), at_most):
            part = changes[start : start + at_most]
            values: list[Any] = []
            for change in part:
                values += change.key
                values.append(change.value)
            matched += connection.exec_driver_sql(self._statement(len(part)), tuple(values)).rowcount
        return matched

    @lru_cache(maxsize=64)  # noqa: B019 - one object lives as long as its job
    def _statement(self, count: int) -> str:
        binds = self.binds()
        names = [f"k{i}" for i in range(len(self.key_sql))]
        rows = ", ".join(
            f"({', '.join(self.key_bind_sql(binds))}, {binds.next()}::bytea)" for _ in range(count)
        )
        match = " AND ".join(f"t.{sql} = n.{name}" for sql, name in zip(self.key_sql, names, strict=True))
        return (
            f"UPDATE {self.table_sql} AS t SET {self.target_sql} = {self.new_value_sql('n.v')}"
            f" FROM (VALUES {rows}) AS n ({', '.join(names)}, v) WHERE {match}"
        )
