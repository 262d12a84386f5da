"""``sqlcompress bench``: that it runs and what it prints; no figure is compared with anything."""

from __future__ import annotations

import json

import pyperf
import pytest
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from sqlcompress.bench.codec import _made, cases
from sqlcompress.bench.documents import article, event
from sqlcompress.known import known_of
from tests.commandline import invoke


def test_codec(tmp_path):
    only = "bytes, 900/zlib/"
    outcome = invoke("bench", "codec", "--quick", "--only", only, "--json", "--output", str(tmp_path / "f"))
    assert outcome.exit_code == 0, outcome.stderr
    found = json.loads(outcome.stdout)
    assert [(one["value"], one["codec"], one["direction"]) for one in found] == [
        ("bytes, 900", "zlib", "bind"),
        ("bytes, 900", "zlib", "result"),
    ]
    assert all(one["bare_us"] > 0 and one["type_us"] > 0 and one["spread"] >= 0 for one in found)
    assert len(pyperf.BenchmarkSuite.load(str(tmp_path / "f")).get_benchmarks()) == 4


def test_a_case_that_is_not_there():
    outcome = invoke("bench", "codec", "--quick", "--only", "nothing/")
    assert outcome.exit_code == 2
    assert "no case is called 'nothing/'" in outcome.stderr


def test_both_sides_of_every_case_do_the_same():
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) == 4 * 4 * 2 * 2
    dialect = SQLiteDialect_pysqlite()
    assert len(known_of(dialect)) == 0
    for value in ("JSON of 900 bytes", "text of 900 bytes", "bytes, 900"):
        for codec in ("zstd", "zstd, dictionary", "zstd, dictionary by name", "zlib"):
            for direction in ("bind", "result"):
                bare, type_ = (_made(value, codec, direction, kind)() for kind in ("bare", "type"))
                assert bare == type_, (value, codec, direction)


@pytest.mark.parametrize("number", [0, 1, 99])
def test_documents_are_the_same_everywhere_and_of_their_size(number):
    assert event(number) == event(number) != event(number + 1)
    assert 700 <= len(json.dumps(event(number), separators=(",", ":"))) <= 1100
    assert 24_000 <= len(article(number)) <= 24_200
