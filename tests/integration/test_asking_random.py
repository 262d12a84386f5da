"""Predicates that Hypothesis makes, over the same rows plain and compressed: the same rows answer."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func
from sqlalchemy.exc import DBAPIError

from sqlcompress import install
from tests.constructs import TEXTS, fill, tables_of
from tests.integration.test_decompressed import make_functions

WORDS = st.sampled_from(
    ["short", "title 4", "the", "o", "", "fox", "100%", "\N{GRINNING FACE}", "7", "zz", " "]
)
WHOLE = st.sampled_from([text for text in TEXTS if text is not None]) | WORDS

#: Functions from the columns to a text, of any kind that SQL has.
TEXT = st.deferred(
    lambda: (
        st.sampled_from(["body", "other", "title"]).map(lambda name: lambda c: getattr(c, name))
        | WORDS.map(lambda word: lambda _: sa.literal(word))
        | st.tuples(TEXT, st.integers(1, 20)).map(lambda t: lambda c: func.substr(t[0](c), 1, t[1]))
        | TEXT.map(lambda t: lambda c: func.lower(t(c)))
        | st.tuples(TEXT, TEXT).map(lambda t: lambda c: func.coalesce(t[0](c), t[1](c)))
        | st.tuples(TEXT, WHOLE).map(lambda t: lambda c: func.nullif(t[0](c), t[1]))
        | st.tuples(CONDITION, TEXT, TEXT).map(lambda t: lambda c: sa.case((t[0](c), t[1](c)), else_=t[2](c)))
        | st.tuples(st.sampled_from(["body", "other"]), WORDS).map(
            lambda t: lambda c: getattr(c, t[0]) + t[1]
        )
        | st.tuples(WORDS, st.sampled_from(["body", "other"])).map(
            lambda t: lambda c: t[0] + getattr(c, t[1])
        )
    )
)
NUMBER = st.sampled_from([("n",), ("user", "id"), ("list", 0)]).map(
    lambda path: lambda c: c.meta[path].as_integer()
)
CONDITION = st.deferred(
    lambda: (
        st.tuples(TEXT, st.sampled_from(["__eq__", "__ne__", "__lt__", "__ge__"]), WHOLE).map(
            lambda t: lambda c: getattr(t[0](c), t[1])(t[2])
        )
        | st.tuples(TEXT, st.sampled_from(["__eq__", "__ne__", "__gt__", "__le__"]), TEXT).map(
            lambda t: lambda c: getattr(t[0](c), t[1])(t[2](c))
        )
        | st.tuples(TEXT, WORDS, st.sampled_from(["contains", "startswith", "endswith"])).map(
            lambda t: lambda c: getattr(t[0](c), t[2])(t[1], autoescape=True)
        )
        | st.tuples(TEXT, st.lists(WHOLE, max_size=3), st.booleans()).map(
            lambda t: lambda c: t[0](c).in_(t[1]) if t[2] else t[0](c).not_in(t[1])
        )
        | st.tuples(TEXT, WORDS, WORDS).map(lambda t: lambda c: t[0](c).between(t[1], t[2]))
        | st.sampled_from(["body", "other", "meta"]).map(lambda name: lambda c: getattr(c, name).is_(None))
        | st.tuples(NUMBER, st.integers(-1, 40)).map(lambda t: lambda c: t[0](c) > t[1])
        | st.tuples(NUMBER, st.integers(0, 5)).map(lambda t: lambda c: t[0](c) == t[1])
        | WORDS.map(lambda word: lambda c: c.meta["tag"].as_string() == word)
        | st.tuples(st.sampled_from(["body", "title"]), st.sampled_from(["other", "body"]), WORDS).map(
            lambda t: (
                lambda c: getattr(c, t[0]).in_(
                    sa.select(getattr(c.again.c, t[1])).where(getattr(c.again.c, t[1]) != t[2])
                )
            )
        )
        | st.tuples(CONDITION, CONDITION).map(lambda t: lambda c: sa.and_(t[0](c), t[1](c)))
        | st.tuples(CONDITION, CONDITION).map(lambda t: lambda c: sa.or_(t[0](c), t[1](c)))
        | CONDITION.map(lambda t: lambda c: sa.not_(t(c)))
    )
)


@pytest.fixture
def asked(engine, database):
    install(engine)
    if database == "postgresql":
        make_functions(engine)
    metadata = sa.MetaData()
    plain, packed = tables_of(metadata, database)
    metadata.create_all(engine)
    with engine.begin() as connection:
        fill(connection, database, plain, packed)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection, plain, packed


def answer(connection, statement):
    try:
        return connection.execute(statement).all()
    except DBAPIError as error:
        return type(error.orig).__name__


@given(CONDITION)
def test_the_same_rows_answer(asked, condition):
    connection, plain, packed = asked
    expected, found = (
        answer(connection, sa.select(c.id).where(condition(c)).order_by(c.id)) for c in (plain, packed)
    )
    assert found == expected


@given(TEXT, CONDITION)
def test_the_same_values_come_in_the_same_order(asked, text, condition):
    connection, plain, packed = asked
    expected, found = (
        answer(connection, sa.select(c.id, text(c)).where(condition(c)).order_by(text(c), c.id).limit(20))
        for c in (plain, packed)
    )
    assert found == expected
