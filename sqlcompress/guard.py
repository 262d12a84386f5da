"""A statement compiler that has the database decode wherever a statement looks at compressed values.

A column's comparator sees only the operators called on that column. ``plain == column``,
``func.lower(column)``, ``ORDER BY column`` or ``INSERT … SELECT column`` into a plain table are seen nowhere
but here, when the statement is compiled, once for each shape of a statement.

- What looks at a value gets the plain one: operators, functions, CAST, CASE, ORDER BY, PARTITION BY.
- What is computed from compressed text and is itself of a compressed type (``coalesce``, ``max``, ``case``)
  is given back as a column would store it, so that it can be read, written and asked like one.
- What only hands values on keeps the stored ones: columns of a SELECT, GROUP BY, DISTINCT, UNION, COUNT.
- What would put stored bytes among plain values, or plain ones into a compressed column, is refused.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1:

- ``Dialect.statement_compiler``, a class attribute, set on one engine's dialect;
- ``SQLCompiler.visit_<element>()``, ``order_by_clause()`` and ``group_by_clause()``, called as they are
  called on the base class; ``SQLCompiler.binds`` and ``stack``, and ``_label_resolve_dict`` of what is in it;
- ``Select._order_by_clauses``, ``_values`` and ``_multi_values`` of INSERT and UPDATE, ``Insert.select``,
  ``Insert._select_names``;
- the attributes of elements that hold their operands, see ``sqlcompress.opening``;
- ``update_values_to_set`` of ON CONFLICT DO UPDATE and ``update`` of ON DUPLICATE KEY UPDATE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import LargeBinary, exc
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseList
from sqlalchemy.sql.selectable import CompoundSelect, ScalarSelect

from sqlcompress.comparator import NULL_TESTS, StoredComparison, is_null, refusal
from sqlcompress.compressed import Compressed
from sqlcompress.dialects import database_of
from sqlcompress.dialects.base import NoDecoderError
from sqlcompress.moves import Moving
from sqlcompress.opening import bare, with_attributes

#: Functions whose result is one of their arguments, whatever these hold, and that ask for nothing but NULL.
_CHOOSING = frozenset({"coalesce"})
_COLLECTIONS = frozenset({operators.any_op, operators.all_op})


def guarded(compiler: type[SQLCompiler]) -> type[SQLCompiler]:
    """The guarded subclass of a dialect's statement compiler; itself where it is one already."""
    if issubclass(compiler, Guard):
        return compiler
    return type(compiler.__name__, (Guard, compiler), {"__module__": compiler.__module__})


class Guard(Moving):
    """Looks at each element's operands before the dialect's own compiler renders it.

    Attributes:
        binary_types: The types of the statement's result where it may be asked for in binary, see
            ``sqlcompress.wire``; empty where it may not, None while that is not known.
    """

    binary_types: tuple[int, ...] | None = None
    #: The element that is to be rendered plain, though its type is compressed; None once it was met.
    _bare: Any = None
    _is_sorting = False

    # -- operands that are looked at ---------------------------------------------------------------------

    def visit_binary(self, binary: Any, *args: Any, **kw: Any) -> Any:
        is_null_test = binary.operator in NULL_TESTS and is_null(binary.right)
        if is_null_test or isinstance(binary, StoredComparison):
            return super().visit_binary(binary, *args, **kw)
        opened = self._opening.opened
        left, right = opened(binary.left, binary.operator), opened(binary.right, binary.operator)
        # Where SQLAlchemy 2.0 keeps what regexp_replace() puts in.
        modifiers = {name: opened(value) for name, value in binary.modifiers.items()}
        if all(value is binary.modifiers[name] for name, value in modifiers.items()):
            modifiers = binary.modifiers
        changed = with_attributes(binary, left=left, right=right, modifiers=modifiers)
        render = super().visit_binary
        # What has no type, such as func.lower(…) + column, takes that of the column.
        return self._computed(binary, "an operator", lambda: render(changed, *args, **kw))

    def visit_unary(self, unary: Any, *args: Any, **kw: Any) -> Any:
        operator = unary.operator or unary.modifier
        if operator in _COLLECTIONS:
            inner = bare(unary.element)
            if not isinstance(inner, ScalarSelect) and self._opening.compressed_type(inner) is not None:
                raise refusal(inner, operator)
        if operator is not operators.exists:  # which asks for rows and not for what is in them
            compared = operators.eq if operator in _COLLECTIONS else operator
            unary = with_attributes(unary, element=self._opening.opened(unary.element, compared))
        return super().visit_unary(unary, *args, **kw)

    def visit_cast(self, cast: Any, *args: Any, **kw: Any) -> Any:
        return super().visit_cast(self._opened_cast(cast, "CAST"), *args, **kw)

    def visit_try_cast(self, cast: Any, *args: Any, **kw: Any) -> Any:
        return super().visit_try_cast(self._opened_cast(cast, "TRY_CAST"), *args, **kw)

    def _opened_cast(self, cast: Any, name: str) -> Any:
        if self._opening.compressed_type(cast) is not None:
            raise refusal(cast.clause, f"{name} to a compressed type")
        return with_attributes(cast, clause=self._opening.opened(cast.clause))

    def visit_type_coerce(self, type_coerce: Any, *args: Any, **kw: Any) -> Any:
        # The way to the stored bytes themselves: type_coerce(column, LargeBinary).
        impl = type_coerce.type.dialect_impl(self.dialect)
        if not isinstance(type_coerce.type, LargeBinary) and not isinstance(impl, (LargeBinary, Compressed)):
            clause = self._opening.opened(type_coerce.clause)
            type_coerce = with_attributes(type_coerce, clause=clause)
        return super().visit_type_coerce(type_coerce, *args, **kw)

    def visit_extract(self, extract: Any, *args: Any, **kw: Any) -> Any:
        extract = with_attributes(extract, expr=self._opening.opened(extract.expr))
        return super().visit_extract(extract, *args, **kw)

    def visit_tuple(self, clauselist: Any, *args: Any, **kw: Any) -> Any:
        return super().visit_tuple(self._opening.opened_clauses(clauselist, operators.eq), *args, **kw)

    def visit_expression_clauselist(self, clauselist: Any, *args: Any, **kw: Any) -> Any:
        opened = self._opening.opened_clauses(clauselist, clauselist.operator)
        return super().visit_expression_clauselist(opened, *args, **kw)

    def visit_array(self, array: Any, *args: Any, **kw: Any) -> Any:
        self._opening.compressed_type(array)
        return super().visit_array(array, *args, **kw)

    def visit_bindparam(self, bindparam: Any, *args: Any, **kw: Any) -> Any:
        other = self.binds.get(bindparam.key)
        if other is not None and other is not bindparam:
            one, two = self._opening.compressed_type(other), self._opening.compressed_type(bindparam)
            if repr(one) != repr(two):
                raise exc.CompileError(
                    f"the parameter {bindparam.key!r} is used for a compressed value in one place and in"
                    " another way elsewhere: give it two names"
                )
        return super().visit_bindparam(bindparam, *args, **kw)

    # -- what is computed --------------------------------------------------------------------------------

    def visit_function(self, func: Any, *args: Any, **kw: Any) -> Any:
        name = func.name.lower()
        if name == "count" or (name in _CHOOSING and self._opening.keeps(func.clauses)):
            return super().visit_function(func, *args, **kw)
        opened = self._opening.opened_arguments(func)
        render = super().visit_function
        return self._computed(func, name, lambda: render(opened, *args, **kw))

    def visit_case(self, clause: Any, *args: Any, **kw: Any) -> Any:
        opened = self._opening.opened
        results = [result for _, result in clause.whens]
        results += [] if clause.else_ is None else [clause.else_]
        is_kept = self._opening.keeps(results)
        taken: Callable[[Any], Any] = (lambda element: element) if is_kept else opened
        whens = [(opened(condition, operators.eq), taken(result)) for condition, result in clause.whens]
        value = None if clause.value is None else opened(clause.value, operators.eq)
        else_ = None if clause.else_ is None else taken(clause.else_)
        changed = with_attributes(clause, whens=whens, value=value, else_=else_)
        render = super().visit_case
        if is_kept:
            return render(changed, *args, **kw)
        return self._computed(clause, "CASE", lambda: render(changed, *args, **kw))

    def visit_over(self, over: Any, *args: Any, **kw: Any) -> Any:
        changed = with_attributes(
            over, partition_by=self._opened_by(over.partition_by), order_by=self._opened_by(over.order_by)
        )
        render = super().visit_over
        with self._sorting(True):
            return self._computed(over, "OVER", lambda: render(changed, *args, **kw), over.element)

    def visit_funcfilter(self, funcfilter: Any, *args: Any, **kw: Any) -> Any:
        render = super().visit_funcfilter
        return self._computed(funcfilter, "FILTER", lambda: render(funcfilter, *args, **kw), funcfilter.func)

    def visit_withingroup(self, withingroup: Any, *args: Any, **kw: Any) -> Any:
        changed = with_attributes(withingroup, order_by=self._opened_by(withingroup.order_by))
        render, inner = super().visit_withingroup, withingroup.element
        with self._sorting(True):
            return self._computed(withingroup, "WITHIN GROUP", lambda: render(changed, *args, **kw), inner)

    def visit_aggregateorderby(self, element: Any, *args: Any, **kw: Any) -> Any:
        changed = with_attributes(element, order_by=self._opened_by(element.order_by))
        with self._sorting(True):
            return super().visit_aggregateorderby(changed, *args, **kw)

    def visit_aggregate_order_by(self, element: Any, *args: Any, **kw: Any) -> Any:
        changed = with_attributes(element, order_by=self._opened_by(element.order_by))
        with self._sorting(True):
            return super().visit_aggregate_order_by(changed, *args, **kw)

    def process_bare(self, element: Any, **kw: Any) -> tuple[str, bool]:
        """Render an element for decoding it.

        Returns:
            The SQL, and whether it is plain already, since it is computed from plain values.
        """
        if isinstance(bare(element), ScalarSelect):
            # Decoded within: what decodes may repeat what it is given.
            return str(self.process(self._opening.opened(element), **kw)), True
        inner = bare(element)
        outer, self._bare = self._bare, inner
        rendered = str(self.process(element, **kw))
        is_bare, self._bare = self._bare is not inner, outer
        return rendered, is_bare

    def is_bare(self, element: Any) -> bool:
        """Whether an element is to be rendered plain; what asks so does it."""
        if self._bare is not element:
            return False
        self._bare = None
        return True

    def _computed(self, element: Any, name: str, render: Callable[[], str], inner: Any = None) -> str:
        """What is computed from plain values, in the form its type has.

        Args:
            element: It.
            name: For a message.
            render: Gives the plain value.
            inner: An element within, of the same type, that gives its plain value to this one.
        """
        type_ = self._opening.compressed_type(element)
        is_bare = self.is_bare(element)
        if type_ is None:
            return render()
        if type_.kind != "text":
            raise refusal(element, f"{name} that gives a compressed value")
        outer, self._bare = self._bare, inner
        rendered = render()
        is_unmet = inner is not None and self._bare is inner
        self._bare = outer
        if is_unmet:
            # It is an element that does not know of this, and has the form of its type already.
            if is_bare:
                self._bare = element
            return rendered
        if is_bare:
            return rendered
        try:
            return database_of(self.dialect.name).stored_text_sql(rendered)
        except NoDecoderError:
            raise refusal(element, name) from None

    # -- sorting -----------------------------------------------------------------------------------------

    def order_by_clause(self, select: Any, *args: Any, **kw: Any) -> Any:
        clauses = [self._opening.opened_sorting(clause) for clause in select._order_by_clauses]
        if isinstance(select, CompoundSelect):
            # What a UNION gives has no expressions to sort by, on most databases.
            for one, clause in zip(clauses, select._order_by_clauses, strict=True):
                if one is not clause:
                    raise refusal(bare(clause), "ORDER BY of a UNION")
        elif any(one is not clause for one, clause in zip(clauses, select._order_by_clauses, strict=True)):
            select = with_attributes(select, _order_by_clauses=tuple(clauses))
        with self._sorting(True):
            return super().order_by_clause(select, *args, **kw)

    def group_by_clause(self, select: Any, *args: Any, **kw: Any) -> Any:
        with self._sorting(False):
            return super().group_by_clause(select, *args, **kw)

    def visit_textual_label_reference(self, element: Any, *args: Any, **kw: Any) -> Any:
        state = self.stack[-1].get("compile_state") if self.stack and self._is_sorting else None
        column = None if state is None else state._label_resolve_dict[0].get(element.element)
        if column is not None:
            opened = self._opening.opened_sorting(column)
            if opened is not column:
                if isinstance(self.stack[-1]["selectable"], CompoundSelect):
                    raise refusal(column, "ORDER BY of a UNION")
                return self.process(opened, *args, **kw)
        return super().visit_textual_label_reference(element, *args, **kw)

    def _opened_by(self, clauses: Any) -> Any:
        if clauses is None:
            return None
        if not isinstance(clauses, ClauseList):  # one column, in PostgreSQL's aggregate_order_by of 2.0
            return self._opening.opened_sorting(clauses)
        return with_attributes(
            clauses, clauses=[self._opening.opened_sorting(clause) for clause in clauses.clauses]
        )

    @contextmanager
    def _sorting(self, is_sorting: bool) -> Iterator[None]:
        before, self._is_sorting = self._is_sorting, is_sorting
        try:
            yield
        finally:
            self._is_sorting = before
