"""Holding a server that a keeper process runs, shared by the workers of one test run.

The keeper (`tests.servers.keeper`) is a process of its own that starts the server and serves until the last
holder is gone. A holder is an open socket, so it goes away with the test process however that ends, SIGKILL
included; nothing depends on a test process cleaning up after itself.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.kinds import Unavailable

#: Names the folder that the processes of one test run share.
RUN_VARIABLE = "SQLCOMPRESS_TEST_RUN"

#: Seconds a holder waits for the server. The keeper bounds every step; getting an image is the longest.
_ANSWER_SECONDS = 900.0
#: Seconds for stopping a server and removing its folder.
_STOP_SECONDS = 60.0

#: Addresses of Unix sockets end at 104 bytes on some systems, and ours add 45 to the folder they are in.
_LONGEST_PARENT = 55

_root = Path(__file__).resolve().parents[2]
_held: dict[str, socket.socket] = {}
_keepers: list[subprocess.Popen[bytes]] = []


def open_run() -> Path:
    """The folder of this test run; made by the first process, found by those it starts."""
    known = os.environ.get(RUN_VARIABLE)
    if known and Path(known).is_dir():
        return Path(known)
    parent = tempfile.gettempdir()
    if len(parent) > _LONGEST_PARENT and Path("/tmp").is_dir():
        parent = "/tmp"
    folder = Path(tempfile.mkdtemp(prefix=f"sqlcompress-run-{os.getpid()}-", dir=parent))
    os.environ[RUN_VARIABLE] = str(folder)
    atexit.register(close_run, folder, os.getpid())
    return folder


def close_run(folder: Path, owner: int) -> None:
    """Gives everything back and removes the run's folder, in the process that made it."""
    if os.getpid() != owner:  # a forked child inherits atexit functions
        return
    release_all()
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(RUN_VARIABLE, None)


def owner_is_alive(folder: Path) -> bool:
    """Whether the process that made this run's folder still runs."""
    try:
        os.kill(int(folder.name.split("-")[2]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def take(name: str) -> str:
    """The URL of the run's server of this kind, started where no process has done so yet.

    Raises:
        Unavailable: every way of having one failed.
        RuntimeError: the process that keeps servers failed itself, which is a fault of ours.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise Unavailable("servers are started on Unix systems only; set the URL variable")
    import fcntl

    folder = open_run()
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        holder, answer = _join(folder, name) or _start(folder, name)
    _held[name] = holder
    if "url" in answer:
        return answer["url"]
    raise Unavailable(answer["reason"])


def release_all() -> None:
    """Gives up what this process holds; returns when servers nobody else holds are gone."""
    while _held:
        _, holder = _held.popitem()
        with holder, contextlib.suppress(OSError):
            holder.settimeout(_STOP_SECONDS)
            holder.shutdown(socket.SHUT_WR)
            while holder.recv(1024):
                pass
    for keeper in _keepers:
        keeper.poll()


def _join(folder: Path, name: str) -> tuple[socket.socket, dict[str, str]] | None:
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.connect(str(folder / f"{name}.sock"))
        return holder, _answer(holder)
    except OSError:  # no keeper yet, or one that was just leaving
        holder.close()
        return None


def _start(folder: Path, name: str) -> tuple[socket.socket, dict[str, str]]:
    log = folder / f"{name}.log"
    holder, keepers_end = socket.socketpair()
    with keepers_end, log.open("wb") as output:
        # A session of its own: Ctrl-C at the terminal is for the tests; the keeper sees that they have ended.
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.keeper", name, str(folder), str(keepers_end.fileno())],
            cwd=_root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[keepers_end.fileno()],
            start_new_session=True,
        )
    _keepers.append(keeper)  # one that other processes still hold outlives this one
    try:
        return holder, _answer(holder)
    except OSError as error:
        holder.close()
        tail = " / ".join(log.read_text(errors="replace").splitlines()[-5:])
        raise RuntimeError(f"the process that keeps the {name} server failed: {tail or error}") from error


def _answer(holder: socket.socket) -> dict[str, str]:
    holder.settimeout(_ANSWER_SECONDS)
    received = b""
    while not received.endswith(b"\n"):
        part = holder.recv(65536)
        if not part:
            raise ConnectionError("the keeper ended without an answer")
        received += part
    answer: dict[str, str] = json.loads(received)
    return answer
