"""Dictionaries trained, activated, retired and dropped under load: no failed read, no wrong value.

``SQLCOMPRESS_TEST_ROTATIONS=100`` rotates for minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText, DictionaryStore, DictionaryStoreError, Zstd
from sqlcompress.jobs import references
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.conversions import Recompress
from sqlcompress.jobs.references import drop_dictionary
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.training import train
from tests.dictionary_worker import T, text

ROOT = Path(__file__).parents[2]
ROTATIONS = int(os.environ.get("SQLCOMPRESS_TEST_ROTATIONS", "4"))
#: Shortened together, in this process and in the workers: what counts is that one is longer than the other.
GRACE_SECONDS, WRITE_SECONDS = 2.0, 1.0
ASYNC_DRIVER = {"sqlite": "aiosqlite", "postgresql": "asyncpg", "mysql": "asyncmy", "mariadb": "asyncmy"}


def started(engine, database, first, stop, *, is_async):
    url = engine.url.set(drivername=f"{database}+{ASYNC_DRIVER[database]}") if is_async else engine.url
    if is_async and "unix_socket" in url.query and database != "postgresql":
        url = url.set(host="127.0.0.1").difference_update_query(["unix_socket"])
    settings = {
        "url": url.render_as_string(hide_password=False),
        "async": is_async,
        "arguments": {"connect_args": {"timeout": 60}} if database == "sqlite" else {},
        "first": first,
        "stop": str(stop),
        "write_seconds": WRITE_SECONDS,
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.dictionary_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    child.stdin.write(json.dumps(settings))
    child.stdin.close()
    child.stdin = None
    return child


def rotate(engine, number):
    """A new dictionary in the place of the one before, and what was dropped."""
    store = DictionaryStore(engine)
    before = [entry for entry in store.list() if entry.state == "active"]
    values = [text(i).encode() for i in range(number * 1000, number * 1000 + 600)]
    dictionary = train("events", values, sizes=(2048,), seed=number).dictionary
    store.publish(dictionary)
    # At once, so that readers meet it unknown, or after a while, so that they know it before.
    store.activate(dictionary.id, after_seconds=0.0 if number % 2 else 0.6)
    time.sleep(0.8)
    for entry in before:
        store.retire(entry.id)
    return dictionary.id, tidied(engine)


def tidied(engine):
    """Rows recompressed with what is active; how many retired dictionaries could then be dropped."""
    store = DictionaryStore(engine)
    with engine.connect() as connection:
        type_ = with_dictionaries(connection, CompressedText(Zstd(dictionary="events")))
    rewrite(engine, "event", "d", convert=Recompress(type_, type_), batch_rows=200)
    dropped = 0
    for entry in store.list():
        if entry.state == "retired" and (store.retired_seconds(entry.id) or 0.0) > GRACE_SECONDS:
            try:
                drop_dictionary(engine, entry.id)
                dropped += 1
            except DictionaryStoreError:
                pass  # a writer used it until its time was over: those rows are recompressed next time
    return dropped


def test_rotation_under_load(engine, database, tmp_path, monkeypatch):
    if database != "sqlite":
        pytest.importorskip(ASYNC_DRIVER[database])
    monkeypatch.setattr(references, "GRACE_SECONDS", GRACE_SECONDS)
    if database == "sqlite":
        engine = sa.create_engine(engine.url, connect_args={"timeout": 60})
    T.create(engine)
    DictionaryStore(engine).create_table()
    stop = tmp_path / "stop"
    children = [
        started(engine, database, first * 1_000_000 + first, stop, is_async=first == 2) for first in range(3)
    ]
    rotated, dropped = set(), 0
    try:
        for number in range(1, ROTATIONS + 1):
            used, gone = rotate(engine, number)
            rotated.add(used)
            dropped += gone
        # The writers go on meanwhile: a machine may be too slow for a time of grace within the rotations.
        give_up = time.monotonic() + 120
        while dropped < max(1, ROTATIONS // 4) and time.monotonic() < give_up:
            time.sleep(0.5)
            dropped += tidied(engine)
    finally:
        stop.touch()
        outcomes = [child.communicate(timeout=120) for child in children]
    for child, (printed, told) in zip(children, outcomes, strict=True):
        assert child.returncode == 0, told[-3000:]
        done = json.loads(printed)
        assert done["rows"] >= 50
        assert set(done["dictionaries"]) <= rotated
        assert len(done["dictionaries"]) >= 2
    assert dropped >= max(1, ROTATIONS // 4)
    # And everything that was written, once more.
    with engine.connect() as connection:
        type_ = with_dictionaries(connection, T.c.d.type)
        t = sa.table("event", sa.column("id"), sa.column("d", sa.LargeBinary))
        for i, stored in connection.execute(sa.select(t.c.id, t.c.d)):
            value = stored.encode() if isinstance(stored, str) else bytes(stored)
            assert type_.from_stored(value) == text(i).encode()
    if database == "sqlite":
        engine.dispose()
