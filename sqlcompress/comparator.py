"""What a compressed column does in an SQL expression.

``IS NULL`` looks at the stored column; every other operator at the plain value, which the database has to
decode. Stored bytes say nothing about it: the same text has other bytes at another level, version or
dictionary.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1: ``BinaryExpression._orig``,
the hashes that a comparison of two columns is true or false by.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from sqlalchemy import ColumnElement, exc
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BinaryExpression, Null
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.sql.selectable import ScalarSelect
from sqlalchemy.types import Concatenable, TypeDecorator

from sqlcompress.companions import asked_by_digest
from sqlcompress.plain import Plain, StoredText, plain_of, refuse_whole_document

_T = TypeVar("_T")

#: Operators that ask for NULL where the other side is None or null().
NULL_TESTS = frozenset(
    {
        operators.eq,
        operators.ne,
        operators.is_,
        operators.is_not,
        operators.is_distinct_from,
        operators.is_not_distinct_from,
    }
)
_EQUALITY = frozenset({operators.eq, operators.ne})
_CONCATENATION = frozenset({operators.add, operators.concat_op})
#: Of a subquery, whose column the guarded compiler opens.
_COLLECTIONS = frozenset({operators.any_op, operators.all_op})

_ADVICE = (
    "{operator} on {column}: the database sees compressed bytes there, which tell nothing about the value."
    " Use decompressed(column), where the database can decode it; filter and sort by another column (a key, a"
    " title, a digest of the value); or read the rows and compare in the application. IS NULL and IS NOT NULL"
    " work."
)

_SYMBOLS: dict[OperatorType, str] = {
    operators.eq: "==",
    operators.ne: "!=",
    operators.lt: "<",
    operators.le: "<=",
    operators.gt: ">",
    operators.ge: ">=",
    operators.add: "+",
    operators.concat_op: "||",
    operators.getitem: "[…]",
    operators.json_getitem_op: "[…]",
    operators.json_path_getitem_op: "[…]",
    operators.asc_op: "ORDER BY",
    operators.desc_op: "ORDER BY",
}


class StoredComparison(BinaryExpression[bool]):
    """``==`` or ``!=`` between a compressed document and another expression.

    SQLAlchemy compares columns this way among its own lists and takes the truth of the answer (the ORM's
    ``insert().returning()`` does), so the comparison has to exist; only a statement must not contain it.
    """

    inherit_cache = False


@compiles(StoredComparison)
def _refuse_comparison(element: StoredComparison, compiler: SQLCompiler, **_: Any) -> NoReturn:
    del element, compiler
    refuse_whole_document()


class CompressedComparator(Concatenable.Comparator[_T], TypeDecorator.Comparator[_T]):
    """The comparator of all compressed types.

    Concatenable for the sake of ``plain + column``: the plain column's ``+`` means ``||`` only next to such.
    """

    __slots__ = ()

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> ColumnElement[Any]:
        """``IS NULL`` and its kin on the stored column, everything else on the plain value.

        Raises:
            CompileError: The operator makes no sense for a value of this kind.
        """
        if op in NULL_TESTS and len(other) == 1 and is_null(other[0]):
            return super().operate(op, *other, **kwargs)
        if op in _COLLECTIONS:
            if not isinstance(self.expr, ScalarSelect):
                raise refusal(self.expr, op)
            return super().operate(op, *other, **kwargs)
        asked = asked_by_digest(self.expr, self.type, op, other, kwargs)
        if asked is not None:
            return asked  # type: ignore[no-any-return]
        if op in _EQUALITY and self._kind(op) == "json":
            right = getattr(other[0], "__clause_element__", lambda: other[0])()
            if isinstance(right, ColumnElement):
                return StoredComparison(self.expr, right, op)
        return self._closed(op, self._plain(op).operate(op, *other, **kwargs), other)

    def reverse_operate(self, op: OperatorType, other: Any, **kwargs: Any) -> ColumnElement[Any]:
        """As :meth:`operate`, with the column on the right.

        Raises:
            CompileError: The operator makes no sense for a value of this kind.
        """
        return self._closed(op, self._plain(op).reverse_operate(op, other, **kwargs), (other,))

    def _kind(self, op: OperatorType) -> str:
        kind: str | None = getattr(type(self.type), "kind", None)
        if kind is None:  # a TypeDecorator around a compressed type: what it makes of values is not known
            raise refusal(self.expr, op)
        return kind

    def _plain(self, op: OperatorType) -> Plain[Any]:
        if self._kind(op) != "text" and op in _CONCATENATION:
            raise refusal(self.expr, op)
        return plain_of(self.expr, self.type, is_implicit=True)

    def _closed(
        self, op: OperatorType, result: ColumnElement[Any], other: tuple[Any, ...]
    ) -> ColumnElement[Any]:
        if op in _CONCATENATION:
            # Of the column's own type, so that it can be written to one and be asked again.
            return StoredText(result, self.type)
        if op in _EQUALITY and isinstance(result, BinaryExpression):
            right = getattr(other[0], "__clause_element__", lambda: other[0])()
            # SQLAlchemy finds a column in a list by the truth of ==, which is that of these hashes.
            result._orig = (self.expr.__hash__(), right.__hash__() if isinstance(right, ColumnElement) else 0)
        return result


def is_null(other: object) -> bool:
    """Whether an operand stands for NULL."""
    return other is None or isinstance(other, Null)


def refusal(expression: ColumnElement[Any], operator: OperatorType | str) -> exc.CompileError:
    """The error for what would look at stored bytes; it says what to do instead."""
    if not isinstance(operator, str):
        operator = (
            _SYMBOLS.get(operator)
            or getattr(operator, "opstring", None)
            or operator.__name__.removesuffix("_op").upper()
        )
    return exc.CompileError(_ADVICE.format(column=place_of(expression), operator=operator))


def place_of(expression: ColumnElement[Any]) -> str:
    """The table and column that an expression is about, for a message."""
    column = next(iter(expression.base_columns), expression)
    name = getattr(column, "name", None)
    table = getattr(getattr(column, "table", None), "name", None)
    return f"{table}.{name}" if table and name else str(name or "a compressed value")
