"""A trigger fires for the session that writes, whoever made it fire before."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.jobs.shadow import compress_shadow

pytestmark = pytest.mark.databases("postgresql", "mysql", "mariadb")

# MySQL keeps opened tables, with their triggers, in 16 caches by the number of the session.
SESSIONS = 40


def doc(type_):
    return sa.Table(
        "doc",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", type_),
        sa.Column("changes", sa.Integer, server_default="0", nullable=False),
    )


@pytest.fixture
def application(engine):
    """Sessions that the application had before the job came."""
    table = doc(sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": i, "body": f"text {i} " * 90} for i in range(200)])
    pool = sa.create_engine(engine.url, poolclass=sa.NullPool)
    sessions = [pool.connect() for _ in range(SESSIONS)]
    yield table, sessions
    for session in sessions:
        session.close()


def test_changes_in_any_session_reach_the_new_column(engine, application):
    # The trigger once asked a variable who was writing, and a server answered for the job's session.
    table, sessions = application
    batches = []

    def change(progress):
        batches.append(progress)
        if len(batches) == 8:
            for i, session in enumerate(sessions):
                session.execute(table.update().where(table.c.id == i).values(body=f"changed {i}"))
                session.commit()

    batching = Batching(batch_rows=10, workers=1, progress=change)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        found = catalog_of(connection).table("doc", None)
        compress_shadow(connection, engine, found, "body", CompressedText(), batching, drop_original=False)
    c = doc(CompressedText()).c
    with engine.connect() as connection:
        bodies = {row.id: row.body for row in connection.execute(sa.select(c.id, c.body))}
    assert bodies == {i: f"changed {i}" if i < SESSIONS else f"text {i} " * 90 for i in range(200)}


@pytest.mark.databases("mysql", "mariadb")
def test_a_trigger_that_asks_for_the_job_fires_in_any_other_session(engine, application):
    table, sessions = application
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE doc MODIFY body LONGBLOB")
        connection.exec_driver_sql(
            "CREATE TRIGGER counts BEFORE UPDATE ON doc FOR EACH ROW BEGIN"
            " IF NOT (@sqlcompress_job <=> '1') THEN SET NEW.changes = OLD.changes + 1; END IF; END"
        )
    batches = []

    def change(progress):
        batches.append(progress)
        if len(batches) == 8:
            for i, session in enumerate(sessions):
                session.execute(table.update().where(table.c.id == i).values(body=f"changed {i}"))
                session.commit()

    convert = Compress(CompressedText())
    rewrite(engine, "doc", "body", convert=convert, batch_rows=10, workers=1, progress=change)
    with engine.connect() as connection:
        changes = [row.changes for row in connection.execute(sa.select(table.c.changes).order_by(table.c.id))]
    assert changes == [1] * SESSIONS + [0] * (200 - SESSIONS)
