"""``sqlcompress bench run``: that every arm runs and reads back what was written; no figure is compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from sqlcompress.bench.client import Client, Load, Read
from sqlcompress.bench.connecting import Limits
from sqlcompress.bench.corpora import Corpus
from sqlcompress.bench.databases import DATABASES
from sqlcompress.bench.limits import DiskLimits, confine
from sqlcompress.bench.results import Results
from sqlcompress.bench.sessions import Sessions
from sqlcompress.errors import ServerUnavailableError, SqlcompressError
from tests.servers.require import chosen

ROOT = Path(__file__).parents[2]
TABLE_FIGURES = {
    "load_seconds",
    "flush_seconds",
    "read_seconds",
    "allocated_bytes",
    "stored_bytes",
    "rebuilt_bytes",
    "select_seconds",
    "insert_seconds",
    "update_seconds",
    "delete_seconds",
}
PARTS = ("", "client_cpu_", "server_cpu_")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def available(name):
    """A server of this kind can be started here, or the reason is told."""
    with ExitStack() as running:
        try:
            return DATABASES[name](Limits(8), running)
        except ServerUnavailableError as reason:
            if name.partition("-")[0] in os.environ.get("SQLCOMPRESS_TEST_REQUIRE", "").split(","):
                raise
            pytest.skip(f"{name}: {reason}")


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "sqlcompress.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize("name", sorted(DATABASES))
def test_a_quick_run(name, tmp_path):
    if name.partition("-")[0] not in chosen():
        pytest.skip(f"SQLCOMPRESS_TEST_DATABASES leaves {name} out")
    available(name)
    folder = tmp_path / "results"
    done = bench("run", "--quick", "--databases", name, "--corpora", "json", "--output", str(folder))
    assert done.returncode == 0, done.stderr
    found = Results.load(folder)
    measured = {one.arm: one.figures for one in found.measured}
    assert set(measured) == set(found.arms[name])
    expected = {arm.name for arm in DATABASES[name].arms}
    missing = expected - set(measured)
    assert missing <= {"sqlite-zstd", "protocol"}
    assert ("sqlite-zstd" in missing) == any("sqlite-zstd" in text for text in found.left_out)
    for arm in DATABASES[name].arms:
        figures = measured.get(arm.name)
        if figures is None:
            continue
        assert {name: value for name, value in figures.items() if value < 0} == {}
        if not arm.only_convert and not arm.only_link:
            assert set(figures) >= TABLE_FIGURES
            assert figures["allocated_bytes"] > 0
        if (arm.convert or arm.job) and not arm.only_link:
            assert figures["convert_seconds"] > 0
        if IS_ROOT and DATABASES[name].is_server and not arm.only_convert:
            sent = figures["link_1000_load_to_server_bytes"]
            assert sent > figures["link_stored_bytes"] * (0 if arm.name == "protocol" else 0.3)
    compressed = measured["zstd-dictionary"]["stored_bytes"]
    assert compressed < measured["zstd"]["stored_bytes"] < measured["plain"]["stored_bytes"] * 1.01

    tables = (folder / "README.md").read_text()
    assert "| arm | load | allocated | rebuilt | reads by key | rebuild |" in tables
    assert all(f"| {facts['title']} |" in tables for facts in found.arms[name].values())
    assert (folder / f"{name}-json.png").read_bytes().startswith(b"\x89PNG")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    done = bench("report", str(folder))
    assert done.returncode == 0, done.stderr
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert after["README.md"] == before["README.md"]
    assert after[f"{name}-json.png"] == before[f"{name}-json.png"]

    done = bench("compare", str(folder), str(folder), "--all", "--json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)
    assert compared
    assert all(one["before"] == one["after"] and not one["is_apart"] for one in compared)
    assert json.loads(bench("compare", str(folder), str(folder), "--json").stdout) == []

    done = bench("run", "--quick", "--databases", name, "--output", str(folder))
    assert done.returncode == 2
    assert "holds the results of another run" in done.stderr


def test_a_file_of_ones_own_and_only_some_arms(tmp_path):
    file, folder = tmp_path / "mine.jsonl", tmp_path / "results"
    file.write_text("".join(json.dumps(f"note {i} " * 40) + "\n" for i in range(200)))
    options = ["--databases", "sqlite", "--corpus", str(file), "--arms", "zstd", "--work", "load,read"]
    done = bench("run", *options, "--rows", "300", "--reads", "50", "--rounds", "2", "--output", str(folder))
    assert done.returncode == 0, done.stderr
    found = Results.load(folder)
    assert [(one.arm, one.round) for one in found.measured] == [
        ("plain", 0),
        ("zstd", 0),
        ("zstd", 1),
        ("plain", 1),
    ]
    assert found.corpora["mine"]["rows"] == 300
    assert set(found.measured[0].figures) == {
        "flush_seconds",
        *(
            f"{work}_{part}seconds"
            for work in ("load", "read")
            for part in ("", "client_cpu_", "server_cpu_")
        ),
    }


def test_wrong_options_are_told(tmp_path):
    for options, words in (
        (["--databases", "oracle"], "'oracle' is none of mariadb"),
        (["--arms", "zstandard"], "no arm is called 'zstandard'"),
        (["--link-mbit", "ten"], "whole numbers of Mbit/s are needed"),
        (["--link-mbit", "0"], "a rate is 1 to 100000 Mbit/s"),
        (["--work", "play"], "'play' is none of load"),
    ):
        done = bench("run", *options, "--output", str(tmp_path / "none"))
        assert done.returncode == 2
        assert words in " ".join(done.stderr.replace("│", " ").split())
    assert not (tmp_path / "none").exists()


def test_a_value_that_is_not_the_one_written_ends_the_run(tmp_path):
    corpus = Corpus("tiny", False, tuple(f"value {i} " * 30 for i in range(60)), (), "made up")
    corpus.save(tmp_path / "corpus")
    with ExitStack() as running:
        database = DATABASES["sqlite"](Limits(8), running)
        arm = next(arm for arm in database.arms if arm.name == "zstd")
        sessions = running.enter_context(Sessions(2))
        client = Client(database.reach, arm, tmp_path / "corpus", None)
        database.create(arm, is_json=False, dictionary=None)
        spent = sessions.run(client, Load(60), database.server_cpu_seconds)
        assert spent.rows == 60
        assert sessions.run(client, Read(60, 40, 1), database.server_cpu_seconds).rows == 40
        with database.engine.begin() as connection:
            connection.execute(sa.text("UPDATE bench SET d = 'value 9999'"))
        with pytest.raises(SqlcompressError, match=r"^zstd: the value of row \d+ is not the one"):
            sessions.run(client, Read(60, 40, 1), database.server_cpu_seconds)


@pytest.mark.skipif(not IS_ROOT, reason="control groups and network namespaces need root")
def test_a_disk_with_limits_is_slower_and_its_group_goes(tmp_path):
    groups = Path("/sys/fs/cgroup")
    if not groups.is_dir():
        pytest.skip("no control groups here")

    def ours():
        return {str(path) for path in groups.rglob("sqlcompress-*")}

    before = ours()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with ExitStack() as running:
            confine(DiskLimits(iops=100, mb=10), [child.pid], ROOT, running)
            (group,) = ours() - before
            assert str(child.pid) in (Path(group) / "cgroup.procs").read_text().split()
    finally:
        child.communicate()
    assert ours() == before
