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
    """``--type``, ``--codec`` and the other settings of a compressed type."""
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
                "--dictionary-name",
                metavar="NAME",
                help="The dictionary that is active under this name in the database.",
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
    dictionary_name: str | None = None,
) -> Compressed[Any]:
    """The type that the options describe.

    Raises:
        click.UsageError: A level that the codec does not have, or a dictionary for another codec than zstd.
    """
    try:
        chosen = _codec(codec, level, dictionary, dictionary_name)
        return _TYPES[kind](chosen, min_size=min_size, legacy=legacy)
    except (ValueError, TypeError, OSError) as error:
        raise click.UsageError(str(error)) from error


def _codec(name: str, level: int | None, file: Path | None, dictionary_name: str | None) -> Codec:
    settings: dict[str, Any] = {} if level is None else {"level": level}
    if file is not None and dictionary_name is not None:
        raise ValueError("--dictionary and --dictionary-name exclude each other")
    if name == "zstd":
        return Zstd(**settings, dictionary=dictionary_name if file is None else Dictionary.from_file(file))
    if file is not None or dictionary_name is not None:
        option = "--dictionary" if dictionary_name is None else "--dictionary-name"
        raise ValueError(f"{option} goes with --codec zstd")
    return Zlib(**settings) if name == "zlib" else Gzip(**settings)
