"""How a process of the benchmark reaches the database: plain data, to be handed to another one."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url


@dataclass(frozen=True)
class Reach:
    """A URL and what a driver is told besides.

    Attributes:
        url: With the password.
        module: The DB-API module, where it is not the dialect's own.
        extension: A file that every connection loads, for SQLite.
        settings: SQL that every connection begins with.
        namespace: The network namespace that the client's processes enter, for a slow link.
    """

    url: str
    module: str = ""
    extension: str = ""
    settings: tuple[str, ...] = ()
    namespace: str = ""

    def engine(self, connect_args: Mapping[str, Any] | None = None) -> Engine:
        """A new engine; each process and each arm makes its own."""
        arguments: dict[str, Any] = {"connect_args": dict(connect_args or {})}
        if self.module:
            arguments["module"] = importlib.import_module(self.module)
        engine = create_engine(make_url(self.url), **arguments)
        event.listen(engine, "connect", self._prepare)
        return engine

    def _prepare(self, connection: Any, _record: object) -> None:
        if self.extension:
            os.environ.setdefault("SQLITE_ZSTD_LOG", "off")  # it greets on every connection
            connection.enable_load_extension(True)
            connection.load_extension(self.extension)
            connection.enable_load_extension(False)
        if self.settings:
            cursor = connection.cursor()
            for statement in self.settings:
                cursor.execute(statement)
            cursor.close()


@dataclass(frozen=True)
class Limits:
    """What servers are started with.

    Attributes:
        memory_mb: Mebibytes of the buffer pool, of shared buffers, of SQLite's page cache.
        addresses: Where servers listen.
    """

    memory_mb: int
    addresses: tuple[str, ...] = field(default=("127.0.0.1",))
