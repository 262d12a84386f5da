"""The hot path: what a type costs over the bare codec and serializer, for one value at a time.

A script for pyperf, which runs it in several processes and tells how much the figures vary::

    python -m sqlcompress.bench.codec -o codec.json

Its benchmarks are called ``<value>/<codec>/<bind or result>/<bare or type>``. "bare" is what an application
without this package would write by hand: serialize, encode, one call of the codec; and back.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyperf
import zstandard
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from sqlcompress.bench.documents import article, event
from sqlcompress.codec import Zlib, Zstd
from sqlcompress.known import known_of
from sqlcompress.training import train
from sqlcompress.types import CompressedBinary, CompressedJSON, CompressedText

if TYPE_CHECKING:
    from sqlcompress.codec import Codec
    from sqlcompress.compressed import Compressed
    from sqlcompress.dictionaries import Dictionary

_NAME = "bench"
_ENCODE = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_DECODE = json.loads


@dataclass(frozen=True)
class Case:
    """One thing to measure; ``make`` prepares it, in the process that measures it."""

    name: str
    make: Callable[[], Callable[[], object]]


_CODECS: dict[str, Codec] = {
    "zstd": Zstd(),
    "zstd, dictionary": Zstd(),
    "zstd, dictionary by name": Zstd(dictionary=_NAME),
    "zlib": Zlib(),
}
_TEXTS = {"text of 900 bytes": 850, "text of 24 KB": 24_000}
_VALUES = ("JSON of 900 bytes", *_TEXTS, "bytes, 900")


def cases() -> Iterator[Case]:
    """All that is measured."""
    for value in _VALUES:
        for codec in _CODECS:
            for direction in ("bind", "result"):
                for kind in ("bare", "type"):
                    name = f"{value}/{codec}/{direction}/{kind}"
                    yield Case(name, partial(_made, value, codec, direction, kind))


def _made(value: str, codec_name: str, direction: str, kind: str) -> Callable[[], object]:
    codec, dictionary = _CODECS[codec_name], None
    if "dictionary" in codec_name:
        dictionary = _dictionary()
        codec = Zstd(dictionary=_NAME if "name" in codec_name else dictionary)
    compress, decompress = _bare(codec, dictionary)
    dialect = SQLiteDialect_pysqlite()
    if dictionary is not None:
        known_of(dialect).learn([dictionary])
        known_of(dialect).activate({_NAME: dictionary})
    type_: Compressed[Any]
    plain: Any
    pack: Callable[[Any], Any] = _same
    unpack: Callable[[Any], Any] = _same
    if value.startswith("JSON"):
        type_, plain, pack, unpack = CompressedJSON(codec), event(0), _ENCODE, _DECODE
    elif value in _TEXTS:
        type_, plain = CompressedText(codec), article(1, _TEXTS[value])
    else:
        type_, plain = CompressedBinary(codec), _ENCODE(event(0)).encode()
    is_bytes = isinstance(plain, bytes)
    if kind == "type":
        processor = (
            type_.bind_processor(dialect) if direction == "bind" else type_.result_processor(dialect, None)
        )
        given = plain if direction == "bind" else compress(plain if is_bytes else pack(plain).encode())
        return lambda: processor(given)
    if direction == "bind":
        return partial(compress, plain) if is_bytes else (lambda: compress(pack(plain).encode()))
    stored = compress(plain if is_bytes else pack(plain).encode())
    return partial(decompress, stored) if is_bytes else (lambda: unpack(decompress(stored).decode()))


def _same(value: Any) -> Any:
    return value


def _dictionary() -> Dictionary:
    found = train(_NAME, [_ENCODE(event(i)).encode() for i in range(1000)], sizes=(65_536,)).dictionary
    assert found is not None  # noqa: S101 - documents of one kind
    return found


def _bare(
    codec: Codec, dictionary: Dictionary | None
) -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
    if isinstance(codec, Zlib):
        level = codec.level
        return (lambda plain: zlib.compress(plain, level)), zlib.decompress
    raw = None if dictionary is None else dictionary.raw()
    if raw is not None:
        raw.precompute_compress(level=3)
    compressor = zstandard.ZstdCompressor(level=3, dict_data=raw, write_checksum=True)
    return compressor.compress, zstandard.ZstdDecompressor(dict_data=raw).decompress


def _timer(case: Case) -> Callable[[int], float]:
    """As pyperf's own ``bench_func`` times, with the preparation left to the process that measures."""

    def timed(loops: int) -> float:
        function = case.make()
        rounds = range(loops)
        begun = time.perf_counter()
        for _ in rounds:
            function()
        return time.perf_counter() - begun

    return timed


def main() -> None:
    """Measure all of it, or what ``--only`` names, as pyperf's options say."""
    runner = pyperf.Runner(add_cmdline_args=_forwarded)
    runner.argparser.add_argument("--only", default="", help="cases whose name begins so")
    only = runner.parse_args().only
    for case in cases():
        if case.name.startswith(only):
            runner.bench_time_func(case.name, _timer(case))


def _forwarded(words: list[str], arguments: Any) -> None:
    words.extend(["--only", arguments.only])


if __name__ == "__main__":
    main()
