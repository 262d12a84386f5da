"""Alembic operations for compressed columns; registered by themselves where Alembic is installed."""

from __future__ import annotations

from sqlcompress.errors import MissingDependencyError

try:
    # First of all: Alembic loads our plugin while it is being imported itself, and its parts import each
    # other in the one order that this line begins.
    import alembic  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "alembic":
        raise
    raise MissingDependencyError(
        "sqlcompress.alembic needs Alembic, which is not installed: pip install 'sqlcompress[alembic]'"
    ) from error
