"""What is carried over is in the catalogs as before: while compressed where it applies, and afterwards."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from sqlcompress import CompressedJSON, CompressedText, MigrationBlockedError
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.jobs.column import Batching, compress_column, decompress_column
from sqlcompress.jobs.preflight import check_compress, check_decompress
from tests.integration.alembic_project import Project
from tests.integration.catalog_snapshot import snapshot

DEFAULT = "it's 5% \u00e9"
READER = "sqlcompress_reader"

_POSTGRESQL = (
    (
        "CREATE TABLE t (id int PRIMARY KEY, d varchar(200) COLLATE \"C\" NOT NULL DEFAULT 'it''s 5% \u00e9',"
        " other int, touched int NOT NULL DEFAULT 0, CONSTRAINT ck CHECK (d IS NOT NULL OR other IS NULL))"
    ),
    "COMMENT ON COLUMN t.d IS 'it''s 5% of \\ all'",
    "COMMENT ON CONSTRAINT ck ON t IS 'both'",
    "CREATE INDEX ix ON t (other) WHERE d IS NOT NULL",
    "CREATE INDEX ix2 ON t (other, (d IS NULL))",
    "GRANT SELECT (d), UPDATE (d) ON t TO pg_monitor WITH GRANT OPTION",
    "GRANT SELECT (d) ON t TO PUBLIC",
    (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " IF current_setting('sqlcompress.job', true) IS DISTINCT FROM '1' THEN"
        " NEW.touched := OLD.touched + 1; END IF; RETURN NEW; END$$"
    ),
    "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
)
_MYSQL = (
    (
        "CREATE TABLE t (id int PRIMARY KEY, d varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        " NOT NULL DEFAULT 'it''s 5% \u00e9' COMMENT 'it''s 5% of all' INVISIBLE, other int,"
        " touched int NOT NULL DEFAULT 0, at timestamp(6) NULL ON UPDATE CURRENT_TIMESTAMP(6),"
        " CONSTRAINT ck CHECK (d IS NOT NULL OR other IS NULL))"
    ),
    f"GRANT SELECT (d), UPDATE (d) ON t TO {READER}",
    (
        "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW BEGIN IF NOT (@sqlcompress_job <=> '1') THEN"
        " SET NEW.touched = OLD.touched + 1; END IF; END"
    ),
)
_SQLITE = (
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT NOT NULL DEFAULT 'it''s 5% \u00e9', other int,"
        " touched int NOT NULL DEFAULT 0, CONSTRAINT ck CHECK (d IS NOT NULL OR other IS NULL))"
    ),
    "CREATE INDEX ix ON t (other) WHERE d IS NOT NULL",
    "CREATE TRIGGER tr AFTER UPDATE OF other ON t BEGIN UPDATE t SET touched = touched + 1; END",
)


@pytest.fixture
def everything(engine, database):
    """A table with all that its database can carry over, and the plain type of its column."""
    statements = {"postgresql": _POSTGRESQL, "sqlite": _SQLITE}.get(database, _MYSQL)
    percent = "%" if database == "sqlite" else "%%"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if statements is _MYSQL:
            connection.exec_driver_sql(f"DROP USER IF EXISTS {READER}")
            connection.exec_driver_sql(f"CREATE USER {READER}")
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", percent))
        connection.execute(
            sa.text("INSERT INTO t (id, d, other) VALUES (:id, :d, NULL)"),
            [{"id": i, "d": f"row {i} " * 25} for i in range(1, 40)],
        )
    yield {"postgresql": 'sa.String(200, collation="C")', "sqlite": "sa.Text()"}.get(
        database, 'mysql.VARCHAR(200, charset="utf8mb4", collation="utf8mb4_bin")'
    )
    if statements is _MYSQL:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP USER {READER}")


def kept(found, database):
    """The part of a snapshot that is the same while the column holds bytes."""
    if database == "postgresql":
        columns = [(c[0], c[2], c[3], c[7]) for c in found["columns"]]
    elif database == "sqlite":
        columns = []
    else:
        columns = [
            (c[0], c[2], c[6], c[7].replace("DEFAULT_GENERATED", "").strip()) for c in found["columns"]
        ]
    return {**found, "columns": columns}


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_the_catalogs_are_as_before(engine, database, database_url, tmp_path, everything, strategy):
    plain = everything
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText(), existing_type={plain}, strategy="{strategy}")',
        f'op.decompress_column("t", "d", type_={plain}, existing_type=CompressedText(),'
        f' strategy="{strategy}")',
    )
    before = snapshot(engine)
    rows = sa.text("SELECT id, d, touched FROM t WHERE id < 99 ORDER BY id")
    with engine.connect() as connection:
        values = connection.execute(rows).all()
    project.upgrade()
    between = snapshot(engine)
    assert kept(between, database) == kept(before, database)
    table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("d", CompressedText()))
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO t (id) VALUES (99)"))
        # A row that is written without a value reads back as the default's text.
        assert connection.execute(sa.select(table.c.d).where(table.c.id == 99)).scalar_one() == DEFAULT
        stored = connection.execute(sa.select(sa.type_coerce(table.c.d, sa.LargeBinary))).scalars().first()
        assert bytes(stored).startswith(b"\x28\xb5\x2f\xfd")
    project.downgrade()
    assert snapshot(engine) == before
    with engine.connect() as connection:
        assert connection.execute(rows).all() == values
        assert connection.execute(sa.text("SELECT d FROM t WHERE id = 99")).scalar_one() == DEFAULT


@pytest.mark.databases("postgresql", "mysql", "mariadb")
@pytest.mark.usefixtures("everything")
def test_a_collation_is_refused_where_the_way_back_does_not_name_it(engine, database):
    collation = "C" if database == "postgresql" else "utf8mb4_bin"
    with engine.connect() as connection, pytest.raises(MigrationBlockedError, match="collation") as raised:
        check_compress(connection, "t", "d", CompressedText(), schema=None, strategy="rewrite")
    assert [blocker for blocker in raised.value.blockers if collation in blocker] == list(
        raised.value.blockers
    )


DEFAULTS = [
    ("postgresql", "text DEFAULT ''", sa.Text(), ""),
    ("postgresql", "text DEFAULT 'a\\b''c%d'", sa.Text(), "a\\b'c%d"),
    ("postgresql", "varchar(9) DEFAULT NULL::varchar", sa.String(9), None),
    ("postgresql", """jsonb DEFAULT '{"b": 1, "a": "it''s"}'""", postgresql.JSONB(), {"a": "it's", "b": 1}),
    ("mariadb", "varchar(9) DEFAULT ''", sa.String(9), ""),
    ("mariadb", "varchar(9) DEFAULT 'NULL'", sa.String(9), "NULL"),
    ("mariadb", "text DEFAULT '\u00e9%'", sa.Text(), "\u00e9%"),
    (
        "mariadb",
        "varchar(9) CHARACTER SET latin1 DEFAULT '\u00e9'",
        mysql.VARCHAR(9, charset="latin1"),
        "\u00e9",
    ),
    ("mariadb", """json DEFAULT '{"a": 1}'""", sa.JSON(), {"a": 1}),
    ("mysql", "varchar(9) DEFAULT ''", sa.String(9), ""),
    ("mysql", "varchar(9) DEFAULT 'NULL'", sa.String(9), "NULL"),
    ("mysql", "text DEFAULT ('e%')", sa.Text(), "e%"),
    (
        "mysql",
        "varchar(9) CHARACTER SET latin1 DEFAULT '\u00e9'",
        mysql.VARCHAR(9, charset="latin1"),
        "\u00e9",
    ),
    ("mysql", """json DEFAULT ('{"a": 1}')""", sa.JSON(), {"a": 1}),
    ("sqlite", "text DEFAULT 'x'", sa.Text(), "x"),
    ("sqlite", "text DEFAULT (lower('X'))", sa.Text(), "x"),
]


def test_defaults_are_bytes_for_a_time(engine, database):
    for of, definition, target, value in DEFAULTS:
        if of == database:
            there_and_back(engine, database, definition, target, value)


def there_and_back(engine, database, definition, target, value):
    type_ = CompressedText() if isinstance(target, sa.String) else CompressedJSON()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        percent = "%" if database == "sqlite" else "%%"
        connection.exec_driver_sql(
            f"CREATE TABLE t (id int PRIMARY KEY, d {definition})".replace("%", percent)
        )
        before = snapshot(engine)
        t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("d", type_))
        found, _ = check_compress(connection, "t", "d", type_, schema=None, strategy="rewrite")
        compress_column(connection, engine, found, "d", type_, Batching(), atomic=False)
        connection.exec_driver_sql("INSERT INTO t (id) VALUES (1)")
        assert connection.execute(sa.select(t.c.d)).scalar_one() == value
        check_decompress(connection, "t", "d", target, type_, schema=None, strategy="rewrite")
        decompress_column(connection, engine, found, "d", target, type_, Batching(), atomic=False)
        assert snapshot(engine) == before
        connection.exec_driver_sql("INSERT INTO t (id) VALUES (2)")
        # Both rows read the same: the one with the default in bytes, and the one with it in text.
        t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("d", target))
        assert connection.execute(sa.select(t.c.d)).scalars().all() == [value, value]
        connection.exec_driver_sql("DROP TABLE t")


_RANGE = (
    "CREATE TABLE t (id int PRIMARY KEY, d text) PARTITION BY RANGE (id)"
    " (PARTITION p1 VALUES LESS THAN (50), PARTITION p2 VALUES LESS THAN MAXVALUE)"
)
PARTITIONED = [
    (
        "postgresql",
        (
            "CREATE TABLE t (id int PRIMARY KEY, d text) PARTITION BY RANGE (id)",
            "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (50)",
            "CREATE TABLE t2 PARTITION OF t DEFAULT",
        ),
    ),
    ("mysql", ("CREATE TABLE t (id int PRIMARY KEY, d text) PARTITION BY KEY () PARTITIONS 3",)),
    ("mariadb", ("CREATE TABLE t (id int PRIMARY KEY, d text) PARTITION BY KEY () PARTITIONS 3",)),
    (
        "mysql",
        (_RANGE,),
    ),
    (
        "mariadb",
        (_RANGE,),
    ),
]


@pytest.mark.databases("postgresql", "mysql", "mariadb")
def test_partitioned_tables(engine, database):
    for of, statements in PARTITIONED:
        if of == database:
            partitions_stay(engine, statements)


def partitions_stay(engine, statements):
    type_ = CompressedText()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        insert = sa.text("INSERT INTO t VALUES (:id, :d)")
        connection.execute(insert, [{"id": i, "d": f"row {i} " * 50} for i in range(100)])
        before = snapshot(engine)
        found, _ = check_compress(connection, "t", "d", type_, schema=None, strategy="rewrite")
        result = compress_column(connection, engine, found, "d", type_, Batching(), atomic=False)
        assert result.rows_written == 100
        check_decompress(connection, "t", "d", sa.Text(), type_, schema=None, strategy="rewrite")
        decompress_column(connection, engine, found, "d", sa.Text(), type_, Batching(), atomic=False)
        assert snapshot(engine) == before
        texts = connection.execute(sa.text("SELECT d FROM t ORDER BY id")).scalars().all()
        assert texts == [f"row {i} " * 50 for i in range(100)]
        connection.exec_driver_sql("DROP TABLE t")


@pytest.mark.usefixtures("everything")
def test_what_is_carried_is_told(engine, database):
    with engine.connect() as connection:
        catalog = catalog_of(connection)
        table = catalog.table("t", None)
        told = catalog.carried(table, catalog.column(table, "d"))
    assert "NOT NULL" in told
    assert any("5%" in one for one in told)
    if database != "sqlite":
        assert "column privileges" in told
        assert "the column's comment" in told
