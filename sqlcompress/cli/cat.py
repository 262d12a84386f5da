"""``sqlcompress cat``: one stored value, decoded."""

from __future__ import annotations

import base64
import json
import re
import sys

import click

from sqlcompress import CompressedBinary, CompressedText
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.options import json_option
from sqlcompress.compressed import DEFAULT_MAX_SIZE, LARGEST_MAX_SIZE
from sqlcompress.errors import UnknownFormatError, ValueTooLargeError

# As clients print binary values: psql \x28b5…, SQL Server and mysql 0x28B5…, SQL literals X'28B5…'.
_HEX = re.compile(
    rb"(?:\\x|0x|(?:_binary *)?x(?='))?(?P<quote>'?)(?P<digits>(?:[0-9a-f]{2})*)(?P=quote)", re.IGNORECASE
)


@click.command(cls=JobCommand)
@click.option(
    "--binary", is_flag=True, help="A value of a CompressedBinary column: what is not framed is itself."
)
@click.option(
    "--hex",
    "is_hex",
    is_flag=True,
    help=r"The input is hex digits as clients print them: 28b5, \x28b5, X'28b5'.",
)
@click.option(
    "--legacy",
    type=click.Choice(["mysql", "zlib", "base64"]),
    multiple=True,
    help="Also read this older format; may be given several times.",
)
@click.option(
    "--max-size",
    type=click.IntRange(min=1, max=LARGEST_MAX_SIZE),
    default=DEFAULT_MAX_SIZE,
    show_default=True,
    help="Refuse a value that is larger than this many bytes when decoded.",
)
@json_option
def cat(*, binary: bool, is_hex: bool, legacy: tuple[str, ...], max_size: int, as_json: bool) -> None:
    """Decode one stored value from standard input to standard output.

    Reads what a compressed column holds: a zstd, zlib or gzip frame, or plain UTF-8 text. The value comes
    out exactly or not at all: one that is cut, altered or of another format ends with exit status 1 and no
    output.
    """
    if sys.stdin.isatty():
        raise click.UsageError("Give the stored value on standard input, as in: sqlcompress cat < value.bin")
    stored = _read(max_size, is_hex=is_hex)
    column: CompressedBinary | CompressedText
    if binary:
        column = CompressedBinary(max_size=max_size, legacy=legacy)
    else:
        column = CompressedText(max_size=max_size, legacy=legacy)
    plain = column.from_stored(stored)
    output = sys.stdout.buffer
    if as_json:
        value = {"base64": base64.b64encode(plain).decode()} if binary else {"text": plain.decode()}
        document = {"stored_bytes": len(stored), "plain_bytes": len(plain), **value}
        plain = json.dumps(document).encode() + b"\n"
    output.write(plain)
    output.flush()


def _read(max_size: int, *, is_hex: bool) -> bytes:
    # A stored value is at most as long as the plain one; base64 and hex around it take up to 2.7 times that.
    most = max_size * 3 + 1024
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise ValueTooLargeError(f"the input is longer than any stored value of {max_size} bytes")
    if not is_hex:
        return data
    match = _HEX.fullmatch(data.strip())
    if match is None:
        raise UnknownFormatError("the input is not hex digits")
    return bytes.fromhex(match["digits"].decode())
