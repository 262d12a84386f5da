"""A private MariaDB or MySQL server from the machine's programs."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

from sqlalchemy import URL

from tests.servers import login
from tests.servers.kinds import Kind, Unavailable
from tests.servers.private import Account, free_port, make_folder, programs, run

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

_FOLDERS = (
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/libexec",
    "/usr/local/mysql/bin",
    "/opt/homebrew/opt/mariadb/bin",
    "/opt/homebrew/opt/mysql/bin",
)
#: For servers of both kinds, in containers too: 20 MB values pass, text is utf8mb4, no wait for the disk.
SETTINGS = (
    "--max-allowed-packet=64M",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=256M",
)
#: MySQL alone: no X protocol port, no binary log, no folder for files, which may not exist.
MYSQL_SETTINGS = ("--mysqlx=OFF", "--skip-log-bin", "--secure-file-priv=NULL")
_START_SECONDS = 120.0


def start(kind: Kind, running: ExitStack) -> URL:
    """Starts a server from the programs installed on this machine."""
    account = Account.ordinary("mysql")
    server_program = _server_program(kind, account)
    folder = make_folder(kind.name, account, running)
    data = folder / "data"
    if kind.name == "mariadb":
        _install_mariadb(server_program, data, account, folder)
        settings: tuple[str, ...] = SETTINGS
    else:
        account.prepare(
            [str(server_program), "--no-defaults", "--initialize-insecure", f"--datadir={data}"], folder
        )
        settings = (*SETTINGS, *MYSQL_SETTINGS)
    # MySQL's password exchange needs the package cryptography or TLS; a user name nobody can guess and no
    # password needs neither. The installed accounts get passwords nobody knows.
    user = f"t{secrets.token_hex(12)}"
    init = folder / "init.sql"
    init.touch(0o600)
    init.write_text(
        f"CREATE USER '{user}'@'127.0.0.1';\n"
        f"GRANT ALL ON *.* TO '{user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{secrets.token_hex(16)}';\n"
    )
    if account.uid is not None and account.gid is not None:
        shutil.chown(init, account.uid, account.gid)
    port = free_port()
    arguments = [
        str(server_program),
        "--no-defaults",
        f"--datadir={data}",
        f"--tmpdir={folder}",  # one that starts deletes the temporary tables of all others in a shared one
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--socket={folder / 'socket'}",
        f"--pid-file={folder / 'pid'}",
        f"--init-file={init}",
        "--skip-name-resolve",
        *settings,
    ]
    server = run(arguments, folder, account, signal.SIGKILL, running)
    url = URL.create(kind.drivername(kind.sync_drivers[0]), user, None, "127.0.0.1", port)
    url = url.update_query_dict({"charset": "utf8mb4"})
    try:
        login.wait_until_ready(kind, url, _START_SECONDS, server.is_running)
    except Unavailable as reason:
        raise Unavailable(f"{reason}: {server.last_words()}") from None
    return url


def _server_program(kind: Kind, account: Account) -> Path:
    """The first server program that is of this kind: MariaDB too has one called mysqld."""
    others = []
    for program in programs(["mariadbd", "mysqld"], _FOLDERS):
        try:
            version = subprocess.run(
                [str(program), "--no-defaults", "--version"],
                capture_output=True,
                text=True,
                timeout=30,
                check=True,
                **account.popen_arguments(),
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            continue
        if ("MariaDB" in version) == (kind.name == "mariadb"):
            return program
        others.append(f"{program} is {version.partition('Ver')[2].strip()}")
    raise Unavailable("; ".join(["no server program on this machine", *others]))


def _install_mariadb(server_program: Path, data: Path, account: Account, folder: Path) -> None:
    names = ["mariadb-install-db", "mysql_install_db"]
    places = [str(server_program.resolve().parent), str(server_program.resolve().parents[1] / "scripts")]
    installer = next(programs(names, (*_FOLDERS, *places)), None)
    if installer is None:
        raise Unavailable("there is a mariadbd, but no mariadb-install-db")
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
