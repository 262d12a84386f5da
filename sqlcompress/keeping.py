"""A statement compiler that writes companion columns with the column they follow.

An INSERT or UPDATE that gives a compressed column a value gives its companions what follows from it, in the
same statement: what is bound is the same value once more, by a type that computes the companion's. Where the
value is an SQL expression nothing can be computed, and the statement is refused unless it names the companion
itself.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1:

- ``SQLCompiler.column_keys``, the names of an execution's parameters; ``bind_names``, each parameter with its
  name; ``_get_bind_name_for_col``; ``construct_params()``, which takes the value of a parameter by its key,
  while the statement has its name; ``postfetch``, the columns whose values the ORM reads anew;
- ``_values``, ``_ordered_values`` and ``_multi_values`` of INSERT and UPDATE, ``Insert._select_names``;
- ``update_values_to_set`` of ON CONFLICT DO UPDATE and ``update`` of ON DUPLICATE KEY UPDATE;
- ``_propagate_attrs``, in which the ORM says whose attributes the names of a statement are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, exc
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BindParameter, ClauseElement, ColumnElement, Null

from sqlcompress.companions import INFO, Companion, companion_of, companions_of
from sqlcompress.opening import with_attributes


def column_named(statement: Any, key: Any, *, of_upsert: bool = False) -> Any:
    """The column of the statement's table that a key of its values means; None where it is not known.

    Args:
        statement: The INSERT or UPDATE.
        key: A column, or a name: of the ORM an attribute's.
        of_upsert: Whether it is of the values of an upsert, whose names are those of columns.
    """
    if not isinstance(key, str):
        column = key.__clause_element__() if hasattr(key, "__clause_element__") else key
        return statement.table.c.get(column.key, column) if isinstance(column, ColumnElement) else None
    if of_upsert and key in statement.table.c:
        return statement.table.c[key]
    mapper = statement._propagate_attrs.get("plugin_subject")
    mapper = getattr(mapper, "mapper", mapper)
    if mapper is not None and mapper.has_property(key):
        columns = getattr(mapper.get_property(key), "columns", ())
        if columns:
            return columns[0]
    return statement.table.c.get(key)


class Keeping(SQLCompiler if TYPE_CHECKING else object):  # type: ignore[misc]
    """Adds the companions to INSERT, UPDATE and their upserts."""

    #: What a compressed type with companions looks for before it binds a value.
    keeps_companions = True
    column_keys: Any
    _twin_count = 0

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> Any:
        followed = list(_followed(insert_stmt.table))
        if not followed:
            return super().visit_insert(insert_stmt, *args, **kw)
        twins: list[tuple[BindParameter[Any], Any]] = []
        names = insert_stmt._select_names or ()
        if insert_stmt.select is not None:
            for source, own, _ in followed:
                if source.key in names and own.key not in names:
                    raise _cannot_follow(own, "the values of a SELECT")
        changed = with_attributes(
            insert_stmt,
            _values=self._completed(insert_stmt, insert_stmt._values, twins),
            _multi_values=tuple(
                [self._completed(insert_stmt, _named(insert_stmt, row), twins) for row in rows]
                for rows in insert_stmt._multi_values
            ),
        )
        return self._rendered(super().visit_insert, changed, followed, twins, args, kw)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> Any:
        followed = list(_followed(update_stmt.table))
        if not followed:
            return super().visit_update(update_stmt, *args, **kw)
        twins: list[tuple[BindParameter[Any], Any]] = []
        changed = with_attributes(
            update_stmt, _values=self._completed(update_stmt, update_stmt._values, twins)
        )
        ordered = getattr(update_stmt, "_ordered_values", None)  # of SQLAlchemy 2.0
        if ordered:
            pairs = self._completed(update_stmt, dict(ordered), twins)
            changed = with_attributes(changed, _ordered_values=list((pairs or {}).items()))
        return self._rendered(super().visit_update, changed, followed, twins, args, kw)

    def visit_on_conflict_do_update(self, on_conflict: Any, *args: Any, **kw: Any) -> Any:
        twins: list[tuple[BindParameter[Any], Any]] = []
        given = dict(on_conflict.update_values_to_set)
        pairs = self._completed(self.current_executable, given, twins, of_upsert=True)
        if pairs is not given:
            on_conflict = with_attributes(on_conflict, update_values_to_set=list(pairs.items()))
        rendered = super().visit_on_conflict_do_update(on_conflict, *args, **kw)
        _give_back_keys(twins)
        return rendered

    def visit_on_duplicate_key_update(self, on_duplicate: Any, *args: Any, **kw: Any) -> Any:
        twins: list[tuple[BindParameter[Any], Any]] = []
        given = dict(on_duplicate.update)
        pairs = self._completed(self.current_executable, given, twins, of_upsert=True)
        if pairs is not given:
            keyed = {key if isinstance(key, str) else key.key: value for key, value in pairs.items()}
            on_duplicate = with_attributes(on_duplicate, update=keyed)
        rendered = super().visit_on_duplicate_key_update(on_duplicate, *args, **kw)
        _give_back_keys(twins)
        return rendered

    # ----------------------------------------------------------------------------------------------------

    def _rendered(
        self, render: Any, statement: Any, followed: list[Any], twins: list[Any], args: Any, kw: Any
    ) -> Any:
        """Render a statement whose parameters may come with the execution alone."""
        named = {
            column.key
            for key in statement._values or ()
            if (column := column_named(statement, key)) is not None
        }
        late = []
        if self.column_keys is not None:
            for source, own, companion in followed:
                if source.key in self.column_keys and not {source.key, own.key} & named:
                    # In the place of what is given for it: the ORM gives None for what has no value.
                    self.column_keys = list(dict.fromkeys([*self.column_keys, own.key]))
                    late.append((source, own, companion))
        elif not statement._values and not statement._multi_values:  # shown with parameters for all columns
            late = [one for one in followed if getattr(statement, "select", None) is None]
        before = set(self.bind_names)
        rendered = render(statement, *args, **kw)
        for bound in [one for one in self.bind_names if one not in before]:
            for source, own, companion in late:
                if bound.key == self._get_bind_name_for_col(own):
                    # It keeps its name in the statement, and takes the value that is given for the source.
                    bound.key = self._get_bind_name_for_col(source)
                    bound.type = companion.writer(source.type, own.type)
        _give_back_keys(twins)
        # The ORM reads them anew when they are asked for: it has not given these values itself.
        self.postfetch.extend(own for _, own, _ in late)
        return rendered

    def _completed(
        self, statement: Any, values: Mapping[Any, Any] | None, twins: list[Any], *, of_upsert: bool = False
    ) -> Any:
        """Assignments with those of the companions; themselves where nothing is added."""
        if not values:
            return values
        columns = {key: column_named(statement, key, of_upsert=of_upsert) for key in values}
        by_column = {columns[key]: value for key, value in values.items()}
        added = {}
        for source, own, companion in _followed(statement.table):
            if source in by_column:
                follows = self._following(by_column[source], source, own, companion, twins)
                if follows is not None:
                    added[own] = follows
                elif own not in by_column:
                    raise _cannot_follow(own, "an SQL expression")
        kept = {key: value for key, value in values.items() if columns[key] not in added}
        return {**kept, **added} if added else values

    def _following(self, value: Any, source: Any, own: Any, companion: Companion, twins: list[Any]) -> Any:
        """What a companion is given where its column is given a value; None where that is not known."""
        if hasattr(value, "__clause_element__"):
            value = value.__clause_element__()
        writer = companion.writer(source.type, own.type)
        if isinstance(value, Null):
            return value
        if isinstance(value, BindParameter):
            twin = value._clone(maintain_key=True)
            twin.type = writer
            self._twin_count += 1
            twin.key = f"{own.key}_follows_{self._twin_count}"
            twins.append((twin, value.key))
            return twin
        if not isinstance(value, ClauseElement):
            return BindParameter(None, value, type_=writer)
        for its_own, its in companions_of(value):
            if type(its) is type(companion) and getattr(its, "path", ()) == getattr(companion, "path", ()):
                return its_own
        return None


def _followed(table: Any) -> Iterator[tuple[Column[Any], Column[Any], Companion]]:
    for own in getattr(table, "c", ()):
        companion = companion_of(own)
        if companion is not None:
            yield table.c[companion.source], own, companion


def _named(statement: Any, row: Any) -> Mapping[Any, Any]:
    return row if isinstance(row, Mapping) else dict(zip(statement.table.c, row, strict=False))


def _give_back_keys(twins: list[tuple[BindParameter[Any], Any]]) -> None:
    """Under its own key a parameter got a name of its own; under the other's it gets that one's value."""
    for twin, key in twins:
        twin.key = key


def _cannot_follow(own: Any, what: str) -> exc.CompileError:
    source = own.info[INFO].source
    return exc.CompileError(
        f"{own} follows {own.table.name}.{source}, which this statement gives {what}: what it is to hold"
        " cannot be computed from that. Write the values from the application, or give the companion a value"
        " in the same statement"
    )
