"""A compressed column stored differently: another codec, level or dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.catalog import FOR_EACH_ROW, catalog_of
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.column import rewrite_column
from sqlcompress.jobs.conversions import Recompress
from sqlcompress.jobs.keys import key_of

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.tables import TableName
    from sqlcompress.jobs.column import Batching
    from sqlcompress.jobs.rewrite import RewriteResult


def check_recompress(
    connection: Connection,
    table: str,
    column: str,
    type_: Compressed[Any],
    existing_type: Compressed[Any],
    *,
    schema: str | None = None,
) -> TableName:
    """The table whose column is to be stored differently.

    Raises:
        MigrationBlockedError: The column does not hold compressed values, the two types are not for the same
            values, or the table has no key to walk by.
    """
    catalog = catalog_of(connection)
    found = catalog.table(table, schema)
    described = catalog.column(found, column)
    blockers = []
    if type(type_) is not type(existing_type) and type_.is_text != existing_type.is_text:
        blockers.append(
            f"{existing_type!r} and {type_!r} are for different values; one is for text, the other for bytes"
        )
    if described.kind != "binary" and alteration_of(connection.dialect).changes_type:
        blockers.append(
            f"the column {column} is {described.type_sql}, which holds no compressed values; compress it "
            "with op.compress_column"
        )
    # Only what happens for each row matters here; the column stays what it is.
    everything = catalog.blockers(found, described, compress=False)
    blockers += [sentence for sentence in everything if FOR_EACH_ROW in sentence]
    try:
        key_of(connection, table, column, schema=schema)
    except MigrationBlockedError as error:
        blockers += error.blockers
    if blockers:
        listed = "".join(f"\n  - {blocker}" for blocker in blockers)
        raise MigrationBlockedError(
            f"{found}.{column} cannot be recompressed as it stands; nothing has been changed:{listed}",
            tuple(blockers),
        )
    return found


def recompress_column(
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: Compressed[Any],
    existing_type: Compressed[Any],
    batching: Batching,
    *,
    atomic: bool = False,
) -> RewriteResult:
    """Store every value of the column as ``type_`` would: what :func:`check_recompress` has let through.

    Killed at any moment, it can be run again: a value that is stored so already is read and left alone.

    Args:
        rows_bind: Where rows are rewritten.
        table: The table.
        column: The column.
        type_: How values are to be stored.
        existing_type: How they are read: its legacy formats and its dictionary.
        batching: How rows are rewritten.
        atomic: In the transaction that is open on ``rows_bind``.

    Raises:
        MigrationFailedError: Rows could not be read or stored (all others were).
    """
    convert = Recompress(type_, existing_type)
    return rewrite_column(rows_bind, table, column, convert, batching, atomic=atomic)
