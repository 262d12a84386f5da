"""A statement compiler that refuses what would compare or move compressed bytes as if they were values.

A column's comparator sees only the operators called on that column. ``plain == column``,
``func.lower(column)``, ``ORDER BY column`` or ``INSERT … SELECT column`` into a plain table are seen nowhere
but here, when the statement is compiled, once for each shape of a statement.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1:

- ``Dialect.statement_compiler``, a class attribute, set on one engine's dialect;
- ``SQLCompiler.visit_<element>()`` and ``order_by_clause()``, called as they are called on the base class;
- ``Select._order_by_clauses``, ``_values`` of INSERT and UPDATE, ``Insert.select``, ``Insert._select_names``;
- the visit name ``label_reference`` of a label object in ORDER BY;
- ``update_values_to_set`` of ON CONFLICT DO UPDATE and ``update`` of ON DUPLICATE KEY UPDATE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, LargeBinary, exc
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter, ClauseList, Grouping, Label, Null, TextClause
from sqlalchemy.sql.selectable import SelectBase

from sqlcompress.comparator import StoredComparison, refusal
from sqlcompress.compressed import Compressed

_NULL_TESTS = frozenset({operators.is_, operators.is_not})


def guarded(compiler: type[SQLCompiler]) -> type[SQLCompiler]:
    """The guarded subclass of a dialect's statement compiler; itself where it is one already."""
    if issubclass(compiler, Guard):
        return compiler
    return type(compiler.__name__, (Guard, compiler), {"__module__": compiler.__module__})


def _visit_name(element: object) -> str | None:
    return getattr(element, "__visit_name__", None)


class Guard(SQLCompiler if TYPE_CHECKING else object):  # type: ignore[misc]
    """Looks at each element's operands before the dialect's own compiler renders it.

    Attributes:
        binary_types: The types of the statement's result where it may be asked for in binary, see
            ``sqlcompress.wire``; empty where it may not, None while that is not known.
    """

    binary_types: tuple[int, ...] | None = None

    def visit_binary(self, binary: Any, *args: Any, **kw: Any) -> Any:
        is_null_test = binary.operator in _NULL_TESTS and isinstance(binary.right, Null)
        if not is_null_test and not isinstance(binary, StoredComparison):
            self._refuse((binary.left, binary.right), binary.operator)
        return super().visit_binary(binary, *args, **kw)

    def visit_unary(self, unary: Any, *args: Any, **kw: Any) -> Any:
        self._refuse((unary.element,), unary.operator or unary.modifier)
        return super().visit_unary(unary, *args, **kw)

    def visit_function(self, func: Any, *args: Any, **kw: Any) -> Any:
        if func.name.lower() != "count":
            self._refuse(func.clauses, f"{func.name}()")
        return super().visit_function(func, *args, **kw)

    def visit_cast(self, cast: Any, *args: Any, **kw: Any) -> Any:
        self._refuse((cast.clause,), "CAST")
        return super().visit_cast(cast, *args, **kw)

    def visit_try_cast(self, cast: Any, *args: Any, **kw: Any) -> Any:
        self._refuse((cast.clause,), "TRY_CAST")
        return super().visit_try_cast(cast, *args, **kw)

    def visit_type_coerce(self, type_coerce: Any, *args: Any, **kw: Any) -> Any:
        # The way to the stored bytes themselves: type_coerce(column, LargeBinary).
        if not isinstance(type_coerce.type, (LargeBinary, Compressed)):
            self._refuse((type_coerce.clause,), "type_coerce() to anything but LargeBinary")
        return super().visit_type_coerce(type_coerce, *args, **kw)

    def visit_extract(self, extract: Any, *args: Any, **kw: Any) -> Any:
        self._refuse((extract.expr,), "EXTRACT")
        return super().visit_extract(extract, *args, **kw)

    def visit_case(self, clause: Any, *args: Any, **kw: Any) -> Any:
        results = [result for _, result in clause.whens]
        if clause.else_ is not None:
            results.append(clause.else_)
        self._refuse((() if clause.value is None else (clause.value,)), "CASE")
        self._refuse((condition for condition, _ in clause.whens), "CASE")
        self._refuse_mixture(results, "CASE")
        return super().visit_case(clause, *args, **kw)

    def visit_tuple(self, clauselist: Any, *args: Any, **kw: Any) -> Any:
        self._refuse(clauselist.clauses, "a tuple")
        return super().visit_tuple(clauselist, *args, **kw)

    def visit_expression_clauselist(self, clauselist: Any, *args: Any, **kw: Any) -> Any:
        self._refuse(clauselist.clauses, clauselist.operator)
        return super().visit_expression_clauselist(clauselist, *args, **kw)

    def visit_over(self, over: Any, *args: Any, **kw: Any) -> Any:
        if over.order_by is not None:
            self._refuse(over.order_by.clauses, "ORDER BY")
        return super().visit_over(over, *args, **kw)

    def visit_withingroup(self, withingroup: Any, *args: Any, **kw: Any) -> Any:
        self._refuse(withingroup.order_by.clauses, "ORDER BY")
        return super().visit_withingroup(withingroup, *args, **kw)

    def order_by_clause(self, select: Any, *args: Any, **kw: Any) -> Any:
        self._refuse(select._order_by_clauses, "ORDER BY")
        return super().order_by_clause(select, *args, **kw)

    def visit_textual_label_reference(self, element: Any, *args: Any, **kw: Any) -> Any:
        statement = self.stack[-1]["selectable"] if self.stack else None
        for column in getattr(statement, "selected_columns", ()):
            if element.element in (getattr(column, "name", None), getattr(column, "key", None)):
                self._refuse((column,), "ORDER BY")
        return super().visit_textual_label_reference(element, *args, **kw)

    def visit_compound_select(self, cs: Any, *args: Any, **kw: Any) -> Any:
        # zip() stops at the shortest: a wrong number of columns is the server's error to report.
        for columns in zip(*(select.selected_columns for select in cs.selects), strict=False):
            self._refuse_mixture(columns, "UNION, INTERSECT or EXCEPT")
        return super().visit_compound_select(cs, *args, **kw)

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> Any:
        columns = insert_stmt.table.columns
        if insert_stmt.select is not None:
            names, values = insert_stmt._select_names or (), insert_stmt.select.selected_columns
            for name, value in zip(names, values, strict=False):
                self._refuse_move(columns.get(name), value)
        self._refuse_moves(columns, insert_stmt._values or {})
        return super().visit_insert(insert_stmt, *args, **kw)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> Any:
        columns = update_stmt.table.columns
        self._refuse_moves(columns, update_stmt._values or {})
        # SQLAlchemy 2.0 keeps the pairs of ordered_values() apart.
        self._refuse_moves(columns, dict(getattr(update_stmt, "_ordered_values", None) or ()))
        return super().visit_update(update_stmt, *args, **kw)

    def visit_on_conflict_do_update(self, on_conflict: Any, *args: Any, **kw: Any) -> Any:
        self._refuse_moves(self.current_executable.table.columns, dict(on_conflict.update_values_to_set))
        return super().visit_on_conflict_do_update(on_conflict, *args, **kw)

    def visit_on_duplicate_key_update(self, on_duplicate: Any, *args: Any, **kw: Any) -> Any:
        self._refuse_moves(self.current_executable.table.columns, dict(on_duplicate.update))
        return super().visit_on_duplicate_key_update(on_duplicate, *args, **kw)

    # ----------------------------------------------------------------------------------------------------

    def _compressed(self, element: Any) -> ColumnElement[Any] | None:
        """The compressed column that an operand is, or selects; a bound value is none."""
        while isinstance(element, (Grouping, Label)) or _visit_name(element) == "label_reference":
            element = element.element
        if isinstance(element, ClauseList):  # the list of an IN
            return next((c for c in element.clauses if self._compressed(c) is not None), None)
        if isinstance(element, SelectBase):
            return next((c for c in element.selected_columns if self._compressed(c) is not None), None)
        if not isinstance(element, ColumnElement) or isinstance(element, (BindParameter, StoredComparison)):
            return None
        inner = getattr(element, "element", None)
        if isinstance(inner, SelectBase):  # a scalar subquery, or one in IN
            return self._compressed(inner)
        is_compressed = isinstance(element.type.dialect_impl(self.dialect), Compressed)
        return element if is_compressed else None

    def _refuse(self, operands: Iterable[Any], operator: Any) -> None:
        for operand in operands:
            column = self._compressed(operand)
            if column is not None:
                raise refusal(column, operator)

    def _refuse_mixture(self, alternatives: Iterable[Any], operator: str) -> None:
        """Alternatives end up in one column: all compressed, or none; NULL goes with either."""
        told = [item for item in alternatives if not isinstance(item, Null)]
        compressed = [column for column in map(self._compressed, told) if column is not None]
        if compressed and len(compressed) != len(told):
            raise refusal(compressed[0], f"{operator} with plain values")

    def _refuse_moves(self, columns: Any, assignments: Mapping[Any, Any]) -> None:
        for key, value in assignments.items():
            self._refuse_move(columns.get(key) if isinstance(key, str) else key, value)

    def _refuse_move(self, target: Any, value: Any) -> None:
        """Refuse an expression that goes into a column where one is compressed and the other is not."""
        if target is None or not isinstance(value, ColumnElement):
            return
        if isinstance(value, (BindParameter, Null, TextClause)):
            return  # a bound value is encoded as usual; raw SQL is for who wrote it
        source, sink = self._compressed(value), self._compressed(target)
        if (source is None) == (sink is None):
            return
        raise exc.CompileError(
            f"the database cannot move {value} into {target}: one of them holds compressed bytes, the other"
            " plain ones. Read the rows and write them from the application"
        )
