"""Readers for values that other software wrote: one registry, asked for by name in ``legacy=(…)``.

A value counts as one of these formats only if it decodes completely, with length and checksum right.
Anything else is left to the caller, who takes it for plain text or bytes. Nothing here runs what it reads.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final

from sqlcompress.codec import BytesFunction
from sqlcompress.errors import CorruptValueError, DecodeError
from sqlcompress.frames import GZIP_MAGIC, ZLIB_WBITS, ZSTD_MAGIC, inflate, is_framed

#: Takes a stored value and gives its plain bytes, or None where it is not of the reader's format.
Reader = Callable[[bytes], "bytes | None"]

_MYSQL_LENGTH_BYTES: Final = 4
_MYSQL_LENGTH_MASK: Final = 0x3FFFFFFF  # MySQL manual, COMPRESS(): the two highest bits are not length
_BASE64_LINES: Final = re.compile(rb"[A-Za-z0-9+/\r\n]+={0,2}[\r\n]*")


def has_zlib_header(value: bytes) -> bool:
    """Whether the first two bytes are a zlib header without a preset dictionary (RFC 1950, section 2.2)."""
    return (
        len(value) > 2
        and value[0] & 0x0F == 8
        and value[0] >> 4 <= 7
        and not value[1] & 0x20
        and (value[0] << 8 | value[1]) % 31 == 0
    )


def _zlib_reader(max_size: int, unframe: BytesFunction) -> Reader:  # noqa: ARG001 - one shape for all readers
    def read(value: bytes) -> bytes | None:
        if not has_zlib_header(value):
            return None
        try:
            return inflate(value, ZLIB_WBITS, max_size)
        except CorruptValueError:
            return None

    return read


def _mysql_reader(max_size: int, unframe: BytesFunction) -> Reader:  # noqa: ARG001 - as above
    def read(value: bytes) -> bytes | None:
        stream = value[_MYSQL_LENGTH_BYTES:]
        if not has_zlib_header(stream):
            return None
        length = int.from_bytes(value[:_MYSQL_LENGTH_BYTES], "little") & _MYSQL_LENGTH_MASK
        # COMPRESS() appends a full stop to a stream that ends in a space, which CHAR columns would strip.
        streams = (stream, stream[:-1]) if stream.endswith(b" .") else (stream,)
        for candidate in streams:
            try:
                plain = inflate(candidate, ZLIB_WBITS, max_size)
            except CorruptValueError:
                continue
            return plain if len(plain) == length else None
        return None

    return read


def _base64_reader(max_size: int, unframe: BytesFunction) -> Reader:
    inner = (_mysql_reader(max_size, unframe), _zlib_reader(max_size, unframe))

    def read(value: bytes) -> bytes | None:
        # Eight characters give the six bytes that tell whether the rest is worth decoding.
        if not _may_be_compressed(_decoded_base64(value[:8])) or not _BASE64_LINES.fullmatch(value):
            return None
        compact = value.translate(None, b"\r\n")
        decoded = _decoded_base64(compact)
        if decoded is None or base64.b64encode(decoded) != compact:
            return None
        if is_framed(decoded):
            try:
                return unframe(decoded)
            except CorruptValueError:
                # Three or four magic bytes are no coincidence; the two of zlib may be.
                if decoded.startswith((ZSTD_MAGIC, GZIP_MAGIC)):
                    raise
        for reader in inner:
            plain = reader(decoded)
            if plain is not None:
                return plain
        return None

    return read


def _decoded_base64(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _may_be_compressed(head: bytes | None) -> bool:
    return head is not None and (
        head.startswith((ZSTD_MAGIC, GZIP_MAGIC))
        or has_zlib_header(head)
        or has_zlib_header(head[_MYSQL_LENGTH_BYTES:] + b"\0")
    )


_READERS: Final[dict[str, Callable[[int, BytesFunction], Reader]]] = {
    # MySQL's and MariaDB's COMPRESS(): 4 bytes of length, little-endian, and a zlib stream.
    "mysql": _mysql_reader,
    # A zlib stream with any header, as zlib.compress() gives it.
    "zlib": _zlib_reader,
    # Base64 text, in lines or not, around a frame or one of the formats above.
    "base64": _base64_reader,
}

LEGACY_FORMATS: Final[tuple[str, ...]] = tuple(_READERS)


def checked_names(names: object) -> tuple[str, ...]:
    """``names`` as a tuple without repetitions, in the order given.

    Raises:
        TypeError: Not a sequence of str; a lone str is one too easily mistaken for it.
        ValueError: A name is not one of :data:`LEGACY_FORMATS`.
    """
    if isinstance(names, str) or not isinstance(names, Sequence):
        hint = f"; write ({names!r},)" if isinstance(names, str) else ""
        raise TypeError(f"legacy takes a tuple of names, not {type(names).__name__}{hint}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"legacy takes names as str, not {type(name).__name__}")
        if name not in _READERS:
            raise ValueError(f"unknown legacy format {name!r}: the formats are {', '.join(_READERS)}")
    return tuple(dict.fromkeys(names))


def reader_of(names: tuple[str, ...], max_size: int, unframe: BytesFunction) -> Reader:
    """One reader for all the formats named.

    Args:
        names: From :data:`LEGACY_FORMATS`.
        max_size: The largest plain size it gives back, in bytes.
        unframe: Decodes the frames that base64 text may hold.

    Returns:
        A function that gives the plain bytes, or None where the value is of none of the formats. It raises a
        DecodeError where it is one and cannot be given back: larger than ``max_size``, a dictionary missing.
    """
    readers = tuple(_READERS[name](max_size, unframe) for name in names)

    def read(value: bytes) -> bytes | None:
        for reader in readers:
            plain = reader(value)
            if plain is not None:
                return plain
        return None

    return read


def is_legacy(value: bytes, read: Reader) -> bool:
    """Whether ``read`` would take ``value`` for one of its formats, so that it must not be stored plain."""
    try:
        return read(value) is not None
    except DecodeError:
        return True
