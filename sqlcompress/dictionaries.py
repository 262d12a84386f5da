"""A zstd dictionary whose id follows from its content."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import zstandard

#: First bytes of a trained zstd dictionary (RFC 8878, section 5). One without them is "raw content": zstd
#: gives its frames no id, so a reader could not tell which dictionary a value needs.
DICTIONARY_MAGIC: Final = b"\x37\xa4\x30\xec"

_ID_BYTES: Final = slice(4, 8)
#: Ids below 32768 and from 2**31 on are reserved for a public registry (RFC 8878, section 5).
_FIRST_PRIVATE_ID: Final = 32768
_PAST_PRIVATE_ID: Final = 2**31


@dataclass(frozen=True, repr=False)
class Dictionary:
    """A trained dictionary under a name.

    The id is derived from the SHA-256 of the content (its id field counted as zero), folded into the range
    that RFC 8878 leaves for private use: the same bytes have the same id everywhere, other bytes do not. The
    id is written into ``content``, where zstd looks for it, and travels in every frame.

    Args:
        name: What columns call it; any non-empty text.
        content: The dictionary as zstd trains it, beginning ``37 A4 30 EC``.

    Attributes:
        id: The id, from 32768 to 2**31 - 1.

    Raises:
        TypeError: ``name`` is not a str, or ``content`` not bytes.
        ValueError: ``name`` is empty, or ``content`` is not a trained zstd dictionary.
    """

    name: str
    content: bytes = field(repr=False)
    id: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a dictionary's name is a str, not {type(self.name).__name__}")
        if not self.name:
            raise ValueError("a dictionary's name cannot be empty")
        if not isinstance(self.content, (bytes, bytearray, memoryview)):
            raise TypeError(f"a dictionary's content is bytes, not {type(self.content).__name__}")
        content = bytes(self.content)
        if not content.startswith(DICTIONARY_MAGIC):
            raise ValueError(
                "the content is not a trained zstd dictionary: it does not begin 37 A4 30 EC."
                " Train one with `zstd --train` or zstandard.train_dictionary()"
            )
        digest = hashlib.sha256(content[: _ID_BYTES.start] + bytes(4) + content[_ID_BYTES.stop :]).digest()
        number = _FIRST_PRIVATE_ID + int.from_bytes(digest[:8], "big") % (
            _PAST_PRIVATE_ID - _FIRST_PRIVATE_ID
        )
        content = content[: _ID_BYTES.start] + number.to_bytes(4, "little") + content[_ID_BYTES.stop :]
        object.__setattr__(self, "content", content)
        object.__setattr__(self, "id", number)
        try:
            zstandard.ZstdCompressionDict(content).precompute_compress(level=1)
        except zstandard.ZstdError as error:
            raise ValueError("the content is not a trained zstd dictionary: zstd refuses it") from error

    def __repr__(self) -> str:
        # The content is up to a megabyte: the repr names the dictionary and does not evaluate.
        return f"<Dictionary {self.name!r} id={self.id} {len(self.content)} bytes>"

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], name: str | None = None) -> Dictionary:
        """The dictionary kept in a file.

        Args:
            path: The file.
            name: What columns call it; by default the file's name without its ending.

        Raises:
            OSError: The file cannot be read.
            ValueError: It does not hold a trained zstd dictionary.
        """
        path = Path(path)
        content = path.read_bytes()
        try:
            return cls(path.stem if name is None else name, content)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the content to a file, for :meth:`from_file` and for ``zstd -D``."""
        Path(path).write_bytes(self.content)

    def raw(self) -> zstandard.ZstdCompressionDict:
        """A zstandard dictionary object of its own, for contexts of one setting."""
        return zstandard.ZstdCompressionDict(self.content, dict_type=zstandard.DICT_TYPE_FULLDICT)
