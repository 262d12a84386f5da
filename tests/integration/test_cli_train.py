"""``sqlcompress train`` and ``sqlcompress dictionaries``: what they print, keep, and refuse in one line."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, Dictionary, DictionaryStore, Zlib, Zstd
from sqlcompress.dialects.dictionarytable import dictionary_table
from tests.commandline import invoke

LONGTEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE, COLUMN, NAME = 'Order %s "Ü"', "select: Größe%", "events é %s '1'"


def text(i):
    return (
        f"delivery {i * 6151 % 99991:05} by northern parcel service, in transit at {i % 9}, order {i:06};"
        f" delivery {i * 6113 % 99991:05} by northern parcel service, at depot {i % 8}"
    )


@pytest.fixture
def url(engine):
    return engine.url.render_as_string(hide_password=False)


@pytest.fixture
def table(engine):
    t = sa.Table(
        TABLE,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(COLUMN, LONGTEXT),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, COLUMN: text(i)} for i in range(600)])
    return t


@pytest.fixture
def store(engine):
    store = DictionaryStore(engine)
    store.create_table()
    return store


def refused(*arguments):
    outcome = invoke(*arguments)
    assert outcome.exit_code == 1, outcome.output
    assert outcome.stdout == ""
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    return lines[0]


def test_train_measures_and_keeps(engine, table, store, url, tmp_path):
    file = tmp_path / "events.zdict"
    small = ("--size", "2048", "--size", "4096", "--level", "3", "--level", "9")
    outcome = invoke("train", url, NAME, TABLE, COLUMN, *small, "--json", "--output", str(file))
    assert outcome.exit_code == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    assert (result["sample_rows"], result["held_out_rows"], result["state"]) == (480, 120, "scheduled")
    assert [(c["size"], c["level"]) for c in result["candidates"]] == [
        (2048, 3),
        (2048, 9),
        (4096, 3),
        (4096, 9),
    ]
    [entry] = store.list()
    assert (entry.id, entry.name, entry.state) == (result["dictionary"], NAME, "scheduled")
    assert Dictionary.from_file(file, NAME) == store.get(entry.id)
    # The measured bytes are those of frames as a column stores them.
    type_ = CompressedText(Zstd(entry.level, dictionary=store.get(entry.id)))
    assert entry.held_out_bytes == result["held_out_bytes"]
    assert 0 < entry.stored_bytes < 0.7 * entry.stored_bytes_without
    assert len(type_.to_stored(text(10_000).encode())) < len(
        CompressedText().to_stored(text(10_000).encode())
    )


def test_train_in_words(engine, table, store, url):
    outcome = invoke("train", url, NAME, TABLE, COLUMN, "--size", "2048", "--dry-run")
    assert outcome.exit_code == 0, outcome.stderr
    assert "480 values trained from, 120 measured on: 2,048 bytes at level 3: ratio " in outcome.stdout
    assert outcome.stdout.endswith("Nothing was changed.\n")
    assert store.list() == []
    outcome = invoke("train", url, NAME, TABLE, COLUMN, "--size", "2048", "--activate-after", "0")
    assert outcome.stdout.endswith("is active.\n")
    assert store.list()[0].state == "active"


def test_no_gain_and_too_few_are_results(engine, table, store, url):
    outcome = invoke("train", url, NAME, TABLE, COLUMN, "--where", "id < 60 AND id % 2 = 0")
    assert outcome.exit_code == 0, outcome.stderr
    assert "30 different values are too few to train from: at least 100 are needed." in outcome.stdout
    assert "No dictionary" in outcome.stdout
    outcome = invoke("train", url, NAME, TABLE, COLUMN, "--size", "256", "--min-gain", "0.99", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    assert (result["dictionary"], result["state"]) == (None, None)
    assert result["reason"].startswith("no gain: the best stores ")
    assert store.list() == []


def test_train_from_compressed_values(engine, table, store, url):
    first = invoke("train", url, "plain", TABLE, COLUMN, "--size", "2048", "--json")
    columns = sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", CompressedText(Zlib()))
    t = sa.Table("compressed", sa.MetaData(), *columns)
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i + 1, "d": text(i)} for i in range(600)])
    second = invoke("train", url, "compressed", "compressed", "d", "--size", "2048", "--json", "--dry-run")
    assert json.loads(first.stdout)["dictionary"] == json.loads(second.stdout)["dictionary"]


def test_refusals(engine, table, url, database):
    assert "op.create_dictionary_table()" in refused("train", url, NAME, TABLE, COLUMN)
    assert "op.create_dictionary_table()" in refused("dictionaries", "list", url)
    DictionaryStore(engine).create_table()
    assert "nowhere" in refused("train", url, NAME, "nowhere", COLUMN)
    assert "nothing" in refused("train", url, NAME, TABLE, "nothing")
    assert "there is no dictionary 'x'" in refused("dictionaries", "show", url, "x")
    assert "there is no dictionary '123'" in refused("dictionaries", "retire", url, "123")


def test_wrong_usage(url):
    for arguments in (
        ["train", url, "", "t", "d"],
        ["train", url, "n", "t", "d", "--size", "100"],
        ["train", url, "n", "t", "d", "--level", "23"],
        ["train", url, "n", "t", "d", "--min-gain", "1"],
        ["train", "sqlite+aiosqlite:///x", "n", "t", "d"],
        ["dictionaries", "activate", url, "1", "--after", "-1"],
        ["dictionaries", "import", url, "no such file"],
    ):
        outcome = invoke(*arguments)
        assert outcome.exit_code == 2, (arguments, outcome.output)
        assert outcome.stdout == ""


def test_the_life_of_one(engine, table, store, url, tmp_path):
    assert invoke("train", url, NAME, TABLE, COLUMN, "--size", "2048").exit_code == 0
    [entry] = store.list()
    outcome = invoke("dictionaries", "list", url)
    assert str(entry.id) in outcome.stdout
    assert "scheduled" in outcome.stdout
    [listed] = json.loads(invoke("dictionaries", "list", url, "--json").stdout)
    shown = json.loads(invoke("dictionaries", "show", url, NAME, "--json").stdout)
    assert listed == shown
    assert (shown["id"], shown["name"], shown["size"]) == (entry.id, NAME, entry.size)
    assert shown["activated_at"].endswith("Z")
    assert f"sha256: {entry.sha256}" in invoke("dictionaries", "show", url, str(entry.id)).stdout
    outcome = invoke("dictionaries", "activate", url, str(entry.id), "--after", "0")
    assert outcome.stdout == f"Dictionary {entry.id} ({NAME!r}) is active.\n"
    file = tmp_path / "exported"
    outcome = invoke("dictionaries", "export", url, NAME, str(file))
    assert outcome.exit_code == 0, outcome.stderr
    assert file.read_bytes() == store.get(entry.id).content
    assert "retire it first" in refused("dictionaries", "drop", url, NAME)
    assert invoke("dictionaries", "retire", url, NAME).stdout.endswith(" is retired.\n")
    assert "is retired, and may be dropped" in refused("dictionaries", "activate", url, NAME)
    assert "writers may use it for" in refused("dictionaries", "drop", url, NAME)
    t = dictionary_table(None)
    with engine.begin() as connection:
        connection.execute(t.update().values(retired_at=entry.created_at - dt.timedelta(minutes=5)))
    outcome = invoke("dictionaries", "drop", url, NAME)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout == f"Dictionary {entry.id} ({NAME!r}) was dropped.\n"
    assert store.list() == []
    # It comes back as it was, under the same id.
    outcome = invoke("dictionaries", "import", url, str(file), "--name", NAME)
    assert outcome.stdout == f"Dictionary {entry.id} ({NAME!r}) is published.\n"


def test_a_name_that_several_have(engine, table, store, url):
    for where in ("id < 300", "id >= 300"):
        outcome = invoke("train", url, NAME, TABLE, COLUMN, "--size", "2048", "--where", where)
        assert outcome.exit_code == 0, outcome.stderr
    ids = sorted(entry.id for entry in store.list())
    assert len(ids) == 2
    message = refused("dictionaries", "show", url, NAME)
    assert all(str(number) in message for number in ids)


def test_import_refuses_and_mends(engine, table, store, url, tmp_path):
    broken = tmp_path / "broken.zdict"
    broken.write_bytes(b"not a dictionary")
    assert "is not a trained zstd dictionary" in refused("dictionaries", "import", url, str(broken))
    file = tmp_path / "events.zdict"
    assert (
        invoke("train", url, "events", TABLE, COLUMN, "--size", "2048", "--output", str(file)).exit_code == 0
    )
    [entry] = store.list()
    t = dictionary_table(None)
    with engine.begin() as connection:
        connection.execute(t.update().values(sha256="0" * 64))
    assert "is damaged where it is kept" in refused("dictionaries", "show", url, "events")
    outcome = invoke("dictionaries", "import", url, str(file))
    assert outcome.exit_code == 0, outcome.stderr
    assert store.get(entry.id).content == file.read_bytes()
    assert "is there under the name 'events'" in refused(
        "dictionaries", "import", url, str(file), "--name", "x"
    )


def test_zstd_reads_with_the_exported_file(engine, table, store, url, tmp_path):
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("the program zstd is not on this machine")
    assert invoke("train", url, "events", TABLE, COLUMN, "--size", "2048").exit_code == 0
    assert invoke("dictionaries", "export", url, "events", str(tmp_path / "d")).exit_code == 0
    stored = CompressedText(Zstd(dictionary=Dictionary.from_file(tmp_path / "d"))).to_stored(text(1).encode())
    done = subprocess.run(
        [program, "-d", "-D", str(tmp_path / "d"), "-c"], input=stored, capture_output=True, check=True
    )
    assert done.stdout.decode() == text(1)


def test_the_password_is_never_printed(url):
    secret = "s3cret-w0rd"
    outcome = invoke("dictionaries", "list", f"postgresql+psycopg://someone:{secret}@127.0.0.1:1/none")
    assert outcome.exit_code == 1
    assert secret not in outcome.output
