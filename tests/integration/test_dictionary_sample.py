"""What a dictionary is trained from: plain bytes of any kind of column, from all over the table."""

from __future__ import annotations

import json
import uuid

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, DictionaryStore, Gzip, Zlib, Zstd
from sqlcompress.errors import DictionaryStoreError, MigrationBlockedError
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.sample import newest, plain_values, sample
from sqlcompress.jobs.train import train_from

LONGTEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
KEYS = {
    "integer": (sa.Integer, lambda i: i * 3 - 1000),
    "text": (sa.String(40), lambda i: f"k{i:05}é"),
    "uuid": (sa.Uuid(), lambda i: uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128, version=4)),
}


def text(i):
    return f"delivery {i:05} by northern parcel service, größe {i % 9}, {i * 7919 % 10007:06}, \U0001f600"


def make(engine, type_, count, key="integer", value=text, **kw):
    key_type, key_of = KEYS[key]
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", key_type, primary_key=True, autoincrement=False),
        sa.Column("d", type_),
        **kw,
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": key_of(i), "d": value(i)} for i in range(count)])
    return t


def taken(engine, type_=None, **kw):
    with engine.connect() as connection:
        return sample(connection, "t", "d", type_=type_ or CompressedText(), **kw)


@pytest.mark.parametrize("key", KEYS)
def test_from_all_over_the_table_and_each_row_once(engine, key):
    make(engine, LONGTEXT, 3000, key)
    values = taken(engine, max_rows=1000)
    numbers = sorted(int(value[9:14]) for value in values)
    assert 600 <= len(numbers) <= 1000
    assert len(set(numbers)) == len(numbers)
    for part in range(10):
        assert sum(part * 300 <= number < part * 300 + 300 for number in numbers) >= 20
    assert sorted(taken(engine)) == sorted(text(i).encode() for i in range(3000))


def test_bounded_in_bytes(engine):
    make(engine, LONGTEXT, 1000)
    assert 10_000 <= sum(map(len, taken(engine, max_bytes=20_000))) <= 25_000
    with pytest.raises(ValueError, match="at least one row"):
        taken(engine, max_rows=0)


def test_only_some_rows(engine):
    make(engine, LONGTEXT, 300)
    values = taken(engine, where="d LIKE '%1 by northern%' -- a comment")
    assert sorted(values) == sorted(text(i).encode() for i in range(300) if i % 10 == 1)


def test_json(engine):
    make(engine, sa.JSON(), 150, value=lambda i: {"größe": i, "tags": ["a", "b"]})
    values = taken(engine, CompressedJSON())
    assert sorted(json.loads(value)["größe"] for value in values) == list(range(150))


@pytest.mark.databases("mysql", "mariadb")
def test_another_character_set(engine):
    make(
        engine,
        sa.Text(),
        20,
        value=lambda i: f"größe {i}",
        mysql_default_charset="latin1",
        mariadb_default_charset="latin1",
    )
    assert sorted(taken(engine)) == sorted(f"größe {i}".encode() for i in range(20))


def test_compressed_values_of_every_kind_and_what_cannot_be_read(engine):
    make(engine, CompressedText(Zlib()), 100)
    raw = sa.table("t", sa.column("id"), sa.column("d", sa.LargeBinary))
    others = [CompressedText(Gzip()).to_stored(text(500).encode()), text(501).encode(), b"short", None]
    broken = CompressedText(Zstd()).to_stored(b"lost " * 100)[:-5]
    with engine.begin() as connection:
        rows = [{"id": 100_000 + i, "d": value} for i, value in enumerate([*others, broken])]
        connection.execute(raw.insert(), rows)
    expected = [text(i).encode() for i in [*range(100), 500, 501]] + [b"short"]
    assert sorted(taken(engine)) == sorted(expected)
    with engine.connect() as connection:
        stored = newest(connection, "t", "d", max_rows=4)
    assert plain_values(stored, CompressedText()) == [b"short", text(501).encode(), text(500).encode()]


def test_newest_rows_first_and_bounded(engine):
    make(engine, CompressedBinary(min_size=10_000), 3000, value=lambda i: text(i).encode())
    with engine.connect() as connection:
        assert newest(connection, "t", "d", max_rows=3) == [text(i).encode() for i in (2999, 2998, 2997)]
        assert len(newest(connection, "t", "d", max_rows=2500)) == 2500
        few = newest(connection, "t", "d", max_rows=2500, max_bytes=1000)
    assert sum(map(len, few)) <= 1000 < sum(map(len, few)) + 200
    assert few[0] == text(2999).encode()


def test_short_values_are_no_part_of_it_and_nothing_is_kept_where_it_is_only_measured(engine):
    make(engine, LONGTEXT, 400, value=lambda i: text(i) if i % 2 else f"short {i}")
    store = DictionaryStore(engine)
    with engine.connect() as connection:
        arguments = {"type_": CompressedText(), "sizes": (1024,), "store": DictionaryStore(connection)}
        found = train_from(connection, "x", "t", "d", keep=False, **arguments)
        assert found.training.sample_rows + found.training.held_out_rows == 200
        assert found.stored is None
        with pytest.raises(DictionaryStoreError, match=r"op\.create_dictionary_table\(\)"):
            train_from(connection, "x", "t", "d", **arguments)
    assert not store.exists()


def test_a_table_without_a_key_says_so(engine, database):
    if database == "sqlite":
        pytest.skip("every table of SQLite without a key of its own has a rowid")
    sa.Table("t", sa.MetaData(), sa.Column("d", LONGTEXT)).create(engine)
    with pytest.raises(MigrationBlockedError, match="primary key"):
        taken(engine)


def test_values_of_a_dictionary_are_read(engine):
    store = DictionaryStore(engine)
    store.create_table()
    make(engine, LONGTEXT, 600)
    with engine.begin() as connection:
        found = train_from(
            connection,
            "x",
            "t",
            "d",
            type_=CompressedText(),
            store=DictionaryStore(connection),
            sizes=(1024,),
        )
    dictionary = store.get(found.stored.id)
    type_ = CompressedText(Zstd(dictionary=dictionary))
    raw = sa.table("t", sa.column("id"), sa.column("d", sa.LargeBinary))
    sa.Table("t", sa.MetaData()).drop(engine)
    make(engine, CompressedText(), 1)
    with engine.begin() as connection:
        rows = [{"id": i + 1, "d": type_.to_stored(text(i).encode())} for i in range(1, 50)]
        connection.execute(raw.insert(), rows)
    with engine.connect() as connection:
        reading = with_dictionaries(connection, CompressedText())
    assert sorted(taken(engine, reading)) == sorted(text(i).encode() for i in range(50))
