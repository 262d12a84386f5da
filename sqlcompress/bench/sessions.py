"""Client sessions: a process each, which begin their work together."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any, Final

from sqlcompress.bench.client import Client, Work
from sqlcompress.errors import SqlcompressError

#: Seconds for every session to be ready, which includes making its rows.
_READY_SECONDS: Final = 600.0
_CLONE_NEWNET: Final = 0x40000000


@dataclass(frozen=True)
class Spent:
    """What one work took.

    Attributes:
        seconds: From the begin of the first session to the end of the last.
        client_cpu_seconds: Of all sessions.
        server_cpu_seconds: Of the server, from the begin to the end.
        rows: Rows written or read.
    """

    seconds: float
    client_cpu_seconds: float
    server_cpu_seconds: float
    rows: int


class Sessions(AbstractContextManager["Sessions"]):
    """Processes that are kept from one work to the next.

    Processes and not threads: compressing lets threads run, but the rest of a driver's and SQLAlchemy's work
    does not, and applications have many processes too.

    Args:
        count: How many.
        namespace: The network namespace they live in; empty for this process's.
    """

    def __init__(self, count: int, namespace: str = "") -> None:
        self.count = count
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(count + 1)
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(self._barrier, namespace)
        )

    def run(self, client: Client, work: Work, server_cpu_seconds: Callable[[], float]) -> Spent:
        """Have every session do its share of the work.

        Raises:
            SqlcompressError: A session read a value that is not the one that was written.
        """
        futures = [
            self._pool.submit(_share, client, work, number, self.count) for number in range(self.count)
        ]
        try:
            self._barrier.wait(_READY_SECONDS)
        except BrokenBarrierError:
            for future in futures:
                future.result()  # raises what broke it
            raise SqlcompressError("the sessions were not ready in time") from None
        before = server_cpu_seconds()
        done = [future.result() for future in futures]
        after = server_cpu_seconds()
        return Spent(
            max(one[1] for one in done) - min(one[0] for one in done),
            sum(one[2] for one in done),
            after - before,
            sum(one[3] for one in done),
        )

    def __exit__(self, *_: object) -> None:
        """The processes end."""
        self._pool.shutdown(cancel_futures=True)


_barrier: Any = None


def _begin(barrier: Any, namespace: str) -> None:
    global _barrier  # noqa: PLW0603 - one for the process, handed over by its parent
    _barrier = barrier
    if namespace:
        _enter(namespace)


def _enter(namespace: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)  # os.setns came with Python 3.12
    with Path("/var/run/netns", namespace).open("rb") as file:
        if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _share(client: Client, work: Work, number: int, count: int) -> tuple[float, float, float, int]:
    try:
        ready = work.prepare(client, number, count)
    except BaseException:
        _barrier.abort()
        raise
    _barrier.wait(_READY_SECONDS)
    begun, cpu = time.perf_counter(), time.process_time()  # perf_counter is one clock for all processes
    rows = ready()
    return begun, time.perf_counter(), time.process_time() - cpu, rows
