"""The database the demonstration runs on: whether it may, and how it is left as it was found."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, inspect, text
from sqlalchemy.pool import NullPool

from sqlcompress.demo.databases import VERSION_TABLE, DemoDatabase, demo_database
from sqlcompress.demo.models import TABLES, PlainBase
from sqlcompress.errors import MissingDependencyError, SqlcompressError

_REVISION_PREFIX = "sqlcompress_demo_"


class Site:
    """A database that was looked at and found fit.

    Args:
        url: The database. SQLite needs a file, since Alembic's environment opens connections of its own.

    Attributes:
        engine: Opens a connection each time: a statement that PostgreSQL prepared before a column changed
            its type fails once on that connection afterwards.
        database: How this kind of database measures and compacts.
        title: The database's name and version.

    Raises:
        SqlcompressError: The demonstration cannot run there; nothing was changed.
    """

    def __init__(self, url: URL) -> None:
        _require_usable(url)
        self.url = url
        self._new_file = _missing_file(url)
        self.engine = _engine(url)
        try:
            with self.engine.connect() as connection:
                self.database: DemoDatabase = demo_database(self.engine)
                self._had_version_table = _require_free(connection)
        except BaseException:
            self.close()
            raise
        version = self.engine.dialect.server_version_info or ()
        self.title = f"{self.database.title} {'.'.join(str(part) for part in version[:3])}"

    def close(self) -> None:
        """Let go of the database; a SQLite file that merely connecting has made is removed."""
        self.engine.dispose()
        if self._new_file is not None and self._new_file.is_file() and self._new_file.stat().st_size == 0:
            self._new_file.unlink()

    def clean_up(self) -> None:
        """Drop whatever a run has made, however far it came."""
        with self.engine.begin() as connection:
            PlainBase.metadata.drop_all(connection)
            if inspect(connection).has_table(VERSION_TABLE):
                self._forget_revisions(connection)
        self.engine.dispose()
        if self._new_file is not None:
            self._new_file.unlink(missing_ok=True)

    def _forget_revisions(self, connection: Connection) -> None:
        if self._had_version_table:
            connection.execute(text(_forgetting()))
        else:
            connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))


def _engine(url: URL) -> Engine:
    try:
        return create_engine(url, poolclass=NullPool)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{url.drivername} needs the Python module {error.name}, which is not installed."
        ) from error


def removal() -> str:
    """The statements that remove the demonstration from a database by hand."""
    return "; ".join([*(f"DROP TABLE IF EXISTS {table}" for table in TABLES), _forgetting()])


def _forgetting() -> str:
    return f"DELETE FROM {VERSION_TABLE} WHERE version_num LIKE '{_REVISION_PREFIX}%'"


def _require_usable(url: URL) -> None:
    # get_dialect imports the driver's dialect, and raises for a name that is not known.
    if url.get_dialect().is_async:
        raise SqlcompressError(
            f"{url.drivername} is an asynchronous driver, and a stock Alembic environment is not; give a URL "
            "with a synchronous driver."
        )
    if url.get_backend_name() == "sqlite" and _sqlite_file(url) is None:
        raise SqlcompressError(
            "A SQLite database in memory is another one for each connection; give the URL of a file."
        )


def _sqlite_file(url: URL) -> Path | None:
    name = url.database
    if not name or ":memory:" in name or url.query.get("mode") == "memory":
        return None
    return Path(name)


def _missing_file(url: URL) -> Path | None:
    """The SQLite file that connecting is going to make."""
    path = _sqlite_file(url) if url.get_backend_name() == "sqlite" else None
    return path if path is not None and not path.exists() else None


def _require_free(connection: Connection) -> bool:
    """Refuse a database that is in use; give back whether it has Alembic's table, with nothing in it."""
    tables = inspect(connection).get_table_names()
    ours = [table for table in TABLES if table in tables]
    if ours:
        raise SqlcompressError(
            f"The database already has {' and '.join(ours)}, left by an earlier run. To remove what it left: "
            f"{removal()}"
        )
    if VERSION_TABLE not in tables:
        return False
    if connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).first() is not None:
        raise SqlcompressError(
            f"The database is under Alembic already: {VERSION_TABLE} holds a revision, which a stock "
            "environment cannot tell from its own. Give the URL of another database."
        )
    return True
