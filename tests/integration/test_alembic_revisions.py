"""How the operations stand in Alembic: revisions in a row, scripts, rendering, the way back."""

from __future__ import annotations

import io
import logging

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.autogenerate.render import render_op_text
from alembic.migration import MigrationContext
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText, MigrationBlockedError, MigrationFailedError, Zstd
from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
from sqlcompress.alembic.run import config
from sqlcompress.frames import MAGICS
from tests.integration.alembic_project import Project, version

UP = 'op.compress_column("{}", "d", type_=CompressedText(), existing_type=sa.Text(), existing_nullable=True)'


def stored(engine, name):
    t = sa.table(name, sa.column("id"), sa.column("d"))  # whatever the driver hands over
    with engine.connect() as connection:
        values = connection.execute(sa.select(t.c.d).order_by(t.c.id)).scalars()
        return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def test_revisions_before_and_after_in_one_run(engine, database_url, tmp_path):
    """What one run does before, between and after two rewrites is all there, and stamped."""
    project = Project(tmp_path, database_url)
    for name in ("one", "two"):
        project.revision(
            f'op.create_table("{name}", sa.Column("id", sa.Integer, primary_key=True),'
            ' sa.Column("d", sa.Text))\n'
            f"    op.bulk_insert(sa.table('{name}', sa.column('d')), [{{'d': 'text ' * 50}}] * 30)"
        )
    project.revision("\n    ".join([UP.format("one"), UP.format("two")]))
    project.revision('op.add_column("one", sa.Column("later", sa.Integer))')
    project.upgrade()
    assert version(engine) == "4"
    for name in ("one", "two"):
        values = stored(engine, name)
        assert len(values) == 30
        assert all(value.startswith(MAGICS[0]) for value in values)
    assert "later" in {column["name"] for column in sa.inspect(engine).get_columns("one")}


def test_rows_that_fail_leave_the_revision_unstamped_and_a_rerun_goes_on(engine, database_url, tmp_path):
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(
            t.insert(), [{"id": i, "d": f'{{"number": {i}, "pad": "{"x" * 90}"}}'} for i in range(1, 60)]
        )
        connection.execute(t.update().where(t.c.id == 17), {"d": "no document " * 10})
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision('op.compress_column("t", "d", type_=CompressedJSON(), batch_rows=10)')
    project.upgrade("1")
    with pytest.raises(MigrationFailedError, match="17") as raised:
        project.upgrade()
    assert raised.value.failed_keys == (17,)
    assert "document" not in str(raised.value)
    assert version(engine) == "1"
    values = stored(engine, "t")
    assert values[16] == b"no document " * 10
    assert sum(value.startswith(MAGICS[0]) for value in values) == 58
    compressed = sa.table("t", sa.column("id"), sa.column("d", CompressedJSON()))
    with engine.begin() as connection:
        connection.execute(sa.update(compressed).where(compressed.c.id == 17), {"d": {"number": 17}})
    project.upgrade()
    assert version(engine) == "2"


def test_an_application_that_compresses_again_stops_the_downgrade(engine, database_url, tmp_path, database):
    """Frames are not UTF-8: the type change is refused while there are any, and nothing is cut."""
    if database == "sqlite":
        pytest.skip("SQLite changes no type")
    from sqlcompress.jobs import column

    t = sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", CompressedText())
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": f"text {i} " * 30} for i in range(1, 20)])
    project = Project(tmp_path, database_url)
    project.revision(
        "pass", 'op.decompress_column("t", "d", type_=sa.Text(), existing_type=CompressedText())'
    )
    project.upgrade()
    rewrite, times = column.rewrite_column, []

    def and_then_the_application(*args, **kw):
        result = rewrite(*args, **kw)
        times.append(1)
        if len(times) == 1:  # afterwards the table is locked
            with engine.begin() as connection:
                connection.execute(t.update().where(t.c.id == 5), {"d": "written late " * 20})
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column, "rewrite_column", and_then_the_application)
        project.downgrade()
    assert len(times) == 2
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT d FROM t WHERE id = 5")).scalar() == "written late " * 20
        assert connection.execute(sa.text("SELECT d FROM t WHERE id = 6")).scalar() == "text 6 " * 30


def test_the_log_says_what_was_done_and_what_gives_the_space_back(
    engine, database_url, database, tmp_path, caplog
):
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": "text " * 50} for i in range(1, 20)])
    project = Project(tmp_path, database_url)
    project.revision(UP.format("t"))
    with caplog.at_level(logging.INFO, "alembic.sqlcompress"):
        project.upgrade()
    last = caplog.messages[-1]
    command_ = {"sqlite": "VACUUM", "postgresql": "VACUUM FULL"}.get(database, "OPTIMIZE TABLE")
    assert command_ in last
    assert "compressed 19 rows of 19" in last


def test_a_script_holds_the_ddl_and_a_marker(engine, database_url, database, tmp_path):
    project = Project(tmp_path, database_url)
    project.revision(UP.format("order"), 'op.decompress_column("order", "d", type_=sa.Text())')
    settings = config(database_url, project.folder)
    settings.output_buffer = io.StringIO()
    command.upgrade(settings, "head", sql=True)
    script = settings.output_buffer.getvalue()
    assert "-- !!! sqlcompress: the rows of order.d are NOT compressed by this script." in script
    expected = {
        "sqlite": "UPDATE",  # Alembic's own, for the version
        "postgresql": """ALTER COLUMN "d" TYPE BYTEA USING convert_to("d", 'UTF8'),""",
    }.get(database, "ALTER TABLE `order` MODIFY COLUMN `d` LONGBLOB NULL;")
    assert expected in script or database == "sqlite"
    with pytest.raises(MigrationBlockedError, match="online"):
        command.downgrade(settings, "1:base", sql=True)


@pytest.mark.databases("sqlite")
def test_rendered_and_reversed(engine):
    operation = CompressColumnOp(
        "t",
        "d",
        type_=CompressedJSON(Zstd(9), min_size=10),
        existing_type=mysql.LONGTEXT(),
        existing_nullable=False,
        schema="s",
        batch_rows=50,
    )
    with engine.connect() as connection:
        context = AutogenContext(
            MigrationContext.configure(
                connection, opts={"sqlalchemy_module_prefix": "sa.", "alembic_module_prefix": "op."}
            )
        )
        text = render_op_text(context, operation)
        back = render_op_text(context, operation.reverse())
    assert text == (
        "op.compress_column('t', 'd', type_=CompressedJSON(codec=Zstd(level=9), min_size=10), "
        "existing_type=mysql.LONGTEXT(), existing_nullable=False, schema='s', batch_rows=50)"
    )
    assert back == (
        "op.decompress_column('t', 'd', type_=mysql.LONGTEXT(), "
        "existing_type=CompressedJSON(codec=Zstd(level=9), min_size=10), existing_nullable=False, "
        "schema='s', batch_rows=50)"
    )
    assert {"from sqlcompress import CompressedJSON", "from sqlcompress import Zstd"} <= set(context.imports)
    again = operation.reverse().reverse()
    assert again.settings() == operation.settings()
    assert repr(again.type_) == repr(operation.type_)


@pytest.mark.databases("sqlite")
def test_wrong_arguments(engine):
    with pytest.raises(TypeError, match="CompressedText"):
        CompressColumnOp("t", "d", type_=sa.Text())
    with pytest.raises(TypeError, match="plain type"):
        DecompressColumnOp("t", "d", type_=CompressedText())
    with pytest.raises(ValueError, match="strategy"):
        CompressColumnOp("t", "d", type_=CompressedText(), strategy="shadows")
    with pytest.raises(ValueError, match="batch_rows"):
        CompressColumnOp("t", "d", type_=CompressedText(), batch_rows=0)
    with pytest.raises(ValueError, match="existing_type"):
        CompressColumnOp("t", "d", type_=CompressedText()).reverse()
