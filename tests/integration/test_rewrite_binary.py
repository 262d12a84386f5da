"""Binary columns in committed batches: values that begin like frames, killed anywhere and run again."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, MigrationBlockedError, MigrationFailedError
from sqlcompress.dialects.jobtable import NAME, job_table
from tests.integration.alembic_project import Project, version

LONGBLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
SERVERS = pytest.mark.databases("postgresql", "mysql", "mariadb")

FRAME = CompressedBinary().to_stored(b"inner " * 100)
FRAME_OF_A_FRAME = CompressedBinary().to_stored(FRAME)
KINDS = [
    b"",
    b"\x00\xff" * 300,
    FRAME,
    FRAME_OF_A_FRAME,
    CompressedBinary().to_stored(FRAME_OF_A_FRAME),
    b"\x28\xb5\x2f\xfd" + b"\xff" * 20,
    b"\x78\x9c",
    b"\x1f\x8b\x08" + b"\x00" * 200,
    None,
    b"plain " * 50,
]
VALUES = {i: KINDS[i % len(KINDS)] for i in range(1, 61)}

UP = 'op.compress_column("t", "b", type_=CompressedBinary(), batch_rows=7, strategy="{}")'
DOWN = (
    'op.decompress_column("t", "b", existing_type=CompressedBinary(), batch_rows=7, strategy="{}", '
    'type_=sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"))'
)


@pytest.fixture
def table(engine):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("b", LONGBLOB),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "b": value} for i, value in VALUES.items()])
    return t


@pytest.fixture
def project(table, database_url, tmp_path):
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision(UP.format("rewrite"), DOWN.format("rewrite"))
    project.upgrade("1")
    return project


def read(engine, type_):
    t = sa.table("t", sa.column("id"), sa.column("b", type_))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t)).all()
    return {key: None if value is None else bytes(value) for key, value in rows}


def marks(engine):
    if not sa.inspect(engine).has_table(NAME):
        return []
    job = job_table(None)
    with engine.connect() as connection:
        return connection.execute(sa.select(job.c.table_name, job.c.column_name, job.c.state)).all()


def test_there_and_back_and_there_again(engine, database, project):
    for _ in range(2):
        project.upgrade()
        assert read(engine, CompressedBinary()) == VALUES
        stored = read(engine, LONGBLOB)
        assert all(stored[i] != v for i, v in VALUES.items() if v and len(v) > 100)
        assert marks(engine) == ([] if database == "sqlite" else [("t", "b", "framed")])
        project.downgrade("1")
        assert read(engine, LONGBLOB) == VALUES
        assert marks(engine) == ([] if database == "sqlite" else [("t", "b", "plain")])


# Ends the process at the n-th write of a batch, before or after it, or at the n-th commit.
KILLED = """
import os, signal, sys
from sqlcompress.alembic import run
from sqlcompress.dialects.rows import MySQLRows, PostgreSQLRows

at = int(sys.argv[3])
def counted(function):
    def call(*args, **kw):
        global at
        at -= 1
        if at == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*args, **kw)
        at -= 1
        if at == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call
for rows in (MySQLRows, PostgreSQLRows):
    rows.write = counted(rows.write)
    rows.commit = counted(rows.commit)
getattr(run, sys.argv[2])(sys.argv[1], sys.argv[4], "head" if sys.argv[2] == "upgrade" else "1")
"""


def run_and_kill(project, direction, at):
    """Whether the process was killed before it came to its end."""
    url = project.url.render_as_string(hide_password=False)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, url, direction, str(at), str(project.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, -9}, done.stderr
    return done.returncode == -9


@SERVERS
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6, 9, 14, 25])
def test_killed_anywhere_it_goes_on(engine, database_url, project, at):
    assert run_and_kill(project, "upgrade", at)
    assert version(engine) == "1"
    project.upgrade()
    assert read(engine, CompressedBinary()) == VALUES
    assert run_and_kill(project, "downgrade", at)
    assert version(engine) == "2"
    project.downgrade("1")
    assert read(engine, LONGBLOB) == VALUES


@SERVERS
def test_a_table_made_again_under_a_mark_is_not_taken_for_done(engine, project, table):
    project.upgrade()
    job = job_table(None)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '1'"))
        connection.execute(job.update().values(table_identity="another"))
    with pytest.raises(MigrationBlockedError, match=r"sqlcompress_job says that .* delete the row"):
        project.upgrade()
    assert read(engine, CompressedBinary()) == VALUES
    with engine.begin() as connection:
        connection.execute(job.delete())
        connection.execute(table.delete())
        connection.execute(table.insert(), [{"id": i, "b": value} for i, value in VALUES.items()])
    project.upgrade()
    assert read(engine, CompressedBinary()) == VALUES


@SERVERS
@pytest.mark.parametrize("strategy", ["atomic", "shadow"])
def test_another_strategy_does_not_go_on_with_it(engine, database_url, project, tmp_path, strategy):
    assert run_and_kill(project, "upgrade", 20)
    other = Project(tmp_path / "other", database_url)
    other.revision("pass")
    other.revision(UP.format(strategy), DOWN.format(strategy))
    with pytest.raises(MigrationBlockedError, match='run it with strategy="rewrite"'):
        other.upgrade()
    project.upgrade()
    # Another strategy that converts the whole column takes the mark along.
    other.downgrade("1")
    assert marks(engine) == []
    assert read(engine, LONGBLOB) == VALUES
    project.upgrade()
    assert read(engine, CompressedBinary()) == VALUES


@SERVERS
def test_values_that_cannot_be_framed_stop_it_before_the_mark(engine, database_url, table, tmp_path):
    with engine.begin() as connection:
        connection.execute(table.update().where(table.c.id == 5).values(b=FRAME + b"x" * 2000))
    project = Project(tmp_path, database_url)
    project.revision('op.compress_column("t", "b", type_=CompressedBinary(max_size=1000))')
    with pytest.raises(MigrationFailedError, match=r"1 rows .* By key: 5 \(ValueTooLargeError\)") as caught:
        project.upgrade()
    assert caught.value.failed_keys == (5,)
    assert marks(engine) == []
    assert read(engine, LONGBLOB) == VALUES | {5: FRAME + b"x" * 2000}


@SERVERS
def test_a_condition_is_refused(database_url, table, tmp_path):
    project = Project(tmp_path, database_url)
    project.revision('op.compress_column("t", "b", type_=CompressedBinary(), where="id > 5")')
    with pytest.raises(MigrationBlockedError, match="where="):
        project.upgrade()
