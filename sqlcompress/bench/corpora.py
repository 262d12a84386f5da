"""The rows that every arm is given: texts of about 20 KB, JSON of about 1 KB, short strings; or a file's.

Texts and JSON documents are real: the sources and definitions of this Python's standard library, as the
demonstration loads them. One version of Python gives the same rows on every machine. Where more rows are
asked for than there are documents, they come again in the same order: nothing in a row-wise comparison sees
that, and a stream compressor sees it only with a window larger than all of them.

One document in five is held out: dictionaries are trained from those, and no row is made of them.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from sqlcompress.bench.phrases import phrases
from sqlcompress.demo.corpus import Corpus as Library
from sqlcompress.demo.corpus import build
from sqlcompress.errors import SqlcompressError

_TEXT_BYTES: Final = 20_000
_JSON_BYTES: Final = range(200, 3001)
_HELD_OUT_EVERY: Final = 5
#: Fewer would all be in the processors' caches, and in a dictionary trained from their like.
MIN_DOCUMENTS: Final = 50


@dataclass(frozen=True)
class Corpus:
    """Documents of one kind.

    Attributes:
        name: As on the command line and in the results.
        is_json: Whether documents are JSON values; otherwise each is a text.
        documents: What rows are made of, in this order.
        held_out: What dictionaries are trained from.
        source: Where the documents are from, in words.
    """

    name: str
    is_json: bool
    documents: tuple[Any, ...]
    held_out: tuple[Any, ...]
    source: str

    def row(self, number: int) -> Any:
        """The value of a row; rows are counted from 0."""
        return self.documents[number % len(self.documents)]

    def mean_bytes(self) -> float:
        """Bytes of a document as UTF-8, JSON in compact form."""
        return sum(len(encoded(value)) for value in self.documents) / len(self.documents)

    def save(self, path: Path) -> None:
        """Write it for the processes that load and read."""
        path.write_text(
            json.dumps(
                [self.name, self.is_json, self.documents, self.held_out, self.source],
                ensure_ascii=False,
                separators=(",", ":"),
            ),
            encoding="utf-8",
        )

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """What `save` has written."""
        name, is_json, documents, held_out, source = json.loads(path.read_text(encoding="utf-8"))
        return cls(name, is_json, tuple(documents), tuple(held_out), source)


def encoded(value: Any) -> bytes:
    """A document's own bytes: UTF-8, JSON in compact form and not escaped."""
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def corpus(name: str) -> Corpus:
    """One of the corpora that need no file.

    Args:
        name: One of `NAMES`.
    """
    return _BUILT[name]()


def corpus_of_file(path: Path) -> Corpus:
    """Documents of a file: one JSON value a line, gzip or not; all of them strings, or none.

    Raises:
        SqlcompressError: A line is no JSON, the lines are of both kinds, or they are too few.
    """
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    documents = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                documents.append(json.loads(line))
            except ValueError:
                raise SqlcompressError(f"{path}, line {number}: not one JSON value") from None
    strings = sum(isinstance(document, str) for document in documents)
    if strings not in {0, len(documents)}:
        raise SqlcompressError(
            f"{path} holds {strings} strings among {len(documents)} lines: a corpus is all JSON strings "
            "(text) or has none (JSON documents)"
        )
    if len(documents) < MIN_DOCUMENTS:
        raise SqlcompressError(
            f"{path} holds {len(documents)} documents: at least {MIN_DOCUMENTS} are needed"
        )
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return _split(name, documents, f"the file {path.name}", is_json=not strings)


def _split(name: str, documents: Sequence[Any], source: str, *, is_json: bool) -> Corpus:
    held_out = tuple(documents[::_HELD_OUT_EVERY])
    rest = tuple(value for number, value in enumerate(documents) if number % _HELD_OUT_EVERY)
    return Corpus(name, is_json, rest, held_out, source)


@lru_cache(maxsize=1)
def _library() -> Library:
    return build()


def _texts() -> Corpus:
    whole = "".join(row.body for row in _library().articles)
    pieces = [whole[start : start + _TEXT_BYTES] for start in range(0, len(whole), _TEXT_BYTES)]
    return _split(
        "text", _shuffled(pieces[:-1]), "20,000 characters each of this Python's library", is_json=False
    )


def _json() -> Corpus:
    found = [row.meta for row in _library().symbols]
    documents = [value for value in found if len(encoded(value)) in _JSON_BYTES]
    source = "a definition each of this Python's library, 200 to 3,000 bytes"
    return _split("json", _shuffled(documents), source, is_json=True)


def _short() -> Corpus:
    source = "made up from phrases in ten languages, 50 to 500 bytes"
    return _split("short", list(_phrases(20_000)), source, is_json=False)


def _phrases(count: int) -> Iterator[str]:
    dice = random.Random(7)  # noqa: S311 - made up, not secret
    for _ in range(count):
        yield phrases(dice)


def _shuffled(values: list[Any]) -> list[Any]:
    # So that documents of one module do not lie side by side, which a page compressor would see.
    random.Random(7).shuffle(values)  # noqa: S311 - as above
    return values


_BUILT: Final[dict[str, Callable[[], Corpus]]] = {"text": _texts, "json": _json, "short": _short}
NAMES: Final = tuple(_BUILT)
