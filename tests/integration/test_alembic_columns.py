"""compress_column and decompress_column on every database, with rows that are hard to get right."""

from __future__ import annotations

import base64
import json
import random

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText
from sqlcompress.frames import MAGICS
from tests.integration.alembic_project import Project, version

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
LONG_SOURCE = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'

_RANDOM = random.Random(7)

TEXTS = [
    "",
    "a",
    "a" * 63,
    "a" * 64,
    "a" * 65,
    None,
    "x^ begins like a zlib stream of another level " * 10,
    base64.b64encode(b"\x28\xb5\x2f\xfd" + bytes(200)).decode(),
    "(\u00b5/\u00fd looks like the zstd magic in latin1" * 5,
    "\U0001f600 \u4e2d\u6587 \u00e9 " * 100,
    base64.b64encode(_RANDOM.randbytes(52_500)).decode(),
    "quote ' \" ` backslash \\ \\0 percent %s %(a)s colon :name dollar $1 " * 3,
    "text " * 60_000,
    "\r\n\t trailing blanks   ",
]

DOCUMENTS = [
    '{"big": 18446744073709551616, "exact": 1.10, "pad": "' + "p" * 100 + '"}',
    '{"k": 1, "k": 2, "z": 0, "a": 0, "pad": "' + "q" * 100 + '"}',
    '{"umlaut": "\\u00e4\u00e4", "emoji": "\U0001f600", "pad": "' + "r" * 100 + '"}',
    '"a string"',
    "[]",
    "null",
    "12",
    "1.5",
    "true",
    '  {"spaces" : [1,  2 , 3]}  ',
    None,
    json.dumps({"list": list(range(2000))}),
]


def nuls(database):
    return [] if database == "postgresql" else ["a\0b" * 50, "\0"]


def texts_of(engine, column="d", table="t"):
    """The column's values as text, by key, from the server itself."""
    cast = {"sqlite": "CAST({} AS TEXT)", "postgresql": "{}::text"}.get(engine.dialect.name, "CONCAT({}, '')")
    quote = engine.dialect.identifier_preparer.quote_identifier
    with engine.connect() as connection:
        rows = connection.execute(
            sa.text(f"SELECT id, {cast.format(quote(column))} FROM {quote(table)} ORDER BY id")
        )
        return {key: value.decode() if isinstance(value, bytes) else value for key, value in rows}


def stored(engine, table="t", column="d"):
    """The stored bytes, by key."""
    t = sa.table(table, sa.column("id"), sa.column(column, sa.LargeBinary))
    with engine.connect() as connection:
        return {
            key: value if value is None or isinstance(value, (str, int, float)) else bytes(value)
            for key, value in connection.execute(sa.select(t.c.id, t.c[column]))
        }


def described(engine, table="t", column="d"):
    found = {c["name"]: c for c in sa.inspect(engine).get_columns(table)}[column]
    return str(found["type"]), found["nullable"], found.get("comment")


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_text_goes_up_and_comes_back(engine, database_url, database, tmp_path, strategy):
    texts = [*TEXTS, *nuls(database)]
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", LONG),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": text} for i, text in enumerate(texts)])
    before = described(engine)
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText(), strategy="{strategy}")',
        f'op.decompress_column("t", "d", type_={LONG_SOURCE}, existing_type=CompressedText(), '
        f'strategy="{strategy}")',
    )
    project.upgrade()
    assert version(engine) == "1"
    compressed = sa.table("t", sa.column("id"), sa.column("d", CompressedText()))
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(compressed)))) == dict(enumerate(texts))
    values = stored(engine)
    assert values[12].startswith(MAGICS[0])
    assert len(values[12]) < 200
    assert values[0] == b""
    assert values[5] is None
    assert all(isinstance(value, bytes) for value in values.values() if value is not None)
    project.downgrade()
    assert version(engine) is None
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(t)))) == dict(enumerate(texts))
    assert described(engine) == before


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_json_text_is_carried_not_reprinted(engine, database_url, database, tmp_path, strategy):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", sa.JSON),
    )
    t.create(engine)
    cast = {"postgresql": "CAST(:d AS json)"}.get(database, ":d")
    with engine.begin() as connection:
        connection.execute(
            sa.text(f"INSERT INTO t VALUES (:id, {cast})"),
            [{"id": i, "d": document} for i, document in enumerate(DOCUMENTS)],
        )
    before, as_text = described(engine), texts_of(engine)
    plain = sa.table("t", sa.column("id"), sa.column("d", sa.JSON))
    with engine.connect() as connection:
        objects = dict(iter(connection.execute(sa.select(plain))))
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedJSON(), existing_type=sa.JSON(), '
        f'strategy="{strategy}")',
        f'op.decompress_column("t", "d", type_=sa.JSON(), existing_type=CompressedJSON(), '
        f'strategy="{strategy}")',
    )
    project.upgrade()
    values = stored(engine)
    assert values[0].startswith(MAGICS[0])
    type_ = CompressedJSON()
    assert {
        key: None if value is None else type_.from_stored(value).decode() for key, value in values.items()
    } == as_text
    compressed = sa.table("t", sa.column("id"), sa.column("d", CompressedJSON()))
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(compressed)))) == objects
    project.downgrade()
    assert texts_of(engine) == as_text
    assert described(engine) == before


def test_binary_is_converted_in_one_transaction(engine, database_url, tmp_path):
    frame = CompressedBinary().to_stored(b"inner " * 100)
    values = [b"", b"\0", b"\xff" * 500, frame, frame[:10], b"\x78\x9c", _RANDOM.randbytes(70_000), None]
    type_ = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", type_),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": value} for i, value in enumerate(values)])
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedBinary(), strategy="atomic")',
        'op.decompress_column("t", "d", existing_type=CompressedBinary(), strategy="atomic",'
        ' type_=sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"))',
    )
    project.upgrade()
    compressed = sa.table("t", sa.column("id"), sa.column("d", CompressedBinary()))
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(compressed)))) == dict(enumerate(values))
    assert stored(engine)[3] != frame
    project.downgrade()
    assert stored(engine) == dict(enumerate(values))


@pytest.mark.parametrize("codec", ["Zlib(9)", "Gzip()"])
def test_other_codecs(engine, database_url, tmp_path, codec):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", LONG),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": f"text {i} " * 40} for i in range(50)])
    project = Project(tmp_path, database_url)
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText({codec}))',
        f'op.decompress_column("t", "d", type_={LONG_SOURCE})',
    )
    project.upgrade()
    magic = MAGICS[1] if codec.startswith("Zlib") else MAGICS[2]
    assert all(value.startswith(magic) for value in stored(engine).values())
    project.downgrade()
    assert texts_of(engine) == {i: f"text {i} " * 40 for i in range(50)}


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("order", "group"),
        ("MixedCase", "Körper"),
        ("with space", "per%cent"),
        ('quo"te`d', "co:lon"),
        ("50%", "%s"),
    ],
)
def test_names_that_need_quoting(engine, database_url, database, tmp_path, table, column):
    t = sa.Table(
        table,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(column, LONG, key="d"),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": f"text {i} " * 40} for i in range(5)])
    project = Project(tmp_path, database_url)
    project.revision(
        f"op.compress_column({table!r}, {column!r}, type_=CompressedText())",
        f"op.decompress_column({table!r}, {column!r}, type_={LONG_SOURCE}, existing_type=CompressedText())",
    )
    project.upgrade()
    assert all(value.startswith(MAGICS[0]) for value in raw(engine, t))
    project.downgrade()
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.c.d).order_by(t.c.id)).scalars().all() == [
            f"text {i} " * 40 for i in range(5)
        ]


def raw(engine, t):
    with engine.connect() as connection:
        return [
            bytes(v) for v in connection.execute(sa.select(sa.type_coerce(t.c.d, sa.LargeBinary))).scalars()
        ]


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_not_null_and_comment_are_carried_over(engine, database_url, tmp_path):
    comment = 'it\'s 100% "right" \\ : \u00e4'
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", LONG, nullable=False, comment=comment),
    )
    t.create(engine)
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedText())',
        f'op.decompress_column("t", "d", type_={LONG_SOURCE})',
    )
    before = described(engine)
    project.upgrade()
    assert described(engine)[1:] == (False, comment)
    project.downgrade()
    assert described(engine) == before


@pytest.mark.databases("postgresql")
def test_postgresql_storage_grants_and_schema(engine, database_url, tmp_path):
    """STORAGE EXTERNAL while compressed, the type's own afterwards; a column grant stays."""
    with engine.begin() as connection:
        connection.execute(sa.text('CREATE SCHEMA "My Schema"'))
        connection.execute(sa.text('CREATE TABLE "My Schema".t (id int PRIMARY KEY, d text)'))
        connection.execute(sa.text("INSERT INTO \"My Schema\".t VALUES (1, repeat('text ', 100))"))
        connection.execute(sa.text('GRANT SELECT (d) ON "My Schema".t TO PUBLIC'))

    def catalog():
        with engine.connect() as connection:
            return connection.execute(
                sa.text(
                    "SELECT attstorage::text, attacl IS NOT NULL, format_type(atttypid, atttypmod)"
                    " FROM pg_attribute WHERE attname = 'd' AND attrelid = '\"My Schema\".t'::regclass"
                )
            ).one()

    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedText(), schema="My Schema")',
        'op.decompress_column("t", "d", type_=sa.Text(), schema="My Schema")',
    )
    project.upgrade()
    assert catalog() == ("e", True, "bytea")
    project.downgrade()
    assert catalog() == ("x", True, "text")


@pytest.mark.databases("mariadb", "mysql")
@pytest.mark.parametrize("charset", ["latin1", "cp1251", "utf8mb3", "utf16"])
def test_columns_in_other_character_sets_arrive_as_utf8(engine, database_url, tmp_path, charset):
    text = {"cp1251": "\u0416\u0443\u043a ", "latin1": "caf\u00e9 \u20ac "}.get(
        charset, "caf\u00e9 \u4e2d "
    ) * 30
    with engine.begin() as connection:
        connection.execute(
            sa.text(f"CREATE TABLE t (id int PRIMARY KEY, d mediumtext CHARACTER SET {charset} NOT NULL)")
        )
        connection.execute(sa.text("INSERT INTO t VALUES (1, :d)"), {"d": text})
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedText())',
        f'op.decompress_column("t", "d", type_=mysql.MEDIUMTEXT(charset="{charset}"))',
    )
    before = described(engine)
    project.upgrade()
    assert CompressedText().from_stored(stored(engine)[1]).decode() == text
    project.downgrade()
    assert texts_of(engine) == {1: text}
    assert described(engine) == before


@pytest.mark.databases("mariadb", "mysql")
def test_on_update_columns_and_invisible_columns_stand_still(engine, database_url, database, tmp_path):
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE t (id int PRIMARY KEY, changed timestamp(6) NOT NULL"
                " DEFAULT '2001-02-03 04:05:06'"
                " ON UPDATE CURRENT_TIMESTAMP(6), d mediumtext INVISIBLE)"
            )
        )
        connection.execute(sa.text("INSERT INTO t (id, d) VALUES (1, repeat('text ', 100))"))
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedText())',
        'op.decompress_column("t", "d", type_=mysql.MEDIUMTEXT())',
    )
    for move in (project.upgrade, project.downgrade):
        move()
        with engine.connect() as connection:
            assert str(connection.execute(sa.text("SELECT changed FROM t")).scalar()).startswith(
                "2001-02-03 04:05:06"
            )
            extra = (
                "SELECT extra FROM information_schema.columns WHERE table_name = 't' AND column_name = 'd'"
            )
            assert (
                "INVISIBLE" in connection.execute(sa.text(extra + " AND table_schema = database()")).scalar()
            )


@pytest.mark.databases("mariadb")
def test_mariadb_json_check_comes_back(engine, database_url, tmp_path):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", sa.JSON),
    )
    t.create(engine)

    def checks():
        with engine.connect() as connection:
            return (
                connection.execute(
                    sa.text(
                        "SELECT check_clause FROM information_schema.check_constraints"
                        " WHERE constraint_schema = database() AND table_name = 't'"
                    )
                )
                .scalars()
                .all()
            )

    before = checks()
    assert before == ["json_valid(`d`)"]
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedJSON())',
        'op.decompress_column("t", "d", type_=sa.JSON())',
    )
    project.upgrade()
    assert checks() == []
    project.downgrade()
    assert checks() == before


@pytest.mark.databases("sqlite")
def test_sqlite_in_memory_and_attached(tmp_path):
    """One connection does it all where a second one would see another database."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"ATTACH '{tmp_path}/other.db' AS other")
        for schema in ("main", "other"):
            connection.exec_driver_sql(f"CREATE TABLE {schema}.t (id INTEGER PRIMARY KEY, d TEXT)")
            connection.exec_driver_sql(f"INSERT INTO {schema}.t VALUES (1, '{'text ' * 50}')")
        connection.commit()
        context = MigrationContext.configure(connection)
        for schema in (None, "other"):
            with context.begin_transaction(_per_migration=True):
                Operations(context).compress_column("t", "d", type_=CompressedText(), schema=schema)
            name = schema or "main"
            value = connection.exec_driver_sql(f"SELECT d FROM {name}.t").scalar()
            assert CompressedText().from_stored(value).decode() == "text " * 50
    engine.dispose()


@pytest.mark.databases("sqlite")
def test_sqlite_utf16_file(engine, database_url, tmp_path):
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA encoding = 'UTF-16le'")
        connection.exec_driver_sql("CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, ?)", ("caf\u00e9 \U0001f600 " * 30,))
        connection.commit()
    project = Project(tmp_path, database_url)
    project.revision(
        'op.compress_column("t", "d", type_=CompressedText())',
        'op.decompress_column("t", "d", type_=sa.Text())',
    )
    project.upgrade()
    assert CompressedText().from_stored(stored(engine)[1]).decode() == "caf\u00e9 \U0001f600 " * 30
    project.downgrade()
    assert texts_of(engine) == {1: "caf\u00e9 \U0001f600 " * 30}


def test_legacy_rows_become_frames(engine, database_url, database, tmp_path):
    import zlib

    plain = "a text long ago compressed by the server " * 20
    odd = "x" * 0x9C78  # its length reads 78 9C 00 00, like a zlib frame
    rows = {1: legacy(plain), 2: legacy(odd), 3: zlib.compress(plain.encode(), 1), 4: plain.encode(), 5: b""}
    type_ = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", type_),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": key, "d": value} for key, value in rows.items()])
    project = Project(tmp_path, database_url)
    project.revision('op.compress_column("t", "d", type_=CompressedText(legacy=("mysql", "zlib")))')
    project.upgrade()
    values = stored(engine)
    assert [CompressedText().from_stored(values[i]).decode() for i in range(1, 6)] == [
        plain,
        odd,
        plain,
        plain,
        "",
    ]
    assert all(values[i].startswith(MAGICS[0]) for i in range(1, 5))


def legacy(text):
    """As MySQL's COMPRESS() writes it."""
    import zlib

    data = text.encode()
    return len(data).to_bytes(4, "little") + zlib.compress(data)
