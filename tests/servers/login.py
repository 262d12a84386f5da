"""Logging in to a server to see that it is there and is what it is taken for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import URL, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.servers.kinds import Kind, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two attempts to log in to a server that is starting.
_INTERVAL = 0.05


def check(kind: Kind, url: URL) -> str:
    """Logs in once.

    Returns:
        The server's version.

    Raises:
        Unavailable: a server of another kind answered.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        version = str(connection.scalar(text("SELECT version()")))
    is_mariadb = "mariadb" in version.lower()
    if is_mariadb != (kind.name == "mariadb"):
        raise Unavailable(f"the server there is {version}")
    return version


def wait_until_ready(kind: Kind, url: URL, seconds: float, still_running: Callable[[], bool]) -> None:
    """Logs in again and again until the server lets us.

    Raises:
        Unavailable: it did not within ``seconds``, or its process ended.
    """
    deadline = time.monotonic() + seconds
    while True:
        alive = still_running()
        try:
            check(kind, url)
        except DBAPIError as error:
            if not alive:
                raise Unavailable("the server ended while it was starting") from None
            if time.monotonic() > deadline:
                last = str(error.orig).strip().splitlines()[0]
                raise Unavailable(f"no login within {seconds:.0f} s: {last}") from None
        except (ImportError, RuntimeError) as error:  # the driver, or a package it needs for this login
            raise Unavailable(str(error)) from None
        else:
            return
        time.sleep(_INTERVAL)
