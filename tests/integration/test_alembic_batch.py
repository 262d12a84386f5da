"""The operations inside ``with op.batch_alter_table(…)``, which recreates the table on SQLite."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, MigrationBlockedError, Zlib
from tests.integration.alembic_project import Project, version

LONG = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'
TEXTS = [f"row {i} \U0001f600 " * (i % 30) for i in range(60)]


@pytest.fixture
def project(engine, database_url, tmp_path):
    plain = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
    t = sa.Table("Order", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", plain))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": text} for i, text in enumerate(TEXTS, 1)])
    return Project(tmp_path, database_url)


def block(*steps, arguments=""):
    lines = "".join(f"\n        {step}" for step in steps)
    return f'with op.batch_alter_table("Order"{arguments}) as batch:{lines}'


def texts(engine, type_):
    t = sa.table("Order", sa.column("id"), sa.column("d", type_))
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(t.c.d).order_by(t.c.id)))


def columns(engine):
    return [column["name"] for column in sa.inspect(engine).get_columns("Order")]


def test_the_operation_comes_first_and_the_other_steps_follow(engine, project):
    added = 'batch.add_column(sa.Column("e", sa.Integer))'
    project.revision(
        block(f'batch.compress_column("d", type_=CompressedText(), existing_type={LONG})', added),
        block(
            f'batch.decompress_column("d", type_={LONG}, existing_type=CompressedText())',
            'batch.drop_column("e")',
        ),
    )
    project.upgrade()
    assert (texts(engine, CompressedText()), columns(engine)) == (TEXTS, ["id", "d", "e"])
    project.downgrade()
    assert (texts(engine, sa.Text()), columns(engine)) == (TEXTS, ["id", "d"])


def test_a_table_that_is_recreated_keeps_its_frames(engine, project):
    project.revision(
        block('batch.compress_column("d", type_=CompressedText())', arguments=', recreate="always"')
    )
    project.revision(block('batch.recompress_column("d", type_=CompressedText(Zlib()))'))
    stored = CompressedText(Zlib())
    project.upgrade()
    assert texts(engine, sa.LargeBinary()) == [stored.to_stored(text.encode()) for text in TEXTS]


def test_the_kept_original_is_dropped_in_a_block(engine, project):
    project.revision(block('batch.compress_column("d", type_=CompressedText(), strategy="shadow")'))
    project.revision(block('batch.drop_compressed_original("d")'))
    project.upgrade("1")
    assert columns(engine) != ["id", "d"]
    project.upgrade()
    assert (texts(engine, CompressedText()), sorted(columns(engine))) == (TEXTS, ["d", "id"])


def test_after_other_steps_it_is_refused_and_nothing_is_changed(engine, project):
    project.revision(
        block(
            'batch.add_column(sa.Column("e", sa.Integer))',
            'batch.compress_column("d", type_=CompressedText())',
        )
    )
    with pytest.raises(MigrationBlockedError, match="put it first in the block"):
        project.upgrade()
    assert (texts(engine, sa.Text()), columns(engine)) == (TEXTS, ["id", "d"])
    assert version(engine) is None
