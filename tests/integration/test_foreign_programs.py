"""Values read by programs we did not write, and values that those programs wrote read by us."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import zlib

import pytest
from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, func, insert, select, text, type_coerce

from sqlcompress import CompressedBinary, CompressedText, Gzip, Zlib, Zstd
from sqlcompress.frames import is_framed
from tests.values import DICTIONARY, dense_text

TEXTS = {
    "short": "x^ é日😀",
    "usual": "dès l'aube, à l'heure où blanchit la campagne " * 30,
    "repeated": "a" * 300_000,
    "dense": dense_text(30_000),
    "binary looking": "x\x9c\x00\x1f\x8b\x08(µ/ý" * 20,
}
ADVICE = {"zstd": "install the package zstd", "node": "install Node.js"}


@pytest.fixture
def program(request):
    """The path of a program; skipped where it is missing, failed where SQLCOMPRESS_TEST_REQUIRE names it."""
    name = request.param
    path = shutil.which(name)
    if path is None:
        if name in os.environ.get("SQLCOMPRESS_TEST_REQUIRE", "").split(","):
            pytest.fail(f"required: {name} is not installed; {ADVICE[name]}", pytrace=False)
        pytest.skip(f"{name} is not installed; {ADVICE[name]}")
    return path


def output_of(*command, given):
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def framed(codec, value):
    """What a column stores that frames every value, however small."""
    frame = codec.compressor()(value.encode())
    assert is_framed(frame)
    stored = CompressedText(codec, 0).to_stored(value.encode())
    assert stored in (frame, value.encode())
    return frame


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("codec", [Zstd(), Zstd(1), Zstd(22), Zstd(checksum=False)], ids=repr)
@pytest.mark.parametrize("program", ["zstd"], indirect=True)
def test_the_zstd_tool_reads_us(program, codec, value):
    assert output_of(program, "-dc", given=framed(codec, value)).decode() == value


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("program", ["zstd"], indirect=True)
def test_the_zstd_tool_reads_us_with_a_dictionary(program, value, tmp_path):
    path = tmp_path / "documents.zdict"
    DICTIONARY.to_file(path)
    frame = framed(Zstd(dictionary=DICTIONARY), value)
    assert output_of(program, "-dc", "-D", str(path), given=frame).decode() == value


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-1",),
        ("-19",),
        ("--ultra", "-20"),
        ("--no-check",),
        ("--no-content-size",),
        ("--long=24",),
        ("--fast=5",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("program", ["zstd"], indirect=True)
def test_we_read_the_zstd_tool(program, options, value, tmp_path):
    # From a pipe it declares no size; from a file it does.
    assert (
        CompressedText().from_stored(output_of(program, "-c", *options, given=value.encode()))
        == value.encode()
    )
    path = tmp_path / "value"
    path.write_bytes(value.encode())
    assert (
        CompressedText().from_stored(output_of(program, "-c", *options, str(path), given=b""))
        == value.encode()
    )


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("program", ["zstd"], indirect=True)
def test_we_read_the_zstd_tool_with_a_dictionary(program, value, tmp_path):
    path = tmp_path / "documents.zdict"
    DICTIONARY.to_file(path)
    frame = output_of(program, "-c", "-D", str(path), given=value.encode())
    assert CompressedText(Zstd(dictionary=DICTIONARY)).from_stored(frame) == value.encode()


@pytest.mark.parametrize("program", ["zstd"], indirect=True)
def test_the_zstd_tool_takes_a_dictionary_that_it_trained(program, tmp_path):
    from sqlcompress import Dictionary

    samples = tmp_path / "samples"
    samples.mkdir()
    for number in range(300):
        (samples / f"{number}.json").write_text(
            f'{{"id": {number}, "kind": "click", "user": "user{number % 7}"}}' * 3
        )
    path = tmp_path / "events.zdict"
    output_of(program, "-q", "--train", "-r", str(samples), "--maxdict=2048", "-o", str(path), given=b"")
    dictionary = Dictionary.from_file(path)
    dictionary.to_file(path)
    frame = framed(Zstd(dictionary=dictionary), '{"id": 5, "kind": "click", "user": "user3"}')
    read = output_of(program, "-dc", "-D", str(path), given=frame)
    assert read == b'{"id": 5, "kind": "click", "user": "user3"}'


READ_IN_NODE = """
const zlib = require('zlib'), stored = require('fs').readFileSync(0);
process.stdout.write(zlib[process.argv[1]](stored));
"""


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(
    ("codec", "read", "write"),
    [
        (Zlib(1), "inflateSync", "deflateSync"),
        (Zlib(9), "inflateSync", "deflateSync"),
        (Gzip(), "gunzipSync", "gzipSync"),
    ],
    ids=["zlib-1", "zlib-9", "gzip"],
)
@pytest.mark.parametrize("program", ["node"], indirect=True)
def test_node_reads_us_and_we_read_node(program, codec, read, write, value):
    assert output_of(program, "-e", READ_IN_NODE, read, given=framed(codec, value)).decode() == value
    written = output_of(program, "-e", READ_IN_NODE, write, given=value.encode())
    assert CompressedText(legacy=("zlib",)).from_stored(written) == value.encode()


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS)
def test_pythons_own_modules_read_us(value):
    for level in range(1, 10):
        assert zlib.decompress(framed(Zlib(level), value)).decode() == value
        assert gzip.decompress(framed(Gzip(level), value)).decode() == value
        assert (
            CompressedText(legacy=("zlib",)).from_stored(zlib.compress(value.encode(), level))
            == value.encode()
        )
        assert CompressedText().from_stored(gzip.compress(value.encode(), level)) == value.encode()


@pytest.mark.databases("mariadb", "mysql")  # the servers that have UNCOMPRESS() and COMPRESS()
@pytest.mark.parametrize("level", [1, 6, 9])
def test_uncompress_reads_us(engine, level):
    kind = CompressedText(Zlib(level), 0)
    table = Table("item", MetaData(), Column("id", Integer, primary_key=True), Column("d", kind))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(
            insert(table), [{"id": n + 1, "d": value} for n, value in enumerate(TEXTS.values())]
        )
        read = text(
            "SELECT CONVERT(CASE WHEN SUBSTRING(d, 1, 2) = x'789C' THEN UNCOMPRESS(CONCAT(x'00000001', d))"
            " ELSE d END USING utf8mb4) FROM item ORDER BY id"
        )
        assert connection.scalars(read).all() == list(TEXTS.values())
        stored = [bytes(value) for value in connection.scalars(select(type_coerce(table.c.d, LargeBinary)))]
        assert sum(map(is_framed, stored)) == 4


@pytest.mark.databases("mariadb", "mysql")  # as above
def test_we_read_compress(engine):
    values = [*TEXTS.values(), "", *(f"text {'a' * number}" for number in range(300))]
    table = Table(
        "item", MetaData(), Column("id", Integer, primary_key=True), Column("d", LargeBinary(2**24))
    )
    read = Table(
        "item", MetaData(), Column("id", Integer), Column("d", CompressedText("zlib", legacy=("mysql",)))
    )
    table.create(engine)
    with engine.begin() as connection:
        for number, value in enumerate(values):
            connection.execute(insert(table).values(id=number + 1, d=func.compress(value)))
        assert connection.scalars(select(read.c.d).order_by(read.c.id)).all() == values
        # Some of the streams end in a space, behind which COMPRESS() puts a full stop.
        assert connection.scalar(text("SELECT count(*) FROM item WHERE RIGHT(d, 2) = ' .'")) > 0


@pytest.mark.databases("mariadb", "mysql")  # as above
def test_a_binary_value_of_compress_is_kept_as_it_is(engine):
    table = Table(
        "item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedBinary())
    )
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO item VALUES (1, COMPRESS(REPEAT('abc', 100)))"))
        value = connection.scalar(select(table.c.d))
        assert zlib.decompress(value[4:]) == b"abc" * 100
