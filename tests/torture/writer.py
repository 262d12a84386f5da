"""A writer in a process of its own: changes its rows, reads them, and keeps a journal of what was committed.

``python -m tests.torture.writer`` with a JSON document on standard input. It ends when the file ``stop`` is
there, and prints how many operations it did.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.frames import is_framed
from sqlcompress.jobs.marks import is_marked
from tests.torture.rows import COLUMN, KINDS, TABLE, from_journal, table_of, to_journal, value_of

_READ_ALWAYS = {("text", "sqlite"), ("text", "mysql"), ("text", "mariadb")} | {
    ("binary", database) for database in ("sqlite", "postgresql", "mysql", "mariadb")
}


class Writer:
    """One writer; rows whose number leaves the remainder ``own`` are its."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.engine = sa.create_engine(settings["url"])
        self.database: str = settings["database"]
        self.kind: str = settings["kind"]
        self.phase: str = settings["phase"]
        self.own: int = settings["own"]
        self.of: int = settings["of"]
        self.stop = Path(settings["stop"])
        self.dice = random.Random(settings["seed"])
        self.journal = Path(settings["journal"]).open("a", encoding="utf-8")  # noqa: SIM115
        self.values: dict[tuple[int, str], Any] = {
            tuple(key): from_journal(value) for key, value in settings["rows"]
        }
        self.keys = list(self.values)
        self.next = settings["next"]
        self.is_binary = False
        self.retries = 0

    def run(self) -> int:
        count = 0
        while not self.stop.exists():
            kind = self.dice.random()
            if kind < 0.25 or len(self.keys) < 10:
                self.next += self.of
                self._do(["set", [self.next, f"new {self.next}"], self._value()])
            elif kind < 0.7:
                self._do(["set", list(self.dice.choice(self.keys)), self._value()])
            elif kind < 0.75:
                self._see(self.dice.choice(self.keys))
            elif kind < 0.88:
                key = self.dice.choice(self.keys)
                moved = (key[0], f"{key[1].split('~')[0]}~{self.dice.randrange(10**9)}")
                value = [self._value()] if self.dice.random() < 0.5 else []
                self._do(["move", list(key), list(moved), *value])
            else:
                self._do(["delete", list(self.dice.choice(self.keys))])
            count += 1
            time.sleep(0.002)
        return count

    def _value(self) -> Any:
        # Plain binary values that begin like a frame are for the migration alone to meet.
        return value_of(self.kind, self.dice, nul=self.database != "postgresql", ambiguous=False)

    def _see(self, key: tuple[int, str]) -> None:
        """A compressed type reads the column in whatever state it is, but for what is documented."""
        value = self.values[key]
        if self.kind == "binary" and is_framed(value or b""):
            return  # read rightly once the migration has framed it
        t = table_of(KINDS[self.kind].compressed)
        try:
            with self.engine.begin() as connection:
                # A text of its own that looks like bytes turned into text is refused on PostgreSQL before.
                if (self.kind, self.database) not in _READ_ALWAYS and not self._writes_compressed(connection):
                    return
                mine = sa.and_(t.c.id == key[0], t.c.Part == key[1])
                found = connection.execute(sa.select(t.c[COLUMN]).where(mine)).scalar_one()
        except sa.exc.DBAPIError:
            self.retries += 1  # as in _do()
            return
        if found != value:
            raise AssertionError(f"{key} reads wrong while it is migrated")

    def _do(self, operation: list[Any]) -> None:
        for tries in range(500):
            try:
                with self.engine.begin() as connection:
                    self._apply(connection, operation)
                break
            except sa.exc.DBAPIError as error:
                # Deadlocks, lock time-outs, a column that has just changed: not committed, so once more.
                self.retries += 1
                last = error
                time.sleep(min(0.2, 0.005 * (tries + 1)))
        else:
            raise RuntimeError(f"{operation[0]} never got through") from last
        self._note(operation)

    def _apply(self, connection: sa.Connection, operation: list[Any]) -> None:
        kind_ = KINDS[self.kind]
        t = table_of(kind_.compressed if self._writes_compressed(connection) else kind_.plain)
        kind, key = operation[0], operation[1]
        mine = sa.and_(t.c.id == key[0], t.c.Part == key[1])
        if kind == "delete":
            connection.execute(t.delete().where(mine))
        elif kind == "move":
            values = {"Part": operation[2][1]} | ({COLUMN: operation[3]} if operation[3:] else {})
            connection.execute(t.update().where(mine).values(values))
        elif tuple(key) in self.values:
            connection.execute(t.update().where(mine).values({COLUMN: operation[2], "n": t.c.n + 1}))
        else:
            row = {"id": key[0], "Part": key[1], COLUMN: operation[2], "n": 0}
            connection.execute(t.insert().values(row))

    def _writes_compressed(self, connection: sa.Connection) -> bool:
        """Whether the application of the moment writes compressed values."""
        if self.kind == "binary":
            return self._is_marked(connection)
        if self.database == "sqlite":
            # There is no moment at which the column changes: new code is deployed before, old code after.
            return self.phase == "up"
        if self.database == "postgresql":
            # The server turns bytes into text without an error: make sure of the type first, and keep it.
            quoted = connection.dialect.identifier_preparer.quote_identifier(TABLE)
            connection.exec_driver_sql(f"LOCK TABLE {quoted} IN ROW EXCLUSIVE MODE")
        elif self.retries == 0 and self.is_binary:
            return True
        catalog = catalog_of(connection)
        self.is_binary = catalog.column(catalog.table(TABLE, None), COLUMN).kind == "binary"
        return self.is_binary

    def _is_marked(self, connection: sa.Connection) -> bool:
        """Whether the migration has framed what begins like a frame; it stays so in this transaction."""
        if self.phase == "down" or self.database == "sqlite":
            return False
        quoted = connection.dialect.identifier_preparer.quote_identifier(TABLE)
        if self.database == "postgresql":
            connection.exec_driver_sql(f"LOCK TABLE {quoted} IN ROW EXCLUSIVE MODE")
        else:
            connection.exec_driver_sql(f"SELECT 1 FROM {quoted} LIMIT 1")
        catalog = catalog_of(connection)
        table = catalog.table(TABLE, None)
        if not sa.inspect(connection).has_table("sqlcompress_job"):
            return False
        return is_marked(connection, table, COLUMN, "framed")

    def _note(self, operation: list[Any]) -> None:
        kind, key = operation[0], tuple(operation[1])
        if kind == "set":
            if key not in self.values:
                self.keys.append(key)
            self.values[key] = operation[2]
        elif kind in {"delete", "move"}:
            self.keys.remove(key)
            value = self.values.pop(key)
            if kind == "move":
                moved = tuple(operation[2])
                self.keys.append(moved)
                self.values[moved] = operation[3] if operation[3:] else value
        self.journal.write(json.dumps([to_journal(part) for part in operation]) + "\n")
        self.journal.flush()


if __name__ == "__main__":
    writer = Writer(json.load(sys.stdin))
    print(json.dumps({"operations": writer.run(), "retries": writer.retries, "next": writer.next}))
