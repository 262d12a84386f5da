"""Transactions, schemas and scripts: what an env.py may ask for, with revisions before and after ours."""

from __future__ import annotations

import io

import pytest
import sqlalchemy as sa
from alembic import command
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText, MigrationFailedError
from sqlcompress.alembic.run import config
from sqlcompress.frames import MAGICS
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite
from tests.integration.alembic_project import Project, version
from tests.integration.test_autogenerate import Environment, fill, model, only, operations, read

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TEXT = "text that gets smaller \U0001f600 " * 40


@pytest.fixture
def environment(database_url, tmp_path):
    return Environment(tmp_path, database_url)


def configured(project, options):
    """Give ``context.configure`` more to go by."""
    env = project.folder / "env.py"
    text = env.read_text(encoding="utf-8")
    given = "connection=connection, target_metadata=target_metadata"
    assert text.count(given) == 1
    env.write_text(text.replace(given, f"{given}, {options}"), encoding="utf-8")


def columns(engine, table):
    return [column["name"] for column in sa.inspect(engine).get_columns(table)]


CREATE = (
    'op.create_table("{0}", sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),'
    ' sa.Column("d", sa.Text))\n'
    "    op.bulk_insert(sa.table('{0}', sa.column('id', sa.Integer), sa.column('d', sa.Text)),"
    ' [{{"id": i, "d": \'{{"n": "\' + "0" * 100 + \'"}}\'}} for i in range(1, 31)])'
)


BAD = "'no document, but long enough to be compressed, which is when it is looked at'"


@pytest.mark.parametrize("per_migration", [True, False])
@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_what_stands_around_ours_in_one_run_is_never_lost(
    engine, database_url, database, tmp_path, per_migration, strategy
):
    """Ours fails for a row at first: what came before is kept or undone whole, then all is there."""
    project = Project(tmp_path, database_url)
    configured(project, f"transaction_per_migration={per_migration}")
    project.revision(CREATE.format("one"), 'op.drop_table("one")')
    project.revision(CREATE.format("two"), 'op.drop_table("two")')
    settings = f'type_=CompressedJSON(), existing_type=sa.Text(), strategy="{strategy}", batch_rows=7'
    back = settings.replace("type_=CompressedJSON(), existing_type=sa.Text()", "type_=sa.Text()")
    project.revision(
        f'op.execute("UPDATE one SET d = {BAD} WHERE id = 17")\n'
        f'    op.compress_column("two", "d", {settings})\n'
        f'    op.compress_column("one", "d", {settings})\n'
        '    op.add_column("two", sa.Column("extra", sa.Integer))',
        'op.drop_column("two", "extra")\n'
        f'    op.decompress_column("one", "d", {back})\n    op.decompress_column("two", "d", {back})',
    )
    project.revision(
        'op.add_column("one", sa.Column("later", sa.Integer))\n    op.execute("UPDATE one SET later = id")',
        'op.drop_column("one", "later")',
    )
    project.revision(
        f'op.compress_column("one", "d", {settings})\n    op.execute("UPDATE two SET extra = 5")'
    )
    with pytest.raises(MigrationFailedError) as raised:
        project.upgrade()
    assert raised.value.failed_keys == (17,)
    undone = strategy == "atomic" and not per_migration and database == "postgresql"
    assert version(engine) == (None if undone else "2")
    assert sa.inspect(engine).has_table("two") != undone
    script = project.folder / "versions" / "3_.py"
    mended = script.read_text(encoding="utf-8").replace(BAD, "'{}'")
    script.write_text(mended, encoding="utf-8")
    project.upgrade()
    assert version(engine) == "5"
    assert columns(engine, "one") == ["id", "d", "later"]
    assert columns(engine, "two") == ["id", "d", "extra"]
    one, two = (sa.table(name, *map(sa.column, ("id", "d", "later", "extra"))) for name in ("one", "two"))
    with engine.connect() as connection:
        values = connection.execute(sa.select(one.c.id, one.c.d, one.c.later).order_by(one.c.id)).all()
        extra = connection.execute(sa.select(two.c.d, two.c.extra)).all()
    assert [row.later for row in values] == list(range(1, 31))
    assert [row.id for row in values if not bytes(row.d).startswith(MAGICS[0])] == [17]
    assert all(bytes(row.d).startswith(MAGICS[0]) and row.extra == 5 for row in extra)
    project.downgrade("2")
    assert version(engine) == "2"
    assert columns(engine, "one") == columns(engine, "two") == ["id", "d"]
    with engine.connect() as connection:
        texts = connection.execute(sa.text("SELECT id, d FROM one ORDER BY id")).all()
    assert [tuple(row) for row in texts] == [
        (i, "{}" if i == 17 else '{"n": "' + "0" * 100 + '"}') for i in range(1, 31)
    ]
    project.upgrade()
    project.downgrade()
    assert not sa.inspect(engine).has_table("one")


@pytest.mark.databases("mariadb", "mysql")
def test_another_database_of_the_server(engine, environment, database_url):
    """To Alembic a schema; named as a database that needs quoting."""
    name = f"{database_url.database} %`Größe"
    quoted = engine.dialect.identifier_preparer.quote_identifier(name)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {quoted}")
    try:
        goes_over_and_back(engine, environment, name, only_ours(name))
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {quoted}")


@pytest.mark.databases("postgresql")
def test_a_schema_and_one_of_the_same_table_beside_it(engine, environment):
    name = 'per%cent "Größe"'
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema(name))
        connection.exec_driver_sql("CREATE TABLE t (id integer PRIMARY KEY, d text)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, repeat('left alone ', 20))")
    goes_over_and_back(engine, environment, name, only_ours(name))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT d FROM t").scalar() == "left alone " * 20


@pytest.mark.databases("sqlite")
def test_an_attached_file(environment, tmp_path, database_url):
    attach = f"\"ATTACH '{tmp_path}/attached.sqlite' AS other\""
    engine = sa.create_engine(database_url)

    @sa.event.listens_for(engine, "connect")
    def attached(connection, record):
        connection.execute(f"ATTACH '{tmp_path}/attached.sqlite' AS other")

    environment.before_configure = f"connection.exec_driver_sql({attach}); connection.commit()"
    goes_over_and_back(engine, environment, "other", only_ours("other"))
    engine.dispose()


def only_ours(schema):
    return (
        "include_schemas=True, "
        f"include_name=lambda name, type_, parents: type_ != 'schema' or name == {schema!r}"
    )


def goes_over_and_back(engine, environment, schema, options):
    plain = model(sa.Column("d", LONG), sa.Column("j", sa.JSON(none_as_null=True)), schema=schema)
    framed = model(
        sa.Column("d", CompressedText()), sa.Column("j", CompressedJSON(none_as_null=True)), schema=schema
    )
    plain.create_all(engine)
    rows = [{"d": TEXT, "j": {"a": [1.5] * 50}}, {"d": "", "j": None}, {"d": None, "j": [1]}]
    fill(engine, plain, rows)
    expected = read(engine, plain)
    before = getattr(environment, "before_configure", "")
    environment.use(framed, options)
    if before:
        text = environment._env.read_text(encoding="utf-8")
        opened = "with connectable.connect() as connection:\n"
        assert text.count(opened) == 1
        environment._env.write_text(text.replace(opened, f"{opened}        {before}\n"), encoding="utf-8")
    up, down = operations(environment.revision())
    assert up.count(f"schema={schema!r}") == down.count(f"schema={schema!r}") == 2
    for _ in range(2):
        environment.upgrade()
        environment.is_settled()
        assert read(engine, framed) == expected
        raw = sa.select(sa.type_coerce(only(framed).c.d, sa.LargeBinary))
        with engine.connect() as connection:
            assert (
                sum((value or b"").startswith(MAGICS[0]) for value in connection.execute(raw).scalars()) == 1
            )
        environment.downgrade()
        assert read(engine, plain) == expected


NAMES = [("t", "d"), ("order", "group"), ('quo"te`d', "per%cent"), ("100% :bind", "Körper\n-- x")]


@pytest.mark.parametrize(("table", "column"), NAMES)
def test_a_script_is_run_by_the_server_and_its_rows_afterwards_by_the_job(
    engine, database_url, database, tmp_path, table, column
):
    """``--sql`` from nothing: the server takes every line, types, job and downgrade go on from there."""
    comment = "" if database == "sqlite" else ', comment="50% it\'s"'
    project = Project(tmp_path, database_url)
    long = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'
    project.revision(
        f"op.create_table({table!r}, sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),"
        f" sa.Column({column!r}, {long}, nullable=False{comment}))\n"
        f"    op.bulk_insert(sa.table({table!r}, sa.column('id', sa.Integer),"
        f" sa.column({column!r}, sa.Text)),"
        f" [{{'id': i, {column!r}: 'text % \\' é ' * 40}} for i in range(1, 21)])"
    )
    project.revision(
        f"op.compress_column({table!r}, {column!r}, type_=CompressedText(), existing_type={long},"
        " existing_nullable=False)",
        f"op.decompress_column({table!r}, {column!r}, type_={long}, existing_type=CompressedText())",
    )
    project.revision(f"op.add_column({table!r}, sa.Column('later', sa.Integer))")
    settings = config(database_url, project.folder)
    settings.output_buffer = io.StringIO()
    command.upgrade(settings, "head", sql=True)
    run_script(engine, settings.output_buffer.getvalue())

    assert version(engine) == "3"
    framed = sa.table(table, sa.column("id"), sa.column(column, CompressedText()), sa.column("later"))
    expected = dict.fromkeys(range(1, 21), "text % ' é " * 40)
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(framed.c.id, framed.c[column])))) == expected
    result = rewrite(engine, table, column, convert=Compress(CompressedText()))
    assert result.rows_written == 20
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(framed.c.id, framed.c[column])))) == expected
    project.downgrade("1")
    plain = sa.table(table, sa.column("id"), sa.column(column))
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(plain)))) == expected


def run_script(engine, script):
    """As a client of the server does: the text as it is, nothing bound."""
    dialect = engine.dialect.name
    if dialect == "sqlite":
        with engine.connect() as connection:
            connection.connection.driver_connection.executescript(script)
    elif dialect == "postgresql":
        # Without parameters psycopg sends the text as one simple query.
        with engine.connect() as connection:
            connection.connection.driver_connection.execute(script)
            connection.connection.driver_connection.commit()
    else:
        from pymysql.constants import CLIENT

        several = sa.create_engine(engine.url, connect_args={"client_flag": CLIENT.MULTI_STATEMENTS})
        with several.connect() as connection:
            cursor = connection.connection.cursor()
            cursor.execute(script)
            while cursor.nextset():
                pass
            connection.connection.driver_connection.commit()
        several.dispose()
