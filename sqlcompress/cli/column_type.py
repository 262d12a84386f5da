"""The options that describe how a column's values are stored, and the type made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    Dictionary,
    Gzip,
    Zlib,
    Zstd,
)
from sqlcompress.codec import Codec
from sqlcompress.compressed import DEFAULT_MIN_SIZE, Compressed

Function = TypeVar("Function", bound=Callable[..., Any])

_TYPES: dict[str, type[Compressed[Any]]] = {
    "text": CompressedText,
    "json": CompressedJSON,
    "binary": CompressedBinary,
}


def column_type_options(function: Function) -> Function:
    """``--type``, ``--codec``, ``--level``, ``--dictionary``, ``--min-size`` and ``--legacy``."""
    for option in reversed(
        (
            click.option(
                "--type",
                "kind",
                type=click.Choice(sorted(_TYPES)),
                default="text",
                show_default=True,
                help="What the values are: CompressedText, CompressedJSON or CompressedBinary in the model.",
            ),
            click.option(
                "--codec",
                type=click.Choice(["zstd", "zlib", "gzip"]),
                default="zstd",
                show_default=True,
                help="How values are compressed.",
            ),
            click.option("--level", type=int, help="The codec's level.  [default: 3 for zstd, 6 otherwise]"),
            click.option(
                "--dictionary",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                help="A trained zstd dictionary in a file.",
            ),
            click.option(
                "--min-size",
                type=click.IntRange(min=0),
                default=DEFAULT_MIN_SIZE,
                show_default=True,
                help="Leave values below this many bytes plain.",
            ),
            click.option(
                "--legacy",
                type=click.Choice(["mysql", "zlib", "base64"]),
                multiple=True,
                help="Turn values of this older format into frames, too; may be given several times.",
            ),
        )
    ):
        function = option(function)
    return function


def column_type(
    kind: str,
    codec: str,
    level: int | None,
    dictionary: Path | None,
    min_size: int,
    legacy: tuple[str, ...],
) -> Compressed[Any]:
    """The type that the options describe.

    Raises:
        click.UsageError: A level that the codec does not have, or a dictionary for another codec than zstd.
    """
    try:
        return _TYPES[kind](_codec(codec, level, dictionary), min_size=min_size, legacy=legacy)
    except (ValueError, TypeError, OSError) as error:
        raise click.UsageError(str(error)) from error


def _codec(name: str, level: int | None, dictionary: Path | None) -> Codec:
    settings: dict[str, Any] = {} if level is None else {"level": level}
    if name == "zstd":
        return Zstd(**settings, dictionary=None if dictionary is None else Dictionary.from_file(dictionary))
    if dictionary is not None:
        raise ValueError("--dictionary goes with --codec zstd")
    return Zlib(**settings) if name == "zlib" else Gzip(**settings)
