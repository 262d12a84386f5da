"""CompressedJSON does what sqlalchemy.JSON does, seen side by side on each database."""

from __future__ import annotations

import json
import math

import pytest
from sqlalchemy import (
    JSON,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    bindparam,
    create_engine,
    insert,
    null,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.exc import CompileError, StatementError
from sqlalchemy.ext.mutable import MutableDict, MutableList
from sqlalchemy.orm import Session, registry

from sqlcompress import CompressedJSON, CompressedText, Zstd

OMITTED = object()
NONES = {"None": None, "JSON.NULL": JSON.NULL, "null()": null(), "omitted": OMITTED}
VALUES = {
    "object": {"a": 1, "b": [True, None, "x"]},
    "empty": {},
    "list": [],
    "text": "null",
    "blank": "",
    "zero": 0,
    "false": False,
    "float": 1.5,
}
DEFAULTS = {
    "no": {},
    "value": {"default": {"made": "here"}},
    "callable": {"default": lambda: {"called": 1}},
    "null": {"default": JSON.NULL},
}


def what_is_there(connection, table):
    """For each row, whether it is SQL NULL, and the value as the type reads it."""
    rows = connection.execute(select(table.c.id, table.c.d.is_(None), table.c.d).order_by(table.c.id)).all()
    return [(key, bool(is_null), json.dumps(value)) for key, is_null, value in rows]


def kinds(none_as_null):
    return JSON(none_as_null), CompressedJSON(none_as_null=none_as_null)


def tables(none_as_null, **column):
    return [
        Table(
            name,
            MetaData(),
            Column("id", Integer, primary_key=True, autoincrement=False),
            Column("d", kind, **column),
            Column("other", Integer),
        )
        for name, kind in zip(("theirs", "ours"), kinds(none_as_null), strict=True)
    ]


def outcome(connection, story):
    """What a story came to: the rows, or the kind of error."""
    savepoint = connection.begin_nested()
    try:
        result = story()
    except (TypeError, ValueError, StatementError, CompileError) as error:
        savepoint.rollback()
        return type(error).__name__
    savepoint.rollback()
    return result


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize("none_as_null", [False, True])
def test_core(engine, none_as_null, default):
    pair = tables(none_as_null, **DEFAULTS[default])
    for table in pair:
        table.create(engine)
    seen = {}
    with engine.begin() as connection:
        for table in pair:
            for name, value in {**NONES, **VALUES}.items():
                row = {"id": 1} if value is OMITTED else {"id": 1, "d": value}
                rows = [row, {**row, "id": 2}]
                # SQL expressions cannot stand among the parameters of an executemany.
                ways = {"values": lambda row=row, table=table: insert(table).values(row)}
                if value is not NONES["null()"]:
                    ways["parameters"] = lambda table=table: insert(table)
                for way, statement in ways.items():

                    def story(way=way, statement=statement, rows=rows, table=table):
                        connection.execute(statement(), *([rows] if way == "parameters" else []))
                        return what_is_there(connection, table)

                    seen[table.name, name, way] = outcome(connection, story)

                def update_story(value=value, table=table):
                    connection.execute(insert(table).values(id=1, d={"before": 1}))
                    connection.execute(
                        update(table).values({"other": 1} if value is OMITTED else {"d": value})
                    )
                    return what_is_there(connection, table)

                seen[table.name, name, "update"] = outcome(connection, update_story)
    theirs = {key[1:]: value for key, value in seen.items() if key[0] == "theirs"}
    ours = {key[1:]: value for key, value in seen.items() if key[0] == "ours"}
    assert ours == theirs
    assert len(ours) > 30


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize("none_as_null", [False, True])
def test_orm(engine, none_as_null, default):
    mapper = registry()
    pair = tables(none_as_null, **DEFAULTS[default])
    mapped = {}
    for table in pair:
        table.create(engine)
        mapped[table.name] = type(table.name.title(), (), {})
        mapper.map_imperatively(mapped[table.name], table)
    seen = {}
    for table in pair:
        model = mapped[table.name]
        for name, value in {**NONES, **VALUES}.items():
            given = {} if value is OMITTED else {"d": value}
            stories = {
                "attribute": lambda s, m=model, g=given: s.add(m(id=1, **g)),
                "assigned": lambda s, m=model, g=given: s.add(assigned(m(id=1), g)),
                "bulk": lambda s, m=model, g=given: s.execute(insert(m), [{"id": 1, **g}, {"id": 2, **g}]),
                "mappings": lambda s, m=model, g=given: s.bulk_insert_mappings(m, [{"id": 1, **g}]),
                "changed": lambda s, m=model, g=given: changed(s, m, g),
                "updated": lambda s, m=model, g=given: updated(s, m, g),
            }
            for way, story in stories.items():
                with Session(engine) as session:

                    def tell(session=session, story=story, table=table, model=model):
                        story(session)
                        session.flush()
                        in_memory = [json.dumps(row.d) for row in session.scalars(select(model)).all()]
                        session.expire_all()
                        again = [json.dumps(row.d) for row in session.scalars(select(model)).all()]
                        return in_memory, again, what_is_there(session.connection(), table)

                    seen[table.name, name, way] = outcome(session, tell)
                    session.rollback()
    mapper.dispose()
    theirs = {key[1:]: value for key, value in seen.items() if key[0] == "theirs"}
    ours = {key[1:]: value for key, value in seen.items() if key[0] == "ours"}
    assert ours == theirs
    assert sum(isinstance(value, tuple) for value in ours.values()) > 50


def assigned(row, given):
    for name, value in given.items():
        setattr(row, name, value)
    return row


def changed(session, model, given):
    row = model(id=1, d={"before": 1})
    session.add(row)
    session.flush()
    assigned(row, given)


def updated(session, model, given):
    session.add(model(id=1, d={"before": 1}))
    session.flush()
    # The two rows in memory follow an UPDATE by way of synchronize_session.
    session.execute(update(model).where(model.id == 1).values(given or {"other": 1}))


def test_evaluates_none(engine):
    pair = [kind.evaluates_none() for kind in kinds(True)]
    assert [kind.should_evaluate_none for kind in pair] == [True, True]
    assert [kind.should_evaluate_none for kind in kinds(True)] == [False, False]
    assert [kind.should_evaluate_none for kind in kinds(False)] == [True, True]
    for kind in kinds(True):
        kind.should_evaluate_none = True
        assert kind.none_as_null is False
        kind.should_evaluate_none = False
        assert kind.none_as_null is True
    mapper = registry()
    seen = []
    for name, kind in zip(("theirs", "ours"), pair, strict=True):
        table = Table(name, mapper.metadata, Column("id", Integer, primary_key=True), Column("d", kind))
        model = type(name.title(), (), {})
        mapper.map_imperatively(model, table)
        table.create(engine)
        with Session(engine) as session:
            session.add_all([model(id=1, d=None), model(id=2), model(id=3, d=null())])
            session.flush()
            seen.append(what_is_there(session.connection(), table))
    mapper.dispose()
    assert seen[0] == seen[1] == [(1, False, "null"), (2, True, "null"), (3, True, "null")]


@pytest.mark.parametrize("mutable", ["as_mutable", "associate"])
def test_changes_inside_a_document_are_seen(engine, mutable):
    mapper = registry()
    dicts = MutableDict.as_mutable(CompressedJSON(Zstd(9)))
    assert isinstance(dicts, CompressedJSON)
    table = Table(
        "item",
        mapper.metadata,
        Column("id", Integer, primary_key=True),
        Column("d", dicts),
        Column("l", MutableList.as_mutable(CompressedJSON())),
    )

    class Item:
        pass

    mapper.map_imperatively(Item, table)
    table.create(engine)
    with Session(engine) as session:
        session.add(Item(id=1, d={"a": 1}, l=[1]))
        session.commit()
        item = session.get(Item, 1)
        item.d["b"] = 2
        item.l.append(2)
        assert item in session.dirty
        session.commit()
        with Session(engine) as second:
            other = second.merge(item)
            other.d["c"] = 3
            assert other in second.dirty
            assert other.d == {"a": 1, "b": 2, "c": 3}
        assert (item.d, item.l) == ({"a": 1, "b": 2}, [1, 2])
    mapper.dispose()


def test_the_engines_serializer_and_deserializer(database_url):
    calls = []

    def serializer(*arguments, **keywords):
        calls.append(("dumps", len(arguments), keywords))
        return json.dumps(*arguments)

    def deserializer(*arguments, **keywords):
        calls.append(("loads", len(arguments), keywords, type(arguments[0])))
        return json.loads(*arguments)

    table = Table("item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedJSON()))
    made = create_engine(database_url, json_serializer=serializer, json_deserializer=deserializer)
    table.create(made)
    for value in ({"a": "é" * 200}, "short", None, JSON.NULL):
        with made.connect() as connection:
            calls.clear()
            connection.execute(insert(table).values(id=1, d=value))
            assert connection.scalar(select(table.c.d)) == (None if value is JSON.NULL else value)
            assert calls == [("dumps", 1, {}), ("loads", 1, {}, str)]
            connection.rollback()
    # A second engine has its own, under the same type object.
    plain = create_engine(database_url)
    with plain.connect() as connection:
        calls.clear()
        connection.execute(insert(table).values(id=1, d=[1]))
        assert connection.scalar(select(table.c.d)) == [1]
        assert calls == []
        connection.rollback()
    made.dispose()
    plain.dispose()


def own_dumps(value):
    return json.dumps({"wrapped": value})


def own_loads(document):
    return json.loads(document)["wrapped"]


def bytes_dumps(value):
    return json.dumps(value, ensure_ascii=False).encode()


def test_a_columns_own_serializer(engine):
    ours = CompressedJSON(serializer=own_dumps, deserializer=own_loads)
    table = Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("d", ours),
        Column("b", CompressedJSON(serializer=bytes_dumps)),
    )
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table).values(id=1, d=["é"], b=["é"]))
        assert connection.execute(select(table.c.d, table.c.b)).one() == (["é"], ["é"])
        stored = connection.scalar(select(type_coerce(table.c.d, LargeBinary)))
        assert json.loads(bytes(stored)) == {"wrapped": ["é"]}


NUMBERS = [2**63, 2**64, -(2**70), 1.1, 1e300, 5e-324, -0.0, 0.1 + 0.2, 10**100]
DOCUMENTS = [
    *NUMBERS,
    {"z": 1, "a": 2, "m": {"y": 1, "b": 2}},
    [[[[[[[]]]]]]],
    {"\ud800": "\udfff", "pair": "\ud83d\ude00", "apart": "\ud800\udc00"},
    "\ud800",
    {"nul": "\0", "": None},
    "日本語 😀 é",
]


def test_documents_come_back_as_the_databases_json_gives_them_or_better(engine):
    table = Table("item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedJSON()))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"id": n + 1, "d": d} for n, d in enumerate(DOCUMENTS)])
        again = connection.scalars(select(table.c.d).order_by(table.c.id)).all()
    # As json itself gives them back; key order and every digit included.
    assert [json.dumps(value) for value in again] == [
        json.dumps(json.loads(json.dumps(d))) for d in DOCUMENTS
    ]
    assert [type(value) for value in again] == [type(d) for d in DOCUMENTS]


@pytest.mark.databases("sqlite")  # whose JSON is text, and so takes lone surrogates as they are escaped
def test_lone_surrogates_are_what_sqlalchemys_json_makes_of_them(engine):
    table = Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("theirs", JSON),
        Column("ours", CompressedJSON()),
    )
    table.create(engine)
    with engine.begin() as connection:
        # Not the numbers: a column that is declared JSON has numeric affinity there, and rounds 2**63.
        others = DOCUMENTS[len(NUMBERS) :]
        rows = [{"id": n + 1, "theirs": d, "ours": d} for n, d in enumerate(others)]
        connection.execute(insert(table), rows)
        for theirs, ours in connection.execute(select(table.c.theirs, table.c.ours)):
            assert json.dumps(theirs) == json.dumps(ours)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {"deep": [math.nan]}])
def test_nan_is_refused_and_the_transaction_goes_on(engine, value):
    table = Table("item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedJSON()))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table).values(id=1, d="before"))
        with pytest.raises(ValueError, match=r"item\.d: .*not JSON compliant"):
            connection.execute(insert(table), [{"id": 2, "d": "good"}, {"id": 3, "d": value}])
        connection.execute(insert(table).values(id=4, d="after"))
    with engine.connect() as connection:
        assert connection.execute(select(table.c.id, table.c.d)).all() == [(1, "before"), (4, "after")]


def test_a_typed_parameter_goes_through_the_type(engine):
    table = Table("item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedJSON()))
    table.create(engine)
    with engine.begin() as connection:
        statement = text("INSERT INTO item (id, d) VALUES (1, :d)")
        connection.execute(statement.bindparams(bindparam("d", type_=CompressedJSON())), {"d": {"a": [1]}})
        assert connection.scalar(select(table.c.d)) == {"a": [1]}
        typed = text("SELECT d FROM item").columns(d=CompressedJSON())
        assert connection.scalar(typed) == {"a": [1]}
        as_text = text("SELECT d FROM item").columns(d=CompressedText())
        assert connection.scalar(as_text) == '{"a":[1]}'


def test_literals_of_none(engine):
    # SQLAlchemy renders NULL for None without asking the type; for JSON's own type too.
    seen = []
    for table in tables(False):
        table.create(engine)
        with engine.begin() as connection:
            for number, value in enumerate((None, null())):
                statement = insert(table).values(id=number, d=value)
                options = {"literal_binds": True}
                connection.exec_driver_sql(str(statement.compile(engine, compile_kwargs=options)))
            seen.append(what_is_there(connection, table))
    assert seen[0] == seen[1]


def test_the_type_tells_the_same_about_itself():
    for none_as_null in (False, True):
        theirs, ours = kinds(none_as_null)
        for name in ("python_type", "hashable", "should_evaluate_none", "none_as_null"):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert CompressedJSON.NULL is JSON.NULL
