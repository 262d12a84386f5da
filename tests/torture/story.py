"""The story of one case: writers write, the migration is killed and run again, every row is compared."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite
from tests.integration.alembic_project import Project, version
from tests.torture.rows import COLUMN, KINDS, TABLE, from_journal, table_of, to_journal, value_of

ROOT = Path(__file__).parents[2]
WRITERS = 2

MIGRATION = """
import sys
from sqlcompress.alembic.run import downgrade, upgrade
from sqlcompress.jobs.progress import reporting_to

def tell(progress):
    print(progress.rows_seen, flush=True)

url, folder, direction = sys.stdin.read().splitlines()
print("begin", flush=True)
with reporting_to(tell):
    upgrade(url, folder) if direction == "up" else downgrade(url, folder, "1")
print("end", flush=True)
"""


@dataclass
class Size:
    """How large a case is."""

    rows: int = 600
    kills: int = 6
    batches_between_kills: int = 8


@dataclass
class Story:
    """One case on one database."""

    engine: sa.Engine
    database: str
    folder: Path
    kind: str
    strategy: str
    seed: int
    size: Size
    kills: int = 0
    operations: int = 0
    expected: dict[tuple[int, str], Any] = field(default_factory=dict)
    next: int = 1_000_000

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.url = self.engine.url.render_as_string(hide_password=False)
        self.project = Project(self.folder, self.engine.url)
        self.plain, self.compressed = KINDS[self.kind].plain, KINDS[self.kind].compressed

    def run(self) -> None:
        self._begin()
        self._phase("up", kills=self.size.kills)
        self._compare(self.compressed)
        # Of shadow there is no second run; and on SQLite binary values stay plain that are written meanwhile.
        if self.strategy == "rewrite" and (self.kind, self.database) != ("binary", "sqlite"):
            again = rewrite(self.engine, TABLE, COLUMN, convert=Compress(self.compressed))
            assert again.rows_written == 0
        self._phase("down", kills=self.size.kills)
        self._compare(self.plain)
        self._phase("up", kills=0)
        self._compare(self.compressed)

    def drop(self) -> None:
        """Make room for another round."""
        table_of(self.plain).drop(self.engine)
        sa.Table("alembic_version", sa.MetaData()).drop(self.engine)

    def _begin(self) -> None:
        table = table_of(self.plain)
        table.create(self.engine)
        nul = self.database != "postgresql"
        rows = [
            {"id": i, "Part": f"p{i}", COLUMN: value_of(self.kind, self.dice, nul=nul), "n": 0}
            for i in range(self.size.rows)
        ]
        with self.engine.begin() as connection:
            connection.execute(table.insert(), rows)
        self.expected = {(row["id"], row["Part"]): row[COLUMN] for row in rows}
        kind = KINDS[self.kind]
        arguments = f'strategy="{self.strategy}", batch_rows=10, pause_seconds=0.01'
        self.project.revision("pass")
        self.project.revision(
            f"op.compress_column({TABLE!r}, {COLUMN!r}, type_={kind.compressed_source}, {arguments})",
            f"op.decompress_column({TABLE!r}, {COLUMN!r}, type_={kind.plain_source},"
            f" existing_type={kind.compressed_source}, {arguments})",
        )
        self.project.upgrade("1")

    def _phase(self, direction: str, *, kills: int) -> None:
        with self._writers(direction):
            for _ in range(kills):
                self._migrate(direction, kill=True)
            self._migrate(direction, kill=False)
            assert version(self.engine) == ("2" if direction == "up" else "1")

    def _migrate(self, direction: str, *, kill: bool) -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", MIGRATION],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{self.url}\n{self.project.folder}\n{direction}\n")
        child.stdin.close()
        lines = []
        wanted = self.dice.randrange(1, self.size.batches_between_kills)
        for line in child.stdout:
            lines.append(line.strip())
            if kill and len(lines) == wanted:
                # Anywhere: in a statement, between two, in the checks before the first.
                time.sleep(self.dice.random() * 0.1)
                child.send_signal(signal.SIGKILL)
                break
        child.stdout.read()
        child.stdout.close()
        told = child.stderr.read() if child.stderr else ""
        code = child.wait()
        if child.stderr:
            child.stderr.close()
        if kill and code == -signal.SIGKILL:
            self.kills += 1
        else:
            assert code == 0, f"seed {self.seed}: {told[-3000:]}"

    @contextmanager
    def _writers(self, direction: str) -> Iterator[None]:
        stop = self.folder / "stop"
        stop.unlink(missing_ok=True)
        children = []
        for own in range(WRITERS):
            settings: dict[str, Any] = {
                "url": self.url,
                "database": self.database,
                "kind": self.kind,
                "phase": direction,
                "own": own,
                "of": WRITERS,
                "stop": str(stop),
                "seed": self.dice.randrange(10**9),
                "journal": str(self.folder / f"journal-{own}"),
                "rows": [
                    [key, to_journal(value)]
                    for key, value in self.expected.items()
                    if key[0] % WRITERS == own
                ],
                "next": self.next + own,
            }
            child = subprocess.Popen(
                [sys.executable, "-m", "tests.torture.writer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            assert child.stdin is not None
            json.dump(settings, child.stdin)
            child.stdin.close()
            child.stdin = None
            children.append(child)
        try:
            yield
        finally:
            stop.touch()
            outcomes = [child.communicate() for child in children]
        for child, (out, told) in zip(children, outcomes, strict=True):
            assert child.returncode == 0, f"seed {self.seed}: {told[-3000:]}"
            self.operations += json.loads(out)["operations"]
            self.next = max(self.next, json.loads(out)["next"] + WRITERS)
        self.next -= self.next % WRITERS
        for own in range(WRITERS):
            self._replay(self.folder / f"journal-{own}")

    def _replay(self, journal: Path) -> None:
        for line in journal.read_text(encoding="utf-8").splitlines():
            operation = json.loads(line)
            kind, key = operation[0], tuple(operation[1])
            if kind == "set":
                self.expected[key] = from_journal(operation[2])
            else:
                value = self.expected.pop(key)
                if kind == "move":
                    moved = tuple(operation[2])
                    self.expected[moved] = from_journal(operation[3]) if operation[3:] else value
        journal.unlink()

    def _compare(self, type_: sa.types.TypeEngine[Any]) -> None:
        c = table_of(type_).c
        with self.engine.connect() as connection:
            found = {
                (i, part): value for i, part, value in connection.execute(sa.select(c.id, c.Part, c[COLUMN]))
            }
        missing, extra = self.expected.keys() - found.keys(), found.keys() - self.expected.keys()
        wrong = [key for key in found.keys() & self.expected.keys() if found[key] != self.expected[key]]
        assert (missing, extra, wrong) == (set(), set(), []), f"seed {self.seed}"
