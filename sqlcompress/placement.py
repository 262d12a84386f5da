"""Which column a type belongs to: for errors that say so, and for what its database does once it is created.

Errors on write are marked so that SQLAlchemy does not wrap them into a StatementError, whose message would
show the parameters: no message of ours carries a value.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import DDL, Column, Connection, Table, event
from sqlalchemy.exc import DontWrapMixin

from sqlcompress.dialects import database_of
from sqlcompress.errors import DecodeError, DictionaryNotFoundError, raise_alone


class Place:
    """The columns of one type object: none, one, or several that share it.

    It holds names only, so that a pickled type does not drag its table along.

    Attributes:
        names: Tables and columns.
        has_companions: Whether a value must not be written without what follows it.
    """

    __slots__ = ("has_companions", "names")

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.has_companions = False

    def __str__(self) -> str:
        """``"article.body: "`` to stand before a message, or nothing where no column is known."""
        return f"{' or '.join(self.names)}: " if self.names else ""

    def follow(self, column: Column[Any]) -> None:
        """Take the column's name down as soon as it belongs to a table."""
        event.listen(column, "after_parent_attach", _remember)


def _remember(column: Column[Any], table: object) -> None:
    # Listeners travel with a copied column, its type does not have to: the types at hand are the ones meant.
    for kind in (column.type, *column.type._variant_mapping.values()):  # noqa: SLF001 - no public way to them
        place = getattr(kind, "place", None)
        if isinstance(place, Place) and isinstance(table, Table):
            name = f"{table.fullname}.{column.name}"
            if name not in place.names:
                place.names = (*place.names, name)


# On the class: listeners of one table are lost when its MetaData is pickled.
@event.listens_for(Table, "after_create")
def _complete_created(table: Table, connection: Any, **kw: Any) -> None:
    # Alembic's offline mode has no connection; its DDL runner takes statements either way.
    runner = kw["_ddl_runner"] if connection is None else connection
    database = database_of(runner.dialect.name)
    preparer = runner.dialect.identifier_preparer
    name = preparer.format_table(table, use_schema=False)
    # With a schema_translate_map, which the preparer at hand knows nothing of.
    schema = connection.schema_for_object(table) if isinstance(connection, Connection) else table.schema
    if schema:
        name = f"{preparer.quote_schema(schema)}.{name}"
    for column in table.columns:
        if isinstance(getattr(column.type.dialect_impl(runner.dialect), "place", None), Place):
            statement = database.column_created(name, preparer.format_column(column))
            if statement is not None:
                if preparer._double_percents:  # noqa: SLF001 - undone: compiling the DDL doubles them again
                    statement = statement.replace("%%", "%")
                runner.execute(DDL(statement.replace("%", "%%")))  # type: ignore[no-untyped-call]


def raise_on_read(error: DecodeError, place: Place) -> NoReturn:
    """Raise a decoding error with the column's name before its message."""
    message = f"{place}{error}"
    if isinstance(error, DictionaryNotFoundError):
        raise_alone(DictionaryNotFoundError(message, error.dictionary_id))
    raise_alone(type(error)(message))


def raise_on_write(kind: type[Exception], message: str, place: Place) -> NoReturn:
    """Raise an error of that kind which SQLAlchemy hands on as it is, the column's name before its message.

    The original error is left out on purpose: that of a failed encoding holds the value.
    """
    raise_alone(_unwrapped(kind)(f"{place}{message}"))


def _unwrapped(kind: type[Exception]) -> type[Exception]:
    def reduce(self: Exception) -> tuple[Any, ...]:
        return kind, self.args  # the class made here has no importable name

    members = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__reduce__": reduce}
    return type(kind.__name__, (DontWrapMixin, kind), members)
