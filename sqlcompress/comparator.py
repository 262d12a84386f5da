"""What a compressed column does in an SQL expression.

``IS NULL`` looks at the stored column. Everything else would compare stored bytes, which say nothing about
the plain value: the same text has other bytes at another level, version or dictionary. So it raises with
advice, at once where that is possible.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from sqlalchemy import ColumnElement, exc
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BinaryExpression, Null
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeDecorator

_T = TypeVar("_T")

#: Operators that ask for NULL where the other side is None or null().
_NULL_OPERATORS = frozenset(
    {
        operators.eq,
        operators.ne,
        operators.is_,
        operators.is_not,
        operators.is_distinct_from,
        operators.is_not_distinct_from,
    }
)

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
    """``==`` or ``!=`` between a compressed column and another expression.

    SQLAlchemy compares columns this way among its own lists and takes the truth of the answer (the ORM's
    ``insert().returning()`` does), so the comparison has to exist; only a statement must not contain it.
    """

    inherit_cache = False

    def __init__(self, left: ColumnElement[Any], right: ColumnElement[Any], operator: OperatorType) -> None:
        super().__init__(left, right, operator)
        self.compressed = left


@compiles(StoredComparison)
def _refuse_comparison(element: StoredComparison, compiler: SQLCompiler, **_: Any) -> NoReturn:
    del compiler
    raise refusal(element.compressed, element.operator)


class CompressedComparator(TypeDecorator.Comparator[_T]):
    """The comparator of all compressed types."""

    __slots__ = ()

    def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> ColumnElement[Any]:
        """``IS NULL`` and its kin as usual; a comparison that only Python may look at; an error for the rest.

        Raises:
            CompileError: The operator needs the plain value.
        """
        if op in _NULL_OPERATORS and len(other) == 1:
            if other[0] is None or isinstance(other[0], Null):
                return super().operate(op, *other, **kwargs)
            if op in (operators.eq, operators.ne) and hasattr(other[0], "__clause_element__"):
                return StoredComparison(self.expr, other[0].__clause_element__(), op)
            if op in (operators.eq, operators.ne) and isinstance(other[0], ColumnElement):
                return StoredComparison(self.expr, other[0], op)
        raise refusal(self.expr, op)

    def reverse_operate(self, op: OperatorType, other: Any, **kwargs: Any) -> ColumnElement[Any]:
        """As :meth:`operate`, with the column on the right.

        Raises:
            CompileError: Always: no operator that reaches this asks for NULL.
        """
        del other, kwargs
        raise refusal(self.expr, op)


def refusal(expression: ColumnElement[Any], operator: OperatorType | str) -> exc.CompileError:
    """The error for an operator that would look at stored bytes; it says what to do instead."""
    column = next(iter(expression.base_columns), expression)
    name = getattr(column, "name", None)
    table = getattr(getattr(column, "table", None), "name", None)
    place = f"{table}.{name}" if table and name else name or "a compressed value"
    if not isinstance(operator, str):
        operator = (
            _SYMBOLS.get(operator)
            or getattr(operator, "opstring", None)
            or operator.__name__.removesuffix("_op").upper()
        )
    return exc.CompileError(_ADVICE.format(column=place, operator=operator))
