"""What the benchmark asks of a database in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Final

import psutil
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, text

from sqlcompress.bench.arms.base import TABLE, Arm
from sqlcompress.bench.connecting import Limits, Reach
from sqlcompress.errors import ServerUnavailableError

#: Bytes of a block as ``st_blocks`` counts them, whatever the file system's own are (stat(2) of Linux).
_BLOCK_BYTES: Final = 512


class Database(ABC):
    """A private server, or a file, with one table of the arm that is measured.

    Attributes:
        name: As on the command line and in the results.
        title: As people write it.
        arms: All that are compared here.
        reach: How processes connect.
        version: The server's own words.
        settings: What it was started with.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    arms: ClassVar[tuple[Arm, ...]]
    #: SQLAlchemy's drivers, the quickest first, each with the module it needs.
    drivers: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: Whether there is a server that sessions reach over a network.
    is_server: ClassVar[bool] = True
    #: Bytes of a value of the column.
    length: ClassVar[str] = "OCTET_LENGTH(d)"

    def __init__(self, limits: Limits, running: ExitStack) -> None:
        self.settings: tuple[str, ...] = ()
        self.reach = self._start(limits, running)
        self.engine: Engine = self.reach.engine()
        running.callback(self.engine.dispose)
        with self.engine.connect() as connection:
            self.version = self._version(connection)

    @abstractmethod
    def _start(self, limits: Limits, running: ExitStack) -> Reach:
        """Start it, until the end of ``running``."""

    @abstractmethod
    def _version(self, connection: Connection) -> str:
        """The server's own words."""

    @abstractmethod
    def flush(self) -> None:
        """Have every change of the table written to its files."""

    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files that hold the table."""

    @abstractmethod
    def rebuild(self) -> None:
        """Write the table anew without free space: OPTIMIZE TABLE, VACUUM FULL, VACUUM."""

    @abstractmethod
    def folder(self) -> Path:
        """Where its files are."""

    def pids(self) -> Sequence[int]:
        """Processes that make up the server."""
        return ()

    def server_cpu_seconds(self) -> float:
        """Seconds of processor that the server has used since its start; 0 where there is none."""
        return sum(map(cpu_seconds, self.pids()))

    def dump_command(self) -> list[str] | None:
        """A logical backup of the table to standard output; None where the program is missing."""
        return None

    def physical_command(self, folder: Path) -> list[str] | None:
        """A backup of the server's files to standard output; None where the program is missing.

        Args:
            folder: Where it may keep what it needs meanwhile.
        """
        return None

    def is_available(self, arm: Arm) -> str:
        """Why an arm cannot run here; empty where it can."""
        return ""

    def allocated_bytes(self) -> int:
        """Bytes of the file system's blocks that the table's files take.

        Less than their length where they have holes, as a table with page compression has.
        """
        return sum(file.stat().st_blocks * _BLOCK_BYTES for file in self.files())

    def stored_bytes(self) -> int:
        """Bytes of all values of the column as they are stored, or as the server reports them."""
        with self.engine.connect() as connection:
            return int(connection.exec_driver_sql(f"SELECT SUM({self.length}) FROM {TABLE}").scalar_one())

    def file_bytes(self) -> int:
        """Length of the table's files."""
        return sum(file.stat().st_size for file in self.files())

    def create(self, arm: Arm, *, is_json: bool, dictionary: object) -> None:
        """A new, empty table of the arm."""
        self.drop()
        table = arm.table(is_json=is_json, dictionary=dictionary)  # type: ignore[arg-type]
        with self.engine.begin() as connection:
            table.create(connection)
        self.execute(*arm.created)

    def drop(self) -> None:
        """The table goes, and what was left of it."""
        self.execute(f"DROP TABLE IF EXISTS {TABLE}")

    def execute(self, *statements: str) -> None:
        """Statements outside a transaction."""
        with self.outside_transaction() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement).close()

    @contextmanager
    def outside_transaction(self) -> Iterator[Connection]:
        """A connection that commits each statement."""
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            yield connection

    @classmethod
    def _drivername(cls, dialect: str) -> str:
        for driver, module in cls.drivers:
            if find_spec(module) is not None:
                return f"{dialect}+{driver}"
        modules = " or ".join(module for _, module in cls.drivers)
        raise ServerUnavailableError(f"no driver: {modules} has to be installed")


def log_in(url: URL) -> None:
    """Connect once."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))


def cpu_seconds(pid: int) -> float:
    """Seconds of processor of a process and of all its children, those that have ended included.

    Never less than at an earlier call: a child that ends moves from its own figures to its parent's, and one
    that does so between two reads would be counted in neither or in both, so all are read again.
    """
    process = psutil.Process(pid)
    while (found := _cpu_seconds_at_once(process)) is None:
        pass
    return found


def _cpu_seconds_at_once(process: psutil.Process) -> float | None:
    """None where a child ended meanwhile.

    Raises:
        psutil.NoSuchProcess: The process itself has ended.
    """
    own = process.cpu_times()
    try:
        children = process.children(recursive=True)
        times = [own, *(child.cpu_times() for child in children)]
        again = [process.cpu_times(), *(child.cpu_times() for child in children)]
    except psutil.NoSuchProcess:
        return None
    ended = [one.children_user + one.children_system for one in times]
    if ended != [one.children_user + one.children_system for one in again]:
        return None
    # The system counts in hundredths; the same sum in another order would differ in its last bit.
    return round(float(sum(one.user + one.system for one in times) + sum(ended)), 6)
