"""Many values framed at once are framed as one by one."""

from __future__ import annotations

import os
import threading

import pytest

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, DecodeError, Zlib, Zstd
from sqlcompress.jobs.conversions import Compress, one_by_one
from sqlcompress.many import FramesOfMany, frames_of_many
from tests.values import DICTIONARY

TEXTS = [
    b"",
    b"a",
    b"x" * 63,
    b"x" * 64,
    b"x" * 65,
    os.urandom(40).hex().encode(),
    "é \U0001f600 ".encode() * 50,
    b"\0" * 500,
    b"text " * 400_000,
    b"document number 7 with words " * 9,
]
SETTINGS = [
    Zstd(),
    Zstd(1),
    Zstd(19),
    Zstd(checksum=False),
    Zstd(dictionary=DICTIONARY),
    Zstd(dictionary="later"),
]


@pytest.mark.parametrize("codec", SETTINGS, ids=repr)
def test_frames_are_those_of_the_codec(codec):
    values = [value for value in TEXTS if value]
    one = Compress(CompressedText(codec, min_size=1))
    frames = FramesOfMany(codec).frames(values)
    assert frames is not None
    for value, frame in zip(values, frames, strict=True):
        assert one.type.from_stored(frame) == value
        expected = one.type.to_stored(value)
        assert expected in {frame, value}
        assert (len(frame) < len(value)) == (expected == frame)


@pytest.mark.parametrize("codec", [*SETTINGS, Zlib()], ids=repr)
@pytest.mark.parametrize("type_", [CompressedText, CompressedJSON, CompressedBinary])
@pytest.mark.parametrize(
    "settings", [{}, {"min_size": 0}, {"min_size": 1000}, {"max_size": 1000}, {"legacy": ("zlib",)}]
)
def test_a_batch_gives_what_each_value_gives(codec, type_, settings):
    convert = Compress(type_(codec, **settings))
    framed = convert.type.to_stored(b'"framed already ' + b"and again " * 20 + b'"')
    values = [
        *TEXTS,
        b'{"a": [' + b"1, " * 90 + b"2]}",
        framed,
        framed[:-1],
        b"\xff not UTF-8 " * 20,
        b"\x78\x9c",
        b"last " * 30,
    ]
    batch, each = convert.convert_all(values), one_by_one(convert.convert, values)
    assert [type(new) for new in batch] == [type(new) for new in each]
    for new, expected, value in zip(batch, each, values, strict=True):
        if isinstance(expected, bytes):
            assert new == expected
            assert (new is value) == (expected is value)
        else:
            assert str(new) == str(expected)
    assert any(isinstance(new, DecodeError) for new in batch) or type_ is CompressedBinary


def test_other_codecs_have_nothing_of_the_kind():
    assert frames_of_many(Zlib()) is None


def test_threads_share_nothing():
    many = FramesOfMany(Zstd(dictionary=DICTIONARY))
    values = [f"document number {i} with words ".encode() * 9 for i in range(300)]
    expected = many.frames(values)
    found = []

    def work():
        found.extend(many.frames(values) == expected for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_a_frame_that_does_not_read_back_is_found(monkeypatch):
    convert = Compress(CompressedText())
    many = convert._many
    assert many is not None
    decompressor = many._decompressor

    class Faulty:
        def multi_decompress_to_buffer(self, frames):
            return decompressor.multi_decompress_to_buffer(
                FramesOfMany(Zstd()).frames([b"other" * 50] * len(frames))
            )

    monkeypatch.setattr(many, "_decompressor", Faulty())
    assert many.frames([b"text " * 50]) is None
    assert convert.convert_all([b"text " * 50]) == [CompressedText().to_stored(b"text " * 50)]
