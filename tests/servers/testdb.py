"""A database of the tests' own on a server: emptied before each test, dropped at the end."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class TestDatabase:
    """One database, made anew each time it is emptied.

    Making it anew also takes what a list of things to drop would miss: schemas, types, functions, large
    objects, settings of the database. Roles and users belong to the server; a test that makes one drops it.

    Attributes:
        server: As `tests.servers.find` gives it.
        name: Made, emptied and dropped here; letters, digits and underscores.
    """

    __test__ = False  # no test class of pytest's

    server: URL
    name: str

    @property
    def url(self) -> URL:
        return self.server.set(database=self.name)

    def empty(self) -> None:
        """Makes the database anew; connections that an earlier test left open are ended."""
        with self._server() as connection:
            self._drop(connection)
            if self.server.get_backend_name() == "postgresql":
                connection.execute(text(f"CREATE DATABASE {self.name} TEMPLATE template0 ENCODING 'UTF8'"))
            else:
                connection.execute(text(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4"))

    def drop(self) -> None:
        with self._server() as connection:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        if self.server.get_backend_name() == "postgresql":
            connection.execute(text(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)"))
            return
        # A transaction left open holds metadata locks that DROP DATABASE would wait for.
        # Not SHOW PROCESSLIST: it cuts the statements that run within a character, which no driver decodes.
        # On MySQL 9 information_schema.processlist fails with 3854 while a statement holds an emoji.
        sessions = (
            "SELECT id FROM information_schema.processlist WHERE db = :name"
            if connection.dialect.is_mariadb
            else "SELECT processlist_id FROM performance_schema.threads WHERE processlist_db = :name"
        )
        for number in connection.execute(text(sessions), {"name": self.name}).scalars().all():
            with contextlib.suppress(DBAPIError):  # it has ended by itself
                connection.execute(text(f"KILL {int(number)}"))
        connection.execute(text(f"DROP DATABASE IF EXISTS {self.name}"))

    @contextlib.contextmanager
    def _server(self) -> Iterator[Connection]:
        engine = create_engine(self.server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            yield connection
