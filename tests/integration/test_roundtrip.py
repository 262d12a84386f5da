"""What goes in comes out: through Core and the ORM, on each database and with each driver."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    insert,
    inspect,
    literal_column,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd
from sqlcompress.frames import is_framed
from tests.values import (
    BEGINNINGS,
    DICTIONARY,
    DISGUISES,
    IN_ORDER,
    binaries,
    dense_text,
    incompressible,
    json_documents,
    texts,
)

CODECS = (Zstd(), Zstd(19, checksum=False), Zstd(dictionary=DICTIONARY), Zlib(), Gzip())
LEGACY = ("mysql", "zlib", "base64")


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "article"

    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str | None] = mapped_column(CompressedText())
    meta: Mapped[object] = mapped_column(CompressedJSON(Zstd(dictionary=DICTIONARY), 0), nullable=True)
    data: Mapped[bytes | None] = mapped_column(CompressedBinary("zlib"))


def table_of(codec, min_size=0, legacy=()):
    """A table of all three types, always of the same name: statements have to be told apart by the types."""
    return Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("body", CompressedText(codec, min_size, legacy=legacy)),
        Column("meta", CompressedJSON(codec, min_size, legacy=legacy)),
        Column("data", CompressedBinary(codec, min_size, legacy=legacy)),
    )


SHAPES = [
    table_of(codec, min_size, legacy) for codec in CODECS for min_size in (0, 64) for legacy in ((), LEGACY)
]


@pytest.fixture
def tables(engine):
    SHAPES[0].create(engine)
    Base.metadata.create_all(engine)
    return engine


def rows_of(connection, table):
    return [tuple(row) for row in connection.execute(select(table).order_by(table.c.id))]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(texts, json_documents, binaries), min_size=1, max_size=4),
    st.lists(st.sampled_from(range(len(SHAPES))), min_size=2, max_size=2),
)
def test_any_values_through_core(tables, values, shapes):
    writer, reader = (SHAPES[number] for number in shapes)
    # Frames of any codec are read by every column; a dictionary is its column's.
    if writer.c.body.type.codec.name != "zstd" or writer.c.body.type.codec == reader.c.body.type.codec:
        reader = reader if reader.c.body.type.legacy == writer.c.body.type.legacy else writer
    else:
        reader = writer
    rows = [(number, *row) for number, row in enumerate(values)]
    with tables.connect() as connection, connection.begin() as transaction:
        names = ("id", "body", "meta", "data")
        connection.execute(insert(writer), [dict(zip(names, row, strict=True)) for row in rows])
        assert rows_of(connection, reader) == rows
        first = dict(zip(names[1:], values[-1], strict=True))
        connection.execute(update(writer).where(writer.c.id == 0).values(first))
        assert rows_of(connection, reader)[0] == (0, *values[-1])
        transaction.rollback()


@settings(max_examples=40)
@given(texts, json_documents, binaries)
def test_any_values_through_the_orm(tables, body, meta, data):
    with Session(tables) as session:
        session.add(Article(id=1, body=body, meta=meta, data=data))
        session.flush()
        session.expire_all()
        article = session.get(Article, 1)
        assert (article.body, article.meta, article.data) == (body, meta, data)
        assert json.dumps(article.meta) == json.dumps(meta)
        article.body, article.meta, article.data = body + "x", [meta, 1], data + b"\0"
        session.flush()
        session.expire_all()
        assert (article.body, article.meta, article.data) == (body + "x", [meta, 1], data + b"\0")
        session.rollback()


@settings(max_examples=25)
@given(texts, json_documents.filter(lambda meta: meta is not None), binaries)  # SQLAlchemy makes None NULL
def test_literals_are_stored_as_bound_values_are(tables, body, meta, data):
    table = SHAPES[0]
    with tables.connect() as connection:
        bound = insert(table).values(id=1, body=body, meta=meta, data=data)
        connection.execute(bound)
        literal = insert(table).values(id=2, body=body, meta=meta, data=data)
        rendered = str(literal.compile(connection.engine, compile_kwargs={"literal_binds": True}))
        connection.exec_driver_sql(rendered.replace("%%", "%") if tables.driver == "pysqlite" else rendered)
        stored = [type_coerce(column, LargeBinary) for column in (table.c.body, table.c.meta, table.c.data)]
        one, two = (connection.execute(select(*stored).where(table.c.id == key)).one() for key in (1, 2))
        assert tuple(one) == tuple(two)
        assert rows_of(connection, table) == [(1, body, meta, data), (2, body, meta, data)]
        connection.rollback()


@pytest.mark.parametrize("legacy", [(), LEGACY], ids=["", "legacy"])
@pytest.mark.parametrize("codec", [Zstd(), Zlib(), Gzip()], ids=repr)
def test_values_that_look_like_frames_and_nothing_at_all(tables, codec, legacy):
    table = table_of(codec, 64, legacy)
    looks = [
        *(start + rest for start in BEGINNINGS for rest in (b"", b"\0", b" and more")),
        *(disguise(b"what is it? " * 20) for disguise in DISGUISES),
        b"",
        b"\0",
        b"\0" * 100,
    ]
    rows = [(number, look.decode("latin1"), look.decode("latin1"), look) for number, look in enumerate(looks)]
    rows += [(len(rows), None, None, None), (len(rows) + 1, "", "", b"")]
    with tables.begin() as connection:
        connection.execute(
            insert(table),
            [{"id": row[0], "body": row[1], "meta": row[2], "data": row[3]} for row in rows],
        )
    with tables.connect() as connection:
        assert rows_of(connection, table) == rows
        # "" is a value of no bytes, and None is NULL: two different things.
        is_null = select(table.c.id).where(table.c.body.is_(None))
        assert connection.scalars(is_null).all() == [len(looks)]
        assert connection.scalars(select(table.c.id).where(table.c.data == None)).all() == [len(looks)]  # noqa: E711


@pytest.mark.parametrize("codec", [Zstd(), Zlib()], ids=repr)
def test_a_value_over_64_kb_that_does_not_shrink(tables, codec):
    table = table_of(codec)
    text_value, data = dense_text(70_200), incompressible(70_000)
    with tables.begin() as connection:
        connection.execute(insert(table).values(id=1, body=text_value, meta=[text_value], data=data))
    with tables.connect() as connection:
        assert rows_of(connection, table) == [(1, text_value, [text_value], data)]


@pytest.fixture
def large_packets(database, engine):
    """An engine whose server takes statements of 64 MB, as has to be set for values of 20 MB."""
    if database not in {"mariadb", "mysql"}:
        yield engine
        return
    with engine.begin() as connection:
        before = connection.scalar(text("SELECT @@GLOBAL.max_allowed_packet"))
        connection.execute(text(f"SET GLOBAL max_allowed_packet = {max(before, 64 * 2**20)}"))
    engine.dispose()  # a connection keeps what held when it was made
    yield engine
    with engine.begin() as connection:
        connection.execute(text(f"SET GLOBAL max_allowed_packet = {before}"))


def test_a_value_of_20_mb_that_does_not_shrink(large_packets):
    table = table_of("zstd")
    table.create(large_packets)
    data = incompressible(20_000_000)
    body = dense_text(20_000_001)
    with large_packets.begin() as connection:
        connection.execute(insert(table).values(id=1, data=data))
        connection.execute(insert(table).values(id=2, body=body))
    with large_packets.connect() as connection:
        assert connection.scalar(select(table.c.data).where(table.c.id == 1)) == data
        assert connection.scalar(select(table.c.body).where(table.c.id == 2)) == body


DOCUMENT = {"ключ": [1, 2.5, None, True, {"": "x^\0é日😀"}], "text": "again and again " * 40}
ROWS = [
    {"id": 1, "body": "plain é日😀 \0", "meta": DOCUMENT, "data": bytes(range(256))},
    {"id": 2, "body": "long " * 9000, "meta": [DOCUMENT] * 30, "data": b"\x28\xb5\x2f\xfd not a frame"},
    {"id": 3, "body": None, "meta": None, "data": None},
    {"id": 4, "body": "", "meta": "", "data": b""},
    {"id": 5, "body": "x^", "meta": {}, "data": b"\x78\x9c"},
]


def test_each_driver(driver_engine: Engine):
    table = table_of(Zstd(dictionary=DICTIONARY), 64)
    table.create(driver_engine)
    with driver_engine.begin() as connection:
        connection.execute(insert(table), ROWS)
        if connection.dialect.insert_executemany_returning:
            more = [{**row, "id": row["id"] + 10} for row in ROWS]
            returned = connection.execute(insert(table).returning(table, **IN_ORDER), more)
            assert [row._asdict() for row in returned] == more
            connection.execute(table.delete().where(table.c.id > 10))
    with driver_engine.connect() as connection:
        assert rows_of(connection, table) == [tuple(row.values()) for row in ROWS]
        stored = connection.scalars(select(type_coerce(table.c.body, LargeBinary)).order_by(table.c.id)).all()
        assert [None if value is None else is_framed(bytes(value)) for value in stored] == [
            False, True, None, False, False,
        ]  # fmt: skip
        for row in ROWS:
            literal = select(literal_column("1")).where(table.c.id == row["id"])
            assert connection.scalar(literal) == 1


def test_each_asyncio_driver(async_engine):
    from sqlalchemy.ext.asyncio import AsyncSession

    table = table_of(Zstd(dictionary=DICTIONARY), 64)

    async def story():
        async with async_engine.begin() as connection:
            await connection.run_sync(table.create)
            await connection.run_sync(Base.metadata.create_all)
            await connection.execute(insert(table), ROWS)
        async with async_engine.connect() as connection:
            result = await connection.execute(select(table).order_by(table.c.id))
            # Fetched after the greenlet has ended: whatever decodes here may do no I/O.
            assert [row._asdict() for row in result.all()] == ROWS
            streamed = await connection.stream(select(table).order_by(table.c.id))
            assert [row._asdict() async for row in streamed] == ROWS
        async with AsyncSession(async_engine) as session:
            session.add_all([Article(**row) for row in ROWS])
            await session.commit()
        async with AsyncSession(async_engine) as session:
            articles = (await session.scalars(select(Article).order_by(Article.id))).all()
            assert [{name: getattr(a, name) for name in ROWS[0]} for a in articles] == ROWS
        await async_engine.dispose()

    asyncio.run(story())


def test_the_columns_have_the_type_that_holds_every_value(engine, database):
    table = table_of("zstd")
    table.create(engine)
    types = {str(column["type"]) for column in inspect(engine).get_columns("item") if column["name"] != "id"}
    assert types == {
        {"sqlite": "BLOB", "postgresql": "BYTEA", "mariadb": "LONGBLOB", "mysql": "LONGBLOB"}[database]
    }
