"""Waiting for replicas that are behind."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A question is a round trip to a replica; within a second it seldom gets another answer.
_SECONDS_BETWEEN_QUESTIONS = 1.0


class ReplicaLag:
    """Holds a job's workers back while replicas are too far behind.

    Args:
        lag_seconds: Gives the seconds by which the replica furthest behind is behind, or None where that is
            not known: replication may have stopped, so that is waited for as well. What it raises ends the
            job.
        max_lag_seconds: The most it may be.
        waiting: Called with a few words before each pause, and with None once it is over.
    """

    def __init__(
        self,
        lag_seconds: Callable[[], float | None],
        max_lag_seconds: float,
        waiting: Callable[[str | None], None],
    ) -> None:
        self._lag_seconds = lag_seconds
        self._max = max_lag_seconds
        self._waiting = waiting
        self._asked = float("-inf")
        self._lock = threading.Lock()

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Return once the replicas are near enough, or the job is over.

        Args:
            is_over: Whether another worker has ended the job.
        """
        with self._lock:
            if time.monotonic() - self._asked < _SECONDS_BETWEEN_QUESTIONS:
                return
            waited = False
            while not is_over():
                lag = self._lag_seconds()
                self._asked = time.monotonic()
                if lag is not None and lag <= self._max:
                    break
                waited = True
                shown = "unknown" if lag is None else f"{lag:,.1f} s"
                self._waiting(f"replicas: the lag is {shown}, at most {self._max:,.1f} s is wanted")
                time.sleep(_SECONDS_BETWEEN_QUESTIONS)
            if waited:
                self._waiting(None)
