"""The types as SQLAlchemy sees them: settings, copies, cache keys, variants, DDL."""

from __future__ import annotations

import copy
import itertools
import json
import pickle

import pytest
import sqlalchemy as sa
from sqlalchemy import Column, Integer, MetaData, String, Table
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.schema import CreateTable

import sqlcompress
from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd
from tests.values import DICTIONARY, OTHER_DICTIONARY

DIALECTS = {
    "sqlite": sqlite.dialect(),
    "postgresql": postgresql.dialect(),
    "mysql": mysql.dialect(),
    "mssql": mssql.dialect(),
    "oracle": oracle.dialect(),
}
KINDS = (CompressedText, CompressedJSON, CompressedBinary)

#: Types of which no two may share a compiled statement.
SETTINGS = [
    *(kind() for kind in KINDS),
    *(
        kind(codec)
        for kind in KINDS
        for codec in (Zstd(4), Zstd(checksum=False), "zlib", "gzip", Zlib(5), Gzip(5))
    ),
    *(
        kind(Zstd(dictionary=name))
        for kind in KINDS
        for name in (DICTIONARY, OTHER_DICTIONARY, "documents", "others")
    ),
    *(kind(min_size=0) for kind in KINDS),
    *(kind(max_size=10**6) for kind in KINDS),
    *(
        kind(legacy=legacy)
        for kind in KINDS
        for legacy in (("mysql",), ("zlib",), ("mysql", "zlib"), ("zlib", "mysql"))
    ),
    CompressedJSON(none_as_null=True),
    CompressedJSON(serializer=json.dumps),
    CompressedJSON(serializer=repr),
    CompressedJSON(deserializer=json.loads),
    CompressedJSON(serializer=json.dumps, deserializer=json.loads),
]

BAD_SETTINGS = [
    ({"codec": "lz4"}, ValueError, "unknown codec 'lz4'"),
    ({"codec": Zlib}, TypeError, r"write Zlib\(\)"),
    ({"codec": None}, TypeError, "not NoneType"),
    ({"min_size": -1}, ValueError, r"\(min_size=-1\): it goes from 0"),
    ({"min_size": 64.0}, TypeError, "takes an int of bytes, not float"),
    ({"min_size": True}, TypeError, "not bool"),
    ({"min_size": None}, TypeError, "not NoneType"),
    ({"min_size": 101, "max_size": 100}, ValueError, "it goes from 0 to max_size=100"),
    ({"max_size": 0}, ValueError, r"\(max_size=0\): it goes from 1"),
    ({"max_size": -1}, ValueError, "it goes from 1 to 4294967295"),
    ({"max_size": 2**32}, ValueError, "it goes from 1 to 4294967295"),
    ({"max_size": None}, TypeError, "not NoneType"),
    ({"max_size": "1"}, TypeError, "not str"),
    ({"legacy": "zlib"}, TypeError, r"write \('zlib',\)"),
    ({"legacy": ("pickle",)}, ValueError, "unknown legacy format"),
    ({"legacy": None}, TypeError, "not NoneType"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("arguments", "error_type", "message"), BAD_SETTINGS)
def test_bad_settings_raise_at_once(kind, arguments, error_type, message):
    with pytest.raises(error_type, match=message) as caught:
        kind(**arguments)
    assert type(caught.value) is error_type


def test_bad_settings_of_json():
    for arguments in (
        {"none_as_null": 1},
        {"none_as_null": None},
        {"serializer": 5},
        {"deserializer": "loads"},
    ):
        with pytest.raises(TypeError, match=f"{next(iter(arguments))}=…"):
            CompressedJSON(**arguments)
    unhashable = type("Unhashable", (), {"__call__": repr, "__hash__": None})()
    with pytest.raises(TypeError, match="unhashable"):
        CompressedJSON(serializer=unhashable)


def test_arguments_stand_in_the_order_of_the_contract():
    kind = CompressedJSON("zlib", 1, 2, ("mysql",), True, json.dumps, json.loads)
    assert (kind.codec, kind.min_size, kind.max_size, kind.legacy) == (Zlib(), 1, 2, ("mysql",))
    assert (kind.none_as_null, kind.serializer, kind.deserializer) == (True, json.dumps, json.loads)
    for other in (CompressedText, CompressedBinary):
        kind = other("gzip", 1, 2, ["zlib", "mysql", "zlib"])
        assert (kind.codec, kind.min_size, kind.max_size, kind.legacy) == (Gzip(), 1, 2, ("zlib", "mysql"))


@pytest.mark.parametrize("kind", SETTINGS, ids=repr)
def test_a_repr_evaluates_back(kind):
    if getattr(kind.codec, "dictionary", None) in (DICTIONARY, OTHER_DICTIONARY):
        assert f"<Dictionary {kind.codec.dictionary.name!r}" in repr(kind)
        return
    names = {**vars(sqlcompress), "json": json, "builtins": __import__("builtins")}
    again = eval(repr(kind), names)
    assert type(again) is type(kind)
    assert again.settings() == kind.settings()
    assert repr(again) == repr(kind)


def test_a_repr_shows_what_is_not_the_default():
    assert repr(CompressedText()) == "CompressedText()"
    assert repr(CompressedText("zstd", 64, 268_435_456, ())) == "CompressedText()"
    assert repr(CompressedText("zlib")) == "CompressedText(codec=Zlib())"
    assert repr(CompressedBinary(legacy=("mysql",))) == "CompressedBinary(legacy=('mysql',))"
    shown = "CompressedJSON(codec=Zstd(level=9), none_as_null=True, serializer=json.dumps)"
    assert repr(CompressedJSON(Zstd(9), none_as_null=True, serializer=json.dumps)) == shown
    for kind in KINDS:
        assert kind.__module__ == "sqlcompress"


@pytest.mark.parametrize("kind", SETTINGS, ids=repr)
def test_copies_and_pickles_have_the_same_settings(kind):
    dialect = sqlite.dialect()
    stored = kind.process_bind_param({CompressedBinary: b"a" * 99}.get(type(kind), "a" * 99), dialect)
    for again in (kind.copy(), copy.copy(kind), copy.deepcopy(kind), pickle.loads(pickle.dumps(kind))):
        assert type(again) is type(kind)
        assert again.settings() == kind.settings()
        assert again._static_cache_key == kind._static_cache_key
        if kind.__dict__.get("serializer") is not repr:
            expected = kind.process_result_value(stored, dialect)
            assert again.process_result_value(stored, dialect) == expected


def test_no_two_settings_share_a_cache_key():
    keys = [kind._static_cache_key for kind in SETTINGS]
    assert len(set(keys)) == len(SETTINGS)
    for one, other in itertools.combinations(SETTINGS, 2):
        table, another = (Table("t", MetaData(), Column("d", kind)) for kind in (one, other))
        for statement in (lambda t: sa.select(t.c.d), lambda t: sa.insert(t).values(d=None)):
            # A Column of a Table is its own key; what is typed by hand shares by the type's.
            del statement
        typed = [sa.select(sa.literal_column("d", kind)) for kind in (one, other)]
        assert typed[0]._generate_cache_key() != typed[1]._generate_cache_key()
        assert sa.select(table.c.d)._generate_cache_key() != sa.select(another.c.d)._generate_cache_key()


def test_equal_settings_share_a_cache_key():
    for kind in KINDS:
        assert (
            kind()._static_cache_key == kind("zstd", 64)._static_cache_key == kind(Zstd())._static_cache_key
        )
    assert CompressedText._static_cache_key is not sa.sql.cache_key.NO_CACHE


def test_types_that_inherit_ours_keep_their_settings():
    class Article(CompressedText):
        cache_ok = True

        def __init__(self, codec="zlib", min_size=1, max_size=10**6, legacy=()):
            super().__init__(codec, min_size, max_size, legacy)

    kind = Article()
    assert (kind.codec, kind.min_size) == (Zlib(), 1)
    assert kind._static_cache_key != CompressedText("zlib", 1, 10**6)._static_cache_key
    assert kind.from_stored(kind.to_stored(b"a" * 99)) == b"a" * 99


DDL = {
    "sqlite": "BLOB",
    "postgresql": "BYTEA",
    "mysql": "LONGBLOB",
    "mssql": "VARBINARY(max)",
    "oracle": "BLOB",
}


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_ddl(name, kind):
    table = Table("item", MetaData(), Column("d", kind("zlib"), nullable=False))
    created = " ".join(str(CreateTable(table).compile(dialect=DIALECTS[name])).split())
    assert created == f"CREATE TABLE item ( d {DDL[name]} NOT NULL )"


def test_mariadb_is_mysql():
    dialect = sa.create_mock_engine("mariadb+pymysql://", None).dialect
    assert str(CompressedText().compile(dialect=dialect)) == "LONGBLOB"


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("sqlite", "X'6f6b27'"),
        ("postgresql", "decode('6f6b27', 'hex')"),
        ("mysql", "_binary X'6f6b27'"),
        ("mssql", "0x6f6b27"),
        ("oracle", "TO_BLOB(HEXTORAW('6f6b27'))"),
    ],
)
def test_literals(name, literal):
    table = Table("item", MetaData(), Column("d", CompressedText()))
    statement = sa.insert(table).values(d="ok'")
    compiled = str(statement.compile(dialect=DIALECTS[name], compile_kwargs={"literal_binds": True}))
    assert compiled == f"INSERT INTO item (d) VALUES ({literal})"
    assert CompressedText().process_literal_param(None, DIALECTS[name]) == "NULL"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CompressedText().with_variant(sa.Text(), "sqlite"), {"sqlite": "TEXT", "postgresql": "BYTEA"}),
        (sa.Text().with_variant(CompressedText(), "sqlite"), {"sqlite": "BLOB", "postgresql": "TEXT"}),
        (sa.JSON().with_variant(CompressedJSON(), "mysql"), {"mysql": "LONGBLOB", "postgresql": "JSON"}),
        (
            CompressedJSON().with_variant(postgresql.JSONB(), "postgresql"),
            {"mysql": "LONGBLOB", "postgresql": "JSONB"},
        ),
        (
            CompressedText().with_variant(CompressedText("zlib"), "mysql", "mariadb"),
            {"mysql": "LONGBLOB", "sqlite": "BLOB"},
        ),
    ],
)
def test_variants(kind, expected):
    column = Table("item", MetaData(), Column("d", kind)).c.d
    for name, ddl in expected.items():
        assert str(column.type.compile(dialect=DIALECTS[name])) == ddl


@pytest.mark.parametrize("inside", [False, True])
def test_the_variant_of_a_dialect_is_what_codes_its_values(inside):
    zlib, zstd = CompressedText("zlib"), CompressedText()
    kind = sa.Text().with_variant(zlib, "mysql") if inside else zstd.with_variant(zlib, "mysql")
    column = Table("item", MetaData(), Column("d", kind)).c.d
    bind = column.type.dialect_impl(DIALECTS["mysql"]).bind_processor(DIALECTS["mysql"])
    assert bind("a" * 99)[:2] == b"\x78\x9c"
    if not inside:
        bind = column.type.dialect_impl(DIALECTS["sqlite"]).bind_processor(DIALECTS["sqlite"])
        assert bind("a" * 99)[:4] == b"\x28\xb5\x2f\xfd"


def error_of(kind, dialect="sqlite"):
    implementation = kind.dialect_impl(DIALECTS[dialect])
    with pytest.raises(TypeError) as caught:
        implementation.process_bind_param(5, DIALECTS[dialect])
    return str(caught.value)


def test_an_error_names_the_column_the_type_belongs_to():
    assert error_of(CompressedText()).startswith("CompressedText takes str")
    table = Table("item", MetaData(schema="other"), Column("d", CompressedText()))
    assert error_of(table.c.d.type).startswith("other.item.d: CompressedText")
    # Copies are of their own columns.
    copied = table.to_metadata(MetaData(), schema="third", name="thing")
    assert error_of(copied.c.d.type).startswith("third.thing.d: ")
    assert error_of(table.c.d.type).startswith("other.item.d: ")
    again = pickle.loads(pickle.dumps(table.metadata)).tables["other.item"]
    assert error_of(again.c.d.type).startswith("other.item.d: ")
    later = Table("later", MetaData(), Column("id", Integer))
    later.append_column(Column("d", CompressedText()))
    assert error_of(later.c.d.type).startswith("later.d: ")


def test_an_error_names_each_column_of_a_shared_type():
    shared = CompressedText()
    metadata = MetaData()
    Table("one", metadata, Column("a", shared))
    Table("two", metadata, Column("b", shared), Column("c", shared))
    assert error_of(shared).startswith("one.a or two.b or two.c: ")


def test_an_error_names_the_column_of_a_variant():
    for kind in (
        CompressedText().with_variant(sa.Text(), "mysql"),
        sa.Text().with_variant(CompressedText(), "sqlite"),
    ):
        table = Table("item", MetaData(), Column("d", kind))
        assert error_of(table.c.d.type).startswith("item.d: ")


def test_mixins_and_mapped_classes():
    class Base(DeclarativeBase):
        pass

    class HasBody:
        body: Mapped[str] = mapped_column(CompressedText("zlib"))

    class One(HasBody, Base):
        __tablename__ = "one"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Two(HasBody, Base):
        __tablename__ = "two"
        id: Mapped[int] = mapped_column(primary_key=True)

    for model in (One, Two):
        kind = model.__table__.c.body.type
        assert kind.codec == Zlib()
        assert error_of(kind).startswith(f"{model.__tablename__}.body: CompressedText")
    assert One.__table__.c.body.type is not Two.__table__.c.body.type


def test_one_new_mapped_class_after_another():
    # Some applications map classes for each instance they make; nothing may be kept from one to the next.
    for number in range(50):
        codec = ("zstd", "zlib", "gzip")[number % 3]

        class Base(DeclarativeBase):
            pass

        class Item(Base):
            __tablename__ = "item"
            id: Mapped[int] = mapped_column(primary_key=True)
            body: Mapped[str] = mapped_column(CompressedText(codec))

        kind = Item.__table__.c.body.type
        assert kind.codec.name == codec
        assert error_of(kind).startswith("item.body: ")


def test_created_on_postgresql_every_column_is_stored_external():
    said = []
    mock = sa.create_mock_engine(
        "postgresql://", lambda statement, *_, **__: said.append(str(statement.compile(dialect=mock.dialect)))
    )
    metadata = MetaData()
    Table(
        "It em",
        metadata,
        Column("a%b", CompressedText()),
        Column("plain", String),
        Column("variant", sa.JSON().with_variant(CompressedJSON(), "postgresql")),
        Column("not here", CompressedText().with_variant(sa.Text(), "postgresql")),
        schema="sch ema",
    )
    Table("only_a_variant", metadata, Column("v", sa.JSON().with_variant(CompressedJSON(), "postgresql")))
    # %% is one % for the driver, as in CREATE TABLE.
    expected = [
        'ALTER TABLE "sch ema"."It em" ALTER COLUMN "a%%b" SET STORAGE EXTERNAL',
        'ALTER TABLE "sch ema"."It em" ALTER COLUMN variant SET STORAGE EXTERNAL',
        "ALTER TABLE only_a_variant ALTER COLUMN v SET STORAGE EXTERNAL",
    ]
    for made in (metadata, pickle.loads(pickle.dumps(metadata))):
        said.clear()
        made.create_all(mock, checkfirst=False)
        assert sorted(statement for statement in said if "ALTER" in statement) == expected


def test_elsewhere_nothing_is_said_after_a_table_is_created():
    for url in ("sqlite://", "mysql+pymysql://", "mssql+pyodbc://", "oracle+oracledb://"):
        said = []
        try:
            mock = sa.create_mock_engine(url, lambda statement, *_, said=said, **__: said.append(statement))
        except ImportError:
            continue
        Table("item", MetaData(), Column("a", CompressedText())).create(mock, checkfirst=False)
        assert [type(statement).__name__ for statement in said] == ["CreateTable"]


def test_python_types():
    assert CompressedText().python_type is str
    assert CompressedBinary().python_type is bytes
    assert CompressedJSON().python_type is sa.JSON().python_type
