"""Round trips through the types' own functions: equal to what went in, whatever it looks like."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.engine.default import DefaultDialect

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    DecodeError,
    Gzip,
    UnknownFormatError,
    ValueTooLargeError,
    Zlib,
    Zstd,
)
from sqlcompress.frames import is_framed
from tests.values import (
    BEGINNINGS,
    CODECS,
    DICTIONARY,
    DISGUISES,
    LEGACIES,
    binaries,
    disguised,
    incompressible,
    json_documents,
    mysql_compress,
    texts,
)

DIALECT = DefaultDialect()
SETTINGS = list(itertools.product(CODECS, (0, 1, 64), LEGACIES))


def made(kind):
    """Types of each setting, made once: the processors they keep are part of what is tested."""
    return [kind(codec, min_size=min_size, legacy=legacy) for codec, min_size, legacy in SETTINGS]


TEXT_TYPES = made(CompressedText)
JSON_TYPES = made(CompressedJSON)
BINARY_TYPES = made(CompressedBinary)


def through(kind, value):
    stored = kind.process_bind_param(value, DIALECT)
    assert type(stored) is bytes
    return kind.process_result_value(stored, DIALECT)


def through_every_form(kind, value, plain):
    """The value again, whichever form a driver hands the stored bytes over in; and the bytes' own way."""
    stored = kind.process_bind_param(value, DIALECT)
    for form in (stored, bytearray(stored), memoryview(stored)):
        assert kind.process_result_value(form, DIALECT) == value
    assert kind.from_stored(stored) == plain
    assert kind.to_stored(plain) == stored
    assert kind.from_stored(kind.to_stored(plain)) == plain


@settings(max_examples=200)
@given(texts, st.sampled_from(TEXT_TYPES))
def test_any_text_comes_back(value, kind):
    through_every_form(kind, value, value.encode())


@settings(max_examples=200)
@given(binaries, st.sampled_from(BINARY_TYPES))
def test_any_bytes_come_back(value, kind):
    through_every_form(kind, value, value)


@settings(max_examples=150)
@given(json_documents, st.sampled_from(JSON_TYPES))
def test_any_document_comes_back(value, kind):
    again = through(kind, value)
    assert again == value
    # Equality does not tell 1 from True and 1.0, nor one key order from another.
    assert json.dumps(again) == json.dumps(value)


@settings(max_examples=60)
@given(texts, binaries)
def test_every_setting_takes_the_same_value(text, binary):
    for kind in TEXT_TYPES:
        assert through(kind, text) == text
    for kind in BINARY_TYPES:
        assert through(kind, binary) == binary


@settings(max_examples=200)
@given(disguised, st.sampled_from(BINARY_TYPES))
def test_binary_values_that_are_frames_of_some_kind_come_back_as_frames(value, kind):
    assert through(kind, value) == value


@pytest.mark.parametrize("legacy", LEGACIES, ids="+".join)
@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_values_with_the_beginnings_of_other_formats_come_back(codec, legacy):
    # Every ending too: MySQL's COMPRESS() treats a last space in its own way.
    for start, rest in itertools.product(BEGINNINGS, (b"", b" ", b".", b" .", b"\0", b"a" * 200)):
        value = start + rest
        assert through(CompressedBinary(codec, legacy=legacy), value) == value
        text = value.decode("latin1")
        assert through(CompressedText(codec, legacy=legacy), text) == text
    for disguise in DISGUISES:
        value = disguise(b"what is it? " * 30)
        assert through(CompressedBinary(codec, 0, legacy=legacy), value) == value
        assert through(CompressedBinary(codec, 10_000, legacy=legacy), value) == value


@pytest.mark.parametrize("codec", CODECS, ids=repr)
@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 1023, 65_535, 65_536, 2**20 - 1, 2**20, 2**20 + 1])
def test_sizes_around_the_bounds_come_back(codec, size):
    for plain in (bytes(size), incompressible(size), (b"some text, again " * (size // 17 + 1))[:size]):
        assert through(CompressedBinary(codec, 0), plain) == plain
    text = ("dès l'aube " * (size // 11 + 1))[:size]
    assert through(CompressedText(codec, 0), text) == text


@pytest.mark.parametrize("codec", [Zstd(), Zstd(dictionary=DICTIONARY), Zlib(), Gzip()], ids=repr)
@pytest.mark.parametrize("size", [70_000, 20_000_000])
def test_large_incompressible_values_come_back_and_do_not_grow(codec, size):
    value = incompressible(size)
    kind = CompressedBinary(codec)
    stored = kind.to_stored(value)
    assert stored == value
    assert kind.from_stored(stored) == value
    framed = codec.compressor()(value)
    assert kind.from_stored(kind.to_stored(framed)) == framed


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_no_text_grows_and_no_plain_text_is_taken_for_a_frame(codec):
    kind = CompressedText(codec, 0)
    for text in ("", "ok", "x^", "x\x9c", "(µ/ý", "\x1f\x8b\x08", "a" * 63, "a" * 64, "Zm9vYmFy" * 8):
        stored = kind.to_stored(text.encode())
        assert len(stored) <= len(text.encode())
        assert is_framed(stored) is (stored != text.encode())


@settings(max_examples=150)
@given(st.text())
def test_no_text_begins_like_a_frame(text):
    assert not is_framed(text.encode())


@settings(max_examples=150)
@given(binaries)
def test_what_begins_like_a_frame_is_no_text(value):
    if is_framed(value):
        with pytest.raises(UnicodeDecodeError):
            value.decode()


def test_below_min_size_nothing_is_framed():
    kind = CompressedText(min_size=100)
    assert kind.to_stored(b"a" * 99) == b"a" * 99
    assert is_framed(kind.to_stored(b"a" * 100))


@pytest.mark.parametrize("kind", [CompressedText, CompressedBinary, CompressedJSON])
@pytest.mark.parametrize("codec", ["zstd", "zlib", "gzip"])
@pytest.mark.parametrize("legacy", [(), ("mysql", "zlib", "base64")])
def test_max_size_is_the_last_size_that_is_written_and_read(kind, codec, legacy):
    narrow, wide = kind(codec, 0, 100, legacy), kind(codec, 0, legacy=legacy)
    fits, over = b'"' + b"a" * 98 + b'"', b'"' + b"a" * 99 + b'"'
    assert narrow.from_stored(narrow.to_stored(fits)) == fits
    with pytest.raises(ValueTooLargeError):
        narrow.to_stored(over)
    assert narrow.from_stored(wide.to_stored(fits)) == fits
    with pytest.raises(ValueTooLargeError):
        narrow.from_stored(wide.to_stored(over))


def test_a_text_column_hands_out_nothing_but_text():
    for stored in (b"\xff", b"caf\xe9", b"\xed\xa0\x80", b"\xc0\x80", Zstd().compressor()(b"\xff" * 100)):
        with pytest.raises(UnknownFormatError, match="UTF-8"):
            CompressedText().from_stored(stored)
        with pytest.raises(UnknownFormatError, match="UTF-8"):
            CompressedText().process_result_value(stored, DIALECT)
        with pytest.raises(DecodeError):
            CompressedJSON().process_result_value(stored, DIALECT)


def test_to_stored_refuses_what_the_column_could_not_read():
    for plain in (b"", b"{", b"{'a': 1}", b"\xff", b"nul", b"\xef\xbb\xbf1", b"1" * 5000, b"[" * 100_000):
        with pytest.raises(UnknownFormatError):
            CompressedJSON().to_stored(plain)
        with pytest.raises(UnknownFormatError):
            CompressedJSON().process_result_value(plain, DIALECT)
    with pytest.raises(UnknownFormatError):
        CompressedText().to_stored(b"\xff")


def test_json_text_is_copied_and_not_reprinted():
    for plain in (b'{"a": 1.10,\n "a": 2}', b'"\\u00e9"', b'"\\ud800"', b" [1e2 ]", b"18446744073709551616"):
        stored = CompressedJSON(min_size=0).to_stored(plain)
        assert CompressedJSON().from_stored(stored) == plain


@pytest.mark.parametrize("legacy", [("mysql",), ("mysql", "zlib", "base64")])
def test_mysql_lengths_that_look_like_frames_are_told_apart(legacy):
    # The length comes first, little-endian: 40,056 is 78 9C 00 00.
    for length in (40_056, 40_056 + 65_536, 0x08_8B_1F):
        plain = incompressible(length)
        value = mysql_compress(plain)
        assert is_framed(value)
        kind = CompressedBinary(legacy=legacy)
        assert kind.from_stored(value) == plain
        assert kind.from_stored(kind.to_stored(value)) == value
