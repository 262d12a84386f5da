"""Values for the round trips: what people store, and what was made up to be mistaken for something else."""

from __future__ import annotations

import base64
import gzip
import inspect
import json
import random
import zlib

import zstandard
from hypothesis import strategies as st
from sqlalchemy import Insert

from sqlcompress import Dictionary, Gzip, Zlib, Zstd
from sqlcompress.frames import MAGICS

#: For ``returning()``, which takes it from SQLAlchemy 2.0.10 on.
IN_ORDER = (
    {"sort_by_parameter_order": True}
    if "sort_by_parameter_order" in inspect.signature(Insert.returning).parameters
    else {}
)


def document(number: int) -> dict[str, object]:
    """A document as logs are made of them: much of it the same from one to the next."""
    dice = random.Random(number)
    return {
        "id": number,
        "kind": dice.choice(["click", "view", "purchase", "refund"]),
        "user": {
            "id": dice.randrange(10**6),
            "name": f"user{dice.randrange(1000)}",
            "tags": ["a", "ü", "日本"],
        },
        "items": [{"sku": f"SKU-{dice.randrange(10**4)}", "count": dice.randrange(9)} for _ in range(6)],
        "message": "the quick brown fox jumps over the lazy dog " * dice.randrange(1, 5),
    }


def trained(first: int) -> bytes:
    samples = [json.dumps(document(number)).encode() for number in range(first, first + 400)]
    return zstandard.train_dictionary(4096, samples).as_bytes()


DICTIONARY = Dictionary("documents", trained(0))
OTHER_DICTIONARY = Dictionary("others", trained(1000))

CODECS = (
    Zstd(),
    Zstd(1),
    Zstd(19),
    Zstd(checksum=False),
    Zstd(dictionary=DICTIONARY),
    Zstd(7, DICTIONARY, checksum=False),
    Zstd(dictionary="not in any database"),
    Zlib(),
    Zlib(1),
    Zlib(9),
    Gzip(),
    Gzip(1),
    Gzip(9),
)
LEGACIES = ((), ("mysql",), ("zlib",), ("base64",), ("mysql", "zlib", "base64"), ("base64", "zlib", "mysql"))


def mysql_compress(plain: bytes, level: int = 6) -> bytes:
    """What MySQL's COMPRESS() gives."""
    if not plain:
        return b""
    stream = zlib.compress(plain, level)
    return len(plain).to_bytes(4, "little") + stream + (b"." if stream.endswith(b" ") else b"")


def streamed_zstd(plain: bytes, level: int = 3) -> bytes:
    """A frame that declares no content size, as streaming encoders write it."""
    stream = zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj()
    return stream.compress(plain) + stream.flush()


#: Each takes plain bytes to bytes that a reader could take for a frame, or for another program's format.
DISGUISES = (
    Zstd().compressor(),
    Zstd(checksum=False).compressor(),
    Zstd(dictionary=DICTIONARY).compressor(),
    streamed_zstd,
    Zlib().compressor(),
    Gzip().compressor(),
    zlib.compress,
    lambda plain: zlib.compress(plain, 0),
    lambda plain: zlib.compress(plain, 1),
    lambda plain: zlib.compress(plain, 9),
    gzip.compress,
    mysql_compress,
    lambda plain: base64.b64encode(zlib.compress(plain)),
    lambda plain: base64.b64encode(zlib.compress(plain, 0)),
    lambda plain: base64.b64encode(Zstd().compressor()(plain)),
    lambda plain: base64.b64encode(gzip.compress(plain)),
    lambda plain: base64.encodebytes(mysql_compress(plain)),
    lambda plain: base64.encodebytes(zlib.compress(plain)),
)
#: How texts and values of other kinds begin.
BEGINNINGS = (
    *MAGICS,
    *(magic[:length] for magic in MAGICS for length in range(1, len(magic))),
    b"x^",
    b"x\x01",
    b"x\xda",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\x80\x04",
    b"\x28\x00\x00\x00x^",
    b"\x00",
    b"\xef\xbb\xbf",
    b"eJw",
    b"KLUv/Q",
    b"H4sI",
)

#: Characters that do anything unusual on the way through drivers, servers and frames.
_ODD = "\x00\x01\x1a\x1f\t\r\n\\'\"%_:?`;$\x7f\x80\x8b\x9c\xb5\xff\ufeff\ufffd\uffff\u2028é日𝄞😀x^({[ "
_plain_text = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=_ODD, max_size=40),
    st.builds(lambda text, times: text * times, st.text(max_size=12), st.integers(0, 400)),
)

disguised = st.builds(lambda disguise, text: disguise(text.encode()), st.sampled_from(DISGUISES), _plain_text)

binaries = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda chunk, times: chunk * times, st.binary(max_size=12), st.integers(0, 400)),
    st.builds(lambda start, rest: start + rest, st.sampled_from(BEGINNINGS), st.binary(max_size=40)),
    disguised,
    disguised.map(lambda value: value[: len(value) // 2]),
    disguised.map(lambda value: value + b"."),
    st.builds(lambda disguise, value: disguise(value), st.sampled_from(DISGUISES), disguised),
)

texts = st.one_of(
    _plain_text,
    binaries.map(lambda value: value.decode("latin1")),
    binaries.map(lambda value: value.decode("utf-8", "replace")),
    binaries.map(lambda value: value.decode("utf-8", "ignore")),
    binaries.map(lambda value: base64.b64encode(value).decode()),
)

json_documents = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**64, -(2**63), 2**53 + 1, 10**300, 1.10, 5e-324, 1.7976931348623157e308, -0.0]),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(texts, inner, max_size=5)),
    max_leaves=12,
)


def incompressible(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def dense_text(size: int) -> str:
    """``size`` bytes of UTF-8 (a multiple of 3) that frames make little smaller."""
    return "".join(map(chr, random.Random(size).choices(range(0x800, 0xD800), k=size // 3)))
