"""Interrupted by Ctrl-C, by the server or by a lock: one error that says so, and a run that goes on."""

from __future__ import annotations

import re
import signal
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from sqlcompress import MigrationFailedError
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


def sent_by_a_terminal(connection):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


ROWS = r"UPDATE \S*\bt\W"
POINTS = [("ALTER TABLE", 0), ("ALTER TABLE", 1), (ROWS, 0), (ROWS, 3), ("UPDATE alembic", 0)]
SHADOW_POINTS = [
    ("ALTER TABLE", 0),
    (ROWS, 1),
    ("ALTER TABLE .* RENAME|ALTER TABLE .* CHANGE", 0),
    ("DROP T", 4),
]


def columns_of(strategy):
    return "d" if strategy == "shadow" else "dj"


@pytest.mark.databases("postgresql", "mariadb", "mysql")
@pytest.mark.parametrize("strategy", ["rewrite", "atomic", "shadow"])
def test_the_server_ends_the_connection(engine, database_url, tmp_path, strategy):
    rows = make(engine, strategy)
    project = project_of(tmp_path, database_url, strategy, columns=columns_of(strategy))
    if strategy == "shadow":
        # From here on the columns stand where a shadow migration leaves them.
        project.upgrade()
        project.downgrade("1")
    before = state(engine)
    for begins, after in SHADOW_POINTS if strategy == "shadow" else POINTS:
        for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
            error = interrupted(move, begins, after, killing(engine), DBAPIError)
            assert error.connection_invalidated, (begins, after, still)
            assert version(engine) == still
            move()
            if still == "1":
                assert compressed_rows(engine, columns_of(strategy)) == rows
        assert plain_rows(engine) == rows
        assert state(engine) == before


@pytest.mark.parametrize("strategy", ["rewrite", "atomic", "shadow"])
def test_ctrl_c(engine, database_url, tmp_path, strategy, caplog):
    rows = make(engine, strategy)
    project = project_of(tmp_path, database_url, strategy, columns=columns_of(strategy))
    if strategy == "shadow":
        # From here on the columns stand where a shadow migration leaves them.
        project.upgrade()
        project.downgrade("1")
    before = state(engine)
    for begins, after in SHADOW_POINTS if strategy == "shadow" else POINTS:
        if begins == "ALTER TABLE" and engine.dialect.name == "sqlite":
            continue
        for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
            caplog.clear()
            interrupted(move, begins, after, pressed, KeyboardInterrupt)
            assert version(engine) == still
            if begins == ROWS:
                assert "interrupted; what is done stays done, and the same command goes on" in caplog.text
            move()
            if still == "1":
                assert compressed_rows(engine, columns_of(strategy)) == rows
        assert plain_rows(engine) == rows
        assert state(engine) == before


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_ctrl_c_while_threads_are_at_work(engine, database_url, tmp_path):
    rows = make(engine)
    project = project_of(tmp_path, database_url, "rewrite", workers=3)
    before = state(engine)
    for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
        interrupted(move, ROWS, 1, sent_by_a_terminal, KeyboardInterrupt)
        assert version(engine) == still
        for thread in threading.enumerate():
            if thread.name.startswith("sqlcompress"):
                thread.join(60)  # one that was just starting ends with its batch
                assert not thread.is_alive()
        move()
        if still == "1":
            assert compressed_rows(engine) == rows
    assert plain_rows(engine) == rows
    assert state(engine) == before


WAITS = {
    "sqlite": {"timeout": "0.1"},
    "postgresql": {"options": "-c lock_timeout=200"},
    "mariadb": {"init_command": "SET lock_wait_timeout = 1"},
    "mysql": {"init_command": "SET lock_wait_timeout = 1"},
}


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_somebody_holds_the_table(engine, database_url, database, tmp_path, strategy):
    """The type change does not get its lock; on SQLite the only writer is somebody else."""
    if database == "sqlite" and strategy == "rewrite":
        pytest.skip("batches wait for SQLite's writer, 25 s in all: test_rewrite_rows.py")
    rows = make(engine)
    url = database_url.update_query_dict(WAITS[database])
    project = project_of(tmp_path, url, strategy)
    before = state(engine)
    for move, still in ((project.upgrade, "1"), (lambda: project.downgrade("1"), "2")):
        with engine.connect() as holder:
            if database == "sqlite":
                holder.exec_driver_sql("BEGIN IMMEDIATE")
            holder.execute(sa.text("SELECT count(*) FROM t")).all()
            with pytest.raises((OperationalError, MigrationFailedError)) as raised:
                move()
            holder.rollback()
        error = raised.value if isinstance(raised.value, OperationalError) else raised.value.__cause__
        assert isinstance(error, OperationalError)
        assert re.search("lock", str(error.orig), re.IGNORECASE)
        assert "the rows are plain" not in str(raised.value)
        assert version(engine) == still
        move()
        if still == "1":
            assert compressed_rows(engine) == rows
    assert plain_rows(engine) == rows
    assert state(engine) == before
