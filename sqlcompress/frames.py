"""What stored bytes mean: the frames' first bytes, and how each is decoded strictly.

A frame decodes completely (one frame, nothing after it, declared length and checksum right, size within the
caller's bound) or an error is raised. Formats: zstd, RFC 8878; zlib, RFC 1950; gzip, RFC 1952.

No valid UTF-8 text begins like a frame: B5, 9C and 8B are continuation bytes (RFC 3629, section 3) and stand
where a character has to begin, since the byte before each of them is ASCII.
"""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

import zstandard

from sqlcompress.errors import CorruptValueError, ValueTooLargeError

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
#: The header that every zlib frame of ours has. Other zlib headers (78 01, 78 5E, 78 DA) can begin a text.
ZLIB_MAGIC: Final = b"\x78\x9c"
GZIP_MAGIC: Final = b"\x1f\x8b\x08"
#: What a frame begins with; in order of how often each is expected.
MAGICS: Final[tuple[bytes, ...]] = (ZSTD_MAGIC, ZLIB_MAGIC, GZIP_MAGIC)

#: python-zstandard's value for a frame that does not declare its content size.
CONTENT_SIZE_UNKNOWN: Final = 2**64 - 1

#: The window that a frame without a declared size may ask for, in bytes. It bounds the memory beside the
#: value itself; zstd's levels up to 20 stay within it (RFC 8878, section 3.1.1.1.2, asks for 8 MB at least).
MAX_WINDOW_BYTES: Final = 32 * 2**20

#: ``wbits`` for :func:`inflate`: which header and checksum stand around the deflate data.
ZLIB_WBITS: Final = 15
GZIP_WBITS: Final = 31

#: Up to these sizes a deflate stream is decoded in one pass. Python's zlib gathers its output in pieces and
#: joins them, which takes twice the value's memory; a larger one is measured first, then decoded in place.
_ONE_PASS_STORED_BYTES: Final = 4 * 2**20
_ONE_PASS_PLAIN_BYTES: Final = 16 * 2**20
#: Deflate expands at most 1032 to 1, so a piece of this size gives 8 MiB at most.
_MEASURED_PIECE_BYTES: Final = 2**13

_MAX_BLOCK_BYTES: Final = 128 * 2**10  # RFC 8878, section 3.1.1.2.4
_RAW_BLOCK, _RLE_BLOCK, _RESERVED_BLOCK = 0, 1, 3


def is_framed(stored: bytes) -> bool:
    """Whether ``stored`` begins like a frame; for text this is a proof, for binary values a convention."""
    return stored.startswith(MAGICS)


class ZstdExtent(NamedTuple):
    """Where a zstd frame ends, and how many bytes its blocks can hold at most."""

    end: int
    content_bound: int


def zstd_extent(frame: bytes) -> ZstdExtent:
    """Walk the block headers of a zstd frame (RFC 8878, section 3.1.1) without decoding anything.

    python-zstandard reports neither bytes after a frame of unknown size nor damage in an empty one, and it
    needs a buffer size where none is declared; the block headers give both.

    Raises:
        CorruptValueError: The frame is cut or a block header is not valid.
    """
    try:
        parameters = zstandard.get_frame_parameters(frame)
        position = zstandard.frame_header_size(frame)
    except zstandard.ZstdError as error:
        raise CorruptValueError("the zstd frame header is cut or damaged") from error
    size = len(frame)
    bound = 0
    last = False
    while not last:
        if position + 3 > size:
            raise CorruptValueError("the zstd frame is cut")
        header = int.from_bytes(frame[position : position + 3], "little")
        last, kind, block_size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind == _RESERVED_BLOCK:
            raise CorruptValueError("the zstd frame has a block of a reserved type")
        bound += block_size if kind in (_RAW_BLOCK, _RLE_BLOCK) else _MAX_BLOCK_BYTES
        position += 3 + (1 if kind == _RLE_BLOCK else block_size)
    if parameters.has_checksum:
        position += 4
    if position > size:
        raise CorruptValueError("the zstd frame is cut")
    return ZstdExtent(position, bound)


def unzstd_undeclared(
    frame: bytes, max_size: int, dictionary: zstandard.ZstdCompressionDict | None = None
) -> bytes:
    """Decode a zstd frame that declares no content size, or declares none at all (zero).

    Args:
        frame: The whole stored value.
        max_size: The largest plain size in bytes.
        dictionary: What the frame was compressed with, if anything.

    Raises:
        CorruptValueError: The frame is cut, altered or followed by other bytes.
        ValueTooLargeError: The content, or the window it needs, is over the bound.
    """
    extent = zstd_extent(frame)
    if extent.end != len(frame):
        raise CorruptValueError(f"{len(frame) - extent.end} bytes follow the zstd frame")
    parameters = zstandard.get_frame_parameters(frame)
    if parameters.content_size != 0 and parameters.window_size > MAX_WINDOW_BYTES:
        raise ValueTooLargeError(
            f"the zstd frame declares no content size and a window of {parameters.window_size} bytes;"
            f" at most {MAX_WINDOW_BYTES} are read"
        )
    # A context of its own: a kept one would hold on to its window.
    context = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=MAX_WINDOW_BYTES)
    try:
        if parameters.content_size == 0:
            stream = context.decompressobj()
            plain = stream.decompress(frame)
            is_complete = stream.eof
        else:
            # One byte at least: zero would mean "as declared".
            plain = context.decompress(frame, max_output_size=max(1, min(extent.content_bound, max_size)))
            is_complete = True
    except zstandard.ZstdError as error:
        if extent.content_bound > max_size and "full frame" in str(error):
            raise ValueTooLargeError(f"the value is larger than max_size={max_size} bytes") from error
        raise CorruptValueError("the zstd frame is damaged") from error
    if not is_complete:
        raise CorruptValueError("the zstd frame is damaged")
    return plain


def inflate(frame: bytes, wbits: int, max_size: int) -> bytes:
    """Decode one zlib stream or gzip member that fills ``frame`` completely.

    Args:
        frame: The whole stored value.
        wbits: :data:`ZLIB_WBITS` or :data:`GZIP_WBITS`.
        max_size: The largest plain size in bytes.

    Raises:
        CorruptValueError: The stream is cut, altered or followed by other bytes.
        ValueTooLargeError: The content is larger than ``max_size``.
    """
    try:
        if len(frame) <= _ONE_PASS_STORED_BYTES:
            stream = zlib.decompressobj(wbits)
            plain = stream.decompress(frame, min(max_size, _ONE_PASS_PLAIN_BYTES) + 1)
            if len(plain) <= min(max_size, _ONE_PASS_PLAIN_BYTES):
                if not stream.eof:
                    raise CorruptValueError("the deflate stream is cut")
                if stream.unused_data:
                    raise CorruptValueError(f"{len(stream.unused_data)} bytes follow the deflate stream")
                return plain
            del plain, stream
        return zlib.decompress(frame, wbits, max(1, _inflated_size(frame, wbits, max_size)))
    except zlib.error as error:
        raise CorruptValueError("the deflate stream is damaged") from error


def _inflated_size(frame: bytes, wbits: int, max_size: int) -> int:
    """The plain size of a deflate stream that fills ``frame``, found without keeping what it holds."""
    stream = zlib.decompressobj(wbits)
    view = memoryview(frame)
    size = 0
    for start in range(0, len(frame), _MEASURED_PIECE_BYTES):
        piece = view[start : start + _MEASURED_PIECE_BYTES]
        size += len(stream.decompress(piece))
        if size > max_size:
            raise ValueTooLargeError(f"the value is larger than max_size={max_size} bytes")
        if stream.eof:
            following = len(stream.unused_data) + len(frame) - start - len(piece)
            if following:
                raise CorruptValueError(f"{following} bytes follow the deflate stream")
            return size
    raise CorruptValueError("the deflate stream is cut")
