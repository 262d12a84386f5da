"""What an engine is given so that compressed columns are safe in every statement it compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Engine

from sqlcompress.guard import guarded

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

_EngineT = TypeVar("_EngineT", bound="Engine | AsyncEngine")


def install(engine: _EngineT) -> _EngineT:
    """Have an engine's statement compiler refuse what would take compressed bytes for values.

    A column type sees only the operators called on its own column. With this, ``plain == column``,
    ``func.lower(column)``, ``ORDER BY column``, a UNION with a plain column or ``INSERT … SELECT`` into one
    raise a CompileError with advice, too. It costs 0.1 ms once for each shape of a statement. Reading and
    writing values works the same without it.

    Args:
        engine: An Engine or AsyncEngine; calling it again changes nothing. Other engines are left alone.

    Returns:
        The engine.

    Raises:
        TypeError: ``engine`` is neither.
    """
    sync_engine = engine if isinstance(engine, Engine) else getattr(engine, "sync_engine", None)
    if not isinstance(sync_engine, Engine):
        raise TypeError(f"install() takes an Engine or AsyncEngine, not {type(engine).__name__}")
    dialect = sync_engine.dialect
    dialect.statement_compiler = guarded(dialect.statement_compiler)
    # Statements compiled before are compiled anew.
    sync_engine.clear_compiled_cache()
    return engine
