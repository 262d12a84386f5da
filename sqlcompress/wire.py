"""Results of psycopg as bytes on the wire, instead of two hexadecimal digits for each byte.

psycopg asks for results as text unless it is told otherwise, and ``bytea`` as text has twice its bytes
(PostgreSQL manual, "bytea Hex Format"). libpq knows one format for all columns of a result, and for a type
that psycopg has no loader for (an enum, citext) the binary format gives bytes where the text format gives a
str. So a statement is run as usual the first time, and what types its result had decides about the next
times: they are binary where psycopg gives the same Python values for all of them.

What it touches that is not documented API: ``SQLCompiler._result_columns`` of SQLAlchemy, ``_cursor`` of its
adapter for asynchronous drivers, ``Cursor.format`` of psycopg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from sqlalchemy import event

from sqlcompress.compressed import Compressed
from sqlcompress.errors import SqlcompressError
from sqlcompress.guard import Guard

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

#: psycopg's loaders of text and of binary results that give the same values, by the type's OID (PostgreSQL's
#: pg_type.dat). real is not among them: 1.1 as text is 1.1, and in binary the double nearest to the float.
_SAME: Final = {
    16: ("BoolLoader", "BoolBinaryLoader"),
    17: ("ByteaLoader", "ByteaBinaryLoader"),
    20: ("IntLoader", "Int8BinaryLoader"),  # bigint
    21: ("IntLoader", "Int2BinaryLoader"),  # smallint
    23: ("IntLoader", "Int4BinaryLoader"),  # integer
    25: ("TextLoader", "TextBinaryLoader"),
    701: ("FloatLoader", "Float8BinaryLoader"),  # double precision
    1042: ("TextLoader", "TextBinaryLoader"),  # character
    1043: ("TextLoader", "TextBinaryLoader"),  # character varying
    1082: ("DateLoader", "DateBinaryLoader"),
    1114: ("TimestampLoader", "TimestampBinaryLoader"),
    1184: ("TimestamptzLoader", "TimestamptzBinaryLoader"),
    1700: ("NumericLoader", "NumericBinaryLoader"),
    2950: ("UUIDLoader", "UUIDBinaryLoader"),
}
_TEXT, _BINARY = 0, 1  # PQexecParams, resultFormat
#: Not the server-side ones, which fetch with statements of their own, nor those that bind on the client.
_CURSORS: Final = frozenset({"Cursor", "AsyncCursor"})

_asking: WeakSet[Engine] = WeakSet()


def ask_for_bytes(engine: Engine) -> None:
    """Have an engine of psycopg ask for binary results where that changes no value; once suffices."""
    if engine not in _asking:
        _asking.add(engine)
        event.listen(engine, "before_cursor_execute", _before)
        event.listen(engine, "after_cursor_execute", _after)


def _before(_c: Any, cursor: Any, _s: str, _p: Any, context: Any, executemany: bool) -> None:
    compiled = getattr(context, "compiled", None)
    if isinstance(compiled, Guard) and compiled.binary_types and not executemany:
        inner = getattr(cursor, "_cursor", cursor)
        if type(inner).__name__ in _CURSORS:
            inner.format = _BINARY


def _same_loaded(cursor: Any, types: tuple[int, ...]) -> bool:
    """Whether both formats give the same values: those of psycopg's own loaders do."""
    return all(_SAME.get(oid) == _loaders(cursor, oid) for oid in types)


def _loaders(cursor: Any, oid: int) -> tuple[str, ...]:
    found = [cursor.adapters.get_loader(oid, format_) for format_ in (_TEXT, _BINARY)]
    return tuple(loader.__name__ for loader in found if loader and loader.__module__.startswith("psycopg"))


def _after(_c: Any, cursor: Any, _s: str, _p: Any, context: Any, executemany: bool) -> None:
    compiled = getattr(context, "compiled", None)
    if not isinstance(compiled, Guard) or executemany:
        return
    inner = getattr(cursor, "_cursor", cursor)
    known = compiled.binary_types
    if known is not None and inner.format != _BINARY:
        return
    types = tuple(column.type_code for column in inner.description or ())
    if known is None:
        columns = compiled._result_columns  # noqa: SLF001 - named at the top, pinned by tests
        has_compressed = any(isinstance(column.type, Compressed) for column in columns)
        compiled.binary_types = types if has_compressed and _same_loaded(inner, types) else ()
    elif types != known:
        # Another thread may have found it first, so it is the format that says how this result is read.
        compiled.binary_types = ()
        if not _same_loaded(inner, types):
            raise SqlcompressError(
                "a column of this statement's result has changed its type since the statement ran first, and"
                " this one result cannot be read; run the statement again"
            )
