"""The environments that Alembic's templates make, and what else an env.py may do."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText, Zlib
from sqlcompress.frames import MAGICS
from tests.integration.stock_environment import StockEnvironment

ROWS = {i: (f"text {i} \U0001f600 " * 30, None if i == 3 else {"n": [i] * 60}) for i in range(5)}
LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def table(name, text_type, json_type):
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", text_type, nullable=False),
        sa.Column("j", json_type),
    )


def fill(engine, name):
    made = table(name, LONG, sa.JSON(none_as_null=True))
    made.create(engine)
    with engine.begin() as connection:
        connection.execute(made.insert(), [{"id": i, "d": d, "j": j} for i, (d, j) in ROWS.items()])


def plain(engine, name):
    return read(engine, table(name, LONG, sa.JSON(none_as_null=True)))


def compressed(engine, name):
    """The rows through the compressed types, once it is certain that they are frames."""
    framed = table(name, sa.LargeBinary, sa.LargeBinary)
    with engine.connect() as connection:
        for row in connection.execute(sa.select(framed)):
            assert bytes(row.d).startswith(MAGICS[0])
            assert row.j is None or bytes(row.j).startswith(MAGICS[1])
    return read(engine, table(name, CompressedText(), CompressedJSON(Zlib(), none_as_null=True)))


def read(engine, from_):
    with engine.connect() as connection:
        return {row.id: (row.d, row.j) for row in connection.execute(sa.select(from_))}


def goes_up_and_down(environment, engine, name):
    assert "compress_column" in environment.alembic("check", compressed=True, fails=True)
    environment.alembic("revision", "--autogenerate", "-m", "compress", compressed=True)
    environment.alembic("upgrade", "head", compressed=True)
    assert compressed(engine, name) == ROWS
    assert "No new upgrade operations" in environment.alembic("check", compressed=True)
    environment.alembic("downgrade", "base", compressed=True)
    assert plain(engine, name) == ROWS
    environment.alembic("upgrade", "head", compressed=True)
    assert compressed(engine, name) == ROWS


@pytest.mark.parametrize("template", ["generic", "pyproject"])
def test_stock_templates(engine, database_url, database, tmp_path, template):
    if template == "pyproject" and database != "sqlite":
        pytest.skip("differs from generic in where its settings stand, which no database sees")
    fill(engine, "article")
    environment = StockEnvironment(tmp_path, template)
    environment.edit(environment.env, "target_metadata = None", "from models import first as target_metadata")
    environment.point_to(database_url)
    goes_up_and_down(environment, engine, "article")


def test_asynchronous_template(async_engine, database_url, tmp_path):
    """DDL and batches run on adapters of asynchronous drivers."""
    engine = sa.create_engine(database_url)
    fill(engine, "article")
    environment = StockEnvironment(tmp_path, "async")
    environment.edit(environment.env, "target_metadata = None", "from models import first as target_metadata")
    environment.point_to(async_engine.url)
    goes_up_and_down(environment, engine, "article")
    engine.dispose()


class TestTwoDatabases:
    """The template "multidb": the database at hand, and one on SQLite beside it."""

    @pytest.fixture
    def other(self, tmp_path):
        made = sa.create_engine(f"sqlite:///{tmp_path}/other.sqlite")
        yield made
        made.dispose()

    @pytest.fixture
    def environment(self, engine, other, database_url, tmp_path):
        fill(engine, "article")
        fill(other, "order")
        made = StockEnvironment(tmp_path, "multidb")
        models = "import models\n\ntarget_metadata = {'engine1': models.first, 'engine2': models.second}"
        made.edit(made.env, "target_metadata = {}", models)
        made.point_to(database_url, "engine1")
        made.point_to(other.url, "engine2")
        return made

    def generate(self, environment):
        environment.alembic("revision", "--autogenerate", compressed=True)
        # Alembic writes the types of all databases as the last one's dialect does: Text() without "sa.".
        environment.replace("(astext_type=Text())", "()")

    def test_its_one_transaction_takes_atomic_only(self, engine, other, environment):
        self.generate(environment)
        assert "op.compress_column('article', 'd'" in environment.script()
        assert "op.compress_column('order', 'd'" in environment.script()
        said = environment.alembic("upgrade", "head", compressed=True, fails=True)
        assert 'Use strategy="atomic"' in said
        assert plain(engine, "article") == ROWS
        assert plain(other, "order") == ROWS
        environment.replace("existing_nullable", 'strategy="atomic", existing_nullable')
        for _ in range(2):
            environment.alembic("upgrade", "head", compressed=True)
            assert compressed(engine, "article") == ROWS
            assert compressed(other, "order") == ROWS
            environment.alembic("check", compressed=True)
            environment.alembic("downgrade", "base", compressed=True)
            assert plain(engine, "article") == ROWS
            assert plain(other, "order") == ROWS

    def test_with_a_transaction_of_each_context(self, engine, other, environment):
        """What the error advises, in this template: let the context begin, as the others do."""
        environment.edit(environment.env, 'rec["transaction"] = conn.begin()', "pass")
        environment.edit(
            environment.env,
            "            context.run_migrations(engine_name=name)\n\n        if USE_TWOPHASE",
            "            with context.begin_transaction():\n"
            "                context.run_migrations(engine_name=name)\n\n        if USE_TWOPHASE",
        )
        for end in ("commit", "rollback"):
            old = f'for rec in engines.values():\n            rec["transaction"].{end}()'
            environment.edit(environment.env, old, "pass")
        self.generate(environment)
        for _ in range(2):
            environment.alembic("upgrade", "head", compressed=True)
            assert compressed(engine, "article") == ROWS
            assert compressed(other, "order") == ROWS
            environment.alembic("check", compressed=True)
            environment.alembic("downgrade", "base", compressed=True)
            assert plain(engine, "article") == ROWS
            assert plain(other, "order") == ROWS
