"""MariaDB, as shipped and with encryption at rest, and MySQL."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Final

from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import make_url

from sqlcompress.bench.arms.base import TABLE, Arm
from sqlcompress.bench.arms.innodb import MARIADB, MYSQL
from sqlcompress.bench.connecting import Limits, Reach
from sqlcompress.bench.databases.base import Database, log_in
from sqlcompress.bench.servers import innodb
from sqlcompress.bench.servers.process import Account

_SCHEMA: Final = "bench"
_DEFAULT_POOL_MB: Final = 128
_SCAN_DEPTH: Final = 1024
#: Durable, and reads and writes pass the system's page cache: what is not in the pool comes from the disk.
_SETTINGS: Final = (
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=1",
    "--innodb-flush-method=O_DIRECT",
    "--character-set-server=utf8mb4",
    "--max-allowed-packet=64M",
    "--max-connections=200",
)


def _pool(megabytes: int) -> Sequence[str]:
    """A buffer pool.

    The page cleaner keeps ``innodb_lru_scan_depth`` pages free, 1,536 on MariaDB and 1,024 on MySQL: of the
    default pool of 128 MB a fifth or an eighth, of a small one all. So that a small pool is used as the
    default one is, the depth shrinks with it.
    """
    settings = [f"--innodb-buffer-pool-size={megabytes}M"]
    if megabytes < _DEFAULT_POOL_MB:
        settings.append(f"--innodb-lru-scan-depth={max(100, _SCAN_DEPTH * megabytes // _DEFAULT_POOL_MB)}")
    return settings


class _InnoDB(Database):
    drivers: ClassVar[tuple[tuple[str, str], ...]] = (("mysqldb", "MySQLdb"), ("pymysql", "pymysql"))
    dialect: ClassVar[str]
    #: The dump program and, where there is one, that for the server's files.
    dump_programs: ClassVar[tuple[str, ...]]
    physical_programs: ClassVar[tuple[str, ...]] = ()

    def _start(self, limits: Limits, running: ExitStack) -> Reach:
        self.settings = (*_SETTINGS, *_pool(limits.memory_mb), *self._more_settings())
        self._server = innodb.start(
            self.dialect,
            self._drivername(self.dialect),
            self.settings,
            running,
            login=log_in,
            addresses=limits.addresses,
            prepare=self._prepare,
        )
        engine = create_engine(self._server.url)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {_SCHEMA}")
        engine.dispose()
        return Reach(self._server.url.set(database=_SCHEMA).render_as_string(hide_password=False))

    def _more_settings(self) -> Sequence[str]:
        return ()

    def _prepare(self, folder: Path, account: Account) -> Sequence[str]:
        return ()

    def _version(self, connection: Connection) -> str:
        return f"{self.title} {connection.exec_driver_sql('SELECT version()').scalar_one()}"

    def flush(self) -> None:
        """FLUSH TABLES … FOR EXPORT returns when the table's pages are in its file."""
        with self.outside_transaction() as connection:
            connection.exec_driver_sql(f"FLUSH TABLES {TABLE} FOR EXPORT")
            connection.exec_driver_sql("UNLOCK TABLES")

    def files(self) -> Sequence[Path]:
        """The table's own tablespace."""
        return [self._server.data / _SCHEMA / f"{TABLE}.ibd"]

    def rebuild(self) -> None:
        """OPTIMIZE TABLE, and its pages written."""
        with self.outside_transaction() as connection:
            connection.exec_driver_sql(f"OPTIMIZE TABLE {TABLE}").all()
        self.flush()

    def folder(self) -> Path:
        """The data folder."""
        return self._server.data

    def pids(self) -> Sequence[int]:
        """The server's process."""
        return (self._server.server.process.pid,)

    def _account_words(self) -> list[str]:
        url = make_url(self.reach.url)
        return [f"--user={url.username}", "--host=127.0.0.1", f"--port={url.port}"]

    def _program(self, names: Sequence[str]) -> str | None:
        # Beside the server first: another server's program may stand on the PATH.
        folders = (self._server.program.parent, self._server.program.resolve().parent.parent / "bin")
        beside = (str(folder / name) for folder in folders for name in names if (folder / name).is_file())
        return next(beside, None) or next(filter(None, map(shutil.which, names)), None)

    def dump_command(self) -> list[str] | None:
        """mariadb-dump or mysqldump, binary columns as hexadecimal digits, which text columns do not need."""
        program = self._program(self.dump_programs)
        if program is None:
            return None
        options = ["--no-defaults", "--single-transaction", "--skip-comments", "--hex-blob"]
        return [program, *options, *self._account_words(), _SCHEMA, TABLE]

    def physical_command(self, folder: Path) -> list[str] | None:
        """mariadb-backup, as a stream."""
        program = self._program(self.physical_programs)
        if program is None:
            return None
        options = [f"--defaults-file={self._server.settings_file}", "--backup", "--stream=xbstream"]
        return [
            program,
            *options,
            f"--datadir={self._server.data}",
            f"--target-dir={folder}",
            *self._account_words(),
        ]


class MariaDB(_InnoDB):
    """MariaDB, InnoDB."""

    name: ClassVar[str] = "mariadb"
    title: ClassVar[str] = "MariaDB"
    dialect: ClassVar[str] = "mariadb"
    arms: ClassVar[tuple[Arm, ...]] = MARIADB
    dump_programs: ClassVar[tuple[str, ...]] = ("mariadb-dump", "mysqldump")
    physical_programs: ClassVar[tuple[str, ...]] = ("mariadb-backup", "mariabackup")


class EncryptedMariaDB(MariaDB):
    """MariaDB with encryption at rest (manual, "File Key Management Encryption Plugin")."""

    name: ClassVar[str] = "mariadb-encrypted"
    title: ClassVar[str] = "MariaDB, encrypted"

    def _more_settings(self) -> Sequence[str]:
        return (
            "--plugin-load-add=file_key_management",
            "--innodb-encrypt-tables=FORCE",
            "--innodb-encrypt-log=ON",
        )

    def _prepare(self, folder: Path, account: Account) -> Sequence[str]:
        keys = folder / "keys"
        keys.touch(0o600)
        keys.write_text(f"1;{secrets.token_hex(32)}\n")
        if account.uid is not None and account.gid is not None:
            shutil.chown(keys, account.uid, account.gid)
        return (f"--file-key-management-filename={keys}",)


class MySQL(_InnoDB):
    """MySQL, InnoDB."""

    name: ClassVar[str] = "mysql"
    title: ClassVar[str] = "MySQL"
    dialect: ClassVar[str] = "mysql"
    arms: ClassVar[tuple[Arm, ...]] = MYSQL
    dump_programs: ClassVar[tuple[str, ...]] = ("mysqldump",)
