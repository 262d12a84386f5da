"""What takes a compressed operand's place in a statement, on one dialect: the plain value of it.

The elements of a statement are shared with others and with its cache, so none is changed; what is opened is a
copy.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1:

- ``ClauseElement._clone()``, and the attributes of the copies: ``clauses`` of lists, ``selects`` of a
  compound select, ``_raw_columns`` of a select, ``target`` of PostgreSQL's ``aggregate_order_by``;
- ``BindParameter._with_binary_element_type()``;
- the visit names ``label_reference`` and ``aggregate_order_by``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import ARRAY, ColumnElement
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import (
    BindParameter,
    ClauseElement,
    ClauseList,
    Grouping,
    Label,
    Null,
    UnaryExpression,
)
from sqlalchemy.sql.selectable import (
    CompoundSelect,
    ScalarSelect,
    Select,
    SelectBase,
    SelectStatementGrouping,
)
from sqlalchemy.types import TupleType, TypeDecorator, TypeEngine

from sqlcompress.comparator import refusal
from sqlcompress.compressed import Compressed
from sqlcompress.plain import WHOLE_COMPARISONS, plain_of, refuse_whole_document

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_ElementT = TypeVar("_ElementT", bound=ClauseElement)


def visit_name(element: object) -> str | None:
    """What a compiler's method for this element is called by."""
    return getattr(element, "__visit_name__", None)


def with_attributes(element: _ElementT, /, **attributes: Any) -> _ElementT:
    """A copy of an element; itself where nothing differs."""
    changed = {name: value for name, value in attributes.items() if getattr(element, name) is not value}
    if not changed:
        return element
    copied = element._clone()
    copied.__dict__.update(changed)
    return copied


class Opening:
    """Opens operands for one dialect.

    Args:
        dialect: It decides: a type with variants is compressed on some databases alone.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def compressed_type(self, element: Any) -> Compressed[Any] | None:
        """The compressed type whose stored form an element gives; None for all others.

        Raises:
            CompileError: It gives such values within another type, which nothing here can open.
        """
        if not isinstance(element, ColumnElement):
            return None
        impl = element.type.dialect_impl(self._dialect)
        if isinstance(impl, Compressed):
            return impl
        wrapper = impl if isinstance(impl, (ARRAY, TypeDecorator)) else None
        inner = wrapper.item_type if isinstance(wrapper, ARRAY) else wrapper and wrapper.impl_instance
        if inner is not None and isinstance(inner.dialect_impl(self._dialect), Compressed):
            kind = "an array" if isinstance(wrapper, ARRAY) else "a TypeDecorator"
            raise refusal(element, f"{kind} of compressed values")
        return None

    def within(self, element: Any) -> ColumnElement[Any] | None:
        """The first compressed column of what an operand is, lists or selects."""
        element = bare(element)
        if isinstance(element, ClauseList):
            return next((c for c in element.clauses if self.within(c) is not None), None)
        if isinstance(element, ScalarSelect):
            element = element.element
        if isinstance(element, SelectBase):
            return next((c for c in element.selected_columns if self.within(c) is not None), None)
        return element if self.compressed_type(element) is not None else None

    def opened(self, element: Any, operator: Any = None) -> Any:
        """The plain form of an operand; itself where it has nothing compressed.

        Args:
            element: The operand.
            operator: What it is an operand of, where that may compare whole values.

        Raises:
            CompileError: It is a JSON document, compared as a whole, or nothing that can be opened.
        """
        if isinstance(element, Grouping):
            inner = self.opened(element.element, operator)
            return element if inner is element.element else Grouping(inner)
        if isinstance(element, Label):
            inner = self.opened(element.element, operator)
            return element if inner is element.element else inner
        if isinstance(element, (SelectBase, ScalarSelect)):
            return self._opened_select(element, operator)
        if isinstance(element, ClauseList):
            return self.opened_clauses(element, operator)
        if visit_name(element) == "aggregate_order_by":
            target = self.opened(element.target, operator)
            return with_attributes(element, target=target, type=target.type)
        if isinstance(element, BindParameter) and isinstance(element.type, TupleType):
            types = [self._plain_type(one) for one in element.type.types]
            return element._with_binary_element_type(TupleType(*types))
        type_ = self.compressed_type(element)
        if type_ is None:
            return element
        if type_.kind == "json" and operator in WHOLE_COMPARISONS:
            refuse_whole_document()
        if isinstance(element, BindParameter):
            return element._with_binary_element_type(self._plain_type(element.type))
        return plain_of(element, type_, is_implicit=True)

    def opened_clauses(self, clauses: ClauseList, operator: Any = None) -> ClauseList:
        """A list, each of whose members is opened."""
        opened = [self.opened(clause, operator) for clause in clauses.clauses]
        if all(one is other for one, other in zip(opened, clauses.clauses, strict=True)):
            return clauses
        return with_attributes(clauses, clauses=opened)

    def opened_arguments(self, function: Any) -> Any:
        """A function whose arguments are opened."""
        group = getattr(function, "clause_expr", None)  # nextval has none
        if group is None:
            return function
        inner = group.element
        if isinstance(inner, ClauseList):
            inner = self.opened_clauses(inner)
        else:  # aggregate_orderby_inline of SQLAlchemy 2.1: arguments, and what they are sorted by
            inner = type(inner)(self.opened_clauses(inner.element), inner.aggregate_order_by)
        return with_attributes(function, clause_expr=with_attributes(group, element=inner))

    def opened_sorting(self, element: Any) -> Any:
        """What ORDER BY sorts by; ASC, DESC and NULLS FIRST stay."""
        if visit_name(element) == "label_reference":
            inner = self.opened_sorting(element.element)
            return element if inner is element.element else inner
        if isinstance(element, UnaryExpression) and element.modifier is not None:
            inner = self.opened_sorting(element.element)
            return with_attributes(element, element=inner)
        return self.opened(element, operators.asc_op)

    def _opened_select(self, select: Any, operator: Any) -> Any:
        if self.within(select) is None:
            return select
        if isinstance(select, ScalarSelect):
            return ScalarSelect(self._opened_select(select.element, operator))
        if isinstance(select, SelectStatementGrouping):
            return SelectStatementGrouping(self._opened_select(select.element, operator))
        if isinstance(select, CompoundSelect) and not select._order_by_clauses:
            selects = [self._opened_select(one, operator) for one in select.selects]
            return with_attributes(select, selects=selects)
        columns = getattr(select, "_raw_columns", ())
        if not isinstance(select, Select) or not all(isinstance(one, ColumnElement) for one in columns):
            raise refusal(self._surely_within(select), "a subquery that is no plain SELECT of columns")
        opened = [self._opened_column(column, operator) for column in columns]
        return with_attributes(select, _raw_columns=opened)

    def _opened_column(self, column: Any, operator: Any) -> Any:
        # A label keeps its name, by which the select may sort.
        opened = self.opened(column, operator)
        return Label(column.name, opened) if isinstance(column, Label) and opened is not column else opened

    def _surely_within(self, element: Any) -> ColumnElement[Any]:
        found = self.within(element)
        return element if found is None else found

    def _plain_type(self, type_: TypeEngine[Any]) -> TypeEngine[Any]:
        impl = type_.dialect_impl(self._dialect)
        return plain_of(Null(), impl, is_implicit=True).type if isinstance(impl, Compressed) else type_

    def keeps(self, alternatives: Iterable[Any]) -> bool:
        """Whether these can be taken as they are stored: all compressed, and read alike; NULL is either."""
        types = [self.compressed_type(one) for one in alternatives if not isinstance(bare(one), Null)]
        return bool(types) and all(
            one is not None and types[0] is not None and is_read_as(one, types[0]) for one in types
        )


def is_read_as(source: Compressed[Any], target: Compressed[Any]) -> bool:
    """Whether what one type stores is read alike by another: any frame is, but not any legacy format."""
    return source.kind == target.kind and source.legacy == target.legacy


def bare(element: Any) -> Any:
    """An element without labels and brackets around it."""
    while isinstance(element, (Grouping, Label)) or visit_name(element) == "label_reference":
        element = element.element
    return element
