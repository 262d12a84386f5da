"""What cannot be stored raises one clear error, writes nothing, and leaves the transaction usable."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest
from sqlalchemy import (
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.orm import Session, registry

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    CorruptValueError,
    DecodeError,
    DictionaryNotFoundError,
    UnknownFormatError,
    ValueTooLargeError,
    Zstd,
)
from tests.values import DICTIONARY, OTHER_DICTIONARY

#: Stands for what must appear in no message and no chained error.
SECRET = "hunter2"

TEXT, JSON_, BINARY = (
    CompressedText(max_size=1000),
    CompressedJSON(max_size=1000),
    CompressedBinary(max_size=1000),
)


def failing_dumps(value):
    raise TypeError("this one is not for me")


class Unprintable:
    def __repr__(self):
        return SECRET


BAD = {
    "text of bytes": (TEXT, SECRET.encode(), TypeError, "takes str, not bytes"),
    "text of int": (TEXT, 5, TypeError, "takes str, not int"),
    "text of dict": (TEXT, {SECRET: 1}, TypeError, "takes str, not dict"),
    "text of an object": (TEXT, Unprintable(), TypeError, "takes str, not Unprintable"),
    "text with a lone surrogate": (TEXT, SECRET + "\ud800", ValueError, "lone surrogate at position 7"),
    "text too large": (TEXT, SECRET * 200, ValueTooLargeError, "1400 bytes, more than max_size=1000"),
    "text too large in bytes": (TEXT, "é" * 501, ValueTooLargeError, "1002 bytes"),
    "document of bytes": (JSON_, {"a": SECRET.encode()}, TypeError, "not JSON serializable"),
    "document of a set": (JSON_, {SECRET}, TypeError, "set is not JSON serializable"),
    "document of a date": (JSON_, [dt.date(2020, 1, 1)], TypeError, "not JSON serializable"),
    "document of a decimal": (JSON_, decimal.Decimal("1.10"), TypeError, "not JSON serializable"),
    "document with a tuple for key": (JSON_, {(SECRET,): 1}, TypeError, "keys must be"),
    "document too large": (JSON_, {"a": SECRET * 200}, ValueTooLargeError, "more than max_size=1000"),
    "document too deep": (JSON_, "deep", ValueError, "nested too deeply"),
    "document in a circle": (JSON_, "circle", ValueError, "Circular reference"),
    "document of a failing serializer": (
        CompressedJSON(serializer=failing_dumps),
        [SECRET],
        TypeError,
        "not for me",
    ),
    "document of a wrong serializer": (
        CompressedJSON(serializer=len),
        [SECRET],
        TypeError,
        "gave int, not str",
    ),
    "document of a serializer that encodes": (
        CompressedJSON(serializer=str.encode),
        SECRET + "\udc00",
        ValueError,
        "the serializer failed: surrogates not allowed",
    ),
    "document of bytes that are not UTF-8": (
        CompressedJSON(serializer=lambda value: value.encode("latin1")),
        SECRET + "é",
        UnknownFormatError,
        "UTF-8",
    ),
    "binary of str": (BINARY, SECRET, TypeError, "takes bytes, not str"),
    "binary of list": (BINARY, [1, 2], TypeError, "takes bytes, not list"),
    "binary too large": (BINARY, SECRET.encode() * 200, ValueTooLargeError, "more than max_size=1000"),
}


def value_of(value):
    if value == "deep":
        for _ in range(200_000):
            value = [value]
    elif value == "circle":
        value = [SECRET]
        value.append(value)
    return value


def chain_of(error):
    """The error and every other one that hangs on it."""
    seen, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    return seen


def says_nothing_of_the_value(error):
    for one in chain_of(error):
        for shown in (str(one), repr(one), repr(one.args), repr(vars(one))):
            assert SECRET not in shown
        for attribute in ("object", "doc", "params", "orig"):
            assert SECRET not in repr(getattr(one, attribute, ""))


def table_of(kind):
    return Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("d", kind),
        Column("note", String(20)),
    )


GOOD = {CompressedText: "good", CompressedJSON: "good", CompressedBinary: b"good"}


@pytest.mark.parametrize("name", BAD)
def test_a_value_that_cannot_be_stored(engine, name):
    kind, value, error_type, message = BAD[name]
    table = table_of(kind)
    good = GOOD[type(kind)]
    if kind.max_size != 1000:  # its serializer takes nothing
        table, good = table_of(kind), None
        kind = CompressedJSON(none_as_null=True, serializer=kind.serializer)
        table = table_of(kind)
    table.create(engine)
    bad = value_of(value)
    ways = [
        lambda c: c.execute(insert(table).values(id=2, d=bad)),
        lambda c: c.execute(insert(table), {"id": 2, "d": bad}),
        lambda c: c.execute(insert(table), [{"id": 2, "d": good}, {"id": 3, "d": bad}, {"id": 4, "d": good}]),
        lambda c: c.execute(insert(table).values([{"id": 2, "d": good}, {"id": 3, "d": bad}])),
        lambda c: c.execute(update(table).values(d=bad)),
    ]
    with engine.begin() as connection:
        connection.execute(insert(table).values(id=1, d=good, note="before"))
        for way in ways:
            with pytest.raises(error_type, match=message) as caught:
                way(connection)
            assert str(caught.value).startswith("item.d: ")
            assert isinstance(caught.value, error_type)
            says_nothing_of_the_value(caught.value)
            assert connection.scalars(select(table.c.id)).all() == [1]
        connection.execute(insert(table).values(id=9, d=good, note="after"))
    with engine.connect() as connection:
        assert connection.execute(select(table.c.id, table.c.d).order_by(table.c.id)).all() == [
            (1, good),
            (9, good),
        ]


def test_through_the_orm_nothing_is_half_written(engine):
    mapper = registry()
    table = table_of(CompressedText())
    table = table.to_metadata(mapper.metadata)

    class Item:
        def __init__(self, **values):
            for name, value in values.items():
                setattr(self, name, value)

    mapper.map_imperatively(Item, table)
    table.create(engine)
    with Session(engine) as session:
        session.add_all([Item(id=number, d="good") for number in range(50)])
        session.add(Item(id=50, d=SECRET + "\udfff"))
        with pytest.raises(
            ValueError, match=r"item\.d: the text has a lone surrogate at position 7"
        ) as caught:
            session.commit()
        says_nothing_of_the_value(caught.value)
        session.rollback()
        assert session.scalars(select(Item)).all() == []
        session.add(Item(id=1, d="good"))
        session.commit()
        assert session.get(Item, 1).d == "good"
    mapper.dispose()


WITH_DICTIONARY = CompressedText(Zstd(dictionary=DICTIONARY), 0)
DAMAGED = {
    "not UTF-8": (TEXT, SECRET.encode() + b"\xff", UnknownFormatError),
    "a cut frame": (TEXT, CompressedText().to_stored(SECRET.encode() * 50)[:-1], CorruptValueError),
    "a flipped bit": (
        TEXT,
        CompressedText("zlib").to_stored(SECRET.encode() * 50)[:-1] + b"?",
        CorruptValueError,
    ),
    "a frame and more": (
        TEXT,
        CompressedText("gzip").to_stored(SECRET.encode() * 50) + b"!",
        CorruptValueError,
    ),
    "a frame that is not UTF-8": (
        TEXT,
        CompressedBinary().to_stored((SECRET.encode() + b"\xff") * 50),
        UnknownFormatError,
    ),
    "too large": (TEXT, CompressedText().to_stored(SECRET.encode() * 500), ValueTooLargeError),
    "no dictionary": (TEXT, WITH_DICTIONARY.to_stored(SECRET.encode() * 5), DictionaryNotFoundError),
    "another dictionary": (
        CompressedText(Zstd(dictionary=OTHER_DICTIONARY)),
        WITH_DICTIONARY.to_stored(SECRET.encode() * 5),
        DictionaryNotFoundError,
    ),
    "not JSON": (JSON_, SECRET.encode(), UnknownFormatError),
    "JSON that ends early": (JSON_, b'{"a": "' + SECRET.encode(), UnknownFormatError),
    "JSON with too many digits": (JSON_, b"[1" + b"0" * 9000 + b"]", UnknownFormatError),
    "JSON nested too deeply": (JSON_, b"[" * 200_000, UnknownFormatError),
    "a cut binary": (BINARY, CompressedBinary().to_stored(SECRET.encode() * 50)[:-1], CorruptValueError),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_value_that_cannot_be_read(engine, name):
    kind, stored, error_type = DAMAGED[name]
    table = table_of(kind)
    table.create(engine)
    with engine.begin() as connection:
        raw = Table("item", MetaData(), Column("id", Integer), Column("d", LargeBinary))
        connection.execute(insert(raw), [{"id": 1, "d": b"1"}, {"id": 2, "d": stored}])
        with pytest.raises(DecodeError) as caught:
            connection.execute(select(table.c.d)).all()
        assert type(caught.value) is error_type
        assert str(caught.value).startswith("item.d: ")
        says_nothing_of_the_value(caught.value)
        # The bytes as they are stay within reach, and the transaction goes on.
        as_stored = select(type_coerce(table.c.d, LargeBinary)).where(table.c.id == 2)
        assert bytes(connection.scalar(as_stored)) == stored
        connection.execute(update(raw).where(raw.c.id == 2).values(d=b"2"))
        assert connection.scalar(select(table.c.id).where(table.c.d.is_(None))) is None
        assert len(connection.execute(select(table.c.d)).all()) == 2


@pytest.mark.databases("sqlite")  # where any column holds any type of value
def test_values_of_other_types_in_the_column(engine):
    tables = {kind: Table("item", MetaData(), Column("d", kind())) for kind in GOOD}
    tables[CompressedText].create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO item VALUES ('by hand é')")
        assert connection.scalar(select(tables[CompressedText].c.d)) == "by hand é"
        assert connection.scalar(select(tables[CompressedBinary].c.d)) == "by hand é".encode()
        connection.exec_driver_sql("UPDATE item SET d = '[\"by hand\"]'")
        assert connection.scalar(select(tables[CompressedJSON].c.d)) == ["by hand"]
        # JSON columns have numeric affinity there, so that a document may be kept as a number.
        for number in ("5", "1.5"):
            connection.exec_driver_sql(f"UPDATE item SET d = {number}")
            for kind in (CompressedText, CompressedBinary):
                with pytest.raises(UnknownFormatError, match=r"item\.d: .*neither bytes nor text"):
                    connection.scalar(select(tables[kind].c.d))
            assert connection.scalar(select(tables[CompressedJSON].c.d)) == float(number)
