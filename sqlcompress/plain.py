"""The expressions that stand for what a compressed value holds: its plain value, its sizes, and the way back.

They say what is meant. How a database is asked stands in ``sqlcompress.sql`` and ``sqlcompress.dialects``.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1: ``_traverse_internals``, by
which an element's cache key is made.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sqlalchemy import JSON, ColumnElement, Integer, LargeBinary, Text, exc
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import InternalTraversal

from sqlcompress.companions import extracted_column

if TYPE_CHECKING:
    from sqlalchemy.sql.operators import OperatorType
    from sqlalchemy.types import TypeEngine

_T = TypeVar("_T")

_GETTING = frozenset({operators.json_getitem_op, operators.json_path_getitem_op})

#: Of a whole document. Two texts of one document can differ in spaces and order, and databases compare texts.
WHOLE_COMPARISONS = frozenset(
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
        operators.asc_op,
        operators.desc_op,
        operators.distinct_op,
    }
)


def refuse_whole_document() -> NoReturn:
    """Raise the error for a document that would be compared, or sorted, as a text."""
    raise exc.CompileError(
        "a JSON document is not compared as a whole: the database would compare texts, in which spaces and"
        ' the order of keys count. Compare what stands at a path, such as column["name"].as_string() == …'
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
            if op in WHOLE_COMPARISONS:
                refuse_whole_document()
            return super().operate(op, *other, **kwargs)

        def as_boolean(self) -> ColumnElement[Any]:
            """As for ``sqlalchemy.JSON``; the extracted column of this path where there is one."""
            found = self._extracted(bool)
            return found if found is not None else super().as_boolean()  # type: ignore[no-untyped-call]

        def as_string(self) -> ColumnElement[Any]:
            """As `as_boolean`."""
            found = self._extracted(str)
            return found if found is not None else super().as_string()  # type: ignore[no-untyped-call]

        def as_integer(self) -> ColumnElement[Any]:
            """As `as_boolean`."""
            found = self._extracted(int)
            return found if found is not None else super().as_integer()  # type: ignore[no-untyped-call]

        def as_float(self) -> ColumnElement[Any]:
            """As `as_boolean`."""
            found = self._extracted(float)
            return found if found is not None else super().as_float()  # type: ignore[no-untyped-call]

        def as_numeric(self, precision: int, scale: int, asdecimal: bool = True) -> ColumnElement[Any]:
            """As `as_boolean`."""
            found = self._extracted(Decimal) if asdecimal else None
            return found if found is not None else super().as_numeric(precision, scale, asdecimal)  # type: ignore[no-untyped-call]

        def _extracted(self, wanted: type) -> ColumnElement[Any] | None:
            expression: Any = self.expr
            path: tuple[Any, ...] = ()
            while isinstance(expression, BinaryExpression) and expression.operator in _GETTING:
                step: Any = getattr(expression.right, "value", None)
                steps = (
                    tuple(step or ()) if expression.operator is operators.json_path_getitem_op else (step,)
                )
                expression, path = expression.left, (*steps, *path)
            if not isinstance(expression, PlainDocument):
                return None
            return extracted_column(argument_of(expression), path, wanted)

    comparator_factory = Comparator


class Plain(FunctionElement[_T]):
    """The plain value of a compressed expression.

    Attributes:
        source: The compressed type. It is kept apart from the expression: what rewrites a statement (ON
            DUPLICATE KEY UPDATE) may put an expression without a type in a column's place.
        is_implicit: Whether an operator asked for it, and nobody wrote ``decompressed()``; then the rest of
            the statement has to be looked at too.
    """

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - as SQLAlchemy declares it
        *FunctionElement._traverse_internals,
        ("source", InternalTraversal.dp_type),
        ("is_implicit", InternalTraversal.dp_boolean),
    ]

    def __init__(
        self, expression: ColumnElement[Any], source: TypeEngine[Any], *, is_implicit: bool = False
    ) -> None:
        super().__init__(expression)
        self.source = source
        self.is_implicit = is_implicit


class PlainText(Plain[str]):
    """Of a text."""

    inherit_cache = True
    name = "sqlcompress_text"
    type = Text()


class PlainDocument(Plain[Any]):
    """Of a JSON document."""

    inherit_cache = True
    name = "sqlcompress_json"
    type = _Document()


class PlainBytes(Plain[bytes]):
    """Of bytes."""

    inherit_cache = True
    name = "sqlcompress_binary"
    type = LargeBinary()


class UncompressedSize(Plain[int]):
    """Bytes of the plain value."""

    inherit_cache = True
    name = "sqlcompress_uncompressed_size"
    type = Integer()


class StoredSize(FunctionElement[int]):
    """Bytes that are stored."""

    inherit_cache = True
    name = "sqlcompress_stored_size"
    type = Integer()


class StoredText(FunctionElement[str]):
    """A text that was computed, as a compressed column stores it: its UTF-8, without a frame.

    Args:
        text: The plain text.
        type_: The type of the column that it was computed from, and is read as.
    """

    inherit_cache = True
    name = "sqlcompress_stored"
    _traverse_internals = [  # noqa: RUF012 - as SQLAlchemy declares it
        *FunctionElement._traverse_internals,
        ("type", InternalTraversal.dp_type),
    ]

    def __init__(self, text: ColumnElement[Any], type_: TypeEngine[Any]) -> None:
        super().__init__(text)
        self.type = type_


_OF_KIND: dict[str, type[Plain[Any]]] = {"text": PlainText, "json": PlainDocument, "binary": PlainBytes}


def plain_of(expression: ColumnElement[Any], type_: Any, *, is_implicit: bool) -> Plain[Any]:
    """The plain value of an expression.

    Args:
        expression: It gives stored bytes.
        type_: Its compressed type.
        is_implicit: As for `Plain`.
    """
    return _OF_KIND[type_.kind](expression, type_, is_implicit=is_implicit)


def argument_of(element: FunctionElement[Any]) -> ColumnElement[Any]:
    """The one expression that one of these is about."""
    (expression,) = element.clauses
    return expression
