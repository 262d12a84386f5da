"""The benchmark's own arithmetic and files: ratios, corpora, results, tables."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys

import pytest

from sqlcompress.bench import link
from sqlcompress.bench.compare import changes
from sqlcompress.bench.corpora import NAMES, Corpus, corpus, corpus_of_file, encoded
from sqlcompress.bench.databases import DATABASES
from sqlcompress.bench.databases.base import cpu_seconds
from sqlcompress.bench.figures import amount, groups
from sqlcompress.bench.link import LinkUnavailableError, open_link
from sqlcompress.bench.options import Options
from sqlcompress.bench.phrases import phrases
from sqlcompress.bench.ratios import ratio
from sqlcompress.bench.report import write_report
from sqlcompress.bench.results import Measured, Results
from sqlcompress.errors import SqlcompressError


def results(load, allocated):
    """Three rounds of a plain arm, one of the engine and one of ours."""
    found = Results("sqlcompress bench run", "2026-12-01T00:00:00+00:00", {"cores": "2"})
    found.arms["mariadb"] = {
        "plain": {"title": "plain", "family": "plain"},
        "row-8k": {"title": "ROW_FORMAT=COMPRESSED", "family": "engine"},
        "zstd": {"title": "sqlcompress zstd", "family": "sqlcompress"},
    }
    found.corpora["text"] = {
        "rows": 10,
        "mean_bytes": 20_000.0,
        "documents": 10,
        "source": "made up",
        "reads": 5,
        "dictionary_bytes": 0,
    }
    for arm in found.arms["mariadb"]:
        for number, (seconds, size) in enumerate(zip(load[arm], allocated[arm], strict=True)):
            figures = {"load_seconds": seconds, "allocated_bytes": size}
            found.measured.append(Measured("mariadb", "text", arm, number, figures))
    return found


LOAD = {"plain": (10.0, 20.0, 40.0), "row-8k": (15.0, 30.0, 100.0), "zstd": (5.0, 8.0, 24.0)}
SIZE = {"plain": (100.0, 100.0, 100.0), "row-8k": (40.0, 40.0, 40.0), "zstd": (50.0, 50.0, 50.0)}


def test_a_ratio_is_taken_within_a_round_and_its_median_and_range_are_told():
    found = ratio(results(LOAD, SIZE), "mariadb", "text", "zstd", "load_seconds")
    assert (found.value, found.low, found.high, found.figure, found.rounds) == (0.5, 0.4, 0.6, 8.0, 3)
    assert ratio(results(LOAD, SIZE), "mariadb", "text", "zstd", "read_seconds") is None
    assert ratio(results(LOAD, SIZE), "mariadb", "text", "zlib", "load_seconds") is None


def test_a_round_without_the_plain_arm_gives_no_ratio():
    found = results(LOAD, SIZE)
    found.measured = [one for one in found.measured if (one.arm, one.round) != ("plain", 0)]
    one = ratio(found, "mariadb", "text", "zstd", "load_seconds")
    assert (one.value, one.low, one.high, one.rounds) == (0.5, 0.4, 0.6, 2)


def test_the_tables(tmp_path):
    files = write_report(results(LOAD, SIZE), tmp_path)
    assert [file.name for file in files] == ["README.md", "mariadb-text.png", "mariadb-text.svg"]
    text = (tmp_path / "README.md").read_text()
    assert "| plain | 20.00 s | 0.0 MB |\n" in text
    assert "| ROW_FORMAT=COMPRESSED | 1.50 (1.50 to 2.50) | 0.40 (0.40 to 0.40) |\n" in text
    assert "| sqlcompress zstd | 0.50 (0.40 to 0.60) | 0.50 (0.50 to 0.50) |\n" in text
    # Where the engine is better: in size here, and not in the time of the load.
    better = text.split("## Where in-engine")[1].split("\n## ")[0]
    assert better.count("| mariadb |") == 1
    assert (
        "| mariadb | text | Loading, size, reading: allocated | ROW_FORMAT=COMPRESSED | 0.40 "
        "| sqlcompress zstd | 0.50 |\n"
    ) in better


def test_two_runs_are_apart_where_their_ranges_do_not_meet():
    slower = {**LOAD, "zstd": (8.0, 16.0, 32.0)}
    found = {one.arm + one.figure: one for one in changes(results(LOAD, SIZE), results(slower, SIZE))}
    one = found["zstdload_seconds"]
    assert (one.before, one.after, one.is_apart) == (0.5, 0.8, True)
    assert not found["zstdallocated_bytes"].is_apart
    assert not found["row-8kload_seconds"].is_apart


def test_results_come_back_from_their_file(tmp_path):
    results(LOAD, SIZE).save(tmp_path / "deep" / "er")
    assert Results.load(tmp_path / "deep" / "er") == results(LOAD, SIZE)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no JSON"),
        ("[]", "holds no results of schema 1"),
        ('{"schema": 2}', "holds no results of schema 1"),
    ],
)
def test_a_file_that_holds_no_results_is_told(tmp_path, content, words):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(SqlcompressError, match=words):
        Results.load(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_corpora_are_the_same_each_time_and_of_their_size(name, tmp_path):
    one = corpus(name)
    assert one.documents == corpus(name).documents
    sizes = {"text": (19_000, 22_000), "json": (500, 1100), "short": (90, 200)}
    low, high = sizes[name]
    assert low <= one.mean_bytes() <= high
    assert not {encoded(value) for value in one.documents[:2000]} & {
        encoded(value) for value in one.held_out
    } or (name == "short")
    one.save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus") == one
    assert one.row(len(one.documents) + 3) == one.documents[3]


def test_phrases_are_50_to_500_bytes():
    dice = random.Random(1)
    sizes = [len(phrases(dice).encode()) for _ in range(2000)]
    assert min(sizes) >= 50
    assert max(sizes) <= 500


def test_a_corpus_of_a_file(tmp_path):
    documents = [{"number": i, "text": "grün"} for i in range(100)]
    plain = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in documents).encode()
    for name, data in (("a.jsonl", plain), ("a.jsonl.gz", gzip.compress(plain))):
        (tmp_path / name).write_bytes(data)
        found = corpus_of_file(tmp_path / name)
        assert (found.name, found.is_json, len(found.documents)) == ("a", True, 80)
        assert [one["number"] for one in found.held_out] == list(range(0, 100, 5))
        assert found.documents[0] == {"number": 1, "text": "grün"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"a": 1}'] * 60 + ["{"], "line 61: not one JSON value"),
        (['{"a": 1}'] * 60 + ['"text"'], "holds 1 strings among 61 lines"),
        (['"text"'] * 49, "holds 49 documents: at least 50 are needed"),
    ],
)
def test_a_file_that_is_no_corpus_is_told(tmp_path, lines, words):
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines))
    with pytest.raises(SqlcompressError, match=words):
        corpus_of_file(file)


def test_how_much_is_done_by_default():
    one = Corpus("x", False, ("ä" * 10_000,) * 60, (), "")
    options = Options(("sqlite",), (), None)
    assert (options.rows_of(one), options.reads_of(one)) == (10_000, 10_000)
    assert options.memory_of(one) == 23  # an eighth of 191 MiB
    assert options.link_rows_of(one) == 250  # 5 MB
    assert Options(("sqlite",), (), None, rows=500, memory_mb=7).memory_of(one) == 7


def test_names_of_arms_are_unique_and_every_database_has_the_same_of_ours():
    for database in DATABASES.values():
        names = [arm.name for arm in database.arms]
        assert len(names) == len(set(names))
        assert names[0] == "plain"
        assert {"zlib-decorator", "zlib", "zstd", "zstd-dictionary"} <= set(names)


def test_figures_of_a_link_get_a_column_for_each_rate():
    names = ["link_10_load_seconds", "link_10_read_seconds", "link_1000_load_seconds", "link_stored_bytes"]
    (group,) = groups(names)
    assert [figure.title for figure in group.figures] == [
        "INSERT, 10 Mbit/s",
        "INSERT, 1000 Mbit/s",
        "reads, 10 Mbit/s",
    ]
    assert (amount(2_345_678, "B"), amount(1.234, "s"), amount(1234.5, "s")) == (
        "2.3 MB",
        "1.23 s",
        "1,234 s",
    )


def test_a_link_that_cannot_be_made_says_why(monkeypatch):
    monkeypatch.setattr(link.shutil, "which", lambda _program: None)
    with pytest.raises(LinkUnavailableError, match=r"^a slow link needs ip and tc \(package iproute2\)$"):
        open_link(None)


#: A server whose processes come and go, as PostgreSQL's do: each uses 30 ms, and is waited for.
COMING_AND_GOING = """
import os, sys, time
for _ in range(40):
    child = os.fork()
    if not child:
        while time.process_time() < 0.03:
            pass
        os._exit(0)
    os.waitpid(child, 0)
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_processor_time_of_children_that_end_is_neither_lost_nor_counted_twice():
    with subprocess.Popen(
        [sys.executable, "-c", COMING_AND_GOING], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        os.set_blocking(server.stdout.fileno(), False)
        readings = []
        while server.stdout.read() is None:
            readings.append(cpu_seconds(server.pid))
        readings.append(cpu_seconds(server.pid))
        server.communicate()
    assert readings == sorted(readings)
    assert readings[-1] >= 40 * 0.02  # figures of the system are in hundredths, rounded down
