"""strategy="shadow" and op.drop_compressed_original, through Alembic."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, MigrationBlockedError
from tests.integration.alembic_project import Project, version

LONG = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'
TEXTS = [f"row {i} \U0001f600 " * (i % 30) for i in range(120)]


def made(engine):
    plain = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
    t = sa.Table(
        "Order", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d é", plain)
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d é": text} for i, text in enumerate(TEXTS, 1)])
    return t


def texts(engine, type_):
    t = sa.table("Order", sa.column("id"), sa.column("d é", type_))
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(t.c["d é"]).order_by(t.c.id)))


def columns(engine):
    return sorted(column["name"] for column in sa.inspect(engine).get_columns("Order"))


def test_up_down_up_and_the_original_dropped(engine, database_url, tmp_path, caplog):
    caplog.set_level(logging.INFO, "alembic")
    made(engine)
    project = Project(tmp_path, database_url)
    arguments = 'strategy="shadow", batch_rows=25'
    project.revision(
        f'op.compress_column("Order", "d é", type_=CompressedText(), existing_type={LONG}, {arguments})',
        f'op.decompress_column("Order", "d é", type_={LONG}, existing_type=CompressedText(), {arguments})',
    )
    project.revision('op.drop_compressed_original("Order", "d é")')
    project.upgrade("1")
    assert texts(engine, CompressedText()) == TEXTS
    assert columns(engine) == ["d é", "id", "sqlcompress_original_d é"]
    assert "The original column is kept until op.drop_compressed_original; after that " in caplog.text
    project.downgrade()
    assert texts(engine, sa.Text()) == TEXTS
    assert columns(engine) == ["d é", "id", "sqlcompress_compressed_d é"]
    project.upgrade()
    assert texts(engine, CompressedText()) == TEXTS
    assert columns(engine) == ["d é", "id"]
    assert version(engine) == "2"


def test_drop_original(engine, database_url, tmp_path, caplog):
    caplog.set_level(logging.INFO, "alembic")
    made(engine)
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("Order", "d é", type_=CompressedText(), existing_type={LONG}, strategy="shadow",'
        " drop_original=True)"
    )
    project.revision('op.drop_compressed_original("Order", "d é")')
    project.upgrade()
    assert texts(engine, CompressedText()) == TEXTS
    assert columns(engine) == ["d é", "id"]
    assert "The files do not shrink by themselves; " in caplog.text
    assert "is kept until" not in caplog.text


def test_the_original_is_not_dropped_in_a_script():
    context = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True})
    with pytest.raises(MigrationBlockedError, match="sqlcompress_original_"):
        Operations(context).drop_compressed_original("t", "d")
