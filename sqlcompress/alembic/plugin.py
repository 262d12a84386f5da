"""The entry point that Alembic reads when it is imported: registers the operations, env.py needs no line.

Alembic 1.18.0 to 1.20.0 iterate over what an entry point gives, later versions take the module itself; a
module of a class that yields itself serves both. It is loaded while ``alembic`` is half imported, so names
come from the modules that define them.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from sqlcompress.alembic import autogenerate, ops, ours, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.runtime.plugins import Plugin


def setup(plugin: Plugin) -> None:
    """Called by Alembic with the plugin it made for this module. The operations register on import."""
    ops.register()
    render.register()
    autogenerate.setup(plugin)
    ours.setup(plugin)


class _IterableModule(ModuleType):
    """A module that yields itself."""

    def __iter__(self) -> Iterator[ModuleType]:
        yield self


sys.modules[__name__].__class__ = _IterableModule
