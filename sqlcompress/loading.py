"""How an engine comes to know its database's dictionaries: at pool checkout, and when a value needs one.

Result processors run anywhere: in a greenlet of an asynchronous engine or outside it, while a result is still
being read from the only connection at hand. So a dictionary that is met unknown comes through a connection of
its own; for an asynchronous engine in a thread with an event loop of its own. No lock is held meanwhile: to
load one twice is harmless, and a lock across an await stops a loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import Engine, event
from sqlalchemy.pool import SingletonThreadPool, StaticPool

from sqlcompress.dialects import database_of
from sqlcompress.dialects.dictionarytable import contents_sql, exists_sql, is_missing, overview_sql
from sqlcompress.entries import checked, not_there
from sqlcompress.errors import DictionaryNotFoundError
from sqlcompress.known import known_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Dialect

    from sqlcompress.dictionaries import Dictionary

_T = TypeVar("_T")

logger = logging.getLogger("sqlcompress")

#: Seconds between two questions to the database, at most.
REFRESH_SECONDS: Final = 60.0
#: Seconds for which a dictionary is written with after the database was asked last: less than the 180 s
#: between retiring a dictionary and dropping it.
WRITE_SECONDS: Final = 120.0
#: Seconds until a question that failed is asked again, and for which an id that is not there counts as gone.
_RETRY_SECONDS: Final = 5.0


class Loader:
    """Keeps what one engine knows up to date.

    Args:
        engine: The engine; an asynchronous one's ``sync_engine``.
        schema: The schema of the table ``sqlcompress_dictionary``.
        refresh_seconds: Seconds between two questions at pool checkout.
    """

    def __init__(self, engine: Engine, schema: str | None, refresh_seconds: float) -> None:
        self._engine = weakref.ref(engine)
        # Weak, both: what an engine knows hangs on its dialect and must not keep it.
        self._weak_dialect = weakref.ref(engine.dialect)
        self.schema = schema
        self.refresh_seconds = refresh_seconds
        self.known = known_of(engine.dialect)
        self.known.ask = self.ask
        self._next = 0.0
        self._has_table = False
        self._gone: dict[int, tuple[float, DictionaryNotFoundError]] = {}
        self._damaged: set[int] = set()
        self._may_be_alone = database_of(engine.dialect.name).may_live_in_a_connection
        self._single: Any = None
        self._trouble: str | None = None
        self._own = threading.local()

    @property
    def _dialect(self) -> Dialect:
        dialect = self._weak_dialect()
        if dialect is None:
            raise RuntimeError("the engine is gone")
        return dialect

    def listen(self) -> None:
        """Ask at pool checkout from now on."""
        engine = self._engine()
        if engine is not None and database_of(engine.dialect.name).keeps_dictionaries:
            event.listen(engine, "checkout", self._checked_out)
        self.known.overdue = self._overdue
        self.known.writes_until = time.monotonic()

    # At checkout ------------------------------------------------------------------------------------------

    def _checked_out(self, dbapi_connection: Any, record: Any, proxy: Any) -> None:
        del record, proxy
        if self._may_be_alone:
            self._remember(dbapi_connection)
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self.refresh_seconds
        try:
            self.refresh(dbapi_connection)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises; the application goes on without
            self._failed(error)
        else:
            self._trouble = None

    def _failed(self, error: Exception) -> None:
        """Ask again soon, and say so: once for each kind of trouble, which may last."""
        trouble = type(error).__name__
        if trouble != self._trouble:
            self._trouble = trouble
            self._next = min(self._next, time.monotonic() + _RETRY_SECONDS)
            logger.warning("the dictionaries in the database could not be read: %s", trouble)

    def refresh(self, dbapi_connection: Any) -> None:
        """Learn what is in the table, through a driver's connection outside a transaction."""
        asked = time.monotonic()
        active: dict[str, Dictionary] = {}
        try:
            rows = self._overview(dbapi_connection)
            unknown = [row[0] for row in rows if row[0] not in set(self.known)]
            found = self._contents(dbapi_connection, unknown) if unknown else []
        finally:
            with suppress(Exception):
                dbapi_connection.rollback()
        self.known.learn(found)
        self.known.forget_others(row[0] for row in rows)
        at_hand = set(self.known)
        for dictionary_id, name, is_active in rows:
            if is_active:
                # The last one of a name; a damaged one is written with by nobody.
                active.pop(name, None)
                if dictionary_id in at_hand:
                    active[name] = self.known[dictionary_id]
        if active != self.known.active:
            self.known.activate(active)
        self.known.writes_until = asked + WRITE_SECONDS

    def _overview(self, dbapi_connection: Any) -> list[tuple[int, str, bool]]:
        exists = None if self._has_table else exists_sql(self._dialect, self.schema)
        if exists is not None and not _fetched(dbapi_connection, exists)[0][0]:
            return []
        try:
            rows = _fetched(dbapi_connection, overview_sql(self._dialect, self.schema))
        except Exception as error:
            if is_missing(self._dialect, error):
                self._has_table = False
                return []
            raise
        self._has_table = True
        return [(int(row[0]), row[1], bool(row[2])) for row in rows]

    def _contents(self, dbapi_connection: Any, ids: list[int]) -> list[Dictionary]:
        rows = _fetched(dbapi_connection, contents_sql(self._dialect, self.schema, ids))
        return [found for row in rows if (found := self._checked(row)) is not None]

    def _checked(self, row: Any) -> Dictionary | None:
        try:
            return checked(*row)
        except DictionaryNotFoundError as error:
            if row[0] not in self._damaged:
                self._damaged.add(row[0])
                logger.warning("%s", error)
            return None

    def _remember(self, dbapi_connection: Any) -> None:
        """Keep the connection of a pool that has one only: another would be another database in memory."""
        pool = getattr(self._engine(), "pool", None)
        if isinstance(pool, StaticPool):
            self._single = dbapi_connection
        elif isinstance(pool, SingletonThreadPool):
            self._own.connection = dbapi_connection

    # When a value needs it --------------------------------------------------------------------------------

    def ask(self, dictionary_id: int) -> Dictionary | None:
        """A dictionary by its id, from the database.

        Raises:
            DictionaryNotFoundError: It is not there, damaged, or the database could not be asked.
        """
        until, gone = self._gone.get(dictionary_id, (0.0, None))
        if gone is None or time.monotonic() >= until:
            try:
                return self._found(dictionary_id)
            except DictionaryNotFoundError as error:
                gone = error
                # A scan of a million such rows asks once.
                self._gone[dictionary_id] = (time.monotonic() + _RETRY_SECONDS, error)
        raise DictionaryNotFoundError(str(gone), dictionary_id)

    def _found(self, dictionary_id: int) -> Dictionary:
        sql = contents_sql(self._dialect, self.schema, [dictionary_id])
        try:
            rows = self._through_another(lambda connection: _fetched(connection, sql))
        except Exception as error:
            if is_missing(self._dialect, getattr(error, "orig", error)):
                rows = []
            else:
                raise DictionaryNotFoundError(
                    f"the value was compressed with dictionary {dictionary_id}, and the database could not"
                    f" be asked for it: {type(error).__name__}",
                    dictionary_id,
                ) from error
        if not rows:
            raise not_there(dictionary_id)
        return checked(*rows[0])

    def _overdue(self) -> None:
        """Ask in the background: somebody writes on a connection that has been out for long."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _RETRY_SECONDS
        threading.Thread(target=self._refresh_aside, name="sqlcompress-refresh", daemon=True).start()

    def _refresh_aside(self) -> None:
        try:
            self._through_another(self.refresh)
            self._next = time.monotonic() + self.refresh_seconds
        except Exception as error:  # noqa: BLE001 - nobody is there to catch it
            self._failed(error)

    def _through_another(self, work: Callable[[Any], _T]) -> _T:
        """``work`` with a driver's connection that nobody else uses."""
        single = self._single or getattr(self._own, "connection", None)
        if single is not None:
            # A second cursor beside the one being read is fine with SQLite.
            return work(_WithoutRollback(single))
        engine = self._engine()
        if engine is None:
            raise RuntimeError("the engine is gone")
        if engine.dialect.is_async:
            return _in_a_thread(lambda: asyncio.run(_asynchronously(engine, work)))
        with _side_connection(engine) as connection:
            return work(connection)


class _WithoutRollback:
    """A connection in whose transaction somebody else is."""

    def __init__(self, connection: Any) -> None:
        self.cursor = connection.cursor

    def rollback(self) -> None:
        """Leave the transaction to its owner."""


def _fetched(dbapi_connection: Any, statement: str) -> list[Any]:
    cursor = dbapi_connection.cursor()
    try:
        cursor.execute(statement)
        return list(cursor.fetchall())
    finally:
        cursor.close()


@contextmanager
def _side_connection(engine: Engine) -> Iterator[Any]:
    """A new connection as the engine's pool makes them; the pool itself may be full."""
    pool = engine.pool.recreate()
    try:
        fairy = pool.connect()
        try:
            yield fairy.dbapi_connection
        finally:
            fairy.close()
    finally:
        pool.dispose()


async def _asynchronously(engine: Engine, work: Callable[[Any], _T]) -> _T:
    from sqlalchemy.ext.asyncio import AsyncEngine  # noqa: PLC0415 - needs greenlet, which not everyone has

    aside = AsyncEngine(Engine(engine.pool.recreate(), engine.dialect, engine.url))
    try:
        async with aside.connect() as connection:
            return await connection.run_sync(lambda c: work(c.connection.dbapi_connection))
    finally:
        await aside.dispose()


def _in_a_thread(work: Callable[[], _T]) -> _T:
    """What ``work`` returns or raises in a thread of its own: this one may have an event loop running."""
    outcome: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            errors.append(error)

    thread = threading.Thread(target=run, name="sqlcompress-load")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


_loaders: weakref.WeakKeyDictionary[Any, Loader] = weakref.WeakKeyDictionary()


def loader_for(engine: Engine, schema: str | None) -> Loader:
    """The loader of an engine; one that only answers when asked, where the engine was not given one."""
    return _loaders.get(engine.dialect) or Loader(engine, schema, REFRESH_SECONDS)


def keep_loaded(engine: Engine, schema: str | None, refresh_seconds: float) -> None:
    """Have an engine know its dictionaries; called again, with other settings from then on."""
    loader = _loaders.get(engine.dialect)
    if loader is not None:
        loader.schema = schema
        loader.refresh_seconds = refresh_seconds
        return
    loader = _loaders[engine.dialect] = Loader(engine, schema, refresh_seconds)
    loader.listen()
