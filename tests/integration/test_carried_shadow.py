"""A shadow column takes over what the column had whose name it takes."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText, MigrationBlockedError
from sqlcompress.jobs.preflight import check_compress
from tests.integration.alembic_project import Project

POSTGRESQL = [
    "CREATE TABLE t (id int PRIMARY KEY, d text NOT NULL DEFAULT 'it''s 100% é', other int DEFAULT 0)",
    "COMMENT ON COLUMN t.d IS 'the ''text'''",
    "GRANT SELECT (d), UPDATE (d) ON t TO pg_monitor WITH GRANT OPTION",
    "GRANT SELECT (d) ON t TO PUBLIC",
    (
        "CREATE FUNCTION count_update() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
        " IF current_setting(''sqlcompress.job'', true) IS DISTINCT FROM ''1'' THEN"
        " NEW.other := NEW.other + 1; END IF; RETURN NEW; END'"
    ),
    "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION count_update()",
]
MYSQL = [
    (
        "CREATE TABLE t (id int PRIMARY KEY, d varchar(99) NOT NULL DEFAULT 'it''s 100% é'"
        " COMMENT 'the ''text''' INVISIBLE, other int DEFAULT 0)"
    ),
    "CREATE USER sqlcompress_shadow_reader",
    "GRANT SELECT (d), UPDATE (d) ON t TO sqlcompress_shadow_reader",
    (
        "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW BEGIN IF NOT (@sqlcompress_job <=> '1') THEN"
        " SET NEW.other = NEW.other + 1; END IF; END"
    ),
]
SNAPSHOTS = {
    "postgresql": (
        "SELECT format_type(a.atttypid, a.atttypmod), pg_get_expr(f.adbin, f.adrelid), a.attnotnull,"
        " a.attstorage::text, a.attacl::text, col_description(a.attrelid, a.attnum) FROM pg_attribute a"
        " LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum"
        " WHERE a.attrelid = 't'::regclass AND a.attname = 'd'"
    ),
    "mysql": (
        "SELECT c.column_type AS t, c.column_default AS f, c.is_nullable AS n, c.extra AS e, c.collation_name"
        " AS o, (SELECT group_concat(p.privilege_type ORDER BY 1) FROM information_schema.column_privileges p"
        " WHERE p.table_schema = c.table_schema AND p.table_name = 't' AND p.column_name = 'd') AS a,"
        " c.column_comment AS m FROM information_schema.columns c WHERE c.table_schema = database()"
        " AND c.table_name = 't' AND c.column_name = 'd'"
    ),
}


def run(engine, *statements):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))


def described(engine):
    with engine.connect() as connection:
        query = SNAPSHOTS.get(engine.dialect.name, SNAPSHOTS["mysql"])
        return tuple(connection.exec_driver_sql(query).one())


@pytest.fixture
def made(engine, database):
    reader = "DROP USER IF EXISTS sqlcompress_shadow_reader"
    if database != "postgresql":
        run(engine, reader)
    run(engine, *(POSTGRESQL if database == "postgresql" else MYSQL), "INSERT INTO t (id, d) VALUES (1, 'x')")
    yield
    if database != "postgresql":
        run(engine, reader)


@pytest.mark.databases("postgresql", "mysql", "mariadb")
@pytest.mark.usefixtures("made")
def test_the_column_in_its_place_has_it_all(engine, database, database_url, tmp_path):
    type_ = "sa.Text()" if database == "postgresql" else "sa.String(99)"
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText(), existing_type={type_}, strategy="shadow")',
        f'op.decompress_column("t", "d", type_={type_}, strategy="shadow")',
    )
    before = described(engine)
    project.upgrade()
    between = described(engine)
    run(engine, "INSERT INTO t (id) VALUES (2)", "UPDATE t SET other = other")
    t = sa.table("t", sa.column("id"), sa.column("d", CompressedText()), sa.column("other"))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t.c.id, t.c.d, t.c.other).order_by(t.c.id)).all()
    # The trigger has counted the application's update and none of the job's.
    assert rows == [(1, "x", 1), (2, "it's 100% é", 1)]
    # Not null, privileges and comment are as before already while the column holds bytes.
    assert (between[2], *between[-2:]) == (before[2], *before[-2:])
    project.downgrade()
    assert described(engine) == before
    run(engine, "INSERT INTO t (id) VALUES (3)")
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT id, d, other FROM t ORDER BY id").all()
    assert found == [*rows, (3, "it's 100% é".replace("%%", "%"), 0)]


@pytest.mark.databases("mysql", "mariadb")
def test_a_default_that_the_catalog_cannot_show(engine):
    """The catalogs are in utf8mb3, and show a question mark for what it does not have."""
    run(engine, "CREATE TABLE t (id int PRIMARY KEY, d varchar(9) DEFAULT '\U0001f600')")
    with engine.connect() as connection, pytest.raises(MigrationBlockedError, match="default of d"):
        check_compress(connection, "t", "d", CompressedText(), schema=None, strategy="rewrite")
