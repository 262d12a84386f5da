"""PostgreSQL: preparing and swapping are one transaction each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import String

from sqlcompress.dialects.shadow.base import Shadow
from sqlcompress.dialects.tables import Binds

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection

# While a lock is waited for, everybody else waits behind it; in 200 ms most transactions come to their end.
_LOCK_TIMEOUT = "200ms"


class PostgreSQLShadow(Shadow):
    """AFTER triggers, so that what other triggers make of a row is seen."""

    def is_marked(self, connection: Connection) -> bool:
        binds = Binds(self.dialect.paramstyle)
        enabled = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid"
            f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = {binds.next()}::text"
            f" AND c.relname = {binds.next()}::text AND g.tgenabled = 'A'"
            f" AND g.tgname IN ({binds.next()}::text, {binds.next()}::text)",
            (self.table.schema, self.table.name, self.names.on_insert, self.names.on_update),
        ).scalar_one()
        return bool(enabled == 2 and self._has_queue(connection))

    def _has_queue(self, connection: Connection) -> bool:
        return self._exists(
            connection,
            "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ?::text AND c.relname = ?::text",
            self.table.schema,
            self.names.queue,
        )

    def _exists(self, connection: Connection, source: str, *values: Any) -> bool:
        binds = Binds(self.dialect.paramstyle)
        head, *rest = source.split("?")
        text = head + "".join(binds.next() + part for part in rest)
        return bool(connection.exec_driver_sql(f"SELECT EXISTS (SELECT 1 FROM {text})", values).scalar_one())

    def prepare(self, connection: Connection) -> None:
        with connection.begin():
            for statement in self._preparing():
                connection.exec_driver_sql(statement)

    def _preparing(self) -> list[str]:
        rows, names = self.rows, self.names
        new = self.quote(names.new)
        alter = f"ALTER TABLE {rows.table_sql}"
        keys = list(zip(rows.key_sql, self.key_names, strict=True))
        moved = " OR ".join(f"OLD.{key} IS DISTINCT FROM NEW.{key}" for key, _ in keys)
        changed = (
            f"OLD.{rows.column_sql} IS DISTINCT FROM NEW.{rows.column_sql}"
            if self.column.kind == "binary"
            # Under the column's own collation a change can be none; JSON has no equality at all.
            else f'(OLD.{rows.column_sql}::text COLLATE "C")'
            f' IS DISTINCT FROM (NEW.{rows.column_sql}::text COLLATE "C")'
        )
        body = (
            f"BEGIN INSERT INTO {self.queue_sql} ({', '.join(name for _, name in keys)})"
            f" VALUES ({', '.join(f'NEW.{key}' for key, _ in keys)}); RETURN NULL; END"
        )
        storage = [f"{alter} ALTER COLUMN {new} SET STORAGE EXTERNAL"] if self.new.is_binary else []
        triggers = [
            f"CREATE TRIGGER {self.quote(name)} AFTER {event} ON {rows.table_sql} FOR EACH ROW"
            f" WHEN ({when}) EXECUTE FUNCTION {self.in_schema(names.function)}()"
            for name, event, when in (
                (names.on_insert, "INSERT", f"NEW.{rows.column_sql} IS NOT NULL"),
                (
                    names.on_update,
                    "UPDATE",
                    (
                        "current_setting('sqlcompress.job', true) IS DISTINCT FROM '1'"
                        f" AND ({changed} OR {moved})"
                    ),
                ),
            )
        ]
        # Where changes arrive by logical replication, too.
        always = [
            f"{alter} ENABLE ALWAYS TRIGGER {self.quote(name)}" for name in (names.on_insert, names.on_update)
        ]
        return [
            f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'",
            f"{alter} ADD COLUMN {new} {self.new.type_sql}",
            *storage,
            (
                f"CREATE TABLE {self.queue_sql} AS SELECT"
                f" {', '.join(f'{key} AS {name}' for key, name in keys)} FROM {rows.table_sql} WITH NO DATA"
            ),
            f"ALTER TABLE {self.queue_sql} ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            # Whoever may write to the table may leave a key, and do nothing else with the queue.
            (
                f"CREATE FUNCTION {self.in_schema(names.function)}() RETURNS trigger LANGUAGE plpgsql"
                f" SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {_literal(body)}"
            ),
            *triggers,
            *always,
        ]

    def steps(self) -> list[str]:
        rows = self.rows
        return [
            *self._preparing()[1:],
            self.backfill_step(),
            f"LOCK TABLE {rows.table_sql} IN ACCESS EXCLUSIVE MODE",
            *self._swapping(),
            *([] if self.column.nullable else self._finishing()),
        ]

    def reset(self, connection: Connection) -> None:
        with connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            for statement in self._removing():
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql(
                f"ALTER TABLE {self.rows.table_sql} DROP COLUMN IF EXISTS {self.quote(self.names.new)}"
            )

    def _removing(self) -> list[str]:
        names = self.names
        return [
            *(
                f"DROP TRIGGER IF EXISTS {self.quote(name)} ON {self.rows.table_sql}"
                for name in (names.on_insert, names.on_update)
            ),
            f"DROP FUNCTION IF EXISTS {self.in_schema(names.function)}()",
            f"DROP TABLE IF EXISTS {self.queue_sql}",
        ]

    def swap(self, connection: Connection, catch_up: Callable[[Connection], bool]) -> bool:
        with connection.begin() as transaction:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            connection.exec_driver_sql(f"LOCK TABLE {self.rows.table_sql} IN ACCESS EXCLUSIVE MODE")
            if not catch_up(connection):
                transaction.rollback()
                return False
            for statement in self._swapping():
                connection.exec_driver_sql(statement)
        return True

    def _swapping(self) -> list[str]:
        rows, names, column = self.rows, self.names, self.column
        alter = f"ALTER TABLE {rows.table_sql}"
        kept = self.quote(names.kept)
        statements = [
            # A deferred trigger that still has to run would forbid the change.
            "SET CONSTRAINTS ALL IMMEDIATE",
            *self._removing(),
            f"{alter} RENAME COLUMN {rows.column_sql} TO {kept}",
            f"{alter} RENAME COLUMN {self.quote(names.new)} TO {rows.column_sql}",
        ]
        if column.default is not None:
            statements.append(f"{alter} ALTER COLUMN {kept} DROP DEFAULT")
        if self.new.default_sql is not None:
            statements.append(f"{alter} ALTER COLUMN {rows.column_sql} SET DEFAULT {self.new.default_sql}")
        if not column.nullable:
            # Every new row is held to it from here on; the old ones are looked at without a lock.
            statements += [
                f"{alter} ALTER COLUMN {kept} DROP NOT NULL",
                (
                    f"{alter} ADD CONSTRAINT {self.quote(names.check)} CHECK ({rows.column_sql} IS NOT NULL)"
                    " NOT VALID"
                ),
            ]
        if column.comment:
            statements.append(
                f"COMMENT ON COLUMN {rows.table_sql}.{rows.column_sql} IS {self._text(column.comment)}"
            )
        return [*statements, *self.new.grants]

    def _text(self, value: str) -> str:
        make: Any = self.dialect.ddl_compiler
        return str(make(self.dialect, None).sql_compiler.render_literal_value(value, String()))

    def clean(self, connection: Connection) -> None:
        pending = self._exists(
            connection,
            "pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE n.nspname = ?::text AND c.relname = ?::text"
            " AND k.conname = ?::text",
            self.table.schema,
            self.table.name,
            self.names.check,
        )
        connection.rollback()
        if pending:
            for statement in self._finishing():
                with connection.begin():
                    if not statement.endswith("VALIDATE CONSTRAINT " + self.quote(self.names.check)):
                        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
                    connection.exec_driver_sql(statement)

    def _finishing(self) -> list[str]:
        alter = f"ALTER TABLE {self.rows.table_sql}"
        check = self.quote(self.names.check)
        return [
            f"{alter} VALIDATE CONSTRAINT {check}",
            # The server takes the validated constraint as proof and reads no row (PostgreSQL 12).
            f"{alter} ALTER COLUMN {self.rows.column_sql} SET NOT NULL",
            f"{alter} DROP CONSTRAINT IF EXISTS {check}",
        ]

    def drop_column(self, connection: Connection, name: str) -> None:
        with connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            connection.exec_driver_sql(
                f"ALTER TABLE {self.rows.table_sql} DROP COLUMN IF EXISTS {self.quote(name)}"
            )

    def queued_key_sql(self) -> tuple[str, ...]:
        return tuple(
            f"{name}::text" if part.as_text else name
            for part, name in zip(self.rows.key.columns, self.key_names, strict=True)
        )


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
