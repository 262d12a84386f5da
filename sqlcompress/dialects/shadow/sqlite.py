"""SQLite: the same steps under its one write lock, which is held for the time of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.shadow.base import Shadow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection


class SQLiteShadow(Shadow):
    """DDL is part of a transaction, so preparing and swapping are one each."""

    def blockers(self, connection: Connection) -> list[str]:
        del connection
        found = []
        if not self.column.nullable:
            found.append(
                f"SQLite cannot take NOT NULL from the column that is kept; {self.column.name} is NOT NULL"
            )
        if self.column.default is not None:
            found.append(f"SQLite cannot give the default of {self.column.name} to another column")
        advice = '; use strategy="rewrite", which on SQLite changes no type and locks no longer'
        return [sentence + advice for sentence in found]

    def is_marked(self, connection: Connection) -> bool:
        schema = self.quote(self.table.schema or "main")
        found = connection.exec_driver_sql(
            f"SELECT count(*) FROM {schema}.sqlite_master WHERE (type = 'trigger' AND tbl_name = ?"
            " AND name IN (?, ?)) OR (type = 'table' AND name = ?)",
            (self.table.name, self.names.on_insert, self.names.on_update, self.names.queue),
        ).scalar_one()
        return bool(found == 3)

    def prepare(self, connection: Connection) -> None:
        self._at_once(connection, self._preparing())

    def _at_once(self, connection: Connection, statements: list[str]) -> None:
        self.rows.begin(connection)
        try:
            for statement in statements:
                connection.exec_driver_sql(statement)
        except BaseException:
            self.rows.rollback(connection)
            raise
        self.rows.commit(connection)

    def _preparing(self) -> list[str]:
        names, column = self.names, self.rows.column_sql
        queue, table = self.quote(names.queue), self.quote(self.table.name)  # of the trigger's own schema
        keys = list(zip(self.rows.key_sql, self.key_names, strict=True))
        insert = (
            f"INSERT INTO {queue} ({', '.join(name for _, name in keys)})"
            f" VALUES ({', '.join(f'NEW.{key}' for key, _ in keys)})"
        )
        # As bytes: text is compared under the column's collation, and '1' equals 1.
        changed = (
            f"CAST(OLD.{column} AS BLOB) IS NOT CAST(NEW.{column} AS BLOB)"
            f" OR typeof(OLD.{column}) <> typeof(NEW.{column})"
        )
        # 1 and '1' are the same bytes, and stand at different places of the key's order.
        moved = "".join(
            f" OR CAST(OLD.{k} AS BLOB) IS NOT CAST(NEW.{k} AS BLOB) OR typeof(OLD.{k}) <> typeof(NEW.{k})"
            for k, _ in keys
        )
        return [
            f"ALTER TABLE {self.rows.table_sql} ADD COLUMN {self.quote(names.new)} {self.new.type_sql}",
            (
                f"CREATE TABLE {self.queue_sql} (seq INTEGER PRIMARY KEY AUTOINCREMENT,"
                f" {', '.join(name for _, name in keys)})"
            ),
            (
                f"CREATE TRIGGER {self.in_schema(names.on_insert)} AFTER INSERT ON {table}"
                f" WHEN NEW.{column} IS NOT NULL BEGIN {insert}; END"
            ),
            (
                f"CREATE TRIGGER {self.in_schema(names.on_update)} AFTER UPDATE ON {table}"
                f" WHEN {changed}{moved} BEGIN {insert}; END"
            ),
        ]

    def _removing(self) -> list[str]:
        names = self.names
        return [
            *(
                f"DROP TRIGGER IF EXISTS {self.in_schema(name)}"
                for name in (names.on_insert, names.on_update)
            ),
            f"DROP TABLE IF EXISTS {self.queue_sql}",
        ]

    def reset(self, connection: Connection) -> None:
        self._at_once(connection, self._removing())
        self.drop_column(connection, self.names.new)

    def swap(self, connection: Connection, catch_up: Callable[[Connection], bool]) -> bool:
        self.rows.begin(connection)
        try:
            if not catch_up(connection):
                self.rows.rollback(connection)
                return False
            for statement in self._swapping():
                connection.exec_driver_sql(statement)
        except BaseException:
            self.rows.rollback(connection)
            raise
        self.rows.commit(connection)
        return True

    def _swapping(self) -> list[str]:
        alter, column = f"ALTER TABLE {self.rows.table_sql}", self.rows.column_sql
        return [
            *self._removing(),
            f"{alter} RENAME COLUMN {column} TO {self.quote(self.names.kept)}",
            f"{alter} RENAME COLUMN {self.quote(self.names.new)} TO {column}",
        ]

    def clean(self, connection: Connection) -> None:
        """Nothing is left: the swap took all of it along."""

    def steps(self) -> list[str]:
        return [
            *self._preparing(),
            self.backfill_step(),
            *self._swapping(),
        ]

    def drop_column(self, connection: Connection, name: str) -> None:
        schema = self.quote(self.table.schema or "main")
        columns = connection.exec_driver_sql(f"PRAGMA {schema}.table_info({self.quote(self.table.name)})")
        if name in {row[1] for row in columns}:
            self._at_once(connection, [f"ALTER TABLE {self.rows.table_sql} DROP COLUMN {self.quote(name)}"])
