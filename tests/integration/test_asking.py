"""Constructs of SQL over a compressed column and over a plain one: equal answers, or an error before any.

The list is the one of docs/querying.md. Values are stored in turn plain and as frames of each codec that the
database decodes, so that one form that is not seen would show in every answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import func
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import CompileError
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Session, aliased, column_property, registry

from sqlcompress import CompressedText, Zlib, decompressed, install
from tests.constructs import CODECS, DOCUMENTED, EQUAL, JSON, REFUSED, TEXTS, Asked, fill, table, tables_of
from tests.integration.test_decompressed import make_functions


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
        yield connection, plain, packed


def answer(connection, statement):
    return [tuple(row) for row in connection.execute(statement)]


@pytest.mark.parametrize("name", EQUAL)
def test_the_answer_is_that_of_a_plain_column(asked, database, name):
    connection, plain, packed = asked
    make = EQUAL[name]
    expected = answer(connection, make(Asked(plain, database)))
    assert answer(connection, make(Asked(packed, database))) == expected
    # Once more out of the cache.
    assert answer(connection, make(Asked(packed, database))) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_right_is_refused(asked, name):
    connection, _, packed = asked
    with pytest.raises(CompileError) as caught:
        connection.execute(REFUSED[name](packed))
    assert "SELECT" not in str(caught.value)


# -- what is grouped, written and mapped --------------------------------------------------------------------


def stored_twice(connection, c, database):
    """A table with one text under two frames, and another text."""
    connection.execute(sa.delete(c.table))
    first, second = (CODECS[database] * 2)[:2] if database != "mysql" else (Zlib(), None)
    for number, codec in ((1, first), (2, second)):
        other = table(
            sa.MetaData(), "packed", CompressedText(codec or "zlib", min_size=0 if codec else 10**6), JSON
        )
        connection.execute(sa.insert(other).values(id=number, title="same", body=TEXTS[4]))
    connection.execute(sa.insert(c.table).values(id=3, title="other", body=TEXTS[5]))


STORED = {
    "group_by": (
        lambda c: sa.select(func.count()).select_from(c.table).group_by(c.body),
        lambda c: sa.select(func.count()).select_from(c.table).group_by(decompressed(c.body)),
    ),
    "distinct": (
        lambda c: sa.select(func.count()).select_from(sa.select(c.body).distinct().subquery()),
        lambda c: sa.select(func.count()).select_from(
            sa.select(decompressed(c.body).label("d")).distinct().subquery()
        ),
    ),
    "union": (
        lambda c: sa.select(func.count()).select_from(
            sa.union(sa.select(c.body), sa.select(c.body)).subquery()
        ),
        lambda c: sa.select(func.count()).select_from(
            sa.union(
                sa.select(decompressed(c.body).label("d")), sa.select(decompressed(c.body).label("d"))
            ).subquery()
        ),
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_what_groups_goes_by_stored_bytes(asked, database, name):
    connection, _, packed = asked
    stored_twice(connection, packed, database)
    by_bytes, by_value = STORED[name]
    if name == "group_by":
        assert sorted(connection.execute(by_bytes(packed)).scalars()) == [1, 1, 1]
        assert sorted(connection.execute(by_value(packed)).scalars()) == [1, 2]
    else:
        assert connection.scalar(by_bytes(packed)) == 3
        assert connection.scalar(by_value(packed)) == 2


def values(connection, c):
    return connection.execute(sa.select(c.id, c.title, c.body).order_by(c.id)).all()


WRITTEN = {
    "update with a concatenation": lambda c: sa.update(c.table).values(body=c.body + "!"),
    "update with another column": lambda c: sa.update(c.table).values(body=c.other),
    "update with coalesce": lambda c: sa.update(c.table).values(body=func.coalesce(c.body, c.other, "none")),
    "update with case": lambda c: sa.update(c.table).values(
        body=sa.case((c.body == "short", "long"), else_=c.body)
        if c.is_plain
        else sa.case((c.body != "short", c.body), (c.body.is_(None), c.body), else_="long")
    ),
    "update with a value": lambda c: sa.update(c.table).where(c.body.like("%fox%")).values(body=TEXTS[8]),
    "update with a function of its type": lambda c: sa.update(c.table).values(
        body=func.upper(c.body, type_=c.table.c.body.type)
    ),
    "update with a subquery": lambda c: sa.update(c.table).values(
        body=sa.select(func.max(c.once_more.c.title)).scalar_subquery()
        if c.is_plain
        else sa.select(func.max(c.once_more.c.title, type_=c.table.c.body.type)).scalar_subquery()
    ),
    "update plain with the plain value": lambda c: (
        sa.update(c.table).where(c.id == 2).values(title=c.body if c.is_plain else decompressed(c.body))
    ),
    "delete": lambda c: sa.delete(c.table).where(c.body.like("%o%")),
    "insert from select of it": lambda c: sa.insert(c.table).from_select(
        ["id", "title", "body"], sa.select(c.id + 1000, c.title, c.other)
    ),
    "insert from select of a value": lambda c: sa.insert(c.table).from_select(
        ["id", "title", "body"],
        sa.select(c.id + 1000, c.title, sa.literal("new", c.table.c.body.type)),
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_what_a_plain_column_gets(asked, database, name):
    connection, plain, packed = asked
    statements = [WRITTEN[name](Asked(c, database)) for c in (plain, packed)]
    if name == "update with a subquery" and database == "mysql":
        for statement in statements:
            with pytest.raises(sa.exc.DBAPIError, match="You can't specify target table"):
                connection.execute(statement)
        return
    for statement in statements:
        connection.execute(statement)
    assert values(connection, packed) == values(connection, plain)


def upsert(database, c):
    if database in ("mysql", "mariadb"):
        statement = mysql_insert(c.table)
        return statement, statement.inserted, statement.on_duplicate_key_update
    statement = (postgresql_insert if database == "postgresql" else sqlite_insert)(c.table)
    update = lambda set_: statement.on_conflict_do_update(index_elements=["id"], set_=set_)  # noqa: E731
    return statement, statement.excluded, update


def test_upserts(asked, database):
    connection, plain, packed = asked
    for c in (plain, packed):
        _, new, update = upsert(database, c)
        both = [{"id": 4, "title": "a", "body": TEXTS[6]}, {"id": 500, "title": "b", "body": "five hundred"}]
        connection.execute(update({"body": new.body}), both)
        for row in both:  # PyMySQL's executemany takes no parameters behind VALUES
            connection.execute(update({"body": new.body + "!"}), row)
            connection.execute(update({"body": c.body + "?"}), row)
        connection.execute(update({"title": "c", "body": "given"}), both[0])
    assert values(connection, packed) == values(connection, plain)
    _, new, update = upsert(database, packed)
    for wrong in ({"title": new.body}, {"body": new.title}):
        with pytest.raises(CompileError, match="compressed bytes"):
            connection.execute(update(wrong), both)


@pytest.mark.databases("sqlite", "postgresql", "mariadb")
def test_returning(asked, database):
    connection, plain, packed = asked
    answers = []
    for c in (plain, packed):
        insert = sa.insert(c.table).values(id=700, title="r", body=TEXTS[4], meta={"a": 1})
        shown = [c.body, func.lower(c.body), c.body + "!", c.meta["a"].as_integer()]
        got = [tuple(connection.execute(insert.returning(*shown)).one())]
        if database != "mariadb":
            update = sa.update(c.table).where(c.body == TEXTS[4], c.id == 700).values(body=c.body + "!")
            got.append(tuple(connection.execute(update.returning(c.body, func.length(c.body))).one()))
        got.append(tuple(connection.execute(sa.delete(c.table).where(c.id == 700).returning(c.body)).one()))
        answers.append(got)
    assert answers[0] == answers[1]
    assert answers[0][0][0] == TEXTS[4]


def mapped(c):
    mapping = registry()

    class Row:
        @hybrid_property
        def beginning(self):
            return self.body and self.body[:3]

        @beginning.expression
        def beginning(cls):  # noqa: N805 - of the class
            return func.substr(cls.body, 1, 3)

    mapping.map_imperatively(
        Row,
        c.table,
        properties={
            "shout": column_property(func.upper(c.table.c.body)),
            "marked": column_property(c.table.c.body + "!"),
        },
    )
    return Row


def test_column_properties_hybrids_and_the_session(asked):
    connection, plain, packed = asked
    answers = []
    for c in (plain, packed):
        Row = mapped(c)  # noqa: N806
        other = aliased(Row)
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            loaded = session.scalars(sa.select(Row).order_by(Row.id)).all()
            got = [[(row.id, row.body, row.shout, row.marked, row.beginning) for row in loaded]]
            questions = (
                sa.select(Row.id).where(Row.shout.like("%FOX%")).order_by(Row.id),
                sa.select(Row.id).where(Row.marked == "short!").order_by(Row.id),
                sa.select(Row.id).where(Row.beginning == "The").order_by(Row.id),
                sa.select(Row.id).order_by(Row.beginning, Row.id),
                sa.select(other.id).where(other.body == "short").order_by(other.id),
                sa.select(Row.id).filter_by(body="short").order_by(Row.id),
            )
            got += [session.scalars(question).all() for question in questions]
            session.execute(sa.update(Row).where(Row.body == "short").values(body="longer"))
            session.execute(sa.delete(Row).where(Row.body.contains("100%", autoescape=True)))
            row = session.get(Row, 3)
            row.body = Row.body + "?"
            session.flush()
            got.append((row.body, session.scalars(sa.select(Row.body).order_by(Row.id)).all()))
        answers.append(got)
    assert answers[0] == answers[1]
    assert answers[0][0][4][1] == TEXTS[4]


def test_the_table_of_the_documentation_has_a_test_for_each_row():
    page = (Path(__file__).parents[2] / "docs" / "querying.md").read_text(encoding="utf-8")
    rows = dict(
        re.findall(r"^\| (.+?) +\| (as a plain column|by stored bytes|refused) +\|$", page, re.MULTILINE)
    )
    assert set(rows) == set(DOCUMENTED)
    as_plain = {*EQUAL, *WRITTEN, "returning", "column properties, hybrids", "upserts"}
    for title, names in DOCUMENTED.items():
        expected = {"as a plain column": as_plain, "by stored bytes": set(STORED), "refused": set(REFUSED)}
        assert set(names) <= expected[rows[title]], title
    told = [name for names in DOCUMENTED.values() for name in names]
    assert sorted(told) == sorted({*as_plain, *STORED, *REFUSED})
