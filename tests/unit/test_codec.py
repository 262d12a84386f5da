"""Codecs as values: bad settings, equality, repr, pickles."""

from __future__ import annotations

import copy
import gzip
import pickle
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sqlcompress import Codec, Gzip, Zlib, Zstd
from sqlcompress.codec import codec_of, unframer
from tests.values import CODECS, DICTIONARY, OTHER_DICTIONARY, binaries

BAD_SETTINGS = [
    (lambda: Zstd(0), ValueError, r"Zstd\(level=0\): levels go from 1 to 22"),
    (lambda: Zstd(23), ValueError, "levels go from 1 to 22"),
    (lambda: Zstd(-1), ValueError, "levels go from 1 to 22"),
    (lambda: Zstd(-131072), ValueError, "levels go from 1 to 22"),
    (lambda: Zstd(10**30), ValueError, "levels go from 1 to 22"),
    (lambda: Zlib(0), ValueError, r"Zlib\(level=0\): levels go from 1 to 9"),
    (lambda: Zlib(-1), ValueError, "levels go from 1 to 9"),
    (lambda: Zlib(10), ValueError, "levels go from 1 to 9"),
    (lambda: Gzip(0), ValueError, r"Gzip\(level=0\): levels go from 1 to 9"),
    (lambda: Gzip(-1), ValueError, "levels go from 1 to 9"),
    (lambda: Gzip(10), ValueError, "levels go from 1 to 9"),
    *(
        (
            lambda codec=codec, level=level: codec(level),
            TypeError,
            f"takes an int, not {type(level).__name__}",
        )
        for codec in (Zstd, Zlib, Gzip)
        for level in (True, False, 3.0, "3", None, b"3", [3])
    ),
    (
        lambda: Zstd(dictionary=b"content"),
        TypeError,
        "takes a Dictionary, the name of one, or None, not bytes",
    ),
    (lambda: Zstd(dictionary=5), TypeError, "not int"),
    (lambda: Zstd(dictionary=DICTIONARY.raw()), TypeError, "not ZstdCompressionDict"),
    (lambda: Zstd(dictionary=""), ValueError, "a dictionary's name cannot be empty"),
    (lambda: Zstd(checksum=1), TypeError, "takes a bool, not int"),
    (lambda: Zstd(checksum=None), TypeError, "takes a bool, not NoneType"),
    (lambda: codec_of("lz4"), ValueError, "unknown codec 'lz4': the codecs are zstd, zlib, gzip"),
    (lambda: codec_of("ZSTD"), ValueError, "unknown codec 'ZSTD'"),
    (lambda: codec_of(""), ValueError, "unknown codec ''"),
    (lambda: codec_of(Zlib), TypeError, r"; write Zlib\(\)"),
    (lambda: codec_of(zlib), TypeError, "not module"),
    (lambda: codec_of(None), TypeError, "not NoneType"),
    (lambda: codec_of(3), TypeError, "not int"),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD_SETTINGS)
def test_bad_settings_raise_at_once(make, kind, message):
    with pytest.raises(kind, match=message) as caught:
        make()
    assert type(caught.value) is kind


def test_names_stand_for_the_defaults():
    assert codec_of("zstd") == Zstd() == Zstd(3, None, True)
    assert codec_of("zlib") == Zlib() == Zlib(6)
    assert codec_of("gzip") == Gzip() == Gzip(6)
    assert codec_of(Zstd(5)) == Zstd(5)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_codecs_are_values(codec):
    for again in (pickle.loads(pickle.dumps(codec)), copy.copy(codec), copy.deepcopy(codec)):
        assert again == codec
        assert hash(again) == hash(codec)
        assert repr(again) == repr(codec)
    assert isinstance(codec, Codec)
    with pytest.raises(AttributeError):
        codec.level = 1
    names = {"Zstd": Zstd, "Zlib": Zlib, "Gzip": Gzip}
    if getattr(codec, "dictionary", None) is not DICTIONARY:
        assert eval(repr(codec), names) == codec


def test_no_two_settings_are_equal():
    assert len(set(CODECS)) == len(CODECS)
    others = {Zlib(6), Gzip(6), Zstd(6), Zstd(6, DICTIONARY), Zstd(6, OTHER_DICTIONARY), Zstd(6, "documents")}
    assert len(others) == 6


def test_a_repr_shows_what_is_not_the_default():
    assert repr(Zstd()) == "Zstd()"
    assert repr(Zstd(3, None, False)) == "Zstd(checksum=False)"
    assert repr(Zstd(9, "events")) == "Zstd(level=9, dictionary='events')"
    assert repr(Zlib(1)) == "Zlib(level=1)"


def test_equal_codecs_share_one_compressor():
    assert Zstd(4).compressor() is Zstd(4).compressor()
    assert Zstd(4).compressor() is not Zstd(5).compressor()
    assert Zlib(4).compressor() is not Gzip(4).compressor()


def test_a_codec_is_named_from_the_package():
    assert pickle.dumps(Zstd()).count(b"sqlcompress.codec") == 0
    assert Zstd.__module__ == "sqlcompress"


@given(binaries, st.sampled_from(CODECS))
def test_other_programs_libraries_read_our_frames(value, codec):
    frame = codec.compressor()(value)
    if isinstance(codec, Zlib):
        assert zlib.decompress(frame) == value
    elif isinstance(codec, Gzip):
        assert gzip.decompress(frame) == value
    else:
        dictionary = codec.dictionary.raw() if codec.dictionary is DICTIONARY else None
        # As a stream, which does not use the declared size.
        stream = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
        assert stream.decompress(frame) == value
        assert stream.eof


@given(binaries)
def test_any_codecs_frames_are_read_by_every_column(value):
    unframe = unframer(2**20, {DICTIONARY.id: DICTIONARY})
    for codec in CODECS:
        assert unframe(codec.compressor()(value)) == value


def test_frames_are_the_same_each_time():
    for codec in CODECS:
        assert codec.compressor()(b"once and again " * 50) == codec.compressor()(b"once and again " * 50)


def test_a_level_means_what_it_says():
    plain = b"".join(
        f"line {number * number} of a text with repetitions\n".encode() for number in range(3000)
    )
    for codec, lowest, highest in ((Zstd, 1, 19), (Zlib, 1, 9), (Gzip, 1, 9)):
        assert len(codec(highest).compressor()(plain)) < len(codec(lowest).compressor()(plain))
    small, with_dictionary = Zstd(), Zstd(dictionary=DICTIONARY)
    document = b'{"id": 5, "kind": "click", "user": {"id": 77, "name": "user9", "tags": ["a", "\xc3\xbc"]}}'
    assert len(with_dictionary.compressor()(document)) < len(small.compressor()(document))
