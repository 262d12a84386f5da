"""psycopg is asked for binary results where no value changes by it, and only there."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import enum
import uuid

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, SqlcompressError, install

pytestmark = pytest.mark.databases("postgresql")
PSYCOPG = "psycopg"
BODY = "the quick brown fox é " * 40


class Colour(enum.Enum):
    red = 1
    green = 2


t = sa.Table(
    "t",
    sa.MetaData(),
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("body", CompressedText()),
    sa.Column("meta", CompressedJSON("zlib")),
    sa.Column("data", CompressedBinary()),
    sa.Column("small", sa.SmallInteger),
    sa.Column("title", sa.String(40)),
    sa.Column("text", sa.Text),
    sa.Column("fixed", sa.CHAR(5)),
    sa.Column("truth", sa.Boolean),
    sa.Column("double", sa.Double),
    sa.Column("amount", sa.Numeric(12, 3)),
    sa.Column("day", sa.Date),
    sa.Column("at", sa.DateTime),
    sa.Column("at_zone", sa.DateTime(timezone=True)),
    sa.Column("uuid", sa.Uuid),
    sa.Column("raw", sa.LargeBinary),
    sa.Column("single", sa.REAL),
    sa.Column("colour", sa.Enum(Colour)),
    sa.Column("span", sa.Interval),
    sa.Column("json", sa.JSON),
    sa.Column("list", sa.ARRAY(sa.Integer)),
)
ROW = {
    "id": 2**40,
    "body": BODY,
    "meta": {"a": [1, 2, {"é": None}] * 20},
    "data": bytes(range(256)) * 4,
    "small": -7,
    "title": "Größe",
    "text": "x\n\\x41",
    "fixed": "ab   ",
    "truth": True,
    "double": 0.1,
    "amount": decimal.Decimal("123456.789"),
    "day": dt.date(2026, 2, 28),
    "at": dt.datetime(2026, 2, 28, 1, 2, 3, 456789),  # noqa: DTZ001 - a column without a zone
    "at_zone": dt.datetime(2026, 2, 28, 1, 2, 3, 456789, dt.timezone.utc),
    "uuid": uuid.UUID("12345678123456781234567812345678"),
    "raw": b"\x00\xff\\x",
    "single": 1.1,
    "colour": Colour.green,
    "span": dt.timedelta(days=3, microseconds=5),
    "json": {"b": [1.5, "ü"]},
    "list": [1, None, 3],
}
COMPRESSED = ("body", "meta", "data")
SAME = (*list(ROW)[:16],)
OTHER = tuple(name for name in ROW if name not in SAME)


@pytest.fixture
def formats(engine):
    """An engine with one row, and the format of each result that its cursors gave."""
    if engine.dialect.driver != PSYCOPG:
        pytest.skip("psycopg is not the driver")
    install(engine)
    install(engine)
    t.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), ROW)
    seen = []
    sa.event.listen(engine, "after_cursor_execute", lambda *a: seen.append(a[1].format))
    return engine, seen


def thrice(engine, statement):
    found = []
    for _ in range(3):
        with engine.connect() as connection:
            found.append(connection.execute(statement).one())
    return found


def test_every_value_is_the_same_in_both_formats(formats):
    engine, seen = formats
    first, second, third = thrice(engine, sa.select(*(t.c[name] for name in SAME)))
    assert first == second == third == tuple(ROW[name] for name in SAME)
    assert [type(value) for value in first] == [type(value) for value in third]
    assert seen == [0, 1, 1]


@pytest.mark.parametrize("name", OTHER)
def test_a_type_that_comes_out_otherwise_keeps_the_result_text(formats, name):
    engine, seen = formats
    rows = thrice(engine, sa.select(t.c.body, t.c[name]))
    assert {row[0] for row in rows} == {BODY}
    assert all(row[1] == ROW[name] for row in rows)
    assert seen == [0, 0, 0]


def test_types_that_psycopg_does_not_know_keep_the_result_text(formats):
    engine, seen = formats
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS citext")
        connection.exec_driver_sql("CREATE DOMAIN short AS varchar(20)")
        connection.exec_driver_sql("CREATE TABLE o (body bytea, c citext, s short)")
        o = sa.table(
            "o", sa.column("body", CompressedText()), sa.column("c", sa.String), sa.column("s", sa.String)
        )
        connection.execute(sa.insert(o), {"body": BODY, "c": "Known", "s": "Short"})
    seen.clear()
    assert thrice(engine, sa.select(o.c.body, o.c.c)) == [(BODY, "Known")] * 3
    assert seen == [0, 0, 0]
    seen.clear()
    # A domain is told by its base type, and comes out as that.
    assert thrice(engine, sa.select(o.c.body, o.c.s)) == [(BODY, "Short")] * 3
    assert seen == [0, 1, 1]


def test_a_loader_of_the_application_keeps_the_result_text(formats):
    from psycopg.types.numeric import FloatLoader

    engine, seen = formats
    amount = sa.literal_column("amount")
    with engine.connect() as connection:
        driver = connection.connection.dbapi_connection
        driver.adapters.register_loader("numeric", FloatLoader)
        for _ in range(3):
            assert type(connection.execute(sa.select(t.c.body, amount)).one()[1]) is float
    assert seen == [0, 0, 0]


def test_statements_without_compressed_columns_are_left_alone(formats):
    engine, seen = formats
    assert thrice(engine, sa.select(t.c.raw, t.c.title)) == [(ROW["raw"], ROW["title"])] * 3
    with engine.connect() as connection:
        for _ in range(3):
            assert connection.execute(sa.text("SELECT title FROM t")).scalar_one() == "Größe"
    assert seen == [0] * 6


def test_returning_and_streaming(formats):
    engine, seen = formats
    for number in range(3):
        with engine.begin() as connection:
            statement = sa.insert(t).returning(t.c.id, t.c.body)
            row = connection.execute(statement, {"id": number, "body": f"{BODY}{number}"}).one()
            assert row == (number, f"{BODY}{number}")
    with engine.connect() as connection:
        streamed = connection.execution_options(stream_results=True, yield_per=2)
        for _ in range(3):
            bodies = set(streamed.execute(sa.select(t.c.body)).scalars())
            assert bodies == {BODY, f"{BODY}0", f"{BODY}1", f"{BODY}2"}
    assert seen[:3] == [0, 1, 1]


def test_a_column_whose_type_has_changed_meanwhile(formats):
    engine, _ = formats
    statement = sa.select(t.c.body, t.c.small)
    thrice(engine, statement)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE t ALTER small TYPE numeric")
    assert thrice(engine, statement) == [(BODY, -7)] * 3
    again = sa.select(t.c.body, t.c.title)
    thrice(engine, again)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS citext")
        connection.exec_driver_sql("ALTER TABLE t ALTER title TYPE citext")
    with engine.connect() as connection, pytest.raises(SqlcompressError, match="run the statement again"):
        connection.execute(again).all()
    assert thrice(engine, again) == [(BODY, "Größe")] * 3


def test_asynchronous_psycopg(engine):
    from sqlalchemy.ext.asyncio import create_async_engine

    if engine.dialect.driver != PSYCOPG:
        pytest.skip("psycopg is not the driver")

    async def story():
        other = install(create_async_engine(engine.url))
        seen = []
        sa.event.listen(
            other.sync_engine, "after_cursor_execute", lambda *a: seen.append(a[1]._cursor.format)
        )
        async with other.begin() as connection:
            await connection.run_sync(t.metadata.create_all)
            await connection.execute(t.insert(), ROW)
            seen.clear()
            for _ in range(3):
                found = await connection.execute(sa.select(t.c.body, t.c.title))
                assert found.one() == (BODY, "Größe")
        await other.dispose()
        assert seen == [0, 1, 1]

    asyncio.run(story())
