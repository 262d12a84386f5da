"""Zstd, Zlib and Gzip: settings as values, and the functions that frame and unframe bytes.

A compression context is costly to make and not safe to share between threads, so each thread keeps one for
each setting. A value over :data:`KEPT_CONTEXT_BYTES` gets a context of its own, so that no thread holds on to
the tables a large value needs. After a fork the child makes new ones.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Final, Generic, TypeVar

import zstandard

from sqlcompress.dictionaries import Dictionary
from sqlcompress.errors import CorruptValueError, DictionaryNotFoundError, ValueTooLargeError
from sqlcompress.frames import (
    CONTENT_SIZE_UNKNOWN,
    GZIP_MAGIC,
    GZIP_WBITS,
    MAX_WINDOW_BYTES,
    ZLIB_MAGIC,
    ZLIB_WBITS,
    ZSTD_MAGIC,
    inflate,
    unzstd_undeclared,
)

BytesFunction = Callable[[bytes], bytes]

#: Up to this many plain bytes the thread's kept context serves. A new one costs 7 microseconds, which is
#: less than 1 % of the time that a value above this takes.
KEPT_CONTEXT_BYTES: Final = 2**20


#: A column has a few dictionaries at a time, each up to a megabyte and its tables; those long replaced go.
_KEPT_DECOMPRESSORS: Final = 32
_KEPT_COMPRESSORS: Final = 32

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., bytes])


class _KeptContext(threading.local, Generic[_FunctionT]):
    """One function over a compression context, made anew in each thread that asks for it."""

    call: _FunctionT

    def __init__(self, make: Callable[[], _FunctionT]) -> None:
        self.make = make
        self.call = make()
        _kept_contexts.add(self)


_kept_contexts: weakref.WeakSet[_KeptContext[Any]] = weakref.WeakSet()


def _renew_contexts() -> None:
    for kept in list(_kept_contexts):
        kept.call = kept.make()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_contexts)


@dataclass(frozen=True, repr=False)
class Codec(ABC):
    """What :class:`Zstd`, :class:`Zlib` and :class:`Gzip` have in common.

    Codecs hold settings only: they are frozen, hashable and picklable, and their repr evaluates back.
    """

    name: ClassVar[str]

    @abstractmethod
    def compressor(self) -> BytesFunction:
        """A function from plain bytes to a frame; the same one for equal codecs, safe in any thread."""

    def __repr__(self) -> str:
        shown = (
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if item.default is MISSING or getattr(self, item.name) != item.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Zstd(Codec):
    """zstd frames (RFC 8878) with their content size and, unless told otherwise, a checksum.

    Args:
        level: 1 to 22. 3, zstd's own default, is where it compresses about as fast as it can be fed.
        dictionary: A :class:`Dictionary`, or the name of one kept in the database. Under a name that no
            dictionary is active for, values are compressed without.
        checksum: Whether a frame carries 4 bytes of XXH64 over the content. Without it a flipped bit can
            decode to wrong text; with it writing costs about 2 % and reading 9 % on 24 KB texts.

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: The level is outside its bounds, or a dictionary's name is empty.
    """

    level: int = 3
    dictionary: Dictionary | str | None = None
    checksum: bool = True

    name: ClassVar[str] = "zstd"

    def __post_init__(self) -> None:
        _check_level(self, 1, zstandard.MAX_COMPRESSION_LEVEL)
        if self.dictionary is not None and not isinstance(self.dictionary, (Dictionary, str)):
            raise TypeError(
                "Zstd(dictionary=…) takes a Dictionary, the name of one, or None,"
                f" not {type(self.dictionary).__name__}"
            )
        if self.dictionary == "":
            raise ValueError("Zstd(dictionary=…): a dictionary's name cannot be empty")
        if not isinstance(self.checksum, bool):
            raise TypeError(f"Zstd(checksum=…) takes a bool, not {type(self.checksum).__name__}")

    def compressor(self) -> BytesFunction:
        """A function from plain bytes to a zstd frame."""
        return _zstd_compressor(self)


@dataclass(frozen=True, repr=False)
class Zlib(Codec):
    """zlib streams (RFC 1950) whose header is always 78 9C, which MySQL's UNCOMPRESS() reads as well.

    Args:
        level: 1 to 9. 6 is zlib's own default.

    Raises:
        TypeError: The level is not an int.
        ValueError: The level is outside its bounds.
    """

    level: int = 6

    name: ClassVar[str] = "zlib"

    def __post_init__(self) -> None:
        _check_level(self, 1, 9)

    def compressor(self) -> BytesFunction:
        """A function from plain bytes to a zlib frame."""
        return _zlib_compressor(self)


@dataclass(frozen=True, repr=False)
class Gzip(Codec):
    """gzip members (RFC 1952) with no time in them, for SQL Server's DECOMPRESS and Oracle's UTL_COMPRESS.

    Args:
        level: 1 to 9. 6 is zlib's own default.

    Raises:
        TypeError: The level is not an int.
        ValueError: The level is outside its bounds.
    """

    level: int = 6

    name: ClassVar[str] = "gzip"

    def __post_init__(self) -> None:
        _check_level(self, 1, 9)

    def compressor(self) -> BytesFunction:
        """A function from plain bytes to a gzip frame."""
        return _gzip_compressor(self)


def _check_level(codec: Zstd | Zlib | Gzip, lowest: int, highest: int) -> None:
    name, level = type(codec).__name__, codec.level
    if type(level) is not int:
        raise TypeError(f"{name}(level=…) takes an int, not {type(level).__name__}")
    if not lowest <= level <= highest:
        raise ValueError(f"{name}(level={level}): levels go from {lowest} to {highest}")


_BY_NAME: Final[dict[str, Codec]] = {"zstd": Zstd(), "zlib": Zlib(), "gzip": Gzip()}


def codec_of(codec: Codec | str) -> Codec:
    """The codec itself, or the default one of that name.

    Raises:
        TypeError: ``codec`` is neither a codec nor a str.
        ValueError: There is no codec of that name.
    """
    if isinstance(codec, Codec):
        return codec
    if not isinstance(codec, str):
        hint = f"; write {codec.__name__}()" if isinstance(codec, type) and issubclass(codec, Codec) else ""
        raise TypeError(f"codec takes Zstd(…), Zlib(…), Gzip(…) or a name, not {type(codec).__name__}{hint}")
    try:
        return _BY_NAME[codec]
    except KeyError:
        raise ValueError(f"unknown codec {codec!r}: the codecs are {', '.join(_BY_NAME)}") from None


@functools.lru_cache(maxsize=_KEPT_COMPRESSORS)
def _zstd_compressor(codec: Zstd) -> BytesFunction:
    # A name stands for a dictionary of the database; with none at hand, values are framed without.
    dictionary = codec.dictionary.raw() if isinstance(codec.dictionary, Dictionary) else None
    if dictionary is not None:
        # Digested once for this level and then shared, read-only, by the contexts of all threads.
        dictionary.precompute_compress(level=codec.level)

    def make() -> BytesFunction:
        return zstandard.ZstdCompressor(
            level=codec.level, dict_data=dictionary, write_checksum=codec.checksum, write_content_size=True
        ).compress

    kept = _KeptContext(make)

    def compress(plain: bytes) -> bytes:
        if len(plain) > KEPT_CONTEXT_BYTES:
            return make()(plain)
        return kept.call(plain)

    return compress


@functools.cache
def _zlib_compressor(codec: Zlib) -> BytesFunction:
    level = codec.level

    def compress(plain: bytes) -> bytes:
        frame = zlib.compress(plain, level)
        # The header's level bits are informative only and its check bits hold for 78 9C. At other levels
        # zlib writes 78 01, 78 5E or 78 DA, which a text can begin with.
        return frame if frame.startswith(ZLIB_MAGIC) else ZLIB_MAGIC + frame[2:]

    return compress


@functools.cache
def _gzip_compressor(codec: Gzip) -> BytesFunction:
    level = codec.level

    def compress(plain: bytes) -> bytes:
        stream = zlib.compressobj(level, zlib.DEFLATED, GZIP_WBITS)
        return stream.compress(plain) + stream.flush()

    return compress


def unframer(  # noqa: C901 - holds the flat function below
    max_size: int, dictionaries: Mapping[int, Dictionary] | None = None
) -> BytesFunction:
    """A function from a frame of any codec to its plain bytes, strict in every respect.

    Args:
        max_size: The largest plain size it gives back, in bytes.
        dictionaries: The dictionaries at hand, by id.

    Returns:
        A function that raises CorruptValueError, ValueTooLargeError or DictionaryNotFoundError, and
        CorruptValueError too for bytes that do not begin like a frame. Safe in any thread.
    """
    # decompress() is called by position, (data, max_output_size, read_across_frames, allow_extra_data): its
    # keyword parsing costs 0.35 microseconds, a third of what decoding 900 bytes takes.
    plain_zstd = _zstd_decompressor(None)
    # Not "dictionaries or {}": a mapping that has nothing yet can have it when it is asked.
    at_hand = {} if dictionaries is None else dictionaries
    by_dictionary = _Decompressors(at_hand)
    parameters_of = zstandard.get_frame_parameters

    def unframe(frame: bytes) -> bytes:  # noqa: C901 - one flat function: each call between costs 60 ns
        if frame[:4] == ZSTD_MAGIC:
            try:
                parameters = parameters_of(frame)
                dictionary_id = parameters.dict_id
                size = parameters.content_size
                if size <= max_size and size:
                    if dictionary_id == 0:
                        return plain_zstd.call(frame, 0, False, False)
                    return by_dictionary[dictionary_id].call(frame, 0, False, False)
            except KeyError:
                raise _dictionary_not_found(dictionary_id) from None
            except zstandard.ZstdError as error:
                raise CorruptValueError(
                    "the zstd frame is cut, altered or followed by other bytes"
                ) from error
            if size != CONTENT_SIZE_UNKNOWN and size > max_size:
                raise ValueTooLargeError(
                    f"the zstd frame declares {size} bytes, more than max_size={max_size}"
                )
            if dictionary_id == 0:
                return unzstd_undeclared(frame, max_size)
            try:
                dictionary = at_hand[dictionary_id]
            except KeyError:
                raise _dictionary_not_found(dictionary_id) from None
            return unzstd_undeclared(frame, max_size, dictionary.raw())
        if frame[:2] == ZLIB_MAGIC:
            return inflate(frame, ZLIB_WBITS, max_size)
        if frame[:3] == GZIP_MAGIC:
            return inflate(frame, GZIP_WBITS, max_size)
        raise CorruptValueError("the value does not begin like a frame")

    return unframe


class _Decompressors(dict[int, "_KeptContext[Callable[..., bytes]]"]):
    """Decompression by the id of the dictionary, made when an id is first met."""

    def __init__(self, dictionaries: Mapping[int, Dictionary]) -> None:
        super().__init__()
        self._dictionaries = dictionaries

    def __missing__(self, dictionary_id: int) -> _KeptContext[Callable[..., bytes]]:
        made = _zstd_decompressor(self._dictionaries[dictionary_id])
        if len(self) >= _KEPT_DECOMPRESSORS:
            self.clear()  # a process that has seen so many dictionaries need not keep them all
        self[dictionary_id] = made
        return made


def _dictionary_not_found(dictionary_id: int) -> DictionaryNotFoundError:
    return DictionaryNotFoundError(
        f"the value was compressed with dictionary {dictionary_id}, which is not at hand: give the column"
        " that dictionary, or call install(engine) where the database keeps it in sqlcompress_dictionary. A"
        " dump that leaves the dictionaries out cannot be read without them",
        dictionary_id,
    )


@functools.lru_cache(maxsize=_KEPT_DECOMPRESSORS)
def _zstd_decompressor(dictionary: Dictionary | None) -> _KeptContext[Callable[..., bytes]]:
    raw = None if dictionary is None else dictionary.raw()

    def make() -> Callable[..., bytes]:
        # The window bound serves cut frames only, which would be streamed; whole ones decode in one pass.
        return zstandard.ZstdDecompressor(dict_data=raw, max_window_size=MAX_WINDOW_BYTES).decompress

    return _KeptContext(make)
