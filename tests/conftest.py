"""Fixtures that run a test on every database there is; docs/testing.md tells how they are found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import URL, Engine, NullPool, create_engine

from tests.servers import KINDS, Misconfigured, Unavailable, find, lease, release
from tests.servers.require import chosen, import_driver, required
from tests.servers.testdb import TestDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.ext.asyncio import AsyncEngine

settings.register_profile(
    "default",
    max_examples=50,
    deadline=None,  # a shared machine stalls now and then
    derandomize=bool(os.environ.get("CI")),
    # One database serves all examples of a test; the tests know.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000, derandomize=False)


@dataclass(frozen=True)
class Place:
    """Where one run of a test takes place."""

    database: str
    driver: str
    is_async: bool = False


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "databases(*names): run the test on these databases only")
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
    try:
        required()
        chosen()
    except Misconfigured as error:
        raise pytest.UsageError(str(error)) from None
    lease.open_run()


def pytest_unconfigure() -> None:
    release()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises whatever asks for a database, over databases or over pairs of database and driver."""
    if "place" not in metafunc.fixturenames:
        return
    names = _databases_of(metafunc.definition)
    over_drivers = "driver_engine" in metafunc.fixturenames
    over_async = "async_engine" in metafunc.fixturenames
    if over_drivers and over_async:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: driver_engine and async_engine do not go together"
        )
    if over_drivers:
        pairs = [(name, driver) for name in names for driver in KINDS[name].sync_drivers]
    elif over_async:
        pairs = [(name, driver) for name in names for driver in KINDS[name].async_drivers]
    else:
        pairs = [(name, KINDS[name].sync_drivers[0]) for name in names]
    if not pairs:
        reason = pytest.mark.skip(reason="runs on none of the databases in SQLCOMPRESS_TEST_DATABASES")
        metafunc.parametrize("place", [pytest.param(None, marks=reason)], ids=["none"], indirect=True)
        return
    ids = [f"{name}-{driver}" if over_drivers or over_async else name for name, driver in pairs]
    metafunc.parametrize("place", [Place(*pair, over_async) for pair in pairs], ids=ids, indirect=True)


def _databases_of(item: pytest.Item) -> list[str]:
    marker = item.get_closest_marker("databases")
    if marker is None:
        return list(chosen())
    unknown = [name for name in marker.args if name not in KINDS]
    if unknown or marker.kwargs or not marker.args:
        raise pytest.UsageError(f"{item.nodeid}: databases() takes names out of {', '.join(KINDS)}")
    return [name for name in chosen() if name in marker.args]


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Place:
    """The database and driver of this run; skipped, or failed where required, when either is missing."""
    wanted: Place = request.param
    try:
        import_driver(wanted.driver)
    except Unavailable as reason:
        _missing(wanted.driver, reason)
    if wanted.database != "sqlite":
        try:
            find(wanted.database)
        except Unavailable as reason:
            _missing(wanted.database, reason)
    return wanted


def _missing(name: str, reason: Unavailable) -> None:
    if name in required():
        pytest.fail(f"required: {reason}", pytrace=False)
    pytest.skip(str(reason))


@pytest.fixture(scope="session")
def made_databases() -> Iterator[dict[str, TestDatabase]]:
    """The databases this worker has made so far, by kind."""
    made: dict[str, TestDatabase] = {}
    yield made
    for test_database in made.values():
        test_database.drop()


@pytest.fixture
def database(place: Place) -> str:
    """The kind of the database: "sqlite", "postgresql", "mariadb" or "mysql"."""
    return place.database


@pytest.fixture
def database_url(place: Place, made_databases: dict[str, TestDatabase], tmp_path: Path) -> URL:
    """The URL of an empty database, with the kind's default synchronous driver and the password."""
    kind = KINDS[place.database]
    if kind.name == "sqlite":
        return URL.create(kind.drivername("pysqlite"), database=str(tmp_path / "database.sqlite"))
    if kind.name not in made_databases:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        # The run's process id keeps two runs on one server from emptying each other's database.
        run = lease.open_run().name.split("-")[2]
        made_databases[kind.name] = TestDatabase(find(kind.name), f"sqlcompress_test_{run}_{worker}")
    made_databases[kind.name].empty()
    return made_databases[kind.name].url


@pytest.fixture
def engine(database_url: URL) -> Iterator[Engine]:
    """An engine on the empty database, with the kind's default synchronous driver."""
    made = create_engine(database_url)
    yield made
    made.dispose()


@pytest.fixture
def driver_engine(place: Place, database_url: URL) -> Iterator[Engine]:
    """As `engine`, for every synchronous driver of every database."""
    made = create_engine(database_url.set(drivername=KINDS[place.database].drivername(place.driver)))
    yield made
    made.dispose()


@pytest.fixture
def async_engine(place: Place, database_url: URL) -> Iterator[AsyncEngine]:
    """An `AsyncEngine` for every asyncio driver of every database.

    Connections are not pooled, so a test may call `asyncio.run` as often as it likes.
    """
    asyncio_extension = pytest.importorskip("sqlalchemy.ext.asyncio")
    url = database_url.set(drivername=KINDS[place.database].drivername(place.driver))
    made = asyncio_extension.create_async_engine(url, poolclass=NullPool)
    yield made
    made.sync_engine.dispose()
