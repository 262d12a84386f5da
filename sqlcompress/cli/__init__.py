"""The command line: parses and prints, and calls the jobs for everything else."""

from __future__ import annotations

import sys

from sqlcompress.errors import MissingDependencyError

_BROUGHT_BY_THE_EXTRA = frozenset({"alembic", "click", "rich"})


def main() -> None:
    """Run the ``sqlcompress`` command; where click or rich is not installed, say how to get them."""
    try:
        from sqlcompress.cli.group import sqlcompress  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        sys.exit(f"Error: {missing(error)}")
    sqlcompress(prog_name="sqlcompress")


def missing(error: ModuleNotFoundError) -> MissingDependencyError:
    """What to tell where an import failed because the extra ``cli`` is not installed.

    Raises:
        ModuleNotFoundError: The import failed for another reason.
    """
    name = (error.name or "").partition(".")[0]
    if name not in _BROUGHT_BY_THE_EXTRA:
        raise error
    return MissingDependencyError(
        f"The command line needs {name}, which is not installed: pip install 'sqlcompress[cli]'"
    )
