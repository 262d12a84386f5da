"""``sqlcompress cat``: exact or nothing."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib

import pytest
import zstandard
from click.testing import Result

from sqlcompress import CompressedText
from tests.commandline import invoke

TEXT = "Grüße, 世界. " * 100
PLAIN = TEXT.encode()
ZSTD = zstandard.ZstdCompressor(write_checksum=True).compress(PLAIN)


def cat(stored: bytes, *options: str) -> Result:
    return invoke("cat", *options, stdin=stored)


def refused(outcome: Result) -> str:
    """The one line of an expected error."""
    assert outcome.exit_code == 1
    assert outcome.stdout_bytes == b""
    assert outcome.stderr.startswith("Error: ")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


@pytest.mark.parametrize("codec", ["zstd", "zlib", "gzip"])
def test_what_a_column_stores_comes_out_exactly(codec):
    outcome = cat(CompressedText(codec).to_stored(PLAIN))
    assert outcome.exit_code == 0
    assert outcome.stdout_bytes == PLAIN
    assert outcome.stderr == ""


def test_what_other_programs_write_comes_out_exactly():
    assert cat(ZSTD).stdout_bytes == PLAIN
    assert cat(zlib.compress(PLAIN)).stdout_bytes == PLAIN
    assert cat(gzip.compress(PLAIN)).stdout_bytes == PLAIN


@pytest.mark.parametrize("plain", [b"", b"ok", b"line\r\nline\n", b"\x00\x01", "x^ é".encode()])
def test_plain_text_comes_out_as_it_is(plain):
    assert cat(plain).stdout_bytes == plain


@pytest.mark.parametrize(
    "stored",
    [
        ZSTD[:-1],
        ZSTD + b"\n",
        ZSTD[:30] + bytes([ZSTD[30] ^ 1]) + ZSTD[31:],
        zlib.compress(PLAIN)[:-2],
        gzip.compress(PLAIN) + gzip.compress(PLAIN),
        b"caf\xe9",
    ],
    ids=["cut", "lengthened", "flipped", "zlib-cut", "two-members", "latin1"],
)
def test_damage_is_one_line_and_no_output(stored):
    refused(cat(stored))


def test_a_value_above_the_bound_is_refused():
    assert cat(ZSTD, "--max-size", str(len(PLAIN))).stdout_bytes == PLAIN
    refused(cat(ZSTD, "--max-size", str(len(PLAIN) - 1)))
    refused(cat(b"a" * 5000, "--max-size", "100"))


@pytest.mark.parametrize("form", ["{}", "{}\n", "\\x{}\n", "0x{}", "X'{}'", "x'{}'", "_binary X'{}'"])
@pytest.mark.parametrize("upper", [False, True])
def test_hex_as_clients_print_it(form, upper):
    digits = ZSTD.hex().upper() if upper else ZSTD.hex()
    assert cat(form.format(digits).encode(), "--hex").stdout_bytes == PLAIN


@pytest.mark.parametrize("text", ["28b5x", "28b", "X'28b5", "28 b5 zz", "X28b5"])
def test_what_is_no_hex_is_refused(text):
    assert refused(cat(text.encode(), "--hex")) == "Error: the input is not hex digits\n"


def test_older_formats_are_read_where_asked_for():
    mysql = struct.pack("<I", len(PLAIN)) + zlib.compress(PLAIN)
    assert cat(mysql, "--legacy", "mysql").stdout_bytes == PLAIN
    assert cat(zlib.compress(PLAIN, 9), "--legacy", "zlib").stdout_bytes == PLAIN
    encoded = base64.b64encode(zlib.compress(PLAIN, 1))
    assert cat(encoded, "--legacy", "base64", "--legacy", "zlib").stdout_bytes == PLAIN
    refused(cat(mysql))


def test_a_binary_value_need_not_be_text():
    assert cat(b"\xff\x00caf\xe9", "--binary").stdout_bytes == b"\xff\x00caf\xe9"
    refused(cat(ZSTD[:-1], "--binary"))


def test_json_is_one_document():
    document = json.loads(cat(ZSTD, "--json").stdout)
    assert document == {"stored_bytes": len(ZSTD), "plain_bytes": len(PLAIN), "text": TEXT}
    document = json.loads(cat(b"\xff", "--binary", "--json").stdout)
    assert document == {"stored_bytes": 1, "plain_bytes": 1, "base64": "/w=="}
