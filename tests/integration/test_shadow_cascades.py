"""Changes of a key that another table brings about while a shadow column is filled."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, MigrationBlockedError
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.shadow import compress_shadow

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TEXT = "a text of a line, as long as it takes " * 20


def tables(type_, *, onupdate="CASCADE"):
    metadata = sa.MetaData()
    order = sa.Table("order", metadata, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False))
    line = sa.Table(
        "line",
        metadata,
        sa.Column("order_id", sa.ForeignKey(order.c.id, onupdate=onupdate), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", type_),
    )
    return metadata, order, line


def filled(engine, **kw):
    metadata, order, line = tables(LONG, **kw)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(order.insert(), [{"id": 1000 + i} for i in range(100)])
        rows = [{"order_id": 1000 + i, "number": 1, "body": f"{i} {TEXT}"} for i in range(100)]
        connection.execute(line.insert(), rows)
    return order, line


def shadowed(engine, progress=None):
    batching = Batching(batch_rows=10, workers=1, progress=progress)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        bind = connection if engine.dialect.name == "sqlite" else engine
        found = catalog_of(connection).table("line", None)
        compress_shadow(connection, bind, found, "body", CompressedText(), batching, drop_original=False)


@pytest.mark.databases("mysql", "mariadb")
def test_a_key_that_moves_without_a_trigger_is_a_blocker(engine):
    # Written by a trigger or not at all: the value was lost where the row moved to keys that were done.
    filled(engine)
    with pytest.raises(MigrationBlockedError, match="changes order_id, a column of the key"):
        shadowed(engine)
    assert [column["name"] for column in sa.inspect(engine).get_columns("line")][-1] == "body"


@pytest.mark.databases("mysql", "mariadb")
def test_a_foreign_key_that_changes_nothing_is_none(engine):
    filled(engine, onupdate="RESTRICT")
    shadowed(engine)
    _, _, line = tables(CompressedText())
    with engine.connect() as connection:
        found = connection.execute(sa.select(line.c.body).order_by(line.c.order_id)).scalars().all()
    assert found == [f"{i} {TEXT}" for i in range(100)]


@pytest.mark.databases("postgresql", "sqlite")
def test_a_key_that_moves_with_the_row_it_refers_to_keeps_its_value(engine):
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA foreign_keys = ON"))
        engine.dispose()
    order, line = filled(engine)
    batches = []

    def move(progress):
        batches.append(progress)
        if len(batches) == 3:
            with engine.begin() as connection:
                # From what is still to be read to where all is done, and one whose change waits in the queue.
                changed = line.update().where(line.c.order_id == 1001).values(body="changed")
                connection.execute(changed)
                connection.execute(order.update().where(order.c.id == 1090).values(id=1))
                connection.execute(order.update().where(order.c.id == 1001).values(id=2))

    shadowed(engine, move)
    _, _, line = tables(CompressedText())
    with engine.connect() as connection:
        found = {row.order_id: row.body for row in connection.execute(sa.select(line))}
    kept = {1000 + i: f"{i} {TEXT}" for i in range(100) if i not in {1, 90}}
    assert found == kept | {1: f"90 {TEXT}", 2: "changed"}
