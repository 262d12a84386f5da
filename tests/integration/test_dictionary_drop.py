"""A dictionary is dropped only when it is proved that no value needs it."""

from __future__ import annotations

import datetime as dt
import random
import threading
import time

import pytest
import sqlalchemy as sa
import zstandard

from sqlcompress import (
    CompressedBinary,
    DictionaryNotFoundError,
    DictionaryStore,
    DictionaryStoreError,
    Zlib,
    Zstd,
)
from sqlcompress.dialects.dictionarytable import dictionary_table
from sqlcompress.dialects.framesql import uses_dictionary_sql
from sqlcompress.jobs import references
from sqlcompress.jobs.references import drop_dictionary, find_references
from sqlcompress.training import train


def text(i, kind="delivery"):
    return (
        f"{kind} {i * 6151 % 99991:05} by northern parcel service, in transit at depot {i % 9}, order {i:06};"
        f" {kind} {i * 6113 % 99991:05} by northern parcel service, at depot {i % 8}"
    ).encode()


LONG_AGO = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - the column has no zone: UTC
DELIVERY, INVOICE = (
    train(name, [text(i, name) for i in range(5000, 5600)], sizes=(2048,)).dictionary
    for name in ("delivery", "invoice")
)


def frame(i, dictionary=DELIVERY):
    stored = CompressedBinary(Zstd(dictionary=dictionary)).to_stored(text(i))
    assert zstandard.get_frame_parameters(stored).dict_id == (dictionary.id if dictionary else 0)
    return stored


def table(engine, name, *columns, schema=None):
    t = sa.Table(name, sa.MetaData(), *columns, schema=schema)
    t.create(engine)
    return t


def blob(name):
    return sa.Column(name, CompressedBinary())


def insert(engine, t, rows):
    """Stored bytes as they are."""
    raw = sa.table(
        t.name,
        *(
            sa.column(c.name, sa.LargeBinary if isinstance(c.type, CompressedBinary) else c.type)
            for c in t.columns
        ),
        schema=t.schema,
    )
    with engine.begin() as connection:
        connection.execute(raw.insert(), rows)


@pytest.fixture
def store(engine):
    store = DictionaryStore(engine)
    store.create_table()
    for dictionary in (DELIVERY, INVOICE):
        store.publish(dictionary)
    return store


def found(engine, *ids, **kw):
    return {(r.table.rpartition(".")[2], r.column): r.rows for r in find_references(engine, ids, **kw)}


def test_every_frame_is_found_wherever_it_stands(engine, store):
    number = sa.Column("id", sa.Integer, primary_key=True, autoincrement=False)
    one = table(engine, 'Order %s "Ü"', number, blob("select: Größe%"), blob("other"))
    insert(
        engine,
        one,
        [
            {"id": i, "select: Größe%": frame(i), "other": None if i % 2 else frame(i, INVOICE)}
            for i in range(10)
        ],
    )
    two = table(
        engine,
        "by text",
        sa.Column("a", sa.String(20), primary_key=True),
        sa.Column("b", sa.String(20), primary_key=True),
        blob("d"),
    )
    zlib = CompressedBinary(Zlib())
    values = [frame(1), frame(2, None), zlib.to_stored(text(3)), b"plain", b"", frame(4)]
    insert(engine, two, [{"a": f"k{i}", "b": "x", "d": value} for i, value in enumerate(values)])
    bare = table(engine, "without a key", sa.Column("n", sa.Integer), blob("d"))
    insert(engine, bare, [{"n": 1, "d": frame(1)}, {"n": 1, "d": frame(1)}])
    table(engine, "empty", sa.Column("id", sa.Integer, primary_key=True), blob("d"))
    assert found(engine, DELIVERY.id) == {
        ('Order %s "Ü"', "select: Größe%"): 10,
        ("by text", "d"): 2,
        ("without a key", "d"): 2,
    }
    assert found(engine, INVOICE.id) == {('Order %s "Ü"', "other"): 5}
    assert found(engine, INVOICE.id, DELIVERY.id)['Order %s "Ü"', "other"] == 5
    assert found(engine, 99999) == {}
    assert found(engine) == {}


def test_counts_over_many_steps_and_what_is_told(engine, store, monkeypatch):
    monkeypatch.setattr(references, "_STEP", 10)
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), blob("d"))
    insert(engine, t, [{"id": 7 * i, "d": frame(i, DELIVERY if i % 3 else None)} for i in range(95)])
    told = []
    assert found(engine, DELIVERY.id, progress=told.append) == {("t", "d"): 63}
    assert [one.rows_seen for one in told] == [10, 20, 30, 40, 50, 60, 70, 80, 90, 95]
    assert {(one.rows_total, one.tables_seen, one.tables_total) for one in told} == {(95, 0, 1)}


@pytest.mark.databases("postgresql")
def test_all_schemas_are_looked_through(engine, store):
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE SCHEMA "Other é"')
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), blob("d"), schema="Other é")
    insert(engine, t, [{"id": 1, "d": frame(1)}])
    [reference] = find_references(engine, [DELIVERY.id])
    assert (reference.table, reference.rows) == ("Other é.t", 1)
    assert find_references(engine, [DELIVERY.id], schemas=["public"]) == []


@pytest.mark.databases("sqlite")
def test_any_column_of_sqlite_can_hold_a_frame(engine, store):
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO t VALUES (1, ?), (2, ?)", (frame(1), "a text, x(\u00b5/\u00fd")
        )
    assert found(engine, DELIVERY.id) == {(t.name, "d"): 1}


def retired_for(engine, dictionary, seconds):
    """As if a dictionary had been retired so long ago."""
    store = DictionaryStore(engine)
    store.activate(dictionary.id, after_seconds=0)
    moment = store.retire(dictionary.id).retired_at - dt.timedelta(seconds=seconds)
    t = dictionary_table(None)
    with engine.begin() as connection:
        connection.execute(t.update().where(t.c.id == dictionary.id).values(retired_at=moment))


def test_each_refusal_and_the_drop(engine, store):
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), blob("d"))
    insert(engine, t, [{"id": i, "d": frame(i)} for i in range(1, 4)])
    with pytest.raises(DictionaryStoreError, match=r"\('delivery'\) is published: retire it first"):
        drop_dictionary(engine, DELIVERY.id)
    retired_for(engine, DELIVERY, 20)
    with pytest.raises(
        DictionaryStoreError, match=r"was retired 2\d s ago, and writers may use it for 1[56]\d s more"
    ):
        drop_dictionary(engine, DELIVERY.id)
    retired_for(engine, INVOICE, 200)
    drop_dictionary(engine, INVOICE.id)
    with engine.begin() as connection:
        u = dictionary_table(None)
        connection.execute(u.update().values(retired_at=LONG_AGO))
    with pytest.raises(
        DictionaryStoreError, match=r"is needed by values of \S*t\.d \(3\); it was not dropped"
    ):
        drop_dictionary(engine, DELIVERY.id)
    assert [entry.id for entry in store.list()] == [DELIVERY.id]
    with engine.begin() as connection:
        connection.execute(t.delete())
    drop_dictionary(engine, DELIVERY.id)
    assert store.list() == []
    with pytest.raises(DictionaryNotFoundError):
        drop_dictionary(engine, DELIVERY.id)
    store.drop_table()
    with pytest.raises(DictionaryStoreError, match=r"op\.create_dictionary_table\(\)"):
        drop_dictionary(engine, DELIVERY.id)


def test_waiting_for_the_time_to_come(engine, store, monkeypatch):
    monkeypatch.setattr(references, "GRACE_SECONDS", 1.0)
    retired_for(engine, DELIVERY, 0)
    begun = time.monotonic()
    drop_dictionary(engine, DELIVERY.id, wait=True)
    assert time.monotonic() - begun > 0.5
    assert [entry.id for entry in store.list()] == [INVOICE.id]


def test_a_row_that_is_not_committed_yet_is_waited_for(engine, store):
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), blob("d"))
    insert(engine, t, [{"id": 1, "d": b"plain"}])
    retired_for(engine, DELIVERY, 200)
    has_written, refused = threading.Event(), []

    def drop():
        has_written.wait()
        try:
            drop_dictionary(engine, DELIVERY.id)
        except DictionaryStoreError as error:
            refused.append(str(error))

    thread = threading.Thread(target=drop)
    thread.start()
    raw = sa.table("t", sa.column("id"), sa.column("d", sa.LargeBinary))
    with engine.begin() as connection:
        connection.execute(raw.insert(), {"id": 2, "d": frame(2)})
        has_written.set()
        time.sleep(1.5)
        assert thread.is_alive()
    thread.join(60)
    assert len(refused) == 1
    assert "t.d (1)" in refused[0]
    assert DELIVERY.id in {entry.id for entry in store.list()}


def test_a_transaction_that_does_not_end(engine, store, monkeypatch):
    monkeypatch.setattr(references, "_WAIT_SECONDS", 0.5)
    t = table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), blob("d"))
    retired_for(engine, DELIVERY, 200)
    impatient = engine
    if engine.dialect.name == "sqlite":
        impatient = sa.create_engine(engine.url, connect_args={"timeout": 0.2})
    with engine.begin() as connection:
        connection.execute(t.insert(), {"id": 1, "d": b"x"})
        with pytest.raises(
            DictionaryStoreError, match=r"may have written to \S*t has been open for more than 0 s"
        ):
            drop_dictionary(impatient, DELIVERY.id)
    impatient.dispose()
    assert DELIVERY.id in {entry.id for entry in store.list()}


@pytest.mark.databases("mysql", "mariadb")
def test_the_session_is_left_as_it_was(engine, store):
    one = sa.create_engine(engine.url, pool_size=1, max_overflow=0)
    table(engine, "t", sa.Column("id", sa.Integer, primary_key=True), blob("d"))
    with one.connect() as connection:
        connection.exec_driver_sql("SET SESSION lock_wait_timeout = 77")
        connection.commit()
    find_references(one, [DELIVERY.id])
    with one.connect() as connection:
        assert connection.exec_driver_sql("SELECT @@lock_wait_timeout").scalar_one() == 77
    one.dispose()


@pytest.mark.databases("sqlite")
def test_the_condition_agrees_with_zstd_for_every_kind_of_frame(engine):
    """Ids of two and four bytes, with and without a window byte, a content size and a checksum."""
    dice = random.Random(1)
    samples = [text(i) for i in range(600)]
    ids = [32768, 40000, 65535, 65536, 2**24 + 5, 2**31 - 1]
    frames = []
    for number in ids:
        raw = zstandard.train_dictionary(1024, samples, dict_id=number)
        assert raw.dict_id() == number
        for size in (1, 100, 300, 70_000, 300_000):
            plain = dice.randbytes(size // 2) + bytes(size - size // 2)
            for checksum in (False, True):
                for content_size in (False, True):
                    compressor = zstandard.ZstdCompressor(
                        dict_data=raw, write_checksum=checksum, write_content_size=content_size
                    )
                    frames.append(compressor.compress(plain))
                    stream = compressor.compressobj()
                    frames.append(stream.compress(plain) + stream.flush())
    frames += [zstandard.compress(text(i)) for i in range(20)]
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE f (id INTEGER PRIMARY KEY, d BLOB)")
        connection.exec_driver_sql("INSERT INTO f (d) VALUES (?)", [(value,) for value in frames])
        for number in [*ids, 12345678]:
            condition = uses_dictionary_sql(engine.dialect, "d", [number])
            expected = [
                i
                for i, value in enumerate(frames, 1)
                if zstandard.get_frame_parameters(value).dict_id == number
            ]
            rows = connection.exec_driver_sql(f"SELECT id FROM f WHERE {condition} ORDER BY id")
            assert list(rows.scalars()) == expected
            assert expected or number == 12345678
