"""Interrupted by Ctrl-C, by the server or by somebody's lock: one error that says so, and a run that goes on."""

from __future__ import annotations

import _thread
import re

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from tests.integration.alembic_project import version
from tests.integration.interrupted import Watch
from tests.integration.test_restart import compressed_rows, make, plain_rows, project_of, state


class Interrupt(Watch):
    """Does something once, before the first statement or commit that begins like this after so many."""

    def __init__(self, begins, after, what):
        super().__init__()
        self.begins, self.left, self.what = begins, after, what
        self.done = False

    def before(self, connection):
        if not self.done and re.match(self.begins, self.statements[-1]):
            self.left -= 1
            if self.left < 0:
                self.done = True
                self.what(connection)


def interrupted(move, begins, after, what, error, match=None):
    watch = Interrupt(begins, after, what)
    try:
        with pytest.raises(error, match=match) as raised:
            move()
    finally:
        watch.close()
    assert watch.done
    return raised.value


def killing(engine):
    """Ends a connection from outside, as an administrator or a restart of the server does."""

    def kill(connection):
        cursor = connection.connection.cursor()
        own = "pg_backend_pid()" if engine.dialect.name == "postgresql" else "connection_id()"
        cursor.execute(f"SELECT {own}")
        (number,) = cursor.fetchone()
        cursor.close()
        end = f"SELECT pg_terminate_backend({number})" if "pg" in own else f"KILL {number}"
        with engine.connect() as other:
            other.exec_driver_sql(end)

    return kill


def pressed(connection):
    raise KeyboardInterrupt


def from_a_worker(connection):
    _thread.interrupt_main()


ROWS = r"UPDATE \S*\bt\W"
POINTS = [("ALTER TABLE", 0), ("ALTER TABLE", 1), (ROWS, 0), (ROWS, 3), ("UPDATE alembic", 0)]


@pytest.mark.databases("postgresql", "mariadb", "mysql")
@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_the_server_ends_the_connection(engine, database_url, tmp_path, strategy):
    rows = make(engine)
    project = project_of(tmp_path, database_url, strategy)
    before = state(engine)
    for begins, after in POINTS:
        for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
            error = interrupted(move, begins, after, killing(engine), DBAPIError)
            assert error.connection_invalidated, (begins, after, still)
            assert version(engine) == still
            move()
            if still == "1":
                assert compressed_rows(engine) == rows
        assert plain_rows(engine) == rows
        assert state(engine) == before


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_ctrl_c(engine, database_url, tmp_path, strategy):
    rows = make(engine)
    project = project_of(tmp_path, database_url, strategy)
    before = state(engine)
    for begins, after in POINTS:
        if begins.startswith("ALTER") and engine.dialect.name == "sqlite":
            continue
        for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
            interrupted(move, begins, after, pressed, KeyboardInterrupt)
            assert version(engine) == still
            move()
            if still == "1":
                assert compressed_rows(engine) == rows
        assert plain_rows(engine) == rows
        assert state(engine) == before
