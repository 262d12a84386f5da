"""What a shadow migration has in a table while it works and keeps there afterwards, and how that goes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.alter import TargetType, alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.names import ShadowNames, kept_name
from sqlcompress.dialects.rows import rows_of
from sqlcompress.dialects.shadow import NewColumn, Shadow, shadow_of
from sqlcompress.dialects.tables import Column
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.patience import patiently, session_of

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.types import TypeEngine

    from sqlcompress.dialects.catalog import Catalog
    from sqlcompress.dialects.tables import Kind, TableName


def drop_originals(connection: Connection, table: TableName, column: str) -> list[str]:
    """Drop what a shadow migration of the column kept; the names of what was dropped.

    Args:
        connection: A connection in autocommit.
        table: The table.
        column: The column, under its own name.
    """
    return [
        name
        for compressed in (False, True)
        if _drop(connection, table, column, name := kept_name(column, compressed=compressed))
    ]


def end_other_direction(
    connection: Connection, table: TableName, column: str, *, to_compressed: bool, atomic: bool
) -> None:
    """Drop the column that a shadow migration the other way has kept: what it held is back in ``column``.

    Args:
        connection: A connection in autocommit, or the one in whose transaction this belongs.
        table: The table.
        column: The column.
        to_compressed: The direction that has come to its end.
        atomic: Stay in the transaction of ``connection``.
    """
    name = kept_name(column, compressed=to_compressed)
    if not atomic:
        _drop(connection, table, column, name)
    elif column_or_none(catalog_of(connection), table, name) is not None:
        quote = connection.dialect.identifier_preparer.quote_identifier
        connection.exec_driver_sql(
            f"ALTER TABLE {table.quoted(connection.dialect)} DROP COLUMN {quote(name)}"
        )


def _drop(connection: Connection, table: TableName, column: str, name: str) -> bool:
    catalog = catalog_of(connection)
    if column_or_none(catalog, table, name) is None:
        return False
    names = ShadowNames.of(table.name, column, to_compressed=True)
    described = catalog.column(table, column)
    shadow = shadow_in(connection, table, described, names, NewColumn("", is_binary=True))
    with session_of(_bind(connection, table), shadow.rows) as session:
        patiently(shadow.rows, session, partial(shadow.drop_column, session, name))
    return True


def end_begun_shadow(connection: Connection, table: TableName, column: str, *, atomic: bool) -> None:
    """Give up a shadow migration that was begun, before another strategy takes its place.

    Raises:
        MigrationBlockedError: The other strategy is atomic, whose transaction would stand in the way.
    """
    if not atomic:
        abandon_shadow(connection, table, column)
        return
    names = ShadowNames.of(table.name, column, to_compressed=True)
    if column_or_none(catalog_of(connection), table, names.new) is not None:
        sentence = (
            f"a shadow migration of {table}.{column} was begun and has not ended; finish it, or give it up "
            'with sqlcompress.jobs.leftovers.abandon_shadow(), before strategy="atomic"'
        )
        raise MigrationBlockedError(sentence, (sentence,))


def abandon_shadow(connection: Connection, table: TableName, column: str) -> bool:
    """Give up a shadow migration that has not swapped yet: new column, queue and triggers go.

    Args:
        connection: A connection in autocommit.
        table: The table.
        column: The column; it is as it was all the time.

    Returns:
        Whether there was anything to give up.
    """
    catalog = catalog_of(connection)
    # The new column, the queue and the triggers are called the same in both directions.
    names = ShadowNames.of(table.name, column, to_compressed=True)
    if column_or_none(catalog, table, names.new) is None:
        return False
    described = catalog.column(table, column)
    shadow = shadow_in(connection, table, described, names, NewColumn("", is_binary=True))
    with session_of(_bind(connection, table), shadow.rows) as session:
        patiently(shadow.rows, session, partial(shadow.reset, session))
    return True


def _bind(connection: Connection, table: TableName) -> Engine | Connection:
    """Where a session of its own is opened: the engine, unless only this connection leads to the table."""
    shared = alteration_of(connection.dialect).needs_same_connection(connection, table.schema)
    return connection if shared else connection.engine


def shadow_in(
    connection: Connection, table: TableName, column: Column, names: ShadowNames, new: NewColumn
) -> Shadow:
    """The shadow of ``column`` with a key that its queue can keep.

    Raises:
        MigrationBlockedError: The table has no such key.
    """
    _, _, key = key_of(connection, table.name, column.name, schema=table.schema, lasting=True)
    target = Column(names.new, _kind(new), new.type_sql)
    return shadow_of(rows_of(connection, table, column, key, target), names, new)


def _kind(new: NewColumn) -> Kind:
    if new.is_binary:
        return "binary"
    return "json" if "JSON" in new.type_sql.upper() else "text"


def new_column(connection: Connection, table: TableName, column: Column, type_: TypeEngine[Any]) -> NewColumn:
    """The new column for a type, with what the column it will replace has.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column that it will replace, as it is.
        type_: The type it is to have.
    """
    dialect, catalog = connection.dialect, catalog_of(connection)
    target = TargetType(type_, dialect)
    # On MySQL and MariaDB they stay with the name.
    follow = catalog.grants_follow_the_column
    grants = catalog.grants_for(table, column.name, column.name) if follow else []
    return NewColumn(
        target.sql,
        is_binary=target.base.endswith(("BLOB", "BINARY", "BYTEA")),
        default_sql=alteration_of(dialect).default_for(column, target),
        grants=tuple(grants),
    )


def column_or_none(catalog: Catalog, table: TableName, name: str) -> Column | None:
    """The column, or None where the table has none of that name."""
    try:
        return catalog.column(table, name)
    except MigrationBlockedError:
        return None
