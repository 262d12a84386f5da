"""Running a server program of this machine for ourselves: user, folder, port, and a sure end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlcompress.errors import ServerUnavailableError

#: Seconds for a program that prepares a data folder. Oracle's mysqld takes 5 to 20.
_PREPARE_SECONDS = 120.0
#: Seconds to obey a stop signal before SIGKILL; nothing of the data is wanted.
_STOP_SECONDS = 10.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Account:
    """Who a server runs as.

    Attributes:
        uid: None for the user who runs this process.
        gid: As uid.
    """

    uid: int | None
    gid: int | None

    @classmethod
    def ordinary(cls, *preferred: str) -> Account:
        """The current user, or where that is root the first of these users that exists, at last nobody."""
        if os.geteuid() != 0:
            return cls(None, None)
        for name in (*preferred, "nobody"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(entry.pw_uid, entry.pw_gid)
        raise ServerUnavailableError(
            f"the server does not run as root, and none of {', '.join(preferred)}, nobody exists"
        )

    def popen_arguments(self) -> dict[str, Any]:
        """What ``subprocess.Popen`` needs to run a program as this account."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_run(self, program: Path) -> bool:
        """Whether this user reaches the program; one inside root's home is out of reach."""
        try:
            return self._run([str(program), "--version"], cwd="/").returncode == 0
        except OSError:
            return False

    def prepare(self, arguments: Sequence[str], folder: Path) -> None:
        """Run a program that prepares a data folder.

        Raises:
            ServerUnavailableError: it failed; its last words are in the message.
        """
        name = Path(arguments[0]).name
        try:
            done = self._run(arguments, cwd=folder)
        except OSError as error:
            raise ServerUnavailableError(f"{name} does not start: {error}") from None
        except subprocess.TimeoutExpired:
            raise ServerUnavailableError(f"{name} took longer than {_PREPARE_SECONDS:.0f} s") from None
        if done.returncode != 0:
            raise ServerUnavailableError(f"{name} failed: {_last_words(done.stdout)}")

    def _run(self, arguments: Sequence[str], cwd: str | Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 - programs found by their names
            arguments,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PREPARE_SECONDS,
            check=False,
            env=_environment(),
            **self.popen_arguments(),
        )


def make_folder(name: str, account: Account, running: ExitStack) -> Path:
    """A folder of the account's own that is removed at the end of ``running``."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108 - a folder of our own is made there
        if account.uid is None or _is_open_to_all(Path(parent)):
            folder = Path(tempfile.mkdtemp(prefix=f"sqlcompress-{name}-", dir=parent))
            running.callback(shutil.rmtree, folder, ignore_errors=True)
            if account.uid is not None and account.gid is not None:
                os.chown(folder, account.uid, account.gid)
            return folder
    raise ServerUnavailableError("there is no temporary folder that users other than root can reach")


def free_port() -> int:
    """A port of the loopback interface nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Server:
    """A server program that runs until the end of the stack it was started in."""

    process: subprocess.Popen[bytes]
    log: Path

    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self.process.poll() is None

    def last_words(self) -> str:
        """The errors in its log, or its last lines."""
        return _last_words(self.log.read_bytes())


def run(
    arguments: Sequence[str], folder: Path, account: Account, stop_signal: signal.Signals, running: ExitStack
) -> Server:
    """Start a server program; it is stopped at the end of ``running``, and if this process is killed.

    Args:
        arguments: The program and its arguments.
        folder: Where it runs and writes its log.
        account: Who it runs as.
        stop_signal: Makes it end quickly; its data is thrown away.
        running: Stops it.
    """
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - as above
            arguments,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(),
            preexec_fn=_end_with_parent(stop_signal),  # noqa: PLW1509 - callers have no threads yet
            **account.popen_arguments(),
        )
    running.callback(_stop, process, stop_signal)
    return Server(process, log)


def programs(names: Sequence[str], folders: Sequence[str]) -> Iterator[Path]:
    """Programs of these names, on the PATH first and then as `programs_in` finds them."""
    return programs_in(names, [*os.environ.get("PATH", os.defpath).split(os.pathsep), *folders])


def programs_in(names: Sequence[str], folders: Sequence[str]) -> Iterator[Path]:
    """Programs of these names in these folders, each once.

    A folder may hold a wildcard; of what it matches, the highest version number comes first.
    """
    seen = set()
    for folder in folders:
        places = [Path(folder)]
        if "*" in folder:
            places = sorted(Path("/").glob(folder.lstrip("/")), key=_numbers, reverse=True)
        for program in (place / name for place in places for name in names):
            # Asked first: is_file raises where a folder of the PATH may not be entered.
            if os.access(program, os.X_OK) and program.is_file() and program.resolve() not in seen:
                seen.add(program.resolve())
                yield program


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _end_with_parent(stop_signal: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()  # before the fork

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return ask


def _stop(process: subprocess.Popen[bytes], stop_signal: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(stop_signal)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    # Settings of the user's own clients and servers (PGDATA, MYSQL_HOME …) are not meant for this one.
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PG", "MYSQL", "MARIADB"))
    }
    return {**kept, "LC_ALL": "C"}


def _is_open_to_all(folder: Path) -> bool:
    place = folder.resolve()
    return place.is_dir() and all(part.stat().st_mode & 0o001 for part in (place, *place.parents))


def _last_words(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "FATAL" in line]
    return " / ".join(errors[:2] or lines[-3:]) or "it said nothing"
