"""What an engine is given: a compiler that asks for plain values, and its database's dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Engine

from sqlcompress.dialects import database_of
from sqlcompress.functions import give_functions
from sqlcompress.guard import guarded
from sqlcompress.loading import REFRESH_SECONDS, keep_loaded
from sqlcompress.wire import ask_for_bytes

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_EngineT = TypeVar("_EngineT", bound="Engine | AsyncEngine")


def install(
    engine: _EngineT, *, schema: str | None = None, refresh_seconds: float = REFRESH_SECONDS
) -> _EngineT:
    """Give an engine its database's dictionaries, and a compiler that never takes frames for values.

    Dictionaries are read from the table ``sqlcompress_dictionary`` when the engine first connects, and again
    when a connection is taken from the pool, at most every ``refresh_seconds``: one short query then, none
    for each statement. A value whose dictionary is not known is served all the same: it is asked for through
    a connection of its own, once. Without the table, columns that name a dictionary compress without.

    Operators on a compressed column need this, and so do ``plain == column``, ``func.lower(column)`` and
    ``ORDER BY column``, which its type does not see: the compiler has the database decode the column there.
    Where the database cannot, and where a statement would put frames among plain values, as a UNION with a
    plain column or ``INSERT … SELECT`` into one would, it raises a CompileError with advice. It costs 0.1 ms
    once for each shape of a statement. Reading and writing values works the same without it.

    SQLite's connections get the function that decodes. psycopg is asked for binary results
    where they hold compressed columns and types that come out the same: otherwise it gets, and parses, two
    hexadecimal digits for each byte.

    Args:
        engine: An Engine or AsyncEngine; calling it again sets the other arguments anew. Other engines are
            left alone.
        schema: The schema of ``sqlcompress_dictionary``; None for the connection's default.
        refresh_seconds: Seconds between two questions to the database, 0 to 60. A dictionary is dropped at
            the earliest 180 s after it was retired, and 60 leaves room for that.

    Returns:
        The engine.

    Raises:
        TypeError: ``engine`` is neither.
        ValueError: ``refresh_seconds`` is out of bounds.
    """
    sync_engine = engine if isinstance(engine, Engine) else getattr(engine, "sync_engine", None)
    if not isinstance(sync_engine, Engine):
        raise TypeError(f"install() takes an Engine or AsyncEngine, not {type(engine).__name__}")
    if not 0 <= refresh_seconds <= REFRESH_SECONDS:
        raise ValueError(
            f"install(refresh_seconds={refresh_seconds}): it goes from 0 to {REFRESH_SECONDS:.0f}"
        )
    keep_loaded(sync_engine, schema, refresh_seconds)
    dialect = sync_engine.dialect
    database = database_of(dialect.name)
    if database.takes_functions:
        give_functions(sync_engine)
    if dialect.driver in database.drivers_with_text_results:
        ask_for_bytes(sync_engine)
    dialect.statement_compiler = guarded(dialect.statement_compiler)
    # Statements compiled before are compiled anew.
    sync_engine.clear_compiled_cache()
    return engine
