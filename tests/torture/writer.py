"""A writer in a process of its own: changes its rows and keeps a journal of what was committed.

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

from sqlcompress import CompressedText
from sqlcompress.dialects.catalog import catalog_of
from tests.torture.rows import COLUMN, PLAIN, TABLE, table_of, text


class Writer:
    """One writer; rows whose number leaves the remainder ``own`` are its."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.engine = sa.create_engine(settings["url"])
        self.database: str = settings["database"]
        self.phase: str = settings["phase"]
        self.own: int = settings["own"]
        self.of: int = settings["of"]
        self.stop = Path(settings["stop"])
        self.dice = random.Random(settings["seed"])
        self.journal = Path(settings["journal"]).open("a", encoding="utf-8")  # noqa: SIM115
        self.keys: list[tuple[int, str]] = [tuple(key) for key in settings["keys"]]
        self.next = settings["next"]
        self.is_binary = False
        self.retries = 0

    def run(self) -> int:
        count = 0
        while not self.stop.exists():
            kind = self.dice.random()
            if kind < 0.25 or len(self.keys) < 10:
                self.next += self.of
                self._do(["set", [self.next, f"new {self.next}"], self._text()])
            elif kind < 0.75:
                self._do(["set", list(self.dice.choice(self.keys)), self._text()])
            elif kind < 0.88:
                key = self.dice.choice(self.keys)
                moved = (key[0], f"{key[1].split('~')[0]}~{self.dice.randrange(10**9)}")
                self._do(["move", list(key), list(moved), self._text() if self.dice.random() < 0.5 else 0])
            else:
                self._do(["delete", list(self.dice.choice(self.keys))])
            count += 1
            time.sleep(0.002)
        return count

    def _text(self) -> str | None:
        return text(self.dice, nul=self.database != "postgresql")

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
        t = table_of(CompressedText() if self._writes_compressed(connection) else PLAIN)
        kind, key = operation[0], operation[1]
        mine = sa.and_(t.c.id == key[0], t.c.Part == key[1])
        if kind == "delete":
            connection.execute(t.delete().where(mine))
        elif kind == "move":
            values = {"Part": operation[2][1]} | ({} if operation[3] == 0 else {COLUMN: operation[3]})
            connection.execute(t.update().where(mine).values(values))
        elif tuple(key) in self.keys:
            connection.execute(t.update().where(mine).values({COLUMN: operation[2], "n": t.c.n + 1}))
        else:
            row = {"id": key[0], "Part": key[1], COLUMN: operation[2], "n": 0}
            connection.execute(t.insert().values(row))

    def _writes_compressed(self, connection: sa.Connection) -> bool:
        """Whether the application of the moment writes compressed values."""
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

    def _note(self, operation: list[Any]) -> None:
        kind, key = operation[0], tuple(operation[1])
        if kind == "set" and key not in self.keys:
            self.keys.append(key)
        elif kind in {"delete", "move"}:
            self.keys.remove(key)
            if kind == "move":
                self.keys.append(tuple(operation[2]))
        self.journal.write(json.dumps(operation) + "\n")
        self.journal.flush()


if __name__ == "__main__":
    writer = Writer(json.load(sys.stdin))
    print(json.dumps({"operations": writer.run(), "retries": writer.retries, "next": writer.next}))
