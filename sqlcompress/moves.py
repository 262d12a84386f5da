"""What only hands values on: UNION, INSERT … SELECT, UPDATE from another column.

Stored bytes may go where the same is read; among plain values, or into a plain column, they may not, and
plain values not into a compressed column, which would hold them without a frame for good.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1: what
``sqlcompress.keeping`` does, ``Insert.select`` and ``CompoundSelect.selects``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, exc
from sqlalchemy.sql.elements import BindParameter, Null, TextClause

from sqlcompress.comparator import refusal
from sqlcompress.keeping import Keeping, column_named
from sqlcompress.opening import Opening, bare, is_read_as


class Moving(Keeping):
    """Refuses what would be read as something else where it arrives."""

    @cached_property
    def _opening(self) -> Opening:
        return Opening(self.dialect)

    def visit_compound_select(self, cs: Any, *args: Any, **kw: Any) -> Any:
        # zip() stops at the shortest: a wrong number of columns is the server's error to report.
        for columns in zip(*(select.selected_columns for select in cs.selects), strict=False):
            told = [column for column in columns if not isinstance(bare(column), Null)]
            compressed = [column for column in told if self._opening.compressed_type(column) is not None]
            if compressed and not self._opening.keeps(told):
                raise refusal(compressed[0], "UNION, INTERSECT or EXCEPT with other values")
        return super().visit_compound_select(cs, *args, **kw)

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> Any:
        columns = insert_stmt.table.columns
        if insert_stmt.select is not None:
            names, values = insert_stmt._select_names or (), insert_stmt.select.selected_columns
            for name, value in zip(names, values, strict=False):
                self._check_move(columns.get(name), value)
        self._check_moves(insert_stmt, insert_stmt._values or {})
        for rows in insert_stmt._multi_values or ():
            for row in rows:
                pairs = row if isinstance(row, Mapping) else dict(zip(columns, row, strict=False))
                self._check_moves(insert_stmt, pairs)
        return super().visit_insert(insert_stmt, *args, **kw)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> Any:
        self._check_moves(update_stmt, update_stmt._values or {})
        # SQLAlchemy 2.0 keeps the pairs of ordered_values() apart.
        self._check_moves(update_stmt, dict(getattr(update_stmt, "_ordered_values", None) or ()))
        return super().visit_update(update_stmt, *args, **kw)

    def visit_on_conflict_do_update(self, on_conflict: Any, *args: Any, **kw: Any) -> Any:
        self._check_moves(self.current_executable, dict(on_conflict.update_values_to_set), of_upsert=True)
        return super().visit_on_conflict_do_update(on_conflict, *args, **kw)

    def visit_on_duplicate_key_update(self, on_duplicate: Any, *args: Any, **kw: Any) -> Any:
        self._check_moves(self.current_executable, dict(on_duplicate.update), of_upsert=True)
        return super().visit_on_duplicate_key_update(on_duplicate, *args, **kw)

    def _check_moves(
        self, statement: Any, assignments: Mapping[Any, Any], *, of_upsert: bool = False
    ) -> None:
        for key, value in assignments.items():
            self._check_move(column_named(statement, key, of_upsert=of_upsert), value)

    def _check_move(self, target: Any, value: Any) -> None:
        """Refuse an expression that goes into a column which reads it as something else."""
        if hasattr(value, "__clause_element__"):
            value = value.__clause_element__()
        if target is None or not isinstance(value, ColumnElement) or isinstance(value, (Null, TextClause)):
            return  # a Python value is encoded as usual; raw SQL is for who wrote it
        source, sink = self._opening.compressed_type(value), self._opening.compressed_type(target)
        if (source is None and isinstance(value, BindParameter)) or (source is None and sink is None):
            return
        if source is None or sink is None:
            what = "one of them holds compressed bytes, the other plain ones"
        elif not is_read_as(source, sink):
            what = "they differ in what they hold or in the legacy formats they read"
        else:
            return
        raise exc.CompileError(
            f"the database cannot move {value} into {target}: {what}. decompressed(column) is the plain value"
            " of a compressed column, where the database can decode it; or read the rows and write them from"
            " the application"
        )
