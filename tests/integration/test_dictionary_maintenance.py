"""Drift told and mended: what the newest rows say of a dictionary, and what is done about it."""

from __future__ import annotations

import datetime as dt
import json

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText, DictionaryStore, Zlib, Zstd, install
from sqlcompress.dialects.dictionarytable import dictionary_table
from sqlcompress.jobs.drift import dictionary_of, drift, uses
from sqlcompress.jobs.maintain import Limits, Maintenance
from sqlcompress.training import train
from tests.commandline import invoke

TYPE = CompressedText(Zstd(dictionary="events"))
TABLE, COLUMN = 'Order %s "Ü"', "select: Größe%"


def old(i):
    return (
        f'{{"event": "order.line.added", "account": "{i * 7919 % 10007:06}", "tags": ["größe", "{i % 7}"],'
        f' "payload": {{"quantity": {i % 13}, "unit price": {i * 31 % 997}.50, "currency": "EUR"}}}}'
    )


def new(i):
    return (
        f'<delivery carrier="northern parcel service" number="{i * 6151 % 99991:07}"><state at="{i % 9}">'
        f'in transit</state><weight unit="kg">{i % 31}.{i % 10}</weight></delivery>'
        f'<delivery carrier="northern parcel service" number="{i * 6113 % 99991:07}"><state at="{i % 8}">'
    )


@pytest.fixture
def table():
    return sa.Table(
        TABLE,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(COLUMN, TYPE),
    )


def write(engine, table, rows):
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": i, COLUMN: value} for i, value in rows.items()])


def stored(engine, table):
    query = sa.select(table.c.id, sa.type_coerce(table.c[COLUMN], sa.LargeBinary))
    with engine.connect() as connection:
        return {i: bytes(value) for i, value in connection.execute(query)}


def read(engine, table):
    with engine.connect() as connection:
        return {i: value for i, value in connection.execute(sa.select(table.c.id, table.c[COLUMN]))}  # noqa: C416


@pytest.fixture
def first(engine, table):
    """The table with 600 rows of the first kind, compressed with a dictionary for them."""
    install(engine, refresh_seconds=0)
    store = DictionaryStore(engine)
    store.create_table()
    table.create(engine)
    training = train("events", [old(i).encode() for i in range(3000, 4000)], sizes=(4096,))
    store.publish(training.dictionary, training)
    store.activate(training.dictionary.id, after_seconds=0)
    write(engine, table, {i: old(i) for i in range(600)})
    assert {dictionary_of(value) for value in stored(engine, table).values()} == {training.dictionary.id}
    return training.dictionary


def test_nothing_has_drifted(engine, table, first):
    with engine.connect() as connection:
        store = DictionaryStore(connection)
        [use] = uses(connection, store)
        found = drift(connection, store, use)
    assert (use.table, use.column, use.name, use.dictionary_id) == (TABLE, COLUMN, "events", first.id)
    assert not found.pays
    assert "less than 5% would be saved" in found.reason
    actions = Maintenance(engine, Limits()).run()
    assert [action.kind for action in actions] == ["keep"]
    assert [entry.id for entry in DictionaryStore(engine).list()] == [first.id]


def end_grace(engine):
    """As if ten minutes had gone by."""
    t = dictionary_table(None)
    ago = dt.timedelta(minutes=10)
    with engine.begin() as connection:
        for row in connection.execute(sa.select(t)).mappings().all():
            moved = {
                name: row[name] - ago
                for name in ("created_at", "activated_at", "retired_at")
                if row[name] is not None
            }
            connection.execute(t.update().where(t.c.id == row["id"]).values(**moved))


def test_the_whole_life_in_daily_runs(engine, table, first):
    rows = {i: old(i) for i in range(600)}
    fresh = {i: new(i) for i in range(1000, 2200)}
    write(engine, table, fresh)
    rows |= fresh

    def run(**limits):
        return [
            (action.kind, action.subject.split(" (")[0])
            for action in Maintenance(engine, Limits(**limits)).run()
        ]

    [column] = {str(use) for use in _uses(engine)}
    assert run() == [("train", column)]
    listed = {entry.id: entry for entry in DictionaryStore(engine).list()}
    [second] = listed.keys() - {first.id}
    assert listed[second].state == "scheduled"
    assert listed[second].stored_bytes < listed[second].stored_bytes_without
    assert run() == [("keep", column)]  # nobody trains twice while it waits
    end_grace(engine)
    # The second is active: the first is retired, and its rows are recompressed.
    assert run() == [("keep", column), ("retire", f"dictionary {first.id}"), ("recompress", column)]
    assert {dictionary_of(value) for value in stored(engine, table).values()} == {second}
    assert read(engine, table) == rows
    assert run(drop=True) == [("keep", column)]  # retired a moment ago
    end_grace(engine)
    assert run(drop=True) == [("keep", column), ("drop", f"dictionary {first.id}")]
    assert [entry.id for entry in DictionaryStore(engine).list()] == [second]
    assert read(engine, table) == rows
    assert run(drop=True) == [("keep", column)]


def _uses(engine):
    with engine.connect() as connection:
        return list(uses(connection, DictionaryStore(connection)))


def test_only_cold_rows_and_out_of_time(engine, table, first):
    write(engine, table, {i: new(i) for i in range(1000, 2200)})
    Maintenance(engine, Limits()).run()
    end_grace(engine)
    actions = Maintenance(engine, Limits(where="id < 300")).run()
    assert [action.kind for action in actions] == ["keep", "retire", "recompress"]
    by_id = {i: dictionary_of(value) for i, value in stored(engine, table).items()}
    assert {i for i, number in by_id.items() if number == first.id} == set(range(300, 600)) | set(
        range(1000, 2200)
    )
    actions = Maintenance(engine, Limits(max_seconds=0)).run()
    assert [action.kind for action in actions] == ["stop"]


def test_a_dry_run_changes_nothing(engine, table, first):
    write(engine, table, {i: new(i) for i in range(1000, 2200)})
    before = stored(engine, table), DictionaryStore(engine).list()
    actions = Maintenance(engine, Limits(drop=True), dry_run=True).run()
    assert [action.kind for action in actions] == ["train"]
    assert (stored(engine, table), DictionaryStore(engine).list()) == before


def test_a_damaged_dictionary_is_named_and_left(engine, table, first):
    t = dictionary_table(None)
    with engine.begin() as connection:
        connection.execute(t.update().values(sha256="0" * 64))
    [action] = Maintenance(engine, Limits()).run()
    assert action.kind == "keep"
    assert "is damaged where it is kept" in action.detail


def test_command_line(engine, table, first):
    url = engine.url.render_as_string(hide_password=False)
    write(engine, table, {i: new(i) for i in range(1000, 2200)})
    outcome = invoke("dictionaries", "drift", url, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    [found] = json.loads(outcome.stdout)
    assert (found["name"], found["dictionary"], found["pays"]) == ("events", first.id, True)
    assert found["stored_bytes_new"] < 0.95 * found["stored_bytes"]
    outcome = invoke("dictionaries", "drift", url, "--min-gain", "0.99")
    assert outcome.exit_code == 0, outcome.stderr
    assert f"{COLUMN}: keep 'events' ({first.id}): on " in outcome.stdout
    outcome = invoke("maintain", url, "--dry-run")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.startswith("train: ")
    assert outcome.stdout.endswith("Nothing was changed.\n")
    outcome = invoke("maintain", url, "--json", "--max-seconds", "600", "--pause", "0.001")
    assert outcome.exit_code == 0, outcome.stderr
    assert [action["kind"] for action in json.loads(outcome.stdout)] == ["train"]
    end_grace(engine)
    outcome = invoke("maintain", url)
    assert outcome.exit_code == 0, outcome.stderr
    assert [line.split(":")[0] for line in outcome.stdout.splitlines()] == ["keep", "retire", "recompress"]


def test_rows_that_a_dictionary_leaves_plain_are_a_sign_of_drift(engine, table, first):
    rows = {i: new(i).partition("</delivery>")[0] for i in range(1000, 2200)}
    write(engine, table, rows)
    assert {dictionary_of(value) for i, value in stored(engine, table).items() if i >= 1000} == {0}
    [action] = Maintenance(engine, Limits(fresh_rows=1200)).run()
    assert action.kind == "train"


def test_columns_without_a_dictionary_are_none_of_its_business(engine, table):
    DictionaryStore(engine).create_table()
    plain = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("d", CompressedText(Zlib())),
    )
    plain.create(engine)
    with engine.begin() as connection:
        connection.execute(plain.insert(), [{"d": old(i)} for i in range(200)])
    assert Maintenance(engine, Limits()).run() == []
    outcome = invoke("maintain", engine.url.render_as_string(hide_password=False))
    assert outcome.stdout == "No column has values with a dictionary; nothing is due.\n"
