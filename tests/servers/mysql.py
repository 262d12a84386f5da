"""A private MariaDB or MySQL server from the machine's programs, with settings for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.bench.servers import innodb
from tests.servers import login
from tests.servers.kinds import Kind

if TYPE_CHECKING:
    from contextlib import ExitStack

    from sqlalchemy import URL

#: For servers of both kinds, in containers too: 20 MB values pass, text is utf8mb4, no wait for the disk.
SETTINGS = (
    "--max-allowed-packet=64M",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=256M",
)


def start(kind: Kind, running: ExitStack) -> URL:
    """Starts a server from the programs installed on this machine."""
    drivername = kind.drivername(kind.sync_drivers[0])
    started = innodb.start(kind.name, drivername, SETTINGS, running, login=lambda url: login.check(kind, url))
    return started.url
