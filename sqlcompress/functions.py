"""The SQL function that ``install()`` gives to SQLite: the plain value of a compressed column."""

from __future__ import annotations

import json
import logging
from collections import ChainMap
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import event

from sqlcompress.codec import Zstd
from sqlcompress.dialects.sqlite import PLAIN
from sqlcompress.dictionaries import Dictionary
from sqlcompress.errors import DecodeError, UnknownFormatError
from sqlcompress.known import known_of
from sqlcompress.stored import decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from sqlalchemy.engine import Dialect, Engine

    from sqlcompress.codec import BytesFunction

logger = logging.getLogger("sqlcompress")

_INSTALLED: Final = "sqlcompress_functions"

_given: WeakSet[Engine] = WeakSet()
_own: MutableMapping[Dialect, dict[int, Dictionary]] = WeakKeyDictionary()


def dictionaries_met(dialect: Dialect) -> dict[int, Dictionary]:
    """Dictionaries that columns of this engine's statements bring along themselves, by id."""
    return _own.setdefault(dialect, {})


def give_functions(engine: Engine) -> None:
    """Register the functions with each connection of an engine that is taken from its pool; once suffices.

    At checkout and not at connect: the pool may hold connections that were made before.
    """
    if engine in _given:
        return
    _given.add(engine)
    function = _plain_function(engine.dialect)

    def register(dbapi_connection: Any, record: Any, _proxy: Any) -> None:
        if _INSTALLED not in record.info:
            # Of sqlite3, or of SQLAlchemy's adapter for aiosqlite.
            dbapi_connection.create_function(PLAIN, 4, function, deterministic=True)
            record.info[_INSTALLED] = True

    event.listen(engine, "checkout", register)


def _plain_function(dialect: Dialect) -> Callable[[Any, str, str, int], Any]:
    known = known_of(dialect)
    # Within a statement of an asynchronous driver the one thread that serves its connection is taken, and to
    # ask the database for a dictionary could wait for that very thread.
    at_hand: Mapping[int, Dictionary] = known.loaded if dialect.is_async else known
    dictionaries = cast("Any", ChainMap(dictionaries_met(dialect), cast("Any", at_hand)))

    @lru_cache(maxsize=64)
    def decode_as(kind: str, legacy: str, max_size: int) -> BytesFunction:
        names = tuple(legacy.split(",")) if legacy else ()
        return decoder(Zstd(), max_size, names, is_text=kind != "binary", known=dictionaries)

    def plain(value: Any, kind: str, legacy: str, max_size: int) -> Any:
        if value is None:
            return None
        try:
            if isinstance(value, str):
                if not legacy:
                    return value if kind != "binary" else value.encode()
                value = value.encode()
            elif not isinstance(value, bytes):
                if kind == "json":  # a column that SQLite knows as JSON keeps a plain 12 as a number
                    return json.dumps(value)
                raise UnknownFormatError(f"the column holds a value of SQLite's type {type(value).__name__}")
            decoded = decode_as(kind, legacy, max_size)(value)
        except DecodeError as error:
            # sqlite3 tells the application only that a function has failed.
            logger.error("a value cannot be decoded in SQL: %s", error)  # noqa: TRY400 - the values are not shown
            raise
        return decoded if kind == "binary" else decoded.decode()

    return plain
