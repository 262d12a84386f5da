"""Strictness: a frame that was altered gives an error or the exact original, and never anything else."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import random
import zlib

import pytest
import zstandard

from sqlcompress import (
    CompressedBinary,
    CompressedText,
    CorruptValueError,
    DecodeError,
    DictionaryNotFoundError,
    Gzip,
    ValueTooLargeError,
    Zlib,
    Zstd,
)
from sqlcompress.codec import unframer
from sqlcompress.frames import GZIP_MAGIC, MAGICS, ZLIB_MAGIC, ZSTD_MAGIC, is_framed, zstd_extent
from tests.values import DICTIONARY, OTHER_DICTIONARY, document, incompressible, mysql_compress, streamed_zstd

MAX_SIZE = 2**20
MUTATIONS = 12_000
DICTIONARIES = {DICTIONARY.id: DICTIONARY, OTHER_DICTIONARY.id: OTHER_DICTIONARY}
UNFRAME = unframer(MAX_SIZE, DICTIONARIES)

PLAINS = (
    b"",
    b"a",
    b"abcdefgh" * 8,
    json.dumps(document(7)).encode(),
    json.dumps([document(number) for number in range(20)]).encode(),
    "dès l'aube, à l'heure où blanchit la campagne ".encode() * 40,
    incompressible(300),
    bytes(200_000),
)


def streamed_zstd_without_checksum(plain):
    stream = zstandard.ZstdCompressor(write_checksum=False).compressobj()
    return stream.compress(plain) + stream.flush()


def zstd_with_long_header(plain):
    """Size and window both in the header: what an encoder writes that streams content of a known size."""
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=len(plain))
    half = len(plain) // 2
    frame = stream.compress(plain[:half]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return frame + stream.compress(plain[half:]) + stream.flush()


WRITERS = {
    "zstd": Zstd().compressor(),
    "zstd-1": Zstd(1).compressor(),
    "zstd-19": Zstd(19).compressor(),
    "zstd-dictionary": Zstd(dictionary=DICTIONARY).compressor(),
    "zstd-streamed": streamed_zstd,
    "zstd-blocks": zstd_with_long_header,
    "zlib": Zlib().compressor(),
    "zlib-1": Zlib(1).compressor(),
    "gzip": Gzip().compressor(),
    "gzip-named": lambda plain: GZIP_MAGIC + b"\x08" + bytes(6) + b"name\0" + gzip.compress(plain)[10:],
}
#: Frames without a checksum: a flipped bit in the content can decode to other content, and nothing in the
#: frame tells. That is what the checksum is for; these are held to everything else.
UNCHECKED_WRITERS = {
    "zstd": Zstd(checksum=False).compressor(),
    "zstd-dictionary": Zstd(dictionary=DICTIONARY, checksum=False).compressor(),
    "zstd-streamed": streamed_zstd_without_checksum,
}
LEGACY_WRITERS = {
    "mysql": mysql_compress,
    "zlib": zlib.compress,
    "zlib-9": lambda plain: zlib.compress(plain, 9),
    "base64-zlib": lambda plain: base64.b64encode(zlib.compress(plain, 9)),
    "base64-mysql": lambda plain: base64.encodebytes(mysql_compress(plain)),
    "base64-zstd": lambda plain: base64.b64encode(Zstd().compressor()(plain)),
}


def cut(dice, frame):
    return frame[: dice.randrange(len(frame))]


def cut_in_front(dice, frame):
    return frame[dice.randrange(1, len(frame) + 1) :]


def cut_inside(dice, frame):
    start = dice.randrange(len(frame))
    return frame[:start] + frame[start + dice.randrange(1, 9) :]


def lengthen(dice, frame):
    return frame + dice.choice([b"\0", b" ", b".", b"\n", dice.randbytes(dice.randrange(1, 40))])


def join(dice, frame):
    return frame + frame


def join_another(dice, frame):
    return frame + Zstd().compressor()(b"other")


def append_skippable(dice, frame):
    return frame + b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"


def flip_a_bit(dice, frame):
    # Half of them in the first 20 bytes, where the headers are.
    at = dice.randrange(len(frame) if dice.random() < 0.5 else min(20, len(frame)))
    return frame[:at] + bytes([frame[at] ^ 1 << dice.randrange(8)]) + frame[at + 1 :]


def replace_bytes(dice, frame):
    altered = bytearray(frame)
    for _ in range(dice.randrange(1, 6)):
        altered[dice.randrange(len(altered))] = dice.randrange(256)
    return bytes(altered)


def insert_bytes(dice, frame):
    at = dice.randrange(len(frame) + 1)
    return frame[:at] + dice.randbytes(dice.randrange(1, 9)) + frame[at:]


def forge_size(dice, frame):
    """Another declared size, from 0 to 1 TiB: in a zstd header, else in whatever stands in its place."""
    size = dice.choice([0, 1, 2**40, MAX_SIZE, MAX_SIZE + 1, 2**31, 2**32 - 1, dice.randrange(2**20), 2**63])
    if frame[:4] != ZSTD_MAGIC:
        return frame[:4] + size.to_bytes(8, "little")[:4] + frame[8:]
    parameters = zstandard.get_frame_parameters(frame)
    if size == parameters.content_size:
        size += 1
    dictionary_id = parameters.dict_id.to_bytes(4, "little") if parameters.dict_id else b""
    body = frame[zstandard.frame_header_size(frame) :]
    descriptor = 0xC0 | (parameters.has_checksum << 2) | (3 if dictionary_id else 0)
    if dice.random() < 0.5:  # as one segment: the window is as large as the content
        return ZSTD_MAGIC + bytes([descriptor | 0x20]) + dictionary_id + size.to_bytes(8, "little") + body
    window = bytes([dice.randrange(256)])
    return ZSTD_MAGIC + bytes([descriptor]) + window + dictionary_id + size.to_bytes(8, "little") + body


SHAPE_MUTATIONS = (
    cut, cut, cut_in_front, lengthen, lengthen, join, join_another, append_skippable, forge_size, forge_size,
)  # fmt: skip
CONTENT_MUTATIONS = (flip_a_bit, flip_a_bit, replace_bytes, cut_inside, insert_bytes)


def mutations(write, kinds, plains=PLAINS, count=MUTATIONS):
    """``count`` altered frames, each with its original and the way it was altered."""
    dice = random.Random(20_240_601)
    frames = [(plain, write(plain)) for plain in plains]
    for number in range(count):
        plain, frame = frames[number % len(frames)]
        kind = dice.choice(kinds)
        altered = kind(dice, frame)
        if altered != frame:
            yield plain, altered, kind.__name__


def faults(decode, altered_frames):
    """The kinds of mutation after which another value came back, and how many were tried."""
    found, tried = [], 0
    for plain, altered, kind in altered_frames:
        tried += 1
        try:
            decoded = decode(altered)
        except DecodeError:
            continue
        if decoded != plain:
            found.append((kind, len(plain), altered[:24].hex()))
    return found, tried


@pytest.mark.parametrize("name", WRITERS)
def test_an_altered_frame_raises_or_gives_the_original(name):
    found, tried = faults(UNFRAME, mutations(WRITERS[name], SHAPE_MUTATIONS + CONTENT_MUTATIONS))
    assert found == []
    assert tried >= 10_000


@pytest.mark.parametrize("name", UNCHECKED_WRITERS)
def test_without_a_checksum_a_frame_of_another_shape_still_raises(name):
    # A size is part of the shape: of "" and of one raw block the declared size is all there is to check.
    found, tried = faults(UNFRAME, mutations(UNCHECKED_WRITERS[name], SHAPE_MUTATIONS))
    assert found == []
    assert tried >= 10_000


@pytest.mark.parametrize("name", UNCHECKED_WRITERS)
def test_without_a_checksum_an_altered_frame_never_gives_another_length_than_it_declares(name):
    for _, altered, _ in mutations(UNCHECKED_WRITERS[name], CONTENT_MUTATIONS):
        try:
            decoded = UNFRAME(altered)
        except DecodeError:
            continue
        declared = zstandard.get_frame_parameters(altered).content_size
        assert len(decoded) == declared or declared == 2**64 - 1


@pytest.mark.parametrize("name", WRITERS)
def test_a_text_column_gives_no_altered_text(name):
    # What is cut down to less than the magic bytes is no longer known for a frame: "(" is a text. So is what
    # lost its beginning, where the rest is UTF-8 by chance.
    kind = CompressedText(Zstd(dictionary=DICTIONARY), max_size=MAX_SIZE)
    texts = [plain for plain in PLAINS if plain != incompressible(300) and len(plain) > 8]
    altered = [
        item
        for item in mutations(WRITERS[name], SHAPE_MUTATIONS + CONTENT_MUTATIONS, texts)
        if item[1].startswith(MAGICS)
    ]
    found, tried = faults(kind.from_stored, altered)
    assert found == []
    assert tried >= 9_000


@pytest.mark.parametrize("name", LEGACY_WRITERS)
def test_altered_values_of_other_programs_are_left_alone_or_raise(name):
    # What no longer decodes as the other program's format is not known for it, and is given as it stands.
    kind = CompressedBinary(max_size=MAX_SIZE, legacy=("mysql", "zlib", "base64"))
    plains = [plain for plain in PLAINS if plain]
    for plain, altered, how in mutations(LEGACY_WRITERS[name], SHAPE_MUTATIONS + CONTENT_MUTATIONS, plains):
        try:
            decoded = kind.from_stored(altered)
        except DecodeError:
            continue
        assert decoded in (plain, altered), how


@pytest.mark.parametrize(
    "size", [0, 1, 255, 256, 65_535, 65_536, MAX_SIZE, MAX_SIZE + 1, 2**32, 2**40, 2**62]
)
@pytest.mark.parametrize("dictionary", [None, DICTIONARY], ids=["plain", "dictionary"])
def test_a_forged_size_is_refused_before_anything_is_decoded(size, dictionary):
    frame = Zstd(dictionary=dictionary).compressor()(b"some text of a known size " * 30)
    body = frame[zstandard.frame_header_size(frame) :]
    number = dictionary.id.to_bytes(4, "little") if dictionary else b""
    for one_segment, window in ((0x20, b""), (0, b"\x70")):
        descriptor = 0xC4 | one_segment | (3 if dictionary else 0)
        forged = ZSTD_MAGIC + bytes([descriptor]) + window + number + size.to_bytes(8, "little") + body
        with pytest.raises(ValueTooLargeError if size > MAX_SIZE else CorruptValueError):
            UNFRAME(forged)


def test_each_cut_of_each_frame_raises():
    for write in (*WRITERS.values(), *UNCHECKED_WRITERS.values()):
        for plain in PLAINS[:4]:
            frame = write(plain)
            assert UNFRAME(frame) == plain
            for length in range(len(frame)):
                with pytest.raises(CorruptValueError):
                    UNFRAME(frame[:length])


def test_each_flipped_bit_of_a_checked_frame_raises_or_changes_nothing():
    plain = PLAINS[3]
    for name, write in WRITERS.items():
        frame = write(plain)
        for position in range(len(frame) * 8):
            altered = bytearray(frame)
            altered[position // 8] ^= 1 << position % 8
            with contextlib.suppress(DecodeError):
                assert UNFRAME(bytes(altered)) == plain, (name, position)


@pytest.mark.parametrize("name", [*WRITERS, *UNCHECKED_WRITERS])
def test_each_byte_after_a_frame_raises(name):
    write = WRITERS.get(name) or UNCHECKED_WRITERS[name]
    for plain in PLAINS:
        frame = write(plain)
        for more in (b"\0", b" ", frame, ZSTD_MAGIC, b"\x50\x2a\x4d\x18\0\0\0\0"):
            with pytest.raises(CorruptValueError):
                UNFRAME(frame + more)


def test_random_bytes_behind_each_magic_raise():
    dice = random.Random(5)
    for _ in range(10_000):
        value = dice.choice(MAGICS) + dice.randbytes(dice.randrange(60))
        with pytest.raises(DecodeError):
            UNFRAME(value)


@pytest.mark.parametrize("name", [*WRITERS, *UNCHECKED_WRITERS])
def test_frames_of_every_encoder_are_read(name):
    write = WRITERS.get(name) or UNCHECKED_WRITERS[name]
    for plain in PLAINS:
        frame = write(plain)
        assert is_framed(frame)
        assert UNFRAME(frame) == plain


@pytest.mark.parametrize("level", [1, 3, 9, 19, 22])
@pytest.mark.parametrize("declares", [True, False])
def test_zstd_frames_of_each_level_are_read(level, declares):
    plain = b"".join(json.dumps(document(number)).encode() for number in range(600))
    if declares:
        frame = zstandard.ZstdCompressor(level=level).compress(plain)
    else:
        stream = zstandard.ZstdCompressor(level=level).compressobj()
        frame = stream.compress(plain) + stream.flush()
    if level == 22 and not declares:
        # 128 MB of window: an encoder that knows the size asks for no more than the content takes.
        with pytest.raises(ValueTooLargeError, match="window"):
            UNFRAME(frame)
    else:
        assert UNFRAME(frame) == plain


def test_a_missing_dictionary_is_named():
    frame = Zstd(dictionary=DICTIONARY).compressor()(PLAINS[3])
    for unframe in (unframer(MAX_SIZE), unframer(MAX_SIZE, {OTHER_DICTIONARY.id: OTHER_DICTIONARY})):
        with pytest.raises(DictionaryNotFoundError, match=str(DICTIONARY.id)) as caught:
            unframe(frame)
        assert caught.value.dictionary_id == DICTIONARY.id


def test_a_streamed_frame_with_a_dictionary_is_read():
    stream = zstandard.ZstdCompressor(dict_data=DICTIONARY.raw(), write_checksum=True).compressobj()
    frame = stream.compress(PLAINS[3]) + stream.flush()
    assert UNFRAME(frame) == PLAINS[3]
    with pytest.raises(DictionaryNotFoundError):
        unframer(MAX_SIZE)(frame)


@pytest.mark.parametrize("write", [streamed_zstd, Zlib().compressor(), Gzip().compressor()])
def test_an_undeclared_size_is_bounded_to_the_byte(write):
    plain = bytes(100_000)
    assert unframer(100_000)(write(plain)) == plain
    for max_size in (99_999, 50_000, 1):
        with pytest.raises(ValueTooLargeError):
            unframer(max_size)(write(plain))


@pytest.mark.parametrize("size", [2**24 - 1, 2**24, 2**24 + 1, 2**24 + 2])
@pytest.mark.parametrize("write", [Zlib(1).compressor(), Gzip(1).compressor()])
def test_deflate_streams_around_the_size_that_one_pass_decodes(size, write):
    # Above 16 MiB plain or 4 MiB stored a stream is measured first and decoded then: the same rules hold.
    for plain in (bytes(size), incompressible(size)):
        frame = write(plain)
        assert unframer(size)(frame) == plain
        for damaged in (frame[:-1], frame + b"\0", frame[:-2] + bytes([frame[-2] ^ 1]) + frame[-1:]):
            with pytest.raises(CorruptValueError):
                unframer(size)(damaged)
        with pytest.raises(ValueTooLargeError):
            unframer(size - 1)(frame)


def test_what_is_no_frame_is_refused():
    for value in (b"", b"(", b"x", b"plain", b"x^\x8b", b"\x50\x2a\x4d\x18\0\0\0\0", b"\x25\xb5\x2f\xfd"):
        with pytest.raises(CorruptValueError, match="does not begin like a frame"):
            UNFRAME(value)


def test_the_extent_of_a_frame_is_where_it_ends():
    for write in (Zstd().compressor(), Zstd(checksum=False).compressor(), streamed_zstd):
        for plain in PLAINS:
            frame = write(plain)
            extent = zstd_extent(frame + b"something else")
            assert extent.end == len(frame)
            assert extent.content_bound >= len(plain)


def test_the_headers_are_the_ones_that_no_text_has():
    for level in range(1, 10):
        assert Zlib(level).compressor()(b"a" * 100)[:2] == ZLIB_MAGIC
        frame = Gzip(level).compressor()(b"a" * 100)
        assert frame[:3] == GZIP_MAGIC
        assert frame[4:8] == bytes(4)  # no time: equal values give equal frames
    for level in range(1, 23):
        assert Zstd(level).compressor()(b"a" * 100)[:4] == ZSTD_MAGIC


@pytest.mark.parametrize("dictionary", [None, DICTIONARY])
@pytest.mark.parametrize("checksum", [True, False])
def test_zstd_frames_carry_size_checksum_and_dictionary(dictionary, checksum):
    parameters = zstandard.get_frame_parameters(Zstd(3, dictionary, checksum).compressor()(b"a" * 1000))
    assert parameters.content_size == 1000
    assert parameters.has_checksum is checksum
    assert parameters.dict_id == (dictionary.id if dictionary else 0)
