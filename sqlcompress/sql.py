"""SQL expressions for what a compressed column holds: its plain value, and sizes.

A statement that a database cannot answer is refused when it is compiled, with advice; a row that cannot be
decoded makes it fail. No row is left out in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import JSON, ColumnElement, Integer, LargeBinary, Text, exc
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import coercions, operators, roles
from sqlalchemy.sql.functions import FunctionElement

from sqlcompress.codec import Zlib
from sqlcompress.compressed import Compressed
from sqlcompress.dialects import plpython
from sqlcompress.dialects.plainsql import mysql_plain_sql
from sqlcompress.dictionaries import Dictionary
from sqlcompress.functions import PLAIN, dictionaries_met
from sqlcompress.guard import Guard
from sqlcompress.types import CompressedBinary, CompressedJSON

if TYPE_CHECKING:
    from sqlalchemy.sql.compiler import SQLCompiler
    from sqlalchemy.sql.operators import OperatorType

_T = TypeVar("_T")

_WAYS_OUT = (
    "filter and sort by another column (a key, a title, a digest of the value), or read the rows and compare"
    " in the application"
)
#: Of a whole document. Two texts of one document can differ in spaces and order, and databases compare texts.
_WHOLE = frozenset(
    {
        operators.eq,
        operators.ne,
        operators.lt,
        operators.le,
        operators.gt,
        operators.ge,
        operators.in_op,
        operators.not_in_op,
        operators.between_op,
        operators.not_between_op,
        operators.is_distinct_from,
        operators.is_not_distinct_from,
    }
)


class _Document(JSON):
    """JSON whose parts can be asked for, and which is not compared as a whole."""

    cache_ok = True

    class Comparator(JSON.Comparator[Any]):
        """Refuses what would compare the text of one document with that of another."""

        __slots__ = ()

        def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> ColumnElement[Any]:
            """As for ``sqlalchemy.JSON``.

            Raises:
                CompileError: A whole document is compared.
            """
            if op in _WHOLE:
                raise exc.CompileError(
                    "a JSON document is not compared as a whole: the database would compare texts, in which"
                    " spaces and the order of keys count. Compare what stands at a path, such as"
                    ' decompressed(column)["name"].as_string() == …'
                )
            return super().operate(op, *other, **kwargs)

    comparator_factory = Comparator


class _Plain(FunctionElement[_T]):
    """The plain value of a compressed expression.

    The cache key of a function element holds its class and its arguments, so the type belongs to the class.
    The type of the stored column is kept: what rewrites a statement (ON DUPLICATE KEY UPDATE) may put an
    expression without a type in the column's place.
    """

    inherit_cache = True

    def __init__(self, expression: ColumnElement[Any], source: Compressed[Any]) -> None:
        super().__init__(expression)
        self.source = source


class PlainText(_Plain[str]):
    """Of a text."""

    inherit_cache = True
    name = "sqlcompress_text"
    type = Text()


class PlainDocument(_Plain[Any]):
    """Of a JSON document."""

    inherit_cache = True
    name = "sqlcompress_json"
    type = _Document()


class PlainBytes(_Plain[bytes]):
    """Of bytes."""

    inherit_cache = True
    name = "sqlcompress_binary"
    type = LargeBinary()


class StoredSize(FunctionElement[int]):
    """Bytes that are stored."""

    inherit_cache = True
    name = "sqlcompress_stored_size"
    type = Integer()


class UncompressedSize(_Plain[int]):
    """Bytes of the plain value."""

    inherit_cache = True
    name = "sqlcompress_uncompressed_size"
    type = Integer()


def decompressed(column: Any) -> ColumnElement[Any]:
    """The SQL expression for the plain value of a compressed column.

    It is a text, bytes, or a JSON document whose parts can be asked for as with ``sqlalchemy.JSON``:
    ``decompressed(Event.meta)["user"]["id"].as_integer() == 7``. Rows that are plain, and on SQLite of every
    codec, are read alike. SQLite needs ``install(engine)``, PostgreSQL the functions that
    ``op.create_decompress_function()`` makes. MySQL and MariaDB decode zlib, so the column has to be one of
    ``Zlib`` without ``legacy``; elsewhere the statement is refused.

    Args:
        column: A column, or another expression, of a compressed type.

    Raises:
        ArgumentError: It is of another type.
        CompileError: When the statement is compiled: the database cannot decode it.
    """
    expression, type_ = _compressed(column, "decompressed")
    return _plain_of(expression, type_)


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


def _plain_of(expression: ColumnElement[Any], type_: Compressed[Any]) -> _Plain[Any]:
    if isinstance(type_, CompressedJSON):
        return PlainDocument(expression, type_)
    if isinstance(type_, CompressedBinary):
        return PlainBytes(expression, type_)
    return PlainText(expression, type_)


def _compressed(column: Any, name: str) -> tuple[ColumnElement[Any], Compressed[Any]]:
    expression: ColumnElement[Any] = coercions.expect(roles.ExpressionElementRole, column)
    if not isinstance(expression.type, Compressed):
        raise exc.ArgumentError(
            f"{name}() takes a column of a compressed type; {expression} is {expression.type!r}"
        )
    return expression, expression.type


# What is rendered ------------------------------------------------------------------------------------------


def _argument(element: FunctionElement[Any]) -> ColumnElement[Any]:
    (expression,) = element.clauses
    return expression


@compiles(PlainText)
@compiles(PlainDocument)
@compiles(PlainBytes)
def _plain(element: _Plain[Any], compiler: SQLCompiler, **kw: Any) -> str:
    expression, type_ = _argument(element), element.source
    if not isinstance(type_.dialect_impl(compiler.dialect), Compressed):
        return str(compiler.process(expression, **kw))  # a variant that is plain on this database
    raise _cannot(type_, f"{compiler.dialect.name} has no function that decodes it")


@compiles(PlainText, "sqlite")
@compiles(PlainDocument, "sqlite")
@compiles(PlainBytes, "sqlite")
def _plain_sqlite(element: _Plain[Any], compiler: SQLCompiler, **kw: Any) -> str:
    expression, type_ = _argument(element), element.source
    impl = type_.dialect_impl(compiler.dialect)
    if not isinstance(impl, Compressed):
        return str(compiler.process(expression, **kw))
    if not isinstance(compiler, Guard):
        raise _cannot(type_, "sqlcompress.install(engine) gives SQLite the function that decodes it")
    own = getattr(impl.codec, "dictionary", None)
    if isinstance(own, Dictionary):
        dictionaries_met(compiler.dialect)[own.id] = own
    kind = "json" if isinstance(impl, CompressedJSON) else "text" if impl.is_text else "binary"
    legacy = ",".join(impl.legacy)
    return f"{PLAIN}({compiler.process(expression, **kw)}, '{kind}', '{legacy}', {impl.max_size})"


@compiles(PlainText, "mysql", "mariadb")
@compiles(PlainDocument, "mysql", "mariadb")
@compiles(PlainBytes, "mysql", "mariadb")
def _plain_mysql(element: _Plain[Any], compiler: SQLCompiler, **kw: Any) -> str:
    expression, type_ = _argument(element), element.source
    impl = type_.dialect_impl(compiler.dialect)
    if not isinstance(impl, Compressed):
        return str(compiler.process(expression, **kw))
    if not isinstance(impl.codec, Zlib):
        raise _cannot(type_, "MySQL and MariaDB decode zlib alone")
    if impl.legacy:
        raise _cannot(type_, "MySQL and MariaDB cannot tell values of legacy formats from plain ones")
    return mysql_plain_sql(compiler.process(expression, **kw), is_text=impl.is_text)


@compiles(PlainText, "postgresql")
@compiles(PlainDocument, "postgresql")
@compiles(PlainBytes, "postgresql")
def _plain_postgresql(element: _Plain[Any], compiler: SQLCompiler, **kw: Any) -> str:
    expression, type_ = _argument(element), element.source
    impl = type_.dialect_impl(compiler.dialect)
    if not isinstance(impl, Compressed):
        return str(compiler.process(expression, **kw))
    if impl.legacy:
        raise _cannot(type_, "the functions of op.create_decompress_function() read no legacy formats")
    stored = compiler.process(expression, **kw)
    if isinstance(element, PlainDocument):
        return f"CAST({plpython.TEXT}({stored}) AS JSON)"
    return f"{plpython.TEXT if impl.is_text else plpython.BINARY}({stored})"


@compiles(UncompressedSize, "postgresql")
def _uncompressed_size_postgresql(element: UncompressedSize, compiler: SQLCompiler, **kw: Any) -> str:
    expression, type_ = _argument(element), element.source
    # The bytes of a document are those of its text.
    plain = PlainText if type_.is_text else PlainBytes
    return f"OCTET_LENGTH({compiler.process(plain(expression, type_), **kw)})"


@compiles(StoredSize)
def _stored_size(element: StoredSize, compiler: SQLCompiler, **kw: Any) -> str:
    return f"OCTET_LENGTH({compiler.process(_argument(element), **kw)})"


@compiles(StoredSize, "sqlite")
def _stored_size_sqlite(element: StoredSize, compiler: SQLCompiler, **kw: Any) -> str:
    # LENGTH counts the characters of a text.
    return f"LENGTH(CAST({compiler.process(_argument(element), **kw)} AS BLOB))"


@compiles(StoredSize, "mssql")
def _stored_size_mssql(element: StoredSize, compiler: SQLCompiler, **kw: Any) -> str:
    return f"DATALENGTH({compiler.process(_argument(element), **kw)})"


@compiles(StoredSize, "oracle")
def _stored_size_oracle(element: StoredSize, compiler: SQLCompiler, **kw: Any) -> str:
    return f"DBMS_LOB.GETLENGTH({compiler.process(_argument(element), **kw)})"


@compiles(UncompressedSize)
def _uncompressed_size(element: UncompressedSize, compiler: SQLCompiler, **kw: Any) -> str:
    return f"OCTET_LENGTH({compiler.process(_plain_of(_argument(element), element.source), **kw)})"


@compiles(UncompressedSize, "sqlite")
def _uncompressed_size_sqlite(element: UncompressedSize, compiler: SQLCompiler, **kw: Any) -> str:
    return f"LENGTH(CAST({compiler.process(_plain_of(_argument(element), element.source), **kw)} AS BLOB))"


def _cannot(type_: Compressed[Any], reason: str) -> exc.CompileError:
    return exc.CompileError(
        f"a column of {type_!r} cannot be decoded in this statement: {reason}. Ways out: {_WAYS_OUT}"
    )
