"""From plain bytes to what a column stores, and back: the rules of one column's settings.

Write: frame the value and keep whichever is smaller. Read: what begins like a frame decodes completely or
raises; anything else is plain.
"""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from sqlcompress.codec import BytesFunction, Codec, unframer
from sqlcompress.dictionaries import Dictionary
from sqlcompress.errors import DecodeError, UnknownFormatError, ValueTooLargeError, raise_alone
from sqlcompress.frames import is_framed
from sqlcompress.legacy import is_legacy, reader_of

if TYPE_CHECKING:
    from sqlcompress.known import Known


def dictionaries_of(codec: Codec, known: Known | None = None) -> Mapping[int, Dictionary]:
    """The dictionaries that a codec brings along, and those that are known, by id."""
    dictionary = getattr(codec, "dictionary", None)
    own = {dictionary.id: dictionary} if isinstance(dictionary, Dictionary) else {}
    if known is None:
        return own
    # Only read from; the type is for mappings that are written to as well.
    return ChainMap(own, cast("Any", known)) if own else known


def encoder(
    codec: Codec,
    min_size: int,
    max_size: int,
    legacy: tuple[str, ...],
    *,
    is_text: bool,
    known: Known | None = None,
) -> BytesFunction:
    """A function from plain bytes to stored bytes, safe in any thread.

    Args:
        codec: What frames are made with.
        min_size: Below this many bytes no frame is tried.
        max_size: Above this many bytes the function raises ValueTooLargeError.
        legacy: The formats the column reads besides frames; a value that one of them would take for its own
            is always framed.
        is_text: Whether the plain bytes are UTF-8, which cannot begin like a frame. A binary value that
            begins like one is always framed, even where that makes it longer.
        known: What a dictionary's name stands for; without it a name stands for none.
    """
    if known is None:
        return _encoder(codec, min_size, max_size, legacy, is_text)
    dictionaries = dictionaries_of(codec, known)
    return _encoding(known.compressor(codec), dictionaries, min_size, max_size, legacy, is_text=is_text)


@functools.lru_cache(maxsize=64)
def _encoder(
    codec: Codec, min_size: int, max_size: int, legacy: tuple[str, ...], is_text: bool
) -> BytesFunction:
    dictionaries = dictionaries_of(codec)
    return _encoding(codec.compressor(), dictionaries, min_size, max_size, legacy, is_text=is_text)


def _encoding(
    compress: BytesFunction,
    dictionaries: Mapping[int, Dictionary],
    min_size: int,
    max_size: int,
    legacy: tuple[str, ...],
    *,
    is_text: bool,
) -> BytesFunction:

    def encode_text(plain: bytes) -> bytes:
        size = len(plain)
        if size < min_size:
            return plain
        if size > max_size:
            raise _too_large(size, max_size)
        frame = compress(plain)
        return frame if len(frame) < size else plain

    if is_text and not legacy:
        return encode_text

    read_legacy = reader_of(legacy, max_size, unframer(max_size, dictionaries))

    def encode(plain: bytes) -> bytes:
        size = len(plain)
        if size > max_size:
            raise _too_large(size, max_size)
        frame = compress(plain) if size >= min_size else None
        if frame is not None and len(frame) < size:
            return frame
        if (not is_text and is_framed(plain)) or (legacy and is_legacy(plain, read_legacy)):
            return compress(plain) if frame is None else frame
        return plain

    return encode


def decoder(
    codec: Codec,
    max_size: int,
    legacy: tuple[str, ...],
    *,
    is_text: bool,
    also: Codec | None = None,
    known: Known | None = None,
) -> BytesFunction:
    """A function from stored bytes to plain bytes, safe in any thread.

    Args:
        codec: The column's codec; frames of every codec are read, a Dictionary it brings is used.
        max_size: The largest plain size of a frame, in bytes.
        legacy: The formats to read besides frames.
        is_text: Whether the plain bytes have to be UTF-8.
        also: Another codec whose Dictionary is used as well.
        known: Further dictionaries.

    Returns:
        A function that raises a DecodeError for whatever cannot be given back exactly.
    """
    own = _Dictionaries(dictionaries_of(codec))
    if also is not None:
        own.update(dictionaries_of(also))
    if known is None:
        return _decoder(max_size, legacy, own, is_text)
    return _decoding(max_size, legacy, ChainMap(own, cast("Any", known)), is_text)


class _Dictionaries(dict[int, Dictionary]):
    """A mapping that can be part of a cache key: ids follow from content."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))


@functools.lru_cache(maxsize=64)
def _decoder(
    max_size: int, legacy: tuple[str, ...], dictionaries: _Dictionaries, check_text: bool
) -> BytesFunction:
    return _decoding(max_size, legacy, dictionaries, check_text)


def _decoding(
    max_size: int, legacy: tuple[str, ...], dictionaries: Mapping[int, Dictionary], check_text: bool
) -> BytesFunction:
    unframe = unframer(max_size, dictionaries)
    read_legacy = reader_of(legacy, max_size, unframe)

    def decode(stored: bytes) -> bytes:
        plain: bytes | None
        if is_framed(stored):
            try:
                plain = unframe(stored)
            except DecodeError:
                # The length that MySQL's COMPRESS() begins with can look like a frame's first bytes:
                # 40,056 is 78 9C 00 00.
                plain = read_legacy(stored) if legacy else None
                if plain is None:
                    raise
        else:
            plain = read_legacy(stored) if legacy else None
            if plain is None:
                plain = stored
        if check_text:
            checked_utf8(plain)
        return plain

    return decode


def checked_utf8(plain: bytes) -> str:
    """The text that ``plain`` is.

    Raises:
        UnknownFormatError: It is not UTF-8.
    """
    try:
        return plain.decode()
    except UnicodeDecodeError as error:
        raise_alone(not_utf8(error))


def not_utf8(error: UnicodeDecodeError) -> UnknownFormatError:
    """The error for bytes that are not UTF-8; it says where, and leaves the bytes themselves out."""
    return UnknownFormatError(
        "the value is neither a frame nor UTF-8 text:"
        f" byte {error.start} of {len(error.object)} does not fit. Was it written by other software?"
        " See the column's legacy=(…)"
    )


def _too_large(size: int, max_size: int) -> ValueTooLargeError:
    return ValueTooLargeError(
        f"the value has {size} bytes, more than max_size={max_size}; nothing was written"
    )
