"""SQL expressions for what a compressed column holds: its plain value, and sizes.

A statement that a database cannot answer is refused when it is compiled, with advice; a row that cannot be
decoded makes it fail. No row is left out in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy import ColumnElement, exc
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, roles
from sqlalchemy.sql.compiler import StrSQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from sqlcompress.comparator import place_of
from sqlcompress.compressed import Compressed
from sqlcompress.dialects import database_of
from sqlcompress.dialects.base import NoDecoderError
from sqlcompress.dictionaries import Dictionary
from sqlcompress.functions import dictionaries_met
from sqlcompress.guard import Guard
from sqlcompress.plain import (
    Plain,
    PlainBytes,
    PlainDocument,
    PlainText,
    StoredSize,
    StoredText,
    UncompressedSize,
    argument_of,
    plain_of,
)

if TYPE_CHECKING:
    from sqlalchemy.sql.compiler import SQLCompiler

_WAYS_OUT = (
    "another codec, where the database decodes that one (see docs/querying.md); filter and sort by another"
    " column (a key, a title, a digest of the value); or read the rows and compare in the application"
)


def decompressed(column: Any) -> ColumnElement[Any]:
    """The SQL expression for the plain value of a compressed column.

    It is a text, bytes, or a JSON document whose parts can be asked for as with ``sqlalchemy.JSON``:
    ``decompressed(Event.meta)["user"]["id"].as_integer() == 7``. Rows that are plain, and on SQLite of every
    codec, are read alike. SQLite needs ``install(engine)``, PostgreSQL the functions that
    ``op.create_decompress_function()`` makes. MySQL and MariaDB decode zlib, so the column has to be one of
    ``Zlib`` without ``legacy``; SQL Server and Oracle decode gzip, so it has to be one of ``Gzip``; elsewhere
    the statement is refused.

    Operators on the column itself mean the same, with ``install(engine)``; this is for what takes the column
    as it is: the columns of a SELECT, GROUP BY, DISTINCT and UNION, and an UPDATE or INSERT … SELECT into a
    plain column.

    Args:
        column: A column, or another expression, of a compressed type.

    Raises:
        ArgumentError: It is of another type.
        CompileError: When the statement is compiled: the database cannot decode it.
    """
    return plain_of(*_compressed(column, "decompressed"), is_implicit=False)


def stored_size(column: Any) -> ColumnElement[int]:
    """The SQL expression for the bytes that a compressed column stores, on every database.

    Args:
        column: As for `decompressed`.

    Raises:
        ArgumentError: It is of another type.
    """
    return StoredSize(_compressed(column, "stored_size")[0])


def uncompressed_size(column: Any) -> ColumnElement[int]:
    """The SQL expression for the bytes of the plain value: UTF-8 of a text or JSON document.

    Args:
        column: As for `decompressed`.

    Raises:
        ArgumentError: It is of another type.
        CompileError: When the statement is compiled: the database cannot decode it.
    """
    return UncompressedSize(*_compressed(column, "uncompressed_size"))


def _compressed(column: Any, name: str) -> tuple[ColumnElement[Any], Compressed[Any]]:
    expression: ColumnElement[Any] = coercions.expect(roles.ExpressionElementRole, column)
    if not isinstance(expression.type, Compressed):
        raise exc.ArgumentError(
            f"{name}() takes a column of a compressed type; {expression} is {expression.type!r}"
        )
    return expression, expression.type


# What is rendered ------------------------------------------------------------------------------------------


@compiles(PlainText)
@compiles(PlainDocument)
@compiles(PlainBytes)
@compiles(UncompressedSize)
def _plain(element: Plain[Any], compiler: SQLCompiler, **kw: Any) -> str:
    expression, database = argument_of(element), database_of(compiler.dialect.name)
    if isinstance(compiler, StrSQLCompiler):  # str(statement), which is for reading
        return f"{element.name}({compiler.process(expression, **kw)})"
    if element.is_implicit and not isinstance(compiler, Guard):
        raise exc.CompileError(
            f"an operator on {place_of(expression)}, which holds compressed bytes, needs"
            " sqlcompress.install(engine), which looks after the rest of the statement; decompressed(column)"
            " is the plain value without it"
        )
    impl = element.source.dialect_impl(compiler.dialect)
    is_plain = not isinstance(impl, Compressed)  # a variant that is plain on this database
    if isinstance(compiler, Guard):
        stored, is_bare = compiler.process_bare(expression, **kw)
        is_plain = is_plain or is_bare
    else:
        stored = compiler.process(expression, **kw)
    is_size = isinstance(element, UncompressedSize)
    if not isinstance(impl, Compressed) or is_plain:
        return database.stored_size_sql(stored) if is_size else stored
    if database.takes_functions and not isinstance(compiler, Guard):
        reason = "sqlcompress.install(engine) gives the database the function that decodes it"
        _refuse(expression, impl, reason)
    own = getattr(impl.codec, "dictionary", None)
    if database.takes_functions and isinstance(own, Dictionary):
        dictionaries_met(compiler.dialect)[own.id] = own
    try:
        return database.plain_size_sql(stored, impl) if is_size else database.plain_sql(stored, impl)
    except NoDecoderError as reason:
        _refuse(expression, impl, str(reason))


@compiles(StoredText)
def _stored_text(element: StoredText, compiler: SQLCompiler, **kw: Any) -> str:
    is_bare = isinstance(compiler, StrSQLCompiler) or (
        isinstance(compiler, Guard) and compiler.is_bare(element)
    )
    text = str(compiler.process(argument_of(element), **kw))
    if is_bare:
        return text
    try:
        return database_of(compiler.dialect.name).stored_text_sql(text)
    except NoDecoderError as reason:
        _refuse(element, element.type, str(reason))


@compiles(StoredSize)
def _stored_size(element: StoredSize, compiler: SQLCompiler, **kw: Any) -> str:
    stored = compiler.process(argument_of(element), **kw)
    return database_of(compiler.dialect.name).stored_size_sql(stored)


def _refuse(expression: FunctionElement[Any] | ColumnElement[Any], type_: object, reason: str) -> NoReturn:
    raise exc.CompileError(
        f"{place_of(expression)} of {type_!r} cannot be decoded in this statement: {reason}. Ways out:"
        f" {_WAYS_OUT}"
    ) from None
