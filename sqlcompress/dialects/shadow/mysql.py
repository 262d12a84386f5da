"""MySQL and MariaDB: instant column changes; LOCK TABLES where two statements belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import String
from sqlalchemy.exc import DBAPIError

from sqlcompress.dialects.locks import locked_for_writing
from sqlcompress.dialects.shadow.base import Shadow
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.tables import Column

# The shortest there is, in seconds; while a lock is waited for, everybody else waits behind it.
_LOCK_WAIT = "SET SESSION lock_wait_timeout = 1"
_NOT_INSTANT = frozenset({1845, 1846, 4092})  # not supported, not supported because …, too many row versions


class MySQLShadow(Shadow):
    """Invisible columns, so that ``SELECT *`` and INSERT without names see one column at a time.

    A column that is NOT NULL gets a default of no bytes for as long as it is filled, since a change from NULL
    to NOT NULL would copy the table; the kept column goes on with such a default.
    """

    def blockers(self, connection: Connection) -> list[str]:
        """A key that moves without a trigger: the value would be looked for where the row no longer is."""
        keys = [part.name for part in self.rows.key.columns]
        listed = ", ".join(["%s"] * len(keys))
        found = connection.exec_driver_sql(
            "SELECT DISTINCT k.constraint_name, k.column_name FROM information_schema.key_column_usage k"
            " JOIN information_schema.referential_constraints r ON r.constraint_schema = k.constraint_schema"
            " AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name"
            f" WHERE k.table_schema = %s AND k.table_name = %s AND k.column_name IN ({listed})"
            " AND r.update_rule NOT IN ('RESTRICT', 'NO ACTION') ORDER BY 1, 2",
            (self.table.schema, self.table.name, *keys),
        )
        return [
            f"the foreign key {constraint} changes {name}, a column of the key, when the row it refers to "
            "changes (ON UPDATE), and the server fires no trigger then: such a change would be missed; "
            'use strategy="rewrite", or drop the foreign key first'
            for constraint, name in found
        ]

    def is_marked(self, connection: Connection) -> bool:
        triggers = connection.exec_driver_sql(
            "SELECT count(*) FROM information_schema.triggers WHERE event_object_schema = %s"
            " AND event_object_table = %s AND trigger_name IN (%s, %s)",
            (self.table.schema, self.table.name, self.names.on_insert, self.names.on_update),
        ).scalar_one()
        queue = connection.exec_driver_sql(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
            (self.table.schema, self.names.queue),
        ).scalar_one()
        return bool(triggers == 2 and queue == 1)

    # Preparing --------------------------------------------------------------------------------------------

    def prepare(self, connection: Connection) -> None:
        connection.exec_driver_sql(_LOCK_WAIT)
        with locked_for_writing(connection, self.rows.table_sql):
            for statement in self._adding():
                self._instantly(connection, statement)
        for statement in self._marking():
            connection.exec_driver_sql(statement)
        connection.commit()

    def _instantly(self, connection: Connection, statement: str) -> None:
        try:
            connection.exec_driver_sql(f"{statement}, ALGORITHM=INSTANT")
        except DBAPIError as error:
            if _code(error) not in _NOT_INSTANT:
                raise
            sentence = (
                f"the server cannot change a column of {self.table} without copying it (a FULLTEXT index, "
                "ROW_FORMAT=COMPRESSED, or too many instant changes since the last copy, which OPTIMIZE "
                'TABLE ends); use strategy="rewrite"'
            )
            raise MigrationBlockedError(sentence, (sentence,)) from error

    def _adding(self) -> Iterator[str]:
        alter, new = f"ALTER TABLE {self.rows.table_sql}", self.quote(self.names.new)
        after = f"AFTER {self.rows.column_sql}"
        if self.column.nullable or self._is_mariadb:
            yield f"{alter} ADD COLUMN {new} {self._definition(self._filled())} {after}"
        else:
            # MySQL adds no column with such a default instantly, but gives one to a column.
            bare = self._definition(self._filled(), default=False)
            yield f"{alter} ADD COLUMN {new} {bare} {after}"
            yield f"{alter} MODIFY COLUMN {new} {self._definition(self._filled())}"

    @property
    def _is_mariadb(self) -> bool:
        return bool(getattr(self.dialect, "is_mariadb", False))

    def _filled(self) -> tuple[str, bool, str | None]:
        """The new column while it is filled: type, invisible, default."""
        return self.new.type_sql, True, self._nothing(self.new.type_sql)

    def _nothing(self, type_sql: str) -> str | None:
        """The default that stands for a value which is not there, where the column takes no NULL."""
        if self.column.nullable:
            return None
        nothing = "'null'" if "json" in type_sql.lower() else "''"
        # MySQL takes an expression where it takes no literal, MariaDB a literal without copying.
        return nothing if self._is_mariadb else f"({nothing})"

    def _definition(self, column: tuple[str, bool, str | None], *, default: bool = True) -> str:
        type_sql, invisible, default_sql = column
        parts = [type_sql, "NULL" if self.column.nullable else "NOT NULL"]
        if default and default_sql is not None:
            parts.append(f"DEFAULT {default_sql}")
        if invisible:
            parts.append("INVISIBLE")
        if self.column.comment:
            parts.append(f"COMMENT {self._text(self.column.comment)}")
        return " ".join(parts)

    def _text(self, value: str) -> str:
        make: Any = self.dialect.ddl_compiler
        return str(make(self.dialect, None).sql_compiler.render_literal_value(value, String()))

    def _marking(self) -> list[str]:
        rows, names = self.rows, self.names
        keys = list(zip(rows.key.columns, rows.key_sql, self.key_names, strict=True))
        column = rows.column_sql

        def as_bytes(row: str) -> str:
            if self.column.kind == "json":
                return f"CAST(CONVERT({row}.{column} USING utf8mb4) AS BINARY)"
            return f"CAST({row}.{column} AS BINARY)"

        moved = "".join(f" OR NOT (CAST(OLD.{k} AS BINARY) <=> CAST(NEW.{k} AS BINARY))" for _, k, _ in keys)
        insert = (
            f"INSERT INTO {self.queue_sql} ({', '.join(name for *_, name in keys)})"
            f" VALUES ({', '.join(f'NEW.{key}' for _, key, _ in keys)});"
        )
        on, each = f"ON {rows.table_sql}", "FOR EACH ROW BEGIN IF"
        changed = f"NOT ({as_bytes('OLD')} <=> {as_bytes('NEW')}){moved}"
        return [
            (
                f"CREATE TABLE {self.queue_sql} (seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY)"
                f" ENGINE=InnoDB SELECT {', '.join(f'{key} AS {name}' for _, key, name in keys)}"
                f" FROM {rows.table_sql} LIMIT 0"
            ),
            (
                f"CREATE TRIGGER {self.in_schema(names.on_insert)} AFTER INSERT {on} {each}"
                f" NEW.{column} IS NOT NULL THEN {insert} END IF; END"
            ),
            # Under the column's own collation a change can be none. Who writes is not asked: the job changes
            # neither key nor value, and MySQL 9.7 can answer for the session that fired the trigger before.
            (
                f"CREATE TRIGGER {self.in_schema(names.on_update)} AFTER UPDATE {on} {each}"
                f" {changed} THEN {insert} END IF; END"
            ),
        ]

    def reset(self, connection: Connection) -> None:
        connection.exec_driver_sql(_LOCK_WAIT)
        self._remove_marks(connection)
        self.drop_column(connection, self.names.new)

    def _remove_marks(self, connection: Connection) -> None:
        for name in (self.names.on_insert, self.names.on_update):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {self.in_schema(name)}")
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self.queue_sql}")
        connection.commit()

    # Filling ----------------------------------------------------------------------------------------------

    def todo_sql(self) -> str:
        nothing = self._nothing(self.new.type_sql)
        if nothing is None:
            return super().todo_sql()
        target = self.rows.target_sql
        if "null" in nothing:
            return f"CAST({target} AS CHAR) = 'null'"
        return f"({target} = '' AND LENGTH({self.rows.column_sql}) > 0)"

    # Swapping ---------------------------------------------------------------------------------------------

    def swap(self, connection: Connection, catch_up: Callable[[Connection], bool]) -> bool:
        connection.exec_driver_sql(_LOCK_WAIT)
        with locked_for_writing(connection, self.rows.table_sql, self.queue_sql):
            is_ready = catch_up(connection)
            if is_ready:
                # The triggers name nothing that goes away: until they are dropped they only fill the queue.
                self._instantly(connection, self._swapping())
            else:
                connection.rollback()
        if not is_ready:
            connection.rollback()  # what UNLOCK TABLES has begun
        return is_ready

    def _swapping(self) -> str:
        rows, names, column = self.rows, self.names, self.column
        kept = (_declared(column), True, self._nothing(column.type_sql))
        final = (self.new.type_sql, column.invisible, self.new.default_sql)
        return (
            f"ALTER TABLE {rows.table_sql}"
            f" CHANGE COLUMN {rows.column_sql} {self.quote(names.kept)} {self._definition(kept)},"
            f" CHANGE COLUMN {self.quote(names.new)} {rows.column_sql} {self._definition(final)}"
        )

    def clean(self, connection: Connection) -> None:
        connection.exec_driver_sql(_LOCK_WAIT)
        self._remove_marks(connection)
        for statement in self.new.grants:
            connection.exec_driver_sql(statement)
        connection.commit()

    def steps(self) -> list[str]:
        rows, names = self.rows, self.names
        return [
            f"LOCK TABLES {rows.table_sql} WRITE",
            *(f"{statement}, ALGORITHM=INSTANT" for statement in self._adding()),
            "UNLOCK TABLES",
            *self._marking(),
            self.backfill_step(),
            f"LOCK TABLES {rows.table_sql} WRITE, {self.queue_sql} WRITE",
            f"{self._swapping()}, ALGORITHM=INSTANT",
            "UNLOCK TABLES",
            *(
                f"DROP TRIGGER IF EXISTS {self.in_schema(name)}"
                for name in (names.on_insert, names.on_update)
            ),
            f"DROP TABLE IF EXISTS {self.queue_sql}",
            *self.new.grants,
        ]

    def drop_column(self, connection: Connection, name: str) -> None:
        connection.exec_driver_sql(_LOCK_WAIT)
        there = connection.exec_driver_sql(
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
            " AND column_name = %s",
            (self.table.schema, self.table.name, name),
        ).scalar_one()
        if there:
            # Instant where the server can; otherwise it copies while others go on.
            connection.exec_driver_sql(f"ALTER TABLE {self.rows.table_sql} DROP COLUMN {self.quote(name)}")
        connection.commit()


def _declared(column: Column) -> str:
    """The type with everything that MODIFY would forget."""
    if column.kind == "json":
        # On MariaDB that is LONGTEXT with a character set and a check of its own.
        return "JSON"
    text = column.type_sql
    if column.kind == "text" and column.charset:
        text += f" CHARACTER SET {column.charset} COLLATE {column.collation}"
    return text


def _code(error: DBAPIError) -> int | None:
    original: Any = error.orig
    return original.args[0] if original.args else None
