"""The fixtures keep what the tests rely on: an empty database each time, servers that end with the tests."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from sqlalchemy import NullPool, create_engine, inspect, text

from tests.servers import KINDS, lease
from tests.servers.require import chosen

ROOT = Path(__file__).parents[2]

MESS = {
    "sqlite": ["CREATE TABLE mess (d TEXT)", "CREATE VIEW mess_view AS SELECT d FROM mess"],
    "postgresql": [
        "CREATE TABLE mess (d TEXT)",
        "CREATE SCHEMA mess_schema",
        "CREATE TYPE mess_type AS ENUM ('a')",
        "CREATE FUNCTION mess_function() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT lo_create(4711)",
    ],
    "mariadb": [
        "CREATE TABLE mess (d TEXT)",
        "CREATE VIEW mess_view AS SELECT d FROM mess",
        "CREATE FUNCTION mess_function() RETURNS int RETURN 1",
    ],
    "mysql": [
        "CREATE TABLE mess (d TEXT)",
        "CREATE VIEW mess_view AS SELECT d FROM mess",
        "CREATE FUNCTION mess_function() RETURNS int DETERMINISTIC RETURN 1",
    ],
}
LEFT = {
    "sqlite": "SELECT count(*) FROM sqlite_master",
    "postgresql": """
        SELECT (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'mess%')
             + (SELECT count(*) FROM pg_type WHERE typname LIKE 'mess%')
             + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'mess%')
             + (SELECT count(*) FROM pg_largeobject_metadata)
    """,
    "mariadb": "SELECT count(*) FROM information_schema.routines WHERE routine_schema = database()",
    "mysql": "SELECT count(*) FROM information_schema.routines WHERE routine_schema = database()",
}


@pytest.fixture(scope="module")
def left_open():
    """Connections with an open transaction that a test has left behind."""
    connections = []
    yield connections
    for connection in connections:
        connection.invalidate()
        connection.close()


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_each_test_begins_with_an_empty_database(engine, database, database_url, left_open, again):
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == []
        assert inspect(connection).get_view_names() == []
        assert connection.scalar(text(LEFT[database])) == 0
        for statement in MESS[database]:
            connection.execute(text(statement))
        assert inspect(connection).get_table_names() == ["mess"]
    if not again:
        connection = create_engine(database_url, poolclass=NullPool).connect()
        connection.execute(text("INSERT INTO mess VALUES ('x')"))
        left_open.append(connection)


def test_the_url_is_of_the_same_database(engine, database, database_url):
    assert engine.dialect.name == database == database_url.get_backend_name()
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE seen (d INTEGER)"))
    program = (
        "import sys; from sqlalchemy import create_engine, inspect;"
        "print(inspect(create_engine(sys.argv[1])).get_table_names())"
    )
    url = database_url.render_as_string(hide_password=False)
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    assert done.stdout == "['seen']\n"


def test_every_synchronous_driver(driver_engine, database, place):
    assert driver_engine.dialect.name == database
    assert driver_engine.dialect.driver == place.driver
    with driver_engine.connect() as connection:
        assert connection.scalar(text("SELECT 'ä€😀'")) == "ä€😀"


def test_every_asyncio_driver_in_more_than_one_loop(async_engine, engine, place):
    async def select():
        async with async_engine.connect() as connection:
            return await connection.scalar(text("SELECT d FROM seen"))

    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE seen (d VARCHAR(9))"))
        connection.execute(text("INSERT INTO seen VALUES ('ä€😀')"))
    assert async_engine.dialect.driver in {place.driver, f"{place.driver}_async"}
    assert [asyncio.run(select()) for _ in range(2)] == ["ä€😀", "ä€😀"]


# Values of 20 MB are among the tests; servers that refuse them fail here, with a better explanation.
@pytest.mark.databases("mariadb", "mysql")
def test_the_server_takes_large_values(engine):
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT @@max_allowed_packet")) >= 64 * 1024 * 1024
        assert connection.scalar(text("SELECT @@character_set_database")) == "utf8mb4"


HOLDER = """
import sys
from tests.servers import Unavailable, find, release
try:
    print(find(sys.argv[1]).port, flush=True)
except Unavailable as reason:
    sys.exit(print(reason))
sys.stdin.read()
release()
"""


def start_holder(kind, run):
    """A process that holds a server of the run; and the port it was told."""
    kept = {name: value for name, value in os.environ.items() if name != KINDS[kind].url_variable}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind],
        cwd=ROOT,
        env={**kept, lease.RUN_VARIABLE: str(run), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    answer = holder.stdout.readline()
    if not answer.strip().isdigit():
        holder.communicate("")
        assert answer, "the holder failed; see its messages"
        pytest.skip(answer.strip())
    return holder, int(answer)


def kept_by(holder):
    """The keeper that a holder started, the server under it and the server's folder."""
    (keeper,) = psutil.Process(holder.pid).children()
    server = next(iter(keeper.children()), None)
    if server is None:
        pytest.skip("the server runs in a container, and its end is the engine's business")
    folder = Path(server.cwd()).parent  # both work inside their data folder
    assert folder.name.startswith("sqlcompress-")
    return keeper, server, folder


@pytest.fixture(params=["postgresql", "mariadb"])
def private(request):
    """A kind of server that can be started here privately, and the folder of a run of its own."""
    kind = request.param
    if kind not in chosen():
        pytest.skip("not among the databases in SQLCOMPRESS_TEST_DATABASES")
    with tempfile.TemporaryDirectory(prefix=f"sqlcompress-run-{os.getpid()}-") as run:
        yield kind, Path(run)


def test_a_server_runs_until_its_last_holder_has_gone(private):
    kind, run = private
    first, port = start_holder(kind, run)
    second, same_port = start_holder(kind, run)
    assert port == same_port
    keeper, server, folder = kept_by(first)
    assert folder.is_dir()

    first.communicate("")
    assert first.returncode == 0
    assert server.is_running()

    second.communicate("")  # returns when the server is gone
    assert second.returncode == 0
    gone, alive = psutil.wait_procs([keeper, server], timeout=30)
    assert (len(gone), alive) == (2, [])
    assert not folder.exists()
    assert not (run / f"{kind}.sock").exists()


def test_a_server_ends_with_tests_that_are_killed(private):
    kind, run = private
    holder, _ = start_holder(kind, run)
    keeper, server, folder = kept_by(holder)
    holder.kill()
    holder.communicate()
    gone, alive = psutil.wait_procs([keeper, server], timeout=30)
    assert (len(gone), alive) == (2, [])
    assert not folder.exists()


@pytest.mark.parametrize("private", ["postgresql"], indirect=True)
def test_ctrl_c_reaches_the_tests_only_and_the_server_follows(private):
    kind, run = private
    holder, _ = start_holder(kind, run)
    keeper, server, folder = kept_by(holder)
    os.killpg(holder.pid, signal.SIGINT)  # what a terminal does
    holder.communicate()
    assert holder.returncode == -signal.SIGINT
    gone, alive = psutil.wait_procs([keeper, server], timeout=30)
    assert (len(gone), alive) == (2, [])
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_a_server_ends_with_its_keeper_even_where_that_is_killed(private):
    kind, run = private
    holder, _ = start_holder(kind, run)
    keeper, server, folder = kept_by(holder)
    keeper.kill()
    gone, alive = psutil.wait_procs([server], timeout=30)
    assert (len(gone), alive) == (1, [])
    holder.communicate("")
    shutil.rmtree(folder)
