"""SQLite: one file, in a folder of its own."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from sqlalchemy import Connection

from sqlcompress.bench.arms.base import Arm
from sqlcompress.bench.arms.sqlite import SQLITE
from sqlcompress.bench.connecting import Limits, Reach
from sqlcompress.bench.databases.base import Database


class SQLite(Database):
    """SQLite, with a write-ahead log that is synchronized at every commit."""

    name: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "SQLite"
    arms: ClassVar[tuple[Arm, ...]] = SQLITE
    is_server: ClassVar[bool] = False
    length: ClassVar[str] = "LENGTH(CAST(d AS BLOB))"  # LENGTH counts the characters of a text

    def _start(self, limits: Limits, running: ExitStack) -> Reach:
        folder = Path(tempfile.mkdtemp(prefix="sqlcompress-sqlite-"))
        running.callback(shutil.rmtree, folder, ignore_errors=True)
        self._file = folder / "bench.db"
        self.settings = (
            "PRAGMA busy_timeout = 60000",
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            f"PRAGMA cache_size = {-1024 * limits.memory_mb}",
        )
        module, self._missing = _module(), ""
        extension = _extension()
        if not module:
            self._missing = "this Python's sqlite3 loads no extensions, and pysqlite3 is not installed"
        elif not extension:
            self._missing = "the package sqlite-zstd-build is not installed"
        reach = Reach(f"sqlite:///{self._file}", settings=self.settings)
        if not self._missing:
            # For all arms, so that all have the same SQLite.
            reach = Reach(reach.url, "" if module == "sqlite3" else module, extension, self.settings)
        return reach

    def _version(self, connection: Connection) -> str:
        return f"SQLite {connection.exec_driver_sql('SELECT sqlite_version()').scalar_one()}"

    def is_available(self, arm: Arm) -> str:
        """Whether sqlite-zstd can be loaded."""
        return self._missing if arm.needs_extension else ""

    def flush(self) -> None:
        """All of the log is written to the file."""
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def folder(self) -> Path:
        """The folder of the file."""
        return self._file.parent

    def files(self) -> Sequence[Path]:
        """The file, and the log beside it."""
        return [file for file in self._file.parent.iterdir() if file.name.startswith(self._file.name)]

    def rebuild(self) -> None:
        """VACUUM."""
        self.execute("VACUUM")
        self.flush()

    def drop(self) -> None:
        """A new file: sqlite-zstd leaves tables of its own behind."""
        self.engine.dispose()
        for file in self.files():
            file.unlink()


def _module() -> str:
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return "sqlite3"
    return "pysqlite3" if find_spec("pysqlite3") is not None else ""


def _extension() -> str:
    spec = find_spec("sqlite_zstd")  # not imported: it prints
    if spec is None or not spec.submodule_search_locations:
        return ""
    return next((str(file) for file in Path(spec.submodule_search_locations[0]).glob("lib*")), "")
