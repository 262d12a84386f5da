"""op.recompress_column: the same values, stored differently."""

from __future__ import annotations

import base64
import os
import random
import signal
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    MigrationBlockedError,
    MigrationFailedError,
    Zlib,
    Zstd,
)
from sqlcompress.frames import is_framed
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.recompress import check_recompress, recompress_column
from tests.integration.alembic_project import Project, version
from tests.values import DICTIONARY, OTHER_DICTIONARY

ROOT = Path(__file__).parents[2]
TEXTS = [f"row {i} \U0001f600 of the table " * (i % 30 + 1) for i in range(150)]
BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def made(engine, type_, values):
    t = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", type_))
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": value} for i, value in enumerate(values, 1)])
    return t


def read(engine, type_):
    t = sa.table("t", sa.column("id"), sa.column("d", type_))
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(t.c.d).order_by(t.c.id)))


def run(engine, type_, existing, batching=Batching(batch_rows=20)):  # noqa: B008 - frozen
    with engine.connect() as connection:
        table = check_recompress(connection, "t", "d", type_, existing)
    return recompress_column(engine, table, "d", type_, existing, batching)


@pytest.mark.parametrize(
    ("existing", "type_"),
    [
        (CompressedText(Zlib()), CompressedText(Zstd())),
        (CompressedText(Zstd(3)), CompressedText(Zstd(19))),
        (CompressedText(Zstd(19)), CompressedText(Zstd(3))),
        (CompressedText(Zstd()), CompressedText(Zlib(9), min_size=200)),
        (CompressedText(Zstd()), CompressedText(Zstd(checksum=False))),
        (CompressedText(Zstd()), CompressedText(Zstd(dictionary=DICTIONARY))),
        (
            CompressedText(Zstd(dictionary=DICTIONARY)),
            CompressedText(Zstd(dictionary=OTHER_DICTIONARY)),
        ),
    ],
    ids=["zlib to zstd", "3 to 19", "19 to 3", "zstd to zlib", "no checksum", "dictionary", "another"],
)
def test_another_codec_or_level(engine, existing, type_):
    made(engine, existing, [*TEXTS, "", None])
    result = run(engine, type_, existing)
    # Some versions of the library give small texts the same bytes at every level.
    differing = [
        text for text in TEXTS if existing.to_stored(text.encode()) != type_.to_stored(text.encode())
    ]
    assert result.rows_written == len(differing)
    assert read(engine, type_) == [*TEXTS, "", None]
    stored = read(engine, BLOB)
    assert stored == [None if text is None else type_.to_stored(text.encode()) for text in [*TEXTS, "", None]]
    assert run(engine, type_, existing).rows_written == 0
    assert run(engine, existing, type_).rows_written == result.rows_written
    assert read(engine, BLOB) == [
        None if text is None else existing.to_stored(text.encode()) for text in [*TEXTS, "", None]
    ]


def test_plain_values_are_compressed(engine):
    made(engine, CompressedText(min_size=10_000), TEXTS)
    assert not any(is_framed(value) for value in read(engine, BLOB))
    run(engine, CompressedText(), CompressedText(min_size=10_000))
    assert read(engine, BLOB) == [CompressedText().to_stored(text.encode()) for text in TEXTS]


def test_legacy_formats_become_frames(engine):
    existing = CompressedText(legacy=("mysql", "zlib", "base64"))
    texts = [f"legacy {i} " * 20 for i in range(60)]
    squeezed = [zlib.compress(text.encode(), 1) for text in texts]
    # What is in the first, decoded, looks like base64 of the second: it must not be decoded once more.
    texts[0] = base64.b64encode(squeezed[1]).decode()
    squeezed[0] = zlib.compress(texts[0].encode(), 1)
    kinds = [
        lambda data, _: data,
        lambda data, _: base64.b64encode(data),
        lambda data, text: len(text.encode()).to_bytes(4, "little") + data + b"." * data.endswith(b" "),
    ]
    stored = [kinds[i % 3](data, text) for i, (data, text) in enumerate(zip(squeezed, texts, strict=True))]
    made(engine, BLOB, stored)
    assert read(engine, existing) == texts
    run(engine, CompressedText(), existing)
    assert read(engine, CompressedText()) == texts
    assert run(engine, CompressedText(), existing).rows_written == 0
    assert read(engine, CompressedText()) == texts


def test_binary_values_that_are_frames(engine):
    frame = CompressedBinary().to_stored(b"text " * 100)
    values = [b"", b"plain", frame, CompressedBinary().to_stored(frame), b"\x78\x9c", b"bytes " * 50]
    made(engine, CompressedBinary(Zlib()), values)
    run(engine, CompressedBinary(Zstd(9)), CompressedBinary(Zlib()))
    run(engine, CompressedBinary(Zstd(9)), CompressedBinary(Zlib()))
    assert read(engine, CompressedBinary()) == values


def test_json(engine):
    documents = [{"k": i, "x": ["y" * i]} for i in range(80)] + [None, [], "s"]
    made(engine, CompressedJSON(Zlib()), documents)
    run(engine, CompressedJSON(), CompressedJSON(Zlib()))
    assert read(engine, CompressedJSON()) == documents


def test_a_row_that_cannot_be_read_is_left_and_named(engine):
    made(engine, CompressedText(Zlib()), TEXTS)
    damaged = CompressedText(Zlib()).to_stored(b"damaged " * 50)[:-3]
    t = sa.table("t", sa.column("id"), sa.column("d", BLOB))
    with engine.begin() as connection:
        connection.execute(t.update().where(t.c.id == 7).values(d=damaged))
    with pytest.raises(MigrationFailedError) as caught:
        run(engine, CompressedText(), CompressedText(Zlib()))
    assert caught.value.failed_keys == (7,)
    stored = read(engine, BLOB)
    assert stored[6] == damaged
    assert stored[7] == CompressedText().to_stored(TEXTS[7].encode())


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_writers_of_both_types_meanwhile(engine):
    made(engine, CompressedText(Zlib()), TEXTS)
    expected = dict(enumerate(TEXTS, 1))
    stop = threading.Event()
    errors = []

    def write(own, type_):
        t = sa.table("t", sa.column("id"), sa.column("d", type_))
        dice = random.Random(own)
        while not stop.is_set():
            key, text = dice.randrange(own, 150, 2), f"changed {dice.random()} " * 20
            try:
                with engine.begin() as connection:
                    connection.execute(t.update().where(t.c.id == key).values(d=text))
            except sa.exc.DBAPIError as error:
                errors.append(error)
                return
            expected[key] = text

    threads = [
        threading.Thread(target=write, args=arguments)
        for arguments in ((1, CompressedText(Zlib())), (2, CompressedText(Zstd(9))))
    ]
    for thread in threads:
        thread.start()
    run(engine, CompressedText(Zstd(9)), CompressedText(Zlib()), Batching(batch_rows=5, pause_seconds=0.005))
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert read(engine, CompressedText()) == [expected[key] for key in sorted(expected)]


CHILD = """
import sys
from sqlcompress.alembic.run import upgrade
from sqlcompress.jobs.progress import reporting_to

def tell(progress):
    print(progress.rows_seen, flush=True)

url, folder = sys.stdin.read().splitlines()
with reporting_to(tell):
    upgrade(url, folder)
print("end", flush=True)
"""


def test_killed_and_run_again_through_alembic(engine, database_url, tmp_path):
    made(engine, CompressedText(Zlib()), TEXTS)
    project = Project(tmp_path, database_url)
    both = ('"t", "d", type_={}, existing_type={}', "CompressedText(Zstd(9))", "CompressedText(Zlib())")
    project.revision(
        f"op.recompress_column({both[0].format(both[1], both[2])}, batch_rows=10, pause_seconds=0.01)",
        f"op.recompress_column({both[0].format(both[2], both[1])})",
    )
    url = project.url.render_as_string(hide_password=False)
    dice = random.Random(os.getpid())
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        child.stdin.write(f"{url}\n{project.folder}\n")
        child.stdin.close()
        batches = dice.randrange(1, 8)
        for number, line in enumerate(child.stdout):
            assert line.strip() != "end"
            if number == batches:
                child.send_signal(signal.SIGKILL)
                break
        child.stdout.read()
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
        assert version(engine) is None
    project.upgrade()
    assert read(engine, BLOB) == [CompressedText(Zstd(9)).to_stored(text.encode()) for text in TEXTS]
    project.downgrade()
    assert read(engine, BLOB) == [CompressedText(Zlib()).to_stored(text.encode()) for text in TEXTS]


def test_what_is_refused(engine, database):
    made(engine, sa.Text(), TEXTS)
    with engine.connect() as connection:
        if database != "sqlite":
            with pytest.raises(MigrationBlockedError, match=r"op\.compress_column"):
                check_recompress(connection, "t", "d", CompressedText(), CompressedText())
        with pytest.raises(MigrationBlockedError, match="for different values"):
            check_recompress(connection, "t", "d", CompressedText(), CompressedBinary())


def test_a_trigger_that_would_fire_for_each_row(engine, database):
    made(engine, CompressedText(Zlib()), TEXTS)
    stored = read(engine, BLOB)
    function = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    trigger = {
        "sqlite": ["CREATE TRIGGER tr AFTER UPDATE ON t BEGIN SELECT 1; END"],
        "postgresql": [function, "CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()"],
    }.get(database, ["CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW SET @fired = 1"])
    with engine.begin() as connection:
        for statement in trigger:
            connection.exec_driver_sql(statement)
    with pytest.raises(MigrationBlockedError, match="trigger tr fires"):
        run(engine, CompressedText(), CompressedText(Zlib()))
    assert read(engine, BLOB) == stored
