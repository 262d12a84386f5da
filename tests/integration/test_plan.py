"""What an operation would do is printed before it does it, and nothing has changed by then."""

from __future__ import annotations

import io

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.util import CommandError
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, MigrationBlockedError, Zlib
from sqlcompress.alembic.run import config
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.plan import plan_compress, plan_decompress, plan_recompress
from tests.integration.alembic_project import Project, version

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TEXTS = [f"row {i} says it again. " * 20 for i in range(250)]
NAME = "Order 100% é"


def made(engine, type_=LONG):
    t = sa.Table(NAME, sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", type_))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": text} for i, text in enumerate(TEXTS, 1)])
    return t


def everything(engine):
    """The table's structure and rows."""
    inspector = sa.inspect(engine)
    t = sa.table(NAME, sa.column("id"), sa.column("d"))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t).order_by(t.c.id)).all()
    columns = [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(NAME)]
    return (
        inspector.get_table_names(),
        columns,
        [(row[0], bytes(row[1]) if not isinstance(row[1], str) else row[1]) for row in rows],
    )


@pytest.mark.parametrize("strategy", ["rewrite", "shadow", "atomic"])
def test_compress(engine, database, strategy):
    made(engine)
    before = everything(engine)
    with engine.connect() as connection:
        plan = plan_compress(
            connection,
            NAME,
            "d",
            CompressedText(),
            schema=None,
            strategy=strategy,
            batching=Batching(batch_rows=100),
        )
    assert everything(engine) == before
    assert plan.blockers == ()
    assert (plan.rows, plan.batches) == (250, 3)
    assert plan.table_bytes is not None
    assert plan.table_bytes > 0
    text = "\n".join(plan.lines())
    assert NAME in text
    assert "%%" not in text
    if strategy == "shadow":
        assert any("sqlcompress_new_d" in statement for statement in plan.statements)
    elif database != "sqlite":
        assert ("BYTEA" if database == "postgresql" else "LONGBLOB") in plan.statements[0]
    assert {"sqlite": "VACUUM", "postgresql": "VACUUM FULL"}.get(database, "OPTIMIZE TABLE") in text
    assert plan.as_dict()["locks"] == plan.locks
    assert len(plan.locks) >= 1


def test_the_statements_are_those_that_run(engine, database):
    made(engine)
    with engine.connect() as connection:
        plan = plan_compress(
            connection, NAME, "d", CompressedText(), schema=None, strategy="rewrite", batching=Batching()
        )
    run = []

    def note(conn, cursor, statement, parameters, context, executemany):
        run.append(statement.replace("%%", "%"))

    sa.event.listen(engine, "before_cursor_execute", note)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        with context.begin_transaction():
            Operations(context).compress_column(NAME, "d", type_=CompressedText())
    altered = [statement for statement in run if statement.startswith("ALTER")]
    assert altered == [statement for statement in plan.statements if not statement.startswith("--")]
    assert bool(altered) == (database != "sqlite")


def test_blockers_are_part_of_the_plan(engine):
    made(engine)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE VIEW v AS SELECT * FROM "
                + connection.dialect.identifier_preparer.quote_identifier(NAME).replace("%%", "%")
            )
        )
        plan = plan_compress(
            connection, NAME, "d", CompressedText(), schema=None, strategy="rewrite", batching=Batching()
        )
        assert any("view" in blocker for blocker in plan.blockers)
        assert any("Blocked" in line for line in plan.lines())
        connection.execute(sa.text("DROP VIEW v"))
        with pytest.raises(MigrationBlockedError, match="no column"):
            plan_compress(
                connection, NAME, "x", CompressedText(), schema=None, strategy="rewrite", batching=Batching()
            )


def test_the_way_back_and_another_codec(engine, database):
    made(engine, CompressedText())
    before = everything(engine)
    with engine.connect() as connection:
        back = plan_decompress(
            connection,
            NAME,
            "d",
            LONG,
            CompressedText(),
            schema=None,
            strategy="rewrite",
            batching=Batching(),
        )
        other = plan_recompress(
            connection,
            NAME,
            "d",
            CompressedText(Zlib()),
            CompressedText(),
            schema=None,
            strategy="rewrite",
            batching=Batching(batch_rows=50),
        )
    assert everything(engine) == before
    assert back.rows == other.rows == 250
    assert other.batches == 5
    assert [statement[:2] for statement in other.statements] == ["--"]
    assert back.statements[0].startswith("-- rows of ")
    assert len(back.statements) == (1 if database == "sqlite" else 2)


@pytest.mark.parametrize("strategy", ["rewrite", "shadow"])
def test_a_dry_run_of_a_revision_is_not_stamped(engine, database_url, tmp_path, strategy):
    made(engine)
    before = everything(engine)
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision(
        f'op.compress_column({NAME!r}, "d", type_=CompressedText(), strategy="{strategy}", dry_run=True)'
    )
    project.upgrade("1")
    settings = config(database_url, project.folder)
    settings.stdout = io.StringIO()
    with pytest.raises(CommandError, match="the revision was not applied"):
        command.upgrade(settings, "head")
    assert "Plan: compress" in settings.stdout.getvalue()
    assert "Rows: about 250" in settings.stdout.getvalue()
    assert version(engine) == "1"
    assert everything(engine)[1:] == before[1:]


def test_outside_a_revision_a_dry_run_returns(engine, capsys):
    made(engine)
    before = everything(engine)
    with engine.connect() as connection:
        op = Operations(MigrationContext.configure(connection))
        op.compress_column(NAME, "d", type_=CompressedText(), dry_run=True)
        op.decompress_column(NAME, "d", type_=LONG, dry_run=True)
    assert "Plan: compress" in capsys.readouterr().out
    assert everything(engine) == before
