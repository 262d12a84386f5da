from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL

from sqlcompress.bench.servers import innodb
from sqlcompress.bench.servers.process import (
    Account,
    _last_words,
    free_port,
    make_folder,
    programs_in,
)
from tests.servers import KINDS, Misconfigured, Unavailable, _from_environment
from tests.servers.require import chosen, import_driver, required

ROOT = Path(__file__).parents[2]


def write_program(place: Path, output: str, status: int = 0) -> Path:
    place.write_text(f"#!/bin/sh\necho '{output}'\nexit {status}\n")
    place.chmod(0o755)
    return place


@pytest.fixture
def folder():
    """A folder that the account of a private server reaches; pytest's own are for the current user."""
    with ExitStack() as running:
        yield make_folder("unit", Account.ordinary("mysql"), running)


def test_required_names_are_databases_and_drivers(monkeypatch):
    monkeypatch.setenv("SQLCOMPRESS_TEST_REQUIRE", "mariadb, mysqldb,,postgresql")
    assert required() == {"mariadb", "mysqldb", "postgresql"}
    monkeypatch.setenv("SQLCOMPRESS_TEST_REQUIRE", "mariadb,db2")
    with pytest.raises(Misconfigured, match=r"SQLCOMPRESS_TEST_REQUIRE names db2; known are aiosqlite, "):
        required()


def test_chosen_databases_keep_their_order(monkeypatch):
    monkeypatch.delenv("SQLCOMPRESS_TEST_DATABASES", raising=False)
    assert chosen() == ("sqlite", "postgresql", "mariadb", "mysql")
    monkeypatch.setenv("SQLCOMPRESS_TEST_DATABASES", "mysql,sqlite")
    assert chosen() == ("sqlite", "mysql")
    monkeypatch.setenv("SQLCOMPRESS_TEST_DATABASES", "pymysql")
    with pytest.raises(Misconfigured, match="names pymysql"):
        chosen()


def test_a_driver_that_is_not_installed_is_told_with_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "MySQLdb", None)
    with pytest.raises(Unavailable, match=r"mysqldb cannot be used: .*`pip install mysqlclient`"):
        import_driver("mysqldb")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("no url at all", "SQLCOMPRESS_TEST_MYSQL_URL is not a database URL"),
        ("postgresql://u:secret@h/d", "SQLCOMPRESS_TEST_MYSQL_URL names postgresql, not mysql"),
        ("mariadb+pymysql://u:secret@h/d", "SQLCOMPRESS_TEST_MYSQL_URL names mariadb, not mysql"),
    ],
)
def test_a_url_of_another_database_is_an_error_that_keeps_the_password(monkeypatch, url, message):
    monkeypatch.setenv("SQLCOMPRESS_TEST_MYSQL_URL", url)
    with pytest.raises(Misconfigured) as raised:
        _from_environment(KINDS["mysql"])
    assert str(raised.value) == message


def test_a_url_that_leads_nowhere_is_an_error_and_not_a_skip(monkeypatch):
    url = f"postgresql://u:secret@127.0.0.1:{free_port()}/d"
    monkeypatch.setenv("SQLCOMPRESS_TEST_POSTGRESQL_URL", url)
    with pytest.raises(Misconfigured, match="SQLCOMPRESS_TEST_POSTGRESQL_URL does not lead to") as raised:
        _from_environment(KINDS["postgresql"])
    assert "secret" not in str(raised.value)


def test_no_url_is_no_error(monkeypatch):
    monkeypatch.setenv("SQLCOMPRESS_TEST_MYSQL_URL", "")
    assert _from_environment(KINDS["mysql"]) is None


def test_programs_are_found_once_and_the_newest_first(tmp_path):
    for version in ("9.6", "15", "17"):
        bin_folder = tmp_path / "postgresql" / version / "bin"
        bin_folder.mkdir(parents=True)
        write_program(bin_folder / "initdb", version)
    (tmp_path / "link").symlink_to(tmp_path / "postgresql" / "15" / "bin")
    (tmp_path / "locked").mkdir(mode=0o000)  # root's home on an ordinary user's PATH
    folders = [
        str(tmp_path / "locked"),
        str(tmp_path / "link"),
        str(tmp_path / "postgresql" / "*" / "bin"),
        str(tmp_path / "missing"),
    ]
    found = [program.resolve().parts[-3] for program in programs_in(["initdb"], folders)]
    assert found == ["15", "17", "9.6"]


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_the_two_programs_called_mysqld_are_told_apart(monkeypatch, folder, kind):
    versions = {"mariadb": "mysqld  Ver 10.11.9-MariaDB for Linux", "mysql": "mysqld  Ver 9.7.0 for Linux"}
    for name, version in versions.items():
        (folder / name).mkdir()
        (folder / name).chmod(0o755)
        write_program(folder / name / "mysqld", version)
    account = Account.ordinary("mysql")
    monkeypatch.setattr(innodb, "_FOLDERS", ())
    monkeypatch.setenv("PATH", os.pathsep.join(str(folder / name) for name in versions))
    assert innodb.server_program(kind, account) == folder / kind / "mysqld"

    other = "mysql" if kind == "mariadb" else "mariadb"
    monkeypatch.setenv("PATH", str(folder / other))
    with pytest.raises(Unavailable, match=r"no server program on this machine; .*mysqld is \d+"):
        innodb.server_program(kind, account)


def test_servers_do_not_run_as_root(monkeypatch):
    account = Account.ordinary("no-such-user")
    if os.geteuid() == 0:
        assert account.uid not in {0, None}
    else:
        assert account == Account(None, None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Account.ordinary("no-such-user") == Account(None, None)


def test_a_preparation_that_fails_says_its_last_words(folder):
    program = write_program(folder / "initdb", "initdb: FATAL: no space", status=1)
    account = Account.ordinary("mysql")
    with pytest.raises(Unavailable, match=r"^initdb failed: initdb: FATAL: no space$"):
        account.prepare([str(program)], folder)
    with pytest.raises(Unavailable, match=r"^missing does not start: "):
        account.prepare([str(folder / "missing")], folder)
    assert account.can_run(write_program(folder / "runs", "1.0"))
    assert not account.can_run(folder / "missing")


def test_last_words_are_the_errors_where_there_are_some():
    assert _last_words(b"a\nb\n[ERROR] c\nd\n\nshut down\n") == "[ERROR] c"
    assert _last_words(b"a\nb\n\nc\nd\n") == "b / c / d"
    assert _last_words(b"") == "it said nothing"


def test_a_folder_belongs_to_the_account_and_goes_away():
    account = Account.ordinary("nobody")
    with ExitStack() as running:
        folder = make_folder("unit", account, running)
        status = folder.stat()
        assert stat.S_IMODE(status.st_mode) == 0o700
        assert status.st_uid == (os.geteuid() if account.uid is None else account.uid)
        (folder / "file").touch()
    assert not folder.exists()


def test_urls_keep_the_default_driver():
    for kind in KINDS.values():
        assert URL.create(kind.drivername(kind.sync_drivers[0])).get_dialect().name == kind.name


PROGRAM = """
import pytest

@pytest.mark.databases("mariadb")
def test_one(engine):
    raise AssertionError("reached")
"""

NO_SERVERS = """
from tests.servers import Unavailable, lease

def take(name):
    raise Unavailable(f"no {name} anywhere")

lease.take = take
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SQLCOMPRESS_TEST_REQUIRE": "postgresql"}, ["1 skipped", "no mariadb anywhere"]),
        ({"SQLCOMPRESS_TEST_REQUIRE": "mariadb"}, ["1 error", "required: no mariadb anywhere"]),
        ({"SQLCOMPRESS_TEST_REQUIRE": "maria"}, ["SQLCOMPRESS_TEST_REQUIRE names maria;"]),
        ({"SQLCOMPRESS_TEST_DATABASES": "sqlite"}, ["1 skipped", "runs on none of the databases in"]),
        ({"SQLCOMPRESS_TEST_MARIADB_URL": "sqlite://"}, ["1 error", "MARIADB_URL names sqlite, not mariadb"]),
    ],
)
def test_what_a_missing_database_does_to_a_test(tmp_path, environment, expected):
    output = run_pytest(tmp_path, environment, test_one=PROGRAM)
    assert [text for text in expected if text not in output] == []
    assert "reached" not in output


def test_mistakes_in_a_test_are_errors(tmp_path):
    unknown = PROGRAM.replace('"mariadb"', '"maria"')
    both = PROGRAM.replace("engine", "driver_engine, async_engine")
    output = run_pytest(tmp_path, {}, test_unknown=unknown, test_both=both)
    assert "test_unknown.py::test_one: databases() takes names out of sqlite, postgresql, mariadb" in output
    assert "test_both.py::test_one: driver_engine and async_engine do not go together" in output
    assert "2 errors" in output


def run_pytest(folder: Path, environment: dict[str, str], **programs: str) -> str:
    """What pytest says of programs that use our fixtures where there is no server at all."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(NO_SERVERS)
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program)
    ours = ("SQLCOMPRESS_TEST_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    options = ["-rs", "-p", "tests.conftest", "-p", "no:asyncio", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder)],
        cwd=folder,
        env={**kept, **environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
