"""Measurements of what compressed columns cost and save; needs the extra ``bench``."""

from __future__ import annotations

from sqlcompress.errors import MissingDependencyError

try:
    import pyperf  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "pyperf":
        raise
    raise MissingDependencyError(
        "sqlcompress.bench needs pyperf, which is not installed: pip install 'sqlcompress[bench]'"
    ) from error
