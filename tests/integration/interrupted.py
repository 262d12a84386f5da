"""Migrations in processes that end at a chosen statement, as if they had been killed there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Engine, event

if TYPE_CHECKING:
    from sqlalchemy import URL

    from tests.integration.alembic_project import Project

ROOT = Path(__file__).parents[2]

KILLED = 9
_QUESTIONS = ("SELECT", "SHOW", "PRAGMA", "SET ", "WITH")


class Point(NamedTuple):
    """A place where a migration can be interrupted: before the ``number``-th statement or commit."""

    number: int
    statement: str

    @property
    def changes(self) -> bool:
        """Whether what comes next changes anything."""
        return not self.statement.upper().startswith(_QUESTIONS)


class Migrations:
    """Runs upgrades and downgrades in child processes; one process imports everything and forks."""

    def __init__(self, project: Project, upto: str, downto: str, url: URL | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.interrupted"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._settings = {
            "url": (url or project.url).render_as_string(hide_password=False),
            "folder": str(project.folder),
            "trace": str(project.folder / "trace.json"),
            "up": upto,
            "down": downto,
        }

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, direction: str, kill_at: int | None = None) -> int:
        """The exit code of a run that is killed before its ``kill_at``-th statement or commit."""
        self._process.stdin.write(
            json.dumps({**self._settings, "direction": direction, "at": kill_at}) + "\n"
        )
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def points(self, direction: str) -> list[Point]:
        """Runs to the end; every place where it could have been killed."""
        assert self.run(direction) == 0
        statements = json.loads(Path(self._settings["trace"]).read_text(encoding="utf-8"))
        return [Point(number, statement) for number, statement in enumerate(statements, start=1)]


class Watch:
    """Counts statements and commits of every engine, and calls back before each."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        event.listen(Engine, "before_cursor_execute", self._statement)
        event.listen(Engine, "commit", self._commit)

    def close(self) -> None:
        event.remove(Engine, "before_cursor_execute", self._statement)
        event.remove(Engine, "commit", self._commit)

    def before(self, connection) -> None:
        """Called before each statement or commit; ``statements`` ends with it."""

    def _statement(self, connection, cursor, statement, parameters, context, executemany) -> None:
        self.statements.append(" ".join(statement.split())[:200])
        self.before(connection)

    def _commit(self, connection) -> None:
        self.statements.append("COMMIT")
        self.before(connection)


class _Killer(Watch):
    def __init__(self, at: int | None) -> None:
        super().__init__()
        self.at = at

    def before(self, connection) -> None:
        if len(self.statements) == self.at:
            os._exit(KILLED)


def _migrate(command: dict) -> None:
    from sqlcompress.alembic.run import downgrade, upgrade

    killer = _Killer(command["at"])
    migrate = upgrade if command["direction"] == "up" else downgrade
    migrate(command["url"], command["folder"], command[command["direction"]])
    Path(command["trace"]).write_text(json.dumps(killer.statements), encoding="utf-8")


def main() -> None:
    import sqlcompress.alembic.run  # noqa: F401 - so that the children need not

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _migrate(json.loads(line))
            except BaseException:  # noqa: BLE001 - a forked child must not go on as its parent
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
