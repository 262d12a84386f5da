"""Two runs of the same migration at once, as where two instances start: rows survive in any order."""

from __future__ import annotations

from contextlib import closing

import pytest
from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from sqlcompress import MigrationBlockedError, MigrationFailedError
from tests.integration.alembic_project import version
from tests.integration.interrupted import Migrations, Watch
from tests.integration.test_restart import LONG, compressed_rows, make, plain_rows, project_of, state

# What waits for the other run gives up soon.
WAITS = {
    "postgresql": {"options": "-c lock_timeout=200"},
    "mariadb": {"init_command": "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"},
    "mysql": {"init_command": "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"},
}


class Meanwhile(Watch):
    """Lets the other run do all of its work before the ``at``-th statement or commit."""

    def __init__(self, at, other):
        super().__init__()
        self.at, self.other = at, other
        self.codes = []

    def before(self, connection):
        if len(self.statements) == self.at:
            self.codes.append(self.other())


def decisive(points):
    """Before what was decided by what the catalogs said, and before the stamp."""
    return [point.number for point in points if point.statement.startswith(("ALTER", "UPDATE alembic"))]


@pytest.mark.databases("postgresql", "mariadb", "mysql")
@pytest.mark.parametrize("strategy", ["rewrite", *(["atomic"] if LONG else [])])
def test_the_other_run_overtakes(engine, database_url, database, tmp_path, strategy):
    rows = make(engine)
    project = project_of(tmp_path, database_url, strategy)
    before = state(engine)
    overtaken = 0
    impatient = database_url.update_query_dict(WAITS[database])
    with (
        closing(Migrations(project, "2", "1")) as patient,
        closing(Migrations(project, "2", "1", impatient)) as other,
    ):
        up = patient.points("up")
        after = state(engine)
        down = patient.points("down")
        ways = [("up", up, project.upgrade, after), ("down", down, lambda: project.downgrade("1"), before)]
        for direction, points, move, wanted in ways:
            for number in decisive(points):
                where = f"{direction}, overtaken before {points[number - 1]}"
                watch = Meanwhile(number, lambda direction=direction: other.run(direction))
                try:
                    move()
                except (CommandError, DBAPIError, MigrationBlockedError, MigrationFailedError):
                    pass  # its own version is not what it expected, or the type, or it waited too long
                finally:
                    watch.close()
                overtaken += watch.codes.count(0)
                if version(engine) != wanted["version"]:
                    move()
                found = compressed_rows(engine) if direction == "up" else plain_rows(engine)
                assert found == rows, where
                assert state(engine) == wanted, where
                assert patient.run("down" if direction == "up" else "up") == 0
            assert patient.run(direction) == 0
    assert overtaken > 0
