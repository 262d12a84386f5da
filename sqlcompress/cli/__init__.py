"""The command line: parses and prints, and calls the jobs for everything else."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sqlcompress.errors import MissingDependencyError


def main() -> None:
    """Run the ``sqlcompress`` command; where click or rich is not installed, say how to get them."""
    try:
        command = _command()
    except MissingDependencyError as error:
        sys.exit(f"Error: {error}")
    command(prog_name="sqlcompress")


def _command() -> Callable[..., object]:
    try:
        from sqlcompress.cli.group import sqlcompress  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"click", "rich"}:
            raise
        raise MissingDependencyError(
            f"The command line needs {error.name}, which is not installed: pip install 'sqlcompress[cli]'"
        ) from error
    return sqlcompress
