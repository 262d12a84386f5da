"""Waiting until a server that is starting lets us in."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy.exc import DBAPIError

from sqlcompress.errors import ServerUnavailableError

#: Seconds between two attempts.
_INTERVAL = 0.05


def wait_until_ready(login: Callable[[], object], seconds: float, still_running: Callable[[], bool]) -> None:
    """Log in again and again until the server lets us.

    Args:
        login: Connects once, or raises the driver's error.
        seconds: How long to try.
        still_running: Whether the server's process is there.

    Raises:
        ServerUnavailableError: It did not within ``seconds``, its process ended, or the driver is missing.
    """
    deadline = time.monotonic() + seconds
    while True:
        alive = still_running()
        try:
            login()
        except DBAPIError as error:
            if not alive:
                raise ServerUnavailableError("the server ended while it was starting") from None
            if time.monotonic() > deadline:
                last = str(error.orig).strip().splitlines()[0]
                raise ServerUnavailableError(f"no login within {seconds:.0f} s: {last}") from None
        except (ImportError, RuntimeError) as error:  # the driver, or a package it needs for this login
            raise ServerUnavailableError(str(error)) from None
        else:
            return
        time.sleep(_INTERVAL)
