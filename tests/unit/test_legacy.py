"""Values that other software wrote, read where a column asks for it and left alone where it does not."""

from __future__ import annotations

import base64
import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlcompress import CompressedBinary, CompressedText, UnknownFormatError, ValueTooLargeError, Zstd
from sqlcompress.legacy import LEGACY_FORMATS, checked_names, has_zlib_header
from tests.values import DICTIONARY, binaries, mysql_compress, texts


def with_small_window(plain):
    """A zlib stream whose header names a window of 512 bytes: not 78, whatever the level."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 9)
    return stream.compress(plain) + stream.flush()


ALL = ("mysql", "zlib", "base64")
READ_BY = [
    ("mysql", mysql_compress),
    ("mysql", lambda plain: mysql_compress(plain, 0)),
    ("mysql", lambda plain: mysql_compress(plain, 1)),
    ("mysql", lambda plain: mysql_compress(plain, 9)),
    ("zlib", zlib.compress),
    ("zlib", lambda plain: zlib.compress(plain, 0)),
    ("zlib", lambda plain: zlib.compress(plain, 1)),
    ("zlib", lambda plain: zlib.compress(plain, 9)),
    ("zlib", with_small_window),
    ("base64", lambda plain: base64.b64encode(zlib.compress(plain))),
    ("base64", lambda plain: base64.encodebytes(zlib.compress(plain))),
    ("base64", lambda plain: base64.encodebytes(zlib.compress(plain)).replace(b"\n", b"\r\n")),
    ("base64", lambda plain: base64.b64encode(zlib.compress(plain, 9))),
    ("base64", lambda plain: base64.b64encode(gzip.compress(plain))),
    ("base64", lambda plain: base64.b64encode(mysql_compress(plain))),
    ("base64", lambda plain: base64.b64encode(Zstd().compressor()(plain))),
    ("base64", lambda plain: base64.b64encode(Zstd(dictionary=DICTIONARY).compressor()(plain))),
]


@settings(max_examples=150)
@given(binaries.filter(bool), st.sampled_from(READ_BY))
def test_each_format_is_read_where_it_is_asked_for(plain, reader):
    name, write = reader
    for legacy in ((name,), ALL, ALL[::-1]):
        kind = CompressedBinary(Zstd(dictionary=DICTIONARY), legacy=legacy)
        assert kind.from_stored(write(plain)) == plain


@settings(max_examples=150)
@given(texts.filter(bool), st.sampled_from(READ_BY))
def test_texts_of_each_format_are_read(text, reader):
    name, write = reader
    kind = CompressedText(Zstd(dictionary=DICTIONARY), legacy=(name,))
    assert kind.from_stored(write(text.encode())) == text.encode()


@pytest.mark.parametrize(("name", "write"), READ_BY)
def test_a_column_that_does_not_ask_takes_them_as_they_are(name, write):
    plain = b"a text that somebody else compressed " * 9
    value = write(plain)
    others = tuple(other for other in ALL if other != name)
    if value[:2] != b"\x78\x9c":  # which is our own zlib frame
        assert CompressedBinary().from_stored(value) == value
        assert CompressedBinary(legacy=others).from_stored(value) == value
    if name != "base64" and value[:2] != b"\x78\x9c":
        with pytest.raises(UnknownFormatError, match="legacy"):
            CompressedText().from_stored(value)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"x",
        b"x^",
        b"x^ is where it begins",
        b"x\x01",
        b"eJw",
        b"eJwLycgsVgCiRIWS1OISAB8fBQA=",  # its checksum is wrong
        b"Zm9vYmFy",
        b"deadbeef" * 20,
        b"\x05\x00\x00\x00x^",
        b"eJzLSM3JyQcABiwCFQ",  # no padding
        b"eJzLSM3JyQcABiwCFR==",  # bits after the end
        b"eJzLSM3J yQcABiwCFQ==",
        b" eJzLSM3JyQcABiwCFQ==",
    ],
)
def test_what_only_resembles_a_format_is_plain(value):
    assert CompressedText(legacy=ALL).from_stored(value) == value
    assert CompressedBinary(legacy=ALL).from_stored(value) == value


def test_the_full_stop_after_a_space_is_mysqls():
    # A stream whose last byte is a space, so that COMPRESS() puts a full stop behind it.
    plain = next(
        text
        for text in (b"text" * n + b"!" * m for n in range(99) for m in range(99))
        if zlib.compress(text).endswith(b" ")
    )
    value = mysql_compress(plain)
    assert value.endswith(b" .")
    kind = CompressedBinary(legacy=("mysql",))
    assert kind.from_stored(value) == plain
    assert kind.from_stored(value[:-1]) == plain  # as CHAR columns of old servers gave it back
    assert kind.from_stored(value + b".") == value + b"."


def test_mysqls_length_has_to_be_right():
    value = mysql_compress(b"some text " * 20)
    kind = CompressedBinary(legacy=("mysql",))
    for length in (0, 199, 201, 2**30 - 1):
        forged = length.to_bytes(4, "little") + value[4:]
        assert kind.from_stored(forged) == forged
    marked = (200 | 0xC0000000).to_bytes(4, "little") + value[4:]  # the two highest bits are not length
    assert kind.from_stored(marked) == b"some text " * 20


@pytest.mark.parametrize(("name", "write"), READ_BY)
def test_max_size_bounds_them_too(name, write):
    plain = b"1234567890" * 10
    kind = CompressedBinary(Zstd(dictionary=DICTIONARY), 0, 100, (name,))
    assert kind.from_stored(write(plain)) == plain
    with pytest.raises(ValueTooLargeError):
        kind.from_stored(write(plain + b"1"))
    # A value that reading would refuse, were it stored plain, is framed; and so it comes back.
    for over in (write(bytes(1000)),):
        if len(over) <= 100:
            assert kind.from_stored(kind.to_stored(over)) == over


def test_the_names():
    assert LEGACY_FORMATS == ALL
    assert checked_names(["zlib", "mysql", "zlib"]) == ("zlib", "mysql")
    assert checked_names(()) == ()
    for names, kind, message in (
        ("mysql", TypeError, r"not str; write \('mysql',\)"),
        (None, TypeError, "not NoneType"),
        ({"mysql"}, TypeError, "not set"),
        (5, TypeError, "not int"),
        ((b"mysql",), TypeError, "names as str, not bytes"),
        (("mysql", None), TypeError, "names as str, not NoneType"),
        (("pickle",), ValueError, "unknown legacy format 'pickle': the formats are mysql, zlib, base64"),
        (("MYSQL",), ValueError, "unknown legacy format"),
    ):
        with pytest.raises(kind, match=message):
            CompressedText(legacy=names)


def test_zlib_headers():
    headers = {first << 8 | second for first in range(256) for second in range(256)}
    accepted = {header for header in headers if has_zlib_header(header.to_bytes(2, "big") + b"\0")}
    for header in accepted:
        # zlib itself agrees: it asks for more instead of refusing the header.
        zlib.decompressobj().decompress(header.to_bytes(2, "big"))
    for header in headers - accepted:
        if header >> 8 in range(0x08, 0x79, 0x10) and not header & 0x20:
            with pytest.raises(zlib.error):
                zlib.decompressobj().decompress(header.to_bytes(2, "big") + b"\0")
