"""Companion columns: plain columns that hold what a compressed one is asked for, so that an index can answer.

A digest of the whole value serves ``==`` and IN; a column with what stands at one path of a JSON document
serves conditions on that path. What they hold is computed from the value that is written, in the same
statement: ``sqlcompress.keeping`` adds the assignment when a statement is compiled.

What it touches of SQLAlchemy that is not documented API, the same in 2.0 and 2.1: ``_variant_mapping`` of a
type, ``_set_parent_with_dispatch()`` of a default, the names of parameters that a default sees,
``BindParameter._with_binary_element_type()``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import Column, ColumnDefault, Table, event, exc, type_coerce
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BindParameter, ClauseElement, ColumnElement
from sqlalchemy.sql.expression import Alias
from sqlalchemy.types import TypeEngine, to_instance

from sqlcompress.dialects.digesttype import digest_type
from sqlcompress.following import TAKEN, DigestWriter, Path, PathWriter, Writer

#: Where a column says whose companion it is.
INFO: Final = "sqlcompress_companion"
_OF_DIGEST: Final = ("text", "binary")
_BY_DIGEST: Final = frozenset(
    {
        operators.eq,
        operators.ne,
        operators.in_op,
        operators.not_in_op,
        operators.is_distinct_from,
        operators.is_not_distinct_from,
    }
)


@dataclass(frozen=True)
class Companion:
    """What makes a column a companion of another; kept in ``Column.info``.

    Attributes:
        source: The compressed column's key in the table, or the column, until the table is known.
        filled: Whether each row has it: only then are questions answered by it.
        settled: Whether the column is part of a table that has the compressed one.
    """

    source: Any
    filled: bool
    settled: bool = field(default=False, kw_only=True)

    def writer(self, source: TypeEngine[Any], own: TypeEngine[Any]) -> Writer:
        """The type that turns a value written to the compressed column into the companion's."""
        raise NotImplementedError

    def check(self, source: Any, own: TypeEngine[Any]) -> None:
        """Whether a column of these types can be a companion.

        Raises:
            ArgumentError: It cannot.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Digest(Companion):
    """The SHA-256 of a text's UTF-8, or of the bytes."""

    def writer(self, source: TypeEngine[Any], own: TypeEngine[Any]) -> Writer:
        """As for every companion."""
        return DigestWriter(own)

    def check(self, source: Any, own: TypeEngine[Any]) -> None:
        """As for every companion."""
        if source.kind not in _OF_DIGEST:
            raise exc.ArgumentError(
                "digest_of() takes a column of CompressedText or CompressedBinary: one document has many"
                " texts, and so many digests. extracted() gives what stands at a path"
            )


@dataclass(frozen=True)
class Extraction(Companion):
    """What stands at one path of a document."""

    path: Path = ()

    def writer(self, source: TypeEngine[Any], own: TypeEngine[Any]) -> Writer:
        """As for every companion."""
        return PathWriter(own, self.path, bool(getattr(source, "none_as_null", False)))

    def check(self, source: Any, own: TypeEngine[Any]) -> None:
        """As for every companion."""
        if source.kind != "json":
            raise exc.ArgumentError("extracted() takes a column of CompressedJSON")
        try:
            is_taken = own.python_type in TAKEN
        except NotImplementedError:
            is_taken = False
        if not is_taken:
            raise exc.ArgumentError(
                f"extracted(type_={own!r}): it takes a type of integers, numbers, texts or booleans"
            )


def digest_of(column: Any, name: str | None = None, *, filled: bool = True, **kw: Any) -> Any:
    """A column with the digest of a compressed text or of compressed bytes, kept right by every write.

    ``==``, ``!=``, ``in_`` and ``not_in`` of the compressed column with values go through it, so an index
    over it answers them, on every database and for every codec; ``unique=True`` makes the values unique.
    Values are the same then where their bytes are: no collation makes ``a`` and ``A`` one.

    Args:
        column: The compressed column, declared before, or its name in the table.
        name: This column's own name, in a ``Table``; a mapped class gives it.
        filled: False while rows from before do not have it yet, see ``op.add_digest``: it is written, and not
            asked.
        kw: As for ``sqlalchemy.Column``: ``index=True``, ``unique=True``.

    Returns:
        A ``Column`` of 32 bytes, the SHA-256 of the UTF-8 or of the bytes; NULL for NULL.

    Raises:
        ArgumentError: The table has no such column before this one, or it is of another type.
    """
    return _companion(Digest(_given(column), filled), name, digest_type(), kw)


def extracted(
    column: Any, path: Any, type_: Any, name: str | None = None, *, filled: bool = True, **kw: Any
) -> Any:
    """A column with what stands at one path of a compressed JSON document, kept right by every write.

    A question to the document that names this path, ``column["user"]["id"].as_integer()``, is answered by it,
    and by an index over it, on every database and for every codec. A document that has something of another
    type there is refused on write; a missing value, and JSON null, are NULL.

    Args:
        column: The compressed column, declared before, or its name in the table.
        path: A key, an index, or a tuple of them.
        type_: A type of integers (``as_integer()``), texts (``as_string()``), floats (``as_float()``),
            numbers (``as_numeric()``) or booleans (``as_boolean()``).
        name: This column's own name, in a ``Table``; a mapped class gives it.
        filled: As for `digest_of`.
        kw: As for ``sqlalchemy.Column``.

    Returns:
        A ``Column``.

    Raises:
        ArgumentError: The table has no such column before this one, or a type does not fit.
    """
    return _companion(Extraction(_given(column), filled, path_of(path)), name, to_instance(type_), kw)


def path_of(path: Any) -> Path:
    """A path as a tuple.

    Raises:
        ArgumentError: It is not of keys and indexes.
    """
    steps = tuple(path) if isinstance(path, (tuple, list)) else (path,)
    if not steps or not all(isinstance(step, str) or (type(step) is int and step >= 0) for step in steps):
        raise exc.ArgumentError(f"path={path!r}: it is a key, an index from 0 on, or a tuple of them")
    return steps


def _given(column: Any) -> Any:
    # mapped_column() gives an object around the column.
    return column if isinstance(column, (str, Column)) else getattr(column, "column", column)


def _companion(companion: Companion, name: str | None, type_: TypeEngine[Any], kw: dict[str, Any]) -> Any:
    if not isinstance(companion.source, (str, Column)):
        raise exc.ArgumentError(
            f"a companion column is of a column or of its name, not of {type(companion.source).__name__}"
        )
    for word in ("default", "server_default", "onupdate", "server_onupdate"):
        if kw.get(word) is not None:
            raise exc.ArgumentError(f"a companion column follows the compressed one and has no {word}")
    made = Column(name, type_, **kw) if name is not None else Column(type_, **kw)
    made.info[INFO] = companion
    event.listen(made, "after_parent_attach", _settle, propagate=True)
    return made


def _settle(column: Column[Any], table: object) -> None:
    """Find the compressed column in the table, and have it written with its companion only."""
    if not isinstance(table, Table):
        return
    companion: Companion | None = column.info.get(INFO)
    if companion is None:
        return
    wanted = companion.source
    key = wanted if isinstance(wanted, str) else wanted.key or wanted.name
    source = table.c.get(key) if key is not None else None
    if source is None and companion.settled:
        # A copy, in a table that Alembic makes for one operation.
        column.info = {name: value for name, value in column.info.items() if name != INFO}
        return
    if source is None:
        raise exc.ArgumentError(
            f"{table.fullname}.{column.name} is to follow a compressed column that the table does not have"
            " before it: declare that one first, and in a mixin give its name"
        )
    kinds = [kind for kind in (source.type, *source.type._variant_mapping.values()) if hasattr(kind, "place")]
    if not kinds:
        raise exc.ArgumentError(f"{table.fullname}.{source.name} is of no compressed type")
    if source.server_default is not None or source.onupdate is not None:
        raise exc.ArgumentError(
            f"{table.fullname}.{source.name} has a companion column, which a server_default or an onupdate"
            " would not reach"
        )
    for kind in kinds:
        companion.check(kind, column.type)
        kind.place.has_companions = True
    column.info[INFO] = replace(companion, source=source.key, settled=True)
    if source.default is not None:
        column.default = ColumnDefault(_following(source, column))
        column.default._set_parent_with_dispatch(column)


def _following(source: Column[Any], column: Column[Any]) -> Callable[[Any], Any]:
    """The default of a companion, where that of its column has given the value."""
    default = source.default
    if not (default.is_scalar or default.is_callable):  # type: ignore[union-attr]
        raise exc.ArgumentError(
            f"{source} has a companion column, which the value of an SQL default would not reach"
        )
    key, made = source.key, companion_of(column)

    def follow(context: Any) -> Any:
        column = context.current_column
        # Each row of one INSERT has names of its own; the public way to those of one row fails in the ORM.
        is_one_of_many = getattr(column, "_is_multiparam_column", False)
        name = f"{key}_m{column.index + 1}" if is_one_of_many else key
        name = context.compiled.escaped_bind_names.get(name, name)
        value = context.get_current_parameters(isolate_multiinsert_groups=False).get(name)
        writer = made.writer(source.type, column.type) if made else None
        return None if writer is None else writer.process_bind_param(value, context.dialect)

    return follow


def companion_of(column: Any) -> Companion | None:
    """What a column is a companion of; None for other columns."""
    return column.info.get(INFO) if isinstance(column, Column) else None


def companions_of(column: Any) -> list[tuple[Column[Any], Companion]]:
    """The companions of a column of a table, or of an alias of one, beside it."""
    table: Any = getattr(column, "table", None)
    base = table.element if isinstance(table, Alias) else table
    if not isinstance(base, Table) or not isinstance(column, ColumnElement):
        return []
    key = getattr(column, "key", None)
    found = [(table.c[own.key], companion_of(own)) for own in base.c if INFO in own.info]
    return [(own, companion) for own, companion in found if companion and companion.source == key]


def extracted_column(column: Any, path: Path, wanted: type) -> ColumnElement[Any] | None:
    """The column beside a compressed one that holds what stands at a path, as values of the wanted type."""
    for own, companion in companions_of(column):
        if isinstance(companion, Extraction) and companion.filled and companion.path == path:
            return own if own.type.python_type is wanted else None
    return None


def asked_by_digest(
    column: Any, source: TypeEngine[Any], op: Any, other: tuple[Any, ...], kwargs: Any
) -> Any:
    """A comparison of a column with values, as one of digests; None where there is no digest to ask."""
    if op not in _BY_DIGEST or len(other) != 1 or not _is_of_values(other[0]):
        return None
    for own, companion in companions_of(column):
        if isinstance(companion, Digest) and companion.filled:
            writer = companion.writer(source, own.type)
            value = other[0]
            if isinstance(value, BindParameter):
                value = value._with_binary_element_type(writer)
            return type_coerce(own, writer).operate(op, value, **kwargs)
    return None


def _is_of_values(other: Any) -> bool:
    if isinstance(other, (list, tuple, set, frozenset)):
        return not any(hasattr(one, "__clause_element__") or isinstance(one, ClauseElement) for one in other)
    return isinstance(other, (str, bytes, bytearray, memoryview, BindParameter))
