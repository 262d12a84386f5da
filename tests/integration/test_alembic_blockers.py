"""What would be lost, changed or broken is listed by name, and nothing has changed by then."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText, MigrationBlockedError
from tests.integration.alembic_project import Project, version
from tests.integration.catalog_snapshot import snapshot

POSTGRESQL = {
    "index": (["CREATE INDEX ix ON t (d)"], "index ix"),
    "expression index": (["CREATE INDEX ix ON t (lower(d))"], "index ix"),
    "partial index": (["CREATE INDEX ix ON t (other) WHERE d <> ''"], "index ix"),
    "full text": (["CREATE INDEX ix ON t USING gin (to_tsvector('english', d))"], "index ix"),
    "unique": (["ALTER TABLE t ADD CONSTRAINT uq UNIQUE (d)"], "constraint uq"),
    "check": (["ALTER TABLE t ADD CONSTRAINT ck CHECK (length(d) > 0)"], "constraint ck"),
    "foreign key": (
        [
            "CREATE TABLE p (k text PRIMARY KEY)",
            "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (d) REFERENCES p",
        ],
        "constraint fk",
    ),
    "generated": (["ALTER TABLE t ADD g int GENERATED ALWAYS AS (length(d)) STORED"], "column g"),
    "view": (["CREATE VIEW v AS SELECT d FROM t"], "view v"),
    "default": (["ALTER TABLE t ALTER d SET DEFAULT lower('X')"], "default value"),
    "default of another type": (["ALTER TABLE t ALTER d SET DEFAULT 'x'::varchar"], "default value"),
    "storage": (["ALTER TABLE t ALTER d SET STORAGE MAIN"], "storage mode"),
    "row type": (["CREATE TABLE other (r t)"], "other.r"),
    "index on it for values only": (["CREATE INDEX ix ON t (d) WHERE d IS NOT NULL"], "index ix"),
    "trigger that only speaks of the job": (
        [
            (
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
                " $$BEGIN RETURN NEW; -- 'sqlcompress.job'\n END$$"
            ),
            "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        "trigger tr",
    ),
    "trigger": (
        [
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        "trigger tr",
    ),
    "trigger of the column": (
        [
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE TRIGGER tr BEFORE UPDATE OF d ON t FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        "trigger tr",
    ),
    "body of a trigger": (
        [
            (
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
                " 'BEGIN NEW.other := length(NEW.d); RETURN NEW; END'"
            ),
            "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        "trigger tr",
    ),
    "rule": (["CREATE RULE ru AS ON UPDATE TO t DO ALSO NOTHING"], "rule ru"),
    "policy": (["CREATE POLICY po ON t USING (d <> '')"], "policy po"),
    "statistics": (["CREATE STATISTICS st ON d, other FROM t"], "statistics object"),
    "publication": (["CREATE PUBLICATION sqlcompress_pub FOR TABLE t"], "publication sqlcompress_pub"),
    "inheritance": (["CREATE TABLE child () INHERITS (t)"], "child inherits"),
    "padding": (["ALTER TABLE t ALTER d TYPE char(20)"], "padding blanks"),
    "domain": (["CREATE DOMAIN dom AS text", "ALTER TABLE t ALTER d TYPE dom"], "dom"),
    "collation": (['ALTER TABLE t ALTER d TYPE text COLLATE "C"'], "collation C"),
    "other type": (["ALTER TABLE t ALTER d TYPE tsvector USING NULL"], "tsvector"),
    "no key": (["ALTER TABLE t DROP CONSTRAINT t_pkey"], "no usable key"),
    "deferrable key": (
        [
            "ALTER TABLE t DROP CONSTRAINT t_pkey",
            "ALTER TABLE t ADD CONSTRAINT u UNIQUE (id) DEFERRABLE INITIALLY DEFERRED",
        ],
        "no usable key",
    ),
}

MYSQL = {
    "index": (["CREATE INDEX ix ON t (d(10))"], "index ix"),
    "full text": (["CREATE FULLTEXT INDEX ix ON t (d)"], "index ix"),
    "check": (["ALTER TABLE t ADD CONSTRAINT ck CHECK (d <> 'x')"], "constraint ck"),
    "generated": (["ALTER TABLE t ADD g int AS (length(d))"], "column g"),
    "view": (["CREATE VIEW v AS SELECT d FROM t"], ".v "),
    "trigger": (["CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW SET NEW.other = 1"], "trigger tr"),
    "body of a trigger": (
        ["CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.other = length(NEW.d)"],
        "trigger tr",
    ),
    "default": (["ALTER TABLE t MODIFY d varchar(200) DEFAULT (lower('X'))"], "default"),
    "trigger that only speaks of the job": (
        ["CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW SET NEW.other = 1 /* @sqlcompress_job */"],
        "trigger tr",
    ),
    "partitions": (
        [
            "ALTER TABLE t DROP PRIMARY KEY",
            "ALTER TABLE t MODIFY d varchar(50) NOT NULL, ADD UNIQUE u (id, d)",
            "ALTER TABLE t PARTITION BY KEY (d)",
        ],
        "partitioned by d",
    ),
    "padding": (["ALTER TABLE t MODIFY d char(20)"], "padding blanks"),
    "other type": (["ALTER TABLE t MODIFY d enum('a','b')"], "enum"),
    "collation": (["ALTER TABLE t MODIFY d text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"], "utf8mb4_bin"),
    "foreign key": (
        [
            "CREATE TABLE p (k varchar(50) PRIMARY KEY)",
            "ALTER TABLE t MODIFY d varchar(50)",
            "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (d) REFERENCES p (k)",
        ],
        "foreign key fk",
    ),
    "no key": (["ALTER TABLE t DROP PRIMARY KEY"], "no usable key"),
    "float key": (["ALTER TABLE t MODIFY id float NOT NULL"], "FLOAT"),
    "enum key": (["ALTER TABLE t MODIFY id enum('1','2') NOT NULL"], "ENUM"),
    "engine": (["ALTER TABLE t ENGINE = MyISAM"], "no transactions"),
}

SQLITE = {
    "index": (["CREATE INDEX ix ON t (d)"], "index ix"),
    "expression index": (["CREATE INDEX ix ON t (lower(d))"], "index ix"),
    "partial index": (["CREATE INDEX ix ON t (other) WHERE d <> ''"], "index ix"),
    "view": (["CREATE VIEW v AS SELECT * FROM t"], "view v"),
    "trigger": (["CREATE TRIGGER tr AFTER UPDATE ON t BEGIN SELECT 1; END"], "trigger tr"),
    "trigger of the column": (["CREATE TRIGGER tr AFTER UPDATE OF d ON t BEGIN SELECT 1; END"], "trigger tr"),
    "body of a trigger": (
        ["CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET other = length(NEW.d); END"],
        "trigger tr",
    ),
    "check": (
        ["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT CHECK (length(d) > 0))"],
        "CHECK",
    ),
    "generated": (
        ["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT, g AS (length(d)))"],
        "generated column",
    ),
    "strict": (["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT) STRICT"], "STRICT"),
    "collation": (
        ["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT COLLATE NOCASE)"],
        "collation",
    ),
    "unique": (
        ["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT UNIQUE)"],
        "unique constraint",
    ),
    "foreign key": (
        ["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT REFERENCES p (k))"],
        "foreign key from d",
    ),
    "other type": (["DROP TABLE t", "CREATE TABLE t (id INTEGER PRIMARY KEY, d INTEGER)"], "INTEGER"),
    "full text": (
        ["CREATE VIRTUAL TABLE ft USING fts5 (d, content='t', content_rowid='id')"],
        "full-text table ft",
    ),
    "no key": (
        ["DROP TABLE t", "CREATE TABLE t (rowid TEXT, _rowid_ TEXT, oid TEXT, d TEXT)"],
        "no usable key",
    ),
}

MARIADB = {
    "versioned": (["ALTER TABLE t ADD SYSTEM VERSIONING"], "system versioned"),
    "check of the column itself": (
        ["ALTER TABLE t MODIFY d text CHECK (d IS NOT NULL)"],
        "CHECK constraint d",
    ),
}
MYSQL_ONLY = {
    "functional index": (["CREATE INDEX ix ON t ((left(d, 5)))"], "index ix"),
    "default that is not printed as it is": (["ALTER TABLE t MODIFY d text DEFAULT ('\u00e9')"], "default"),
}


def cases(found):
    return pytest.mark.parametrize(
        ("statements", "named"), [pytest.param(*case, id=name) for name, case in found.items()]
    )


@pytest.mark.databases("postgresql")
@cases(POSTGRESQL)
def test_on_postgresql(engine, database_url, tmp_path, statements, named):
    listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named)


@pytest.mark.databases("mariadb", "mysql")
@cases(MYSQL)
def test_on_mysql_and_mariadb(engine, database_url, tmp_path, statements, named):
    listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named)


@pytest.mark.databases("mariadb")
@cases(MARIADB)
def test_on_mariadb(engine, database_url, tmp_path, statements, named):
    listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named)


@pytest.mark.databases("mysql")
@cases(MYSQL_ONLY)
def test_on_mysql(engine, database_url, tmp_path, statements, named):
    listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named)


@pytest.mark.databases("sqlite")
@cases(SQLITE)
def test_on_sqlite(engine, database_url, tmp_path, statements, named):
    listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named)


def listed_by_name_and_nothing_changed(engine, database_url, tmp_path, statements, named):
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id int PRIMARY KEY, d text, other int)"))
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision('op.compress_column("t", "d", type_=CompressedText())')
    project.upgrade("1")
    before = snapshot(engine)
    with pytest.raises(MigrationBlockedError) as raised:
        project.upgrade()
    assert any(named in blocker for blocker in raised.value.blockers), raised.value.blockers
    assert all(blocker in str(raised.value) for blocker in raised.value.blockers)
    assert snapshot(engine) == before
    assert version(engine) == "1"
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:  # publications belong to the database, not to a schema
            connection.exec_driver_sql("DROP PUBLICATION IF EXISTS sqlcompress_pub")


def test_all_blockers_are_listed_at_once(engine, database_url, tmp_path):
    length = "(10)" if engine.dialect.name in {"mysql", "mariadb"} else ""
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id int PRIMARY KEY, d text)"))
        connection.execute(sa.text(f"CREATE INDEX ix ON t (d{length})"))
        connection.execute(sa.text("CREATE VIEW v AS SELECT d FROM t"))
    project = Project(tmp_path, database_url)
    project.revision('op.compress_column("t", "d", type_=CompressedText())')
    with pytest.raises(MigrationBlockedError) as raised:
        project.upgrade()
    assert len(raised.value.blockers) == 2


def test_a_missing_table_or_column(engine, database_url, tmp_path):
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id int PRIMARY KEY, d text)"))
    for number, (table, column) in enumerate((("nothing", "d"), ("t", "nothing"))):
        project = Project(tmp_path / str(number), database_url)
        project.revision(f'op.compress_column("{table}", "{column}", type_=CompressedText())')
        with pytest.raises(MigrationBlockedError, match="nothing"):
            project.upgrade()


@pytest.mark.databases("postgresql", "mysql", "mariadb")
def test_rewrite_of_legacy_binary_names_atomic(engine, database_url, tmp_path):
    blob = "bytea" if engine.dialect.name == "postgresql" else "blob"
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE TABLE t (id int PRIMARY KEY, d {blob})"))
    project = Project(tmp_path, database_url)
    project.revision('op.compress_column("t", "d", type_=CompressedBinary(legacy=["zlib"]))')
    with pytest.raises(MigrationBlockedError, match="atomic"):
        project.upgrade()


def test_env_with_its_own_transaction_is_explained(engine):
    """env.py with engine.begin(): autocommit_block() would end in a bare AssertionError."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (id int PRIMARY KEY, d text)"))
    with engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        with pytest.raises(MigrationBlockedError, match=r"env\.py"):
            operations.compress_column("t", "d", type_=CompressedText())
    assert "TEXT" in str(sa.inspect(engine).get_columns("t")[1]["type"]).upper()


both = pytest.mark.parametrize("strategy", ["rewrite", "atomic"])


@pytest.mark.databases("mariadb", "mysql")
@both
@pytest.mark.parametrize(
    ("target", "texts", "named"),
    [
        ("sa.Text()", ["x" * 70_000], "65,535 bytes"),
        ("sa.String(5)", ["\u00e9" * 6, "\u00e9" * 5], "5 characters"),
        ('mysql.LONGTEXT(charset="latin1")', ["\u4e2d"], "latin1"),
        ("sa.CHAR(5)", ["x"], "pads"),
        ("sa.JSON()", ["no json", "NaN"], "not valid JSON"),
    ],
)
def test_downgrade_on_mysql_and_mariadb(engine, database_url, tmp_path, target, texts, named, strategy):
    looks_before_it_leaps(engine, database_url, tmp_path, target, texts, named, strategy)


@pytest.mark.databases("postgresql")
@both
@pytest.mark.parametrize(
    ("target", "texts", "named"),
    [
        ("sa.String(5)", ["\u00e9" * 6, "\u00e9" * 5], "5 characters"),
        ("sa.Text()", ["a\0b"], "NUL"),
        ("postgresql.JSONB()", ['{"a": "\\u0000"}'], "u0000"),
        ("sa.CHAR(5)", ["x"], "pads"),
        ("sa.JSON()", ["no json", "NaN"], "not valid JSON"),
    ],
)
def test_downgrade_on_postgresql(engine, database_url, tmp_path, target, texts, named, strategy):
    looks_before_it_leaps(engine, database_url, tmp_path, target, texts, named, strategy)


@pytest.mark.databases("sqlite")
@both
def test_downgrade_on_sqlite(engine, database_url, tmp_path, strategy):
    texts = ["no json", "NaN"]
    looks_before_it_leaps(engine, database_url, tmp_path, "sa.JSON()", texts, "not valid JSON", strategy)


def looks_before_it_leaps(engine, database_url, tmp_path, target, texts, named, strategy):
    t = sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", CompressedText())
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i + 1, "d": text} for i, text in enumerate([*texts, "12"])])
        before = connection.execute(sa.select(t.c.id, sa.type_coerce(t.c.d, sa.LargeBinary))).all()
    project = Project(tmp_path, database_url)
    project.revision("pass", f'op.decompress_column("t", "d", type_={target}, strategy="{strategy}")')
    project.upgrade()
    columns = snapshot(engine)
    with pytest.raises(MigrationBlockedError) as raised:
        project.downgrade()
    assert any(named in blocker for blocker in raised.value.blockers), raised.value.blockers
    assert not any(text in str(raised.value) for text in texts if len(text) > 5)
    assert snapshot(engine) == columns
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.c.id, sa.type_coerce(t.c.d, sa.LargeBinary))).all() == before
    assert version(engine) == "1"
