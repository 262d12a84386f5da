"""MySQL and MariaDB: one UPDATE … SET d = CASE … a batch."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sqlalchemy.exc import SQLAlchemyError

from sqlcompress.dialects.rows.base import Change, KeyValue, Rows
from sqlcompress.dialects.tables import Binds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.exc import DBAPIError

    from sqlcompress.dialects.tables import Column, Key, TableName

# A string: a trigger that has once read a number is told by MySQL 9.7 that other sessions have one, too.
_SAY_SO = "SET @sqlcompress_job = '1'"

_TRANSIENT = frozenset({1205, 1213, 1020})  # lock wait timeout, deadlock, record changed since last read


class MySQLRows(Rows):
    """Batches in READ COMMITTED, held to the key's index by FORCE INDEX.

    Right after an ALTER the statistics can say 17 rows; the optimizer then scans, and disjoint batches
    deadlock.
    """

    connection_is_disposable: ClassVar[bool] = True

    def __init__(
        self,
        connection: Connection,
        table: TableName,
        column: Column,
        key: Key,
        target: Column | None = None,
    ) -> None:
        super().__init__(connection, table, column, key, target)
        quote = self.dialect.identifier_preparer.quote_identifier
        self._force = f" FORCE INDEX ({'PRIMARY' if key.index is None else quote(key.index)})"
        packet, log_bin, log_format = connection.exec_driver_sql(
            "SELECT @@max_allowed_packet, @@log_bin, @@binlog_format"
        ).one()
        self.statement_bytes = int(packet)
        # READ COMMITTED under a statement log is refused with error 1665.
        self._isolation = "REPEATABLE READ" if log_bin and log_format == "STATEMENT" else "READ COMMITTED"
        siblings = connection.exec_driver_sql(
            "SELECT column_name AS name FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name = %s AND extra LIKE '%%on update%%'",
            (table.schema, table.name),
        ).scalars()
        self._siblings = "".join(f", {quote(name)} = {quote(name)}" for name in siblings)

    def open(self, connection: Connection) -> Connection:
        connection = connection.execution_options(isolation_level=self._isolation)
        # In local time two instants a year share one reading, and a TIMESTAMP key would not be one.
        connection.exec_driver_sql("SET time_zone = '+00:00'")
        # Triggers that know of it stay out of the job's way: those of a shadow column, and a user's own.
        connection.exec_driver_sql(_SAY_SO)
        if self.copies:
            # A lax server would cut what is too long for another column.
            connection.exec_driver_sql("SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')")
        connection.commit()
        return connection

    def session_state(self, connection: Connection) -> Any:
        # The last one is set where a type is changed under a lock.
        return connection.exec_driver_sql(
            "SELECT @@time_zone, @sqlcompress_job, @@sql_mode, @@lock_wait_timeout"
        ).one()

    def set_session_state(self, connection: Connection, state: Any) -> None:
        connection.exec_driver_sql(
            "SET time_zone = %s, @sqlcompress_job = %s, sql_mode = %s, lock_wait_timeout = %s", tuple(state)
        )
        connection.commit()

    @contextmanager
    def surrounded(self, connection: Connection) -> Iterator[None]:
        connection.exec_driver_sql(_SAY_SO)
        try:
            yield
        finally:
            # The connection may be lost; what ended the block says more.
            with suppress(SQLAlchemyError):
                connection.exec_driver_sql("SET @sqlcompress_job = NULL")

    def is_transient(self, error: DBAPIError) -> bool:
        original: Any = error.orig
        return bool(original.args) and original.args[0] in _TRANSIENT

    def estimate(self, connection: Connection) -> int:
        found = connection.exec_driver_sql(
            "SELECT table_rows AS n FROM information_schema.tables"
            " WHERE table_schema = %s AND table_name = %s",
            (self.table.schema, self.table.name),
        ).scalar_one()
        return int(found or 0)

    def from_sql(self) -> str:
        return self.table_sql + self._force

    def value_sql(self) -> str:
        if self.copies and self.column.kind in {"text", "json"}:
            return f"CAST(CONVERT({self.column_sql} USING utf8mb4) AS BINARY)"
        return self.column_sql

    def new_value_sql(self, value: str) -> str:
        # The bytes are valid UTF-8, and a strict server refuses what the target's character set has not.
        if self.copies and self.target.kind != "binary" and "binary" not in self.target.type_sql.lower():
            return f"CONVERT({value} USING utf8mb4)"
        return value

    def compare_sql(self, operator: Literal[">", "<="], key: KeyValue, binds: Binds) -> tuple[str, KeyValue]:
        if len(key) == 1:
            return super().compare_sql(operator, key, binds)
        # A row value makes the server read the whole index; this form is a range.
        alternatives: list[str] = []
        values: list[Any] = []
        for i in range(len(key)):
            last = i == len(key) - 1
            terms = [f"{name} = {binds.next()}" for name in self.key_sql[:i]]
            terms.append(f"{self.key_sql[i]} {operator if last else operator[0]} {binds.next()}")
            alternatives.append(f"({' AND '.join(terms)})")
            values += key[: i + 1]
        return f"({' OR '.join(alternatives)})", tuple(values)

    def write(self, connection: Connection, changes: Sequence[Change]) -> int:
        # Values stand in the text as hexadecimal digits: the server reads those in two thirds of the time
        # that it takes for bytes with escapes in a multi-byte character set, and the driver escapes nothing.
        new = [self.new_value_sql(_literal(change.value)) for change in changes]
        if len(self.key_sql) > 1:
            pairs = " AND ".join(f"{name} = %s" for name in self.key_sql)
            keys = [part for change in changes for part in change.key]
            statement = self._update(
                f"CASE {' '.join([f'WHEN {pairs} THEN {value}' for value in new])} END",
                " OR ".join([f"({pairs})"] * len(changes)),
            )
            return connection.exec_driver_sql(statement, tuple(keys + keys)).rowcount
        bound: list[Any] = []
        if type(changes[0].key[0]) is int:
            keys = [str(change.key[0]) for change in changes]
        else:
            bound, keys = [change.key[0] for change in changes], ["%s"] * len(changes)
        # In key order: finding the group first and then the row takes about the square root of the number of
        # rows in comparisons for a row, where one flat CASE takes half of it.
        key, size, groups, values = self.key_sql[0], max(1, isqrt(len(changes))), [], []
        for start in range(0, len(changes), size):
            group = keys[start : start + size]
            cases = " ".join(
                [f"WHEN {k} THEN {v}" for k, v in zip(group, new[start : start + size], strict=True)]
            )
            groups.append(f"WHEN {key} <= {group[-1]} THEN CASE {key} {cases} END")
            if bound:
                values += [bound[min(start + size, len(changes)) - 1], *bound[start : start + size]]
        # At least one value is bound: without any, not every driver turns the %% of a name into one %.
        match = f"{key} IN ({', '.join([*keys[:-1], '%s'])})"
        values += bound or [changes[-1].key[0]]
        statement = self._update(f"CASE {' '.join(groups)} END", match)
        return connection.exec_driver_sql(statement, tuple(values)).rowcount

    def _update(self, case: str, match: str) -> str:
        return (
            f"UPDATE {self.table_sql}{self._force}"
            f" SET {self.target_sql} = {case}{self._siblings} WHERE {match}"
        )


def _literal(value: bytes | str | None) -> str:
    """A new value as a literal."""
    if isinstance(value, str):
        return f"_utf8mb4 X'{value.encode().hex()}'"
    return "NULL" if value is None else f"X'{value.hex()}'"
