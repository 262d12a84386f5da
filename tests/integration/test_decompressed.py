"""``decompressed()`` and sizes in SQL: the same rows as for plain columns, or an error; never fewer rows."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random

import pytest
import sqlalchemy as sa
import zstandard
from alembic.migration import MigrationContext
from alembic.operations import Operations
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import CompileError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    DictionaryStore,
    MigrationBlockedError,
    Zlib,
    Zstd,
    decompressed,
    install,
    stored_size,
    uncompressed_size,
)
from sqlcompress.training import train

LONGTEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def make_functions(engine):
    """PL/Python is there, or this is a skip; in CI it is an error."""
    with engine.connect() as connection:
        there = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'plpython3u'")
        if not connection.scalar(there):
            if "postgresql" in os.environ.get("SQLCOMPRESS_TEST_REQUIRE", ""):
                pytest.fail("this PostgreSQL has no plpython3u: `make databases` installs it on Debian")
            pytest.skip("this PostgreSQL has no plpython3u: `make databases` installs it on Debian")
        migrate(connection).create_decompress_function()
        connection.commit()


def migrate(connection):
    return Operations(MigrationContext.configure(connection))


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "Note %s"

    id: Mapped[int] = mapped_column(primary_key=True)
    plain: Mapped[str | None] = mapped_column(LONGTEXT)
    body: Mapped[str | None] = mapped_column("Größe %s", CompressedText(Zlib()))
    meta: Mapped[dict | None] = mapped_column(CompressedJSON(Zlib(), none_as_null=True))
    data: Mapped[bytes | None] = mapped_column(CompressedBinary(Zlib()))


TEXTS = [
    "",
    "short",
    "SHORT",
    "x\N{GREEK SMALL LETTER ALPHA}\N{GRINNING FACE}" * 40,
    "the quick brown fox " * 50,
    "The quick brown fox " * 50 + "ends",
    "100% of a_b\\c " * 20,
    " trailing space " * 20,
    "'quoted' \"twice\" " * 30,
    None,
]


@pytest.fixture
def filled(engine, database):
    install(engine)
    if database == "postgresql":
        make_functions(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        for number, text in enumerate(TEXTS, 1):
            meta = (
                None if text is None else {"text": text, "number": number, "list": [number, {"deep": True}]}
            )
            data = None if text is None else text.encode() + bytes(range(256))
            session.add(Note(id=number, plain=text, body=text, meta=meta, data=data))
    return engine


def ids(engine, condition):
    with engine.connect() as connection:
        return set(connection.execute(sa.select(Note.id).where(condition)).scalars())


def test_conditions_find_what_they_find_in_a_plain_column(filled):
    body, plain = decompressed(Note.body), Note.plain
    for name, condition in {
        "like": lambda c: c.like("%brown%"),
        "ilike": lambda c: c.ilike("%BROWN%"),
        "not like": lambda c: ~c.like("%fox%"),
        "contains": lambda c: c.contains("%", autoescape=True),
        "startswith": lambda c: c.startswith("The"),
        "==": lambda c: c == "short",
        "!=": lambda c: c != "short",
        "<": lambda c: c < "the",
        "in": lambda c: c.in_(["short", "", TEXTS[4]]),
        "not in": lambda c: c.not_in(["short", TEXTS[3]]),
        "between": lambda c: c.between("a", "t"),
        "is null": lambda c: c.is_(None),
        "is not null": lambda c: c.is_not(None),
        "lower": lambda c: sa.func.lower(c) == "short",
        "length": lambda c: sa.func.length(c) > 100,
        "concatenation": lambda c: (c + "!") == "short!",
        "case": lambda c: sa.case((c == "short", 1), else_=0) == 1,
        "coalesce": lambda c: sa.func.coalesce(c, "short") == "short",
    }.items():
        assert ids(filled, condition(body)) == ids(filled, condition(plain)), name
    assert ids(filled, body.like("%brown%")) == {5, 6}
    assert ids(filled, body == plain) == set(range(1, 10))
    assert ids(filled, plain == body) == set(range(1, 10))


def test_order_groups_subqueries_and_aliases(filled):
    other = aliased(Note)
    with Session(filled) as session:
        for column in (Note.plain, decompressed(Note.body)):
            ordered = session.scalars(sa.select(Note.id).where(Note.id < 10).order_by(column, Note.id)).all()
            assert sorted(ordered) == list(range(1, 10))
            if column is Note.plain:
                expected = ordered
        assert ordered == expected
        count = sa.func.count()
        groups = session.execute(
            sa.select(sa.func.lower(decompressed(Note.body)), count).group_by(
                sa.func.lower(decompressed(Note.body))
            )
        ).all()
        assert ("short", 2) in {tuple(group) for group in groups}
        part = sa.select(decompressed(Note.body).label("text"), Note.id).subquery()
        assert session.scalars(sa.select(part.c.id).where(part.c.text == "short")).all() == (
            session.scalars(sa.select(Note.id).where(Note.plain == "short")).all()
        )
        pairs = session.execute(
            sa.select(Note.id, other.id).where(decompressed(Note.body) == other.plain, other.id == 4)
        ).all()
        assert pairs == [(4, 4)]
        united = sa.union_all(sa.select(Note.plain), sa.select(decompressed(Note.body)))
        assert len(session.execute(united).all()) == 20


def test_parts_of_documents(filled):
    meta = decompressed(Note.meta)
    assert ids(filled, meta["number"].as_integer() == 7) == {7}
    assert ids(filled, meta["text"].as_string() == "short") >= {2}
    assert ids(filled, meta[("list", 0)].as_integer() > 7) == {8, 9}
    with filled.connect() as connection:
        found = connection.execute(sa.select(meta["list"]).where(Note.id == 3)).scalar_one()
        assert found == [3, {"deep": True}]
        assert connection.execute(sa.select(meta).where(Note.id == 5)).scalar_one()["text"] == TEXTS[4]
    with pytest.raises(CompileError, match="a JSON document is not compared as a whole"):
        _ = meta == {"number": 7}
    with pytest.raises(CompileError, match="a JSON document is not compared as a whole"):
        meta.in_([{}])


def test_sizes_and_bytes(filled):
    with filled.connect() as connection:
        rows = connection.execute(
            sa.select(
                Note.id,
                stored_size(Note.body),
                uncompressed_size(Note.body),
                decompressed(Note.data),
                uncompressed_size(Note.data),
                type_stored(Note.body),
            )
        ).all()
    for number, stored, size, data, data_size, raw in rows:
        text = TEXTS[number - 1]
        if text is None:
            assert (stored, size, data, data_size) == (None, None, None, None)
            continue
        assert size == len(text.encode())
        assert stored == len(raw.encode() if isinstance(raw, str) else bytes(raw))
        assert bytes(data) == text.encode() + bytes(range(256))
        assert data_size == size + 256


def type_stored(column):
    return sa.type_coerce(column, sa.LargeBinary)


def test_written_into_other_columns(filled):
    with filled.begin() as connection:
        connection.execute(sa.update(Note).values(plain=decompressed(Note.body) + "!").where(Note.id == 5))
        other = sa.Table("other", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("t", LONGTEXT))
        other.create(connection)
        connection.execute(
            sa.insert(other).from_select(["id", "t"], sa.select(Note.id, decompressed(Note.body)))
        )
        assert connection.execute(sa.select(Note.plain).where(Note.id == 5)).scalar_one() == f"{TEXTS[4]}!"
        found = dict(connection.execute(sa.select(other.c.id, other.c.t)).all())
        assert found == dict(enumerate(TEXTS, 1))


DAMAGED = {
    "a frame cut off": lambda frame: frame[:-6],
    "another checksum": lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]),
    "the header alone": lambda frame: frame[:2],
    "no UTF-8": lambda _frame: b"\xff\xfe plain",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_row_that_cannot_be_decoded_fails_the_statement(filled, kind):
    with filled.begin() as connection:
        stored = type_stored(Note.body)
        frame = bytes(connection.execute(sa.select(stored).where(Note.id == 5)).scalar_one())
        values = {"v": DAMAGED[kind](frame)}
        table = Note.__table__
        statement = sa.update(sa.table(table.name, sa.column("id"), sa.column(Note.body.expression.name)))
        column = sa.column(Note.body.expression.name)
        connection.execute(
            statement.values({column: sa.bindparam("v", type_=sa.LargeBinary)}).where(sa.column("id") == 5),
            values,
        )
    for condition in (
        decompressed(Note.body).like("%fox%"),
        decompressed(Note.body) == "short",
        decompressed(Note.body).is_(None),
    ):
        with pytest.raises(DBAPIError):
            ids(filled, condition)


@pytest.mark.databases("mysql", "mariadb")
def test_a_frame_of_another_codec_fails_the_statement(filled):
    zstd = sa.Table(
        Note.__tablename__,
        sa.MetaData(),
        sa.Column("id", sa.Integer),
        sa.Column("Größe %s", CompressedText()),
    )
    with filled.begin() as connection:
        connection.execute(zstd.update().values({"Größe %s": "zstd " * 100}).where(zstd.c.id == 2))
    with pytest.raises(DBAPIError, match="out of range"):
        ids(filled, decompressed(Note.body) == "short")


@pytest.mark.databases("mysql", "mariadb")
def test_large_values_and_a_small_packet(filled):
    large = "".join(random.Random(1).choices("abcdefgh ", k=3_000_000))
    huge = "a" * 15_000_000
    with Session(filled) as session, session.begin():
        session.add_all([Note(id=100, body=large), Note(id=101, body=huge)])
    assert ids(filled, decompressed(Note.body) == large) == {100}
    with filled.connect() as connection:
        size = sa.select(uncompressed_size(Note.body)).where(Note.id.in_([100, 101])).order_by(Note.id)
        assert connection.execute(size).scalars().all() == [3_000_000, 15_000_000]


@pytest.mark.databases("mysql", "mariadb")
def test_where_the_server_cannot_decode_the_statement_is_refused(engine):
    install(engine)
    t = sa.table(
        "t", sa.column("d", CompressedText()), sa.column("l", CompressedText("zlib", legacy=("mysql",)))
    )
    for column in t.c:
        with pytest.raises(
            CompileError, match=r"cannot be decoded in this statement: .*Ways out: another codec"
        ):
            sa.select(decompressed(column)).compile(engine)
        with pytest.raises(CompileError, match="cannot be decoded in this statement"):
            sa.select(uncompressed_size(column)).compile(engine)
        assert "LENGTH" in str(sa.select(stored_size(column)).compile(engine))


def test_only_compressed_columns_are_taken():
    for function in (decompressed, stored_size, uncompressed_size):
        with pytest.raises(sa.exc.ArgumentError, match=rf"{function.__name__}\(\) takes a column of a"):
            function(Note.plain)


def test_a_variant_that_is_plain_on_a_database_is_read_as_it_is(engine):
    install(engine)
    type_ = CompressedText("zlib").with_variant(sa.Text(), "postgresql", "sqlite", "mysql", "mariadb")
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("d", type_))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), {"id": 1, "d": "as it is"})
        found = connection.execute(sa.select(t.c.id).where(decompressed(t.c.d) == "as it is")).scalars().all()
        assert found == [1]


# SQLite decodes every codec, with dictionaries, in functions of the connection ---------------------------


@pytest.mark.databases("sqlite")
def test_sqlite_reads_every_codec_and_the_dictionaries(engine):
    texts = [f"event number {i} of the kind seen, by user {i % 7}" for i in range(400)]
    dictionary = train("events", [text.encode() for text in texts], sizes=(1024,)).dictionary
    types = {
        "zstd": CompressedText(min_size=0),
        "zlib": CompressedText("zlib"),
        "gzip": CompressedText("gzip"),
        "own": CompressedText(Zstd(dictionary=dictionary), min_size=0),
        "legacy": CompressedText(legacy=("mysql", "zlib", "base64")),
    }
    t = sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer), *(sa.Column(k, v) for k, v in types.items())
    )
    engine.connect().close()  # a connection that is there before
    install(engine)
    install(engine)
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(
            t.insert(), [{"id": i, **dict.fromkeys(types, text * 3)} for i, text in enumerate(texts)]
        )
        for name in types:
            condition = decompressed(t.c[name]).like("%number 17 of%")
            assert connection.execute(sa.select(t.c.id).where(condition)).scalars().all() == [17], name


@pytest.mark.databases("sqlite")
def test_without_install_the_statement_is_refused(engine):
    with pytest.raises(CompileError, match=r"sqlcompress\.install\(engine\) gives the database the function"):
        sa.select(decompressed(Note.body)).compile(engine)


@pytest.mark.databases("sqlite")
def test_json_that_sqlite_keeps_as_a_number(engine):
    install(engine)
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("d", CompressedJSON()))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id INTEGER, d JSON)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 12), (2, '{\"a\": 5}'), (3, NULL)")
        connection.execute(t.insert(), {"id": 4, "d": {"a": 7, "long": "x" * 200}})
        found = connection.execute(sa.select(decompressed(t.c.d)).order_by(t.c.id)).scalars().all()
        assert found[:3] == [12, {"a": 5}, None]
        assert found[3]["a"] == 7
        a = sa.select(t.c.id).where(decompressed(t.c.d)["a"].as_integer() > 4)
        assert connection.execute(a).scalars().all() == [2, 4]


@pytest.mark.databases("sqlite")
def test_asynchronous_engines(async_engine):
    install(async_engine)

    async def story():
        async with async_engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with AsyncSession(async_engine) as session:
            session.add(Note(id=1, body="the quick brown fox " * 30))
            await session.flush()
            found = await session.scalars(sa.select(Note.id).where(decompressed(Note.body).like("%brown%")))
            assert found.all() == [1]
        await async_engine.dispose()

    asyncio.run(story())


def test_generated_conditions_find_the_same_rows(filled):
    words = st.sampled_from(["fox", "brown", "The", "the", "short", "%", "_", "'", " ", "é", "ends", ""])
    pattern = st.lists(words, max_size=3).map("".join)
    conditions = st.one_of(
        pattern.map(lambda p: lambda c: c.like(f"%{p}%", escape="|")),
        pattern.map(lambda p: lambda c: c.contains(p, autoescape=True)),
        pattern.map(lambda p: lambda c: c == p),
        pattern.map(lambda p: lambda c: c < p),
        pattern.map(lambda p: lambda c: c >= p),
        st.lists(st.sampled_from([text for text in TEXTS if text]), max_size=3).map(
            lambda v: lambda c: c.in_(v)
        ),
        st.integers(0, 1200).map(lambda n: lambda c: sa.func.length(c) > n),
        pattern.map(lambda p: lambda c: sa.func.replace(c, "fox", p) == "short"),
    )

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(conditions, min_size=1, max_size=2), st.booleans(), st.booleans())
    def compare(found, joined, negated):
        def whole(column):
            parts = [condition(column) for condition in found]
            one = sa.and_(*parts) if joined else sa.or_(*parts)
            return sa.not_(one) if negated else one

        assert ids(filled, whole(decompressed(Note.body))) == ids(filled, whole(Note.plain))

    compare()


@pytest.mark.databases("sqlite")
def test_a_value_that_cannot_be_decoded_is_logged_without_itself(filled, caplog):
    with filled.begin() as connection:
        connection.exec_driver_sql('UPDATE "Note %s" SET "Größe %s" = ? WHERE id = 5', (b"\x78\x9csecret",))
    with pytest.raises(DBAPIError, match="user-defined function raised exception"):
        ids(filled, decompressed(Note.body) == "short")
    assert "a value cannot be decoded in SQL: " in caplog.text
    assert "secret" not in caplog.text
    assert json.dumps(TEXTS[4]) not in caplog.text


# PostgreSQL decodes in PL/Python ---------------------------------------------------------------------------


@pytest.mark.databases("postgresql")
def test_postgresql_reads_every_codec_and_the_dictionaries(engine):
    texts = [f"event number {i} of the kind seen, by user {i % 7}" for i in range(400)]
    dictionary = train("events", [text.encode() for text in texts], sizes=(1024,)).dictionary
    store = DictionaryStore(engine)
    store.create_table()
    store.publish(dictionary)
    store.activate(dictionary.id, after_seconds=0)
    make_functions(engine)
    install(engine)
    types = {
        "zstd": CompressedText(min_size=0),
        "zlib": CompressedText("zlib"),
        "gzip": CompressedText("gzip"),
        "named": CompressedText(Zstd(dictionary="events"), min_size=0),
    }
    columns = [sa.Column(name, type_) for name, type_ in types.items()]
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer), *columns)
    t.create(engine)
    with engine.begin() as connection:
        rows = [{"id": i, **dict.fromkeys(types, text * 3)} for i, text in enumerate(texts)]
        connection.execute(t.insert(), rows)
        stored = connection.execute(sa.select(sa.type_coerce(t.c.named, sa.LargeBinary))).scalars().all()
        assert {zstandard.get_frame_parameters(bytes(frame)).dict_id for frame in stored} == {dictionary.id}
        for name in types:
            condition = decompressed(t.c[name]).like("%number 17 of%")
            assert connection.execute(sa.select(t.c.id).where(condition)).scalars().all() == [17], name
        # An index over the function, and that it is used.
        index = sa.Index("by_named", sa.func.md5(decompressed(t.c.named)))
        index.create(connection)
        connection.exec_driver_sql("ANALYZE t")
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        same = sa.func.md5(decompressed(t.c.named)) == sa.func.md5(texts[5] * 3)
        statement = sa.select(t.c.id).where(same)
        assert connection.execute(statement).scalars().all() == [5]
        shown = statement.compile(engine, compile_kwargs={"literal_binds": True})
        plan = connection.exec_driver_sql(f"EXPLAIN {shown}").scalars().all()
        assert "Index Scan using by_named" in plan[0], plan
    with engine.begin() as connection:
        store = sa.text("DELETE FROM sqlcompress_dictionary")
        connection.execute(store)
    engine.dispose()  # sessions keep what they have read
    with engine.connect() as connection, pytest.raises(DBAPIError, match="there is no dictionary"):
        connection.execute(sa.select(sa.func.count()).where(decompressed(t.c.named) == "x")).all()


@pytest.mark.databases("postgresql")
@pytest.mark.parametrize("codec", ["zstd", "zlib", "gzip"])
def test_postgresql_refuses_damage(engine, codec):
    make_functions(engine)
    frame = CompressedText(codec).to_stored(b"the quick brown fox " * 50)
    call = sa.select(sa.func.sqlcompress_binary(sa.bindparam("v", type_=sa.LargeBinary)))
    with engine.connect() as connection:
        assert bytes(connection.execute(call, {"v": frame}).scalar_one()) == b"the quick brown fox " * 50
    for damaged in (frame[:-3], frame + b"x", frame[:20] + b"\0\0\0" + frame[23:], frame[:5]):
        with (
            engine.connect() as connection,
            pytest.raises(DBAPIError, match="ValueError: sqlcompress: "),
        ):
            connection.execute(call, {"v": damaged})


@pytest.mark.databases("postgresql")
def test_the_functions_come_and_go(engine):
    make_functions(engine)
    make_functions(engine)
    count = sa.text("SELECT count(*) FROM pg_proc WHERE proname LIKE 'sqlcompress%'")
    with engine.begin() as connection:
        assert connection.scalar(count) == 2
        migrate(connection).drop_decompress_function()
        assert connection.scalar(count) == 0
        migrate(connection).drop_decompress_function()
    t = sa.table("t", sa.column("d", CompressedText()))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (d bytea)")
    with (
        engine.connect() as connection,
        pytest.raises(DBAPIError, match="does not exist"),
    ):
        connection.execute(sa.select(decompressed(t.c.d)))


@pytest.mark.databases("sqlite", "mysql", "mariadb")
def test_only_postgresql_has_functions_to_make(engine):
    with engine.connect() as connection:
        for name in ("create_decompress_function", "drop_decompress_function"):
            with pytest.raises(MigrationBlockedError, match="only PostgreSQL has functions to make"):
                getattr(migrate(connection), name)()


def test_the_functions_as_a_script(capsys):
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": None, "literal_binds": True}
    )
    buffer = io.StringIO()
    context.impl.output_buffer = buffer
    operations = Operations(context)
    operations.create_decompress_function(schema="Tools", dictionary_schema='Da"ta')
    operations.drop_decompress_function(schema="Tools")
    script = buffer.getvalue()
    assert 'CREATE OR REPLACE FUNCTION "Tools".sqlcompress_text(stored bytea)' in script
    assert "stored[:4] ==" in script
    assert 'FROM \\"Da\\"\\"ta\\".sqlcompress_dictionary' in script
    assert 'DROP FUNCTION IF EXISTS "Tools".sqlcompress_binary(bytea)' in script
