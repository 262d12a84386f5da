"""A private MariaDB or MySQL server from the machine's programs."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL

from sqlcompress.bench.servers.login import wait_until_ready
from sqlcompress.bench.servers.process import Account, Server, free_port, make_folder, programs, run
from sqlcompress.errors import ServerUnavailableError

_FOLDERS = (
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/opt/homebrew/opt/mysql/bin",
)
#: MySQL alone: no X protocol port, no binary log, no folder for files, which may not exist.
MYSQL_SETTINGS = ("--mysqlx=OFF", "--skip-log-bin", "--secure-file-priv=NULL")
_START_SECONDS = 120.0


@dataclass(frozen=True)
class Started:
    """A server that runs.

    Attributes:
        url: An account with all rights; no database is named.
        server: Its process.
        program: The server program.
        data: Its data folder.
        settings_file: The file of settings it was started with.
    """

    url: URL
    server: Server
    program: Path
    data: Path
    settings_file: Path


def start(
    name: str,
    drivername: str,
    settings: Sequence[str],
    running: ExitStack,
    *,
    login: Callable[[URL], object],
    addresses: Sequence[str] = ("127.0.0.1",),
    prepare: Callable[[Path, Account], Sequence[str]] | None = None,
) -> Started:
    """Start a server; it is stopped, and its data removed, at the end of ``running``.

    Args:
        name: ``"mariadb"`` or ``"mysql"``.
        drivername: What the URL begins with, as ``mariadb+pymysql``.
        settings: As on the server's command line, ``--name=value``.
        running: Stops it.
        login: Connects to a URL once, or raises the driver's error.
        addresses: Where it listens.
        prepare: Writes files into the server's folder before it starts; gives back further settings.

    Raises:
        ServerUnavailableError: There is no such program, or it does not start.
    """
    account = Account.ordinary("mysql")
    program = server_program(name, account)
    folder = make_folder(name, account, running)
    data = folder / "data"
    if name == "mariadb":
        _install_mariadb(program, data, account, folder)
    else:
        account.prepare([str(program), "--no-defaults", "--initialize-insecure", f"--datadir={data}"], folder)
        settings = (*settings, *MYSQL_SETTINGS)
    # MySQL's password exchange needs the package cryptography or TLS; a user name nobody can guess and no
    # password needs neither. The installed accounts get passwords nobody knows.
    user = f"t{secrets.token_hex(12)}"
    host = "127.0.0.1" if tuple(addresses) == ("127.0.0.1",) else "%"
    statements = (
        f"CREATE USER '{user}'@'{host}';\n"
        f"GRANT ALL ON *.* TO '{user}'@'{host}' WITH GRANT OPTION;\n"
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{secrets.token_hex(16)}';\n"
    )
    init = _private_file(folder / "init.sql", statements, account)
    port = free_port()
    lines = [
        f"datadir={data}",
        f"tmpdir={folder}",  # one that starts deletes the temporary tables of all others in a shared one
        f"bind-address={','.join(addresses)}",
        f"port={port}",
        f"socket={folder / 'socket'}",
        f"pid-file={folder / 'pid'}",
        f"init-file={init}",
        "skip-name-resolve",
        *(setting.removeprefix("--") for setting in settings),
        *(setting.removeprefix("--") for setting in (prepare(folder, account) if prepare else ())),
    ]
    file = _private_file(folder / "my.cnf", "\n".join(["[mysqld]", *lines, ""]), account)
    arguments = [str(program), f"--defaults-file={file}"]
    server = run(arguments, folder, account, signal.SIGKILL, running)
    url = URL.create(drivername, user, None, "127.0.0.1", port).update_query_dict({"charset": "utf8mb4"})
    try:
        wait_until_ready(lambda: login(url), _START_SECONDS, server.is_running)
    except ServerUnavailableError as reason:
        raise ServerUnavailableError(f"{reason}: {server.last_words()}") from None
    return Started(url, server, program, data, file)


def server_program(name: str, account: Account) -> Path:
    """The first server program of this kind: MariaDB too has one called mysqld.

    Raises:
        ServerUnavailableError: There is none; the message names those of the other kind.
    """
    others = []
    for program in programs(["mariadbd", "mysqld"], _FOLDERS):
        try:
            version = subprocess.run(  # noqa: S603 - a program found by its name
                [str(program), "--no-defaults", "--version"],
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
                **account.popen_arguments(),
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            continue
        if ("MariaDB" in version) == (name == "mariadb"):
            return program
        others.append(f"{program} is {version.partition('Ver')[2].strip()}")
    raise ServerUnavailableError("; ".join(["no server program on this machine", *others]))


def _private_file(path: Path, content: str, account: Account) -> Path:
    path.touch(0o600)
    path.write_text(content)
    if account.uid is not None and account.gid is not None:
        shutil.chown(path, account.uid, account.gid)
    return path


def _install_mariadb(program: Path, data: Path, account: Account, folder: Path) -> None:
    names = ["mariadb-install-db", "mysql_install_db"]
    places = [str(program.resolve().parent), str(program.resolve().parents[1] / "scripts")]
    installer = next(programs(names, (*_FOLDERS, *places)), None)
    if installer is None:
        raise ServerUnavailableError("there is a mariadbd, but no mariadb-install-db")
    account.prepare(
        [
            str(installer),
            "--no-defaults",
            f"--datadir={data}",
            f"--tmpdir={folder}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ],
        folder,
    )
