"""``sqlcompress rewrite``: runs, is interrupted, goes on, and refuses in one line."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText, DictionaryStore, Zlib, Zstd
from sqlcompress.frames import is_framed
from sqlcompress.training import train
from tests.commandline import invoke

ROOT = Path(__file__).parents[2]
BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TEXTS = [f"row {i} \U0001f600 " * 30 for i in range(300)]


@pytest.fixture
def url(engine):
    return engine.url.render_as_string(hide_password=False)


@pytest.fixture
def table(engine):
    t = sa.Table("Order", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", BLOB))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": text.encode()} for i, text in enumerate(TEXTS, 1)])
    return t


def stored(engine, table):
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(table.c.d).order_by(table.c.id)))


def test_compresses_and_finds_nothing_the_second_time(engine, table, url):
    outcome = invoke("rewrite", url, "Order", "d", "--batch-rows", "50", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    result = json.loads(outcome.stdout)
    assert (result["rows_seen"], result["rows_written"], result["rows_failed"]) == (300, 300, 0)
    assert result["bytes_before"] == sum(len(text.encode()) for text in TEXTS)
    assert result["bytes_after"] == sum(map(len, stored(engine, table)))
    assert stored(engine, table) == [CompressedText().to_stored(text.encode()) for text in TEXTS]
    again = invoke("rewrite", url, "Order", "d")
    assert re.match(r"\S*Order\.d: 0 rows of 0 read were rewritten in ", again.stdout)


def test_a_dictionary_of_the_database(engine, table, url):
    outcome = invoke("rewrite", url, "Order", "d", "--dictionary-name", "events é")
    assert (outcome.exit_code, stored(engine, table)) == (1, [text.encode() for text in TEXTS])
    assert "no dictionary 'events é' is active in the database" in outcome.stderr
    store = DictionaryStore(engine)
    store.create_table()
    dictionary = train(
        "events é", [f"row {i} {i * 7919 % 10007} \U0001f600 again".encode() * 3 for i in range(500)]
    ).dictionary
    store.publish(dictionary)
    store.activate(dictionary.id, after_seconds=0)
    outcome = invoke("rewrite", url, "Order", "d", "--dictionary-name", "events é", "--level", "9")
    assert outcome.exit_code == 0, outcome.stderr
    expected = CompressedText(Zstd(9, dictionary=dictionary))
    assert stored(engine, table) == [expected.to_stored(text.encode()) for text in TEXTS]


def test_recompress_where(engine, table, url):
    assert invoke("rewrite", url, "Order", "d", "--codec", "zlib", "--level", "9").exit_code == 0
    outcome = invoke("rewrite", url, "Order", "d", "--recompress", "--level", "19", "--where", "id <= 100")
    assert outcome.exit_code == 0, outcome.stderr
    new, old = CompressedText(Zstd(19)), CompressedText(Zlib(9))
    assert stored(engine, table) == [
        (new if i < 100 else old).to_stored(text.encode()) for i, text in enumerate(TEXTS)
    ]


def test_shards_do_their_own_part(engine, table, url):
    for number, rows in ((3, 100), (1, 100), (1, 0), (2, 100)):
        outcome = invoke("rewrite", url, "Order", "d", "--shard", f"{number}/3", "--json")
        assert outcome.exit_code == 0, outcome.stderr
        assert json.loads(outcome.stdout)["rows_written"] == rows
    assert stored(engine, table) == [CompressedText().to_stored(text.encode()) for text in TEXTS]


def test_dry_run_changes_nothing(engine, table, url):
    before = stored(engine, table)
    outcome = invoke("rewrite", url, "Order", "d", "--dry-run", "--batch-rows", "100", "--json")
    assert json.loads(outcome.stdout)["rows"] == 300
    assert json.loads(outcome.stdout)["batches"] == 3
    told = invoke("rewrite", url, "Order", "d", "--dry-run", "--where", "id <= 100").stdout
    assert "\nRows: about 100, in 1 batches or more\n" in told
    assert "\n  - the rows of one batch, until it is committed" in told
    assert "\nDisk: the table takes " in told
    assert told.endswith("\nNothing was changed.\n")
    assert stored(engine, table) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_interrupted_on_a_pipe_and_run_again(engine, table, url, number):
    command = [sys.executable, "-m", "sqlcompress.cli", "rewrite", url, "Order", "d"]
    child = subprocess.Popen(
        [*command, "--batch-rows", "10", "--pause", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    line = child.stderr.readline()
    child.send_signal(number)
    out, rest = child.communicate()
    assert child.returncode == 130
    assert re.fullmatch(r"  \S*Order\.d: [\d,]+ of 300 rows, .+ -> .+, ratio [\d.]+, [\d,]+ s left\n", line)
    assert "\x1b" not in line + rest
    assert re.search(
        r"^Interrupted: \d+ rows were rewritten, .+ again to go on from here\.$", rest, re.MULTILINE
    )
    assert out == ""
    done = sum(map(is_framed, stored(engine, table)))
    assert 0 < done < 300
    outcome = invoke("rewrite", url, "Order", "d", "--json")
    assert json.loads(outcome.stdout)["rows_written"] == 300 - done


def test_replicas_that_are_behind(engine, table, url):
    outcome = invoke(
        "rewrite", url, "Order", "d", "--max-lag", "5", "--lag-query", "SELECT 1.5", "--replica", url
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert all(map(is_framed, stored(engine, table)))
    failing = invoke(
        "rewrite", url, "Order", "d", "--recompress", "--max-lag", "5", "--lag-query", "SELECT no"
    )
    assert failing.exit_code == 1
    assert failing.stderr.splitlines()[-1].startswith("Error: ")


def test_a_row_that_cannot_be_converted(engine, table, url):
    with engine.begin() as connection:
        connection.execute(table.update().where(table.c.id == 7).values(d=b"\xff secret " * 20))
    outcome = invoke("rewrite", url, "Order", "d")
    assert outcome.exit_code == 1
    last = outcome.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert "1 rows could not be converted" in last
    assert "7 (UnknownFormatError)" in last
    assert "secret" not in outcome.output
    assert sum(map(is_framed, stored(engine, table))) == 299


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_a_text_column_is_refused(engine, url):
    sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text)
    ).create(engine)
    outcome = invoke("rewrite", url, "t", "d")
    assert outcome.exit_code == 1
    assert "op.compress_column" in outcome.stderr
    assert str(engine.url.password) not in outcome.stderr or engine.url.password is None


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--level", "99"], "levels go from 1 to 22"),
        (["--codec", "zlib", "--dictionary", __file__], "--dictionary goes with --codec zstd"),
        (["--codec", "gzip", "--dictionary-name", "e"], "--dictionary-name goes with --codec zstd"),
        (["--dictionary-name", "e", "--dictionary", __file__], "exclude each other"),
        (["--max-lag", "3"], "go together"),
        (["--replica", "sqlite://"], "goes with --lag-query"),
        (["--batch-rows", "0"], "batch-rows"),
        (["--where", "no such column = 1"], "OperationalError"),
        (["--where", ""], "condition in SQL"),
        (["--shard", "0/3"], "K from 1 to N"),
        (["--shard", "4/3"], "K from 1 to N"),
        (["--shard", "1-3"], "K from 1 to N"),
        (["--shard", "1/3", "--dry-run"], "leave --shard out"),
    ],
)
def test_mistakes_are_told_in_a_line(engine, table, url, arguments, said):
    outcome = invoke("rewrite", url, "Order", "d", *arguments)
    assert outcome.exit_code in {1, 2}
    assert said in outcome.stderr
    assert not any(map(is_framed, stored(engine, table)))


@pytest.mark.databases("sqlite")
def test_an_asynchronous_driver_is_refused(engine, url):
    outcome = invoke("rewrite", str(engine.url.set(drivername="sqlite+aiosqlite")), "Order", "d")
    assert outcome.exit_code == 2
    assert "synchronous driver" in outcome.stderr
