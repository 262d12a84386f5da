"""``strategy="shadow"``: a second column is filled beside the first and takes its place in a moment.

Nothing is kept in memory between the steps. Where a run was killed is read from the database: the new column,
the queue and the triggers are there or not, the kept column is there or not.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DataError, IntegrityError

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.names import ShadowNames
from sqlcompress.dialects.shadow import NewColumn
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.catch_up import CatchUp
from sqlcompress.jobs.column import rewrite_column
from sqlcompress.jobs.conversions import Compress, Decompress
from sqlcompress.jobs.leftovers import column_or_none, drop_originals, new_column, shadow_in
from sqlcompress.jobs.patience import patiently, session_of
from sqlcompress.jobs.rewrite import RewriteResult
from sqlcompress.types import CompressedBinary

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.types import TypeEngine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.rows import Rows, StoredAs
    from sqlcompress.dialects.shadow import Shadow
    from sqlcompress.dialects.tables import Column, TableName
    from sqlcompress.jobs.column import Batching

__all__ = ["compress_shadow", "decompress_shadow", "drop_originals", "plan_statements", "shadow_blockers"]

# Alembic's stock alembic.ini shows INFO of "alembic".
_LOG = logging.getLogger("alembic.sqlcompress")


def compress_shadow(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: Compressed[Any],
    batching: Batching,
    *,
    drop_original: bool,
) -> RewriteResult:
    """Fill a compressed column beside the plain one and let it take its place.

    Args:
        connection: Where the catalogs are read, in autocommit.
        rows_bind: Where the work is done: an engine, or on SQLite the same connection.
        table: The table, after :func:`~sqlcompress.jobs.preflight.check_compress`.
        column: The column.
        type_: The compressed type.
        batching: How rows are rewritten.
        drop_original: Drop the plain column at the end instead of keeping it as
            ``sqlcompress_original_<column>``.

    Returns:
        What the backfill did.

    Raises:
        MigrationBlockedError: The table cannot have a shadow column; nothing has been changed.
        MigrationFailedError: Rows could not be converted, or the table was never free for a moment.
    """
    if drop_original and isinstance(type_, CompressedBinary):
        sentence = (
            "drop_original=True would leave nothing that tells a compressed binary column from a plain one, "
            "should this revision run again; call op.drop_compressed_original in a later revision"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    catalog = catalog_of(connection)
    described = catalog.column(table, column)
    names = ShadowNames.of(table.name, column, to_compressed=True)
    new = new_column(connection, table, described, type_)
    convert = Compress(type_, each_once=isinstance(type_, CompressedBinary))
    return _migrate(
        connection, rows_bind, table, described, names, new, convert, batching, drop_original=drop_original
    )


def decompress_shadow(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    column: str,
    type_: TypeEngine[Any],
    existing_type: Compressed[Any],
    batching: Batching,
    *,
    drop_original: bool,
) -> RewriteResult:
    """Fill a plain column beside the compressed one and let it take its place: the way back.

    The arguments are those of :func:`compress_shadow`; the compressed column is kept as
    ``sqlcompress_compressed_<column>``, and a plain one that an earlier migration kept is dropped at the end.
    """
    catalog = catalog_of(connection)
    described = catalog.column(table, column)
    names = ShadowNames.of(table.name, column, to_compressed=False)
    new = new_column(connection, table, described, type_)
    convert = Decompress(existing_type, each_once=isinstance(existing_type, CompressedBinary))
    return _migrate(
        connection, rows_bind, table, described, names, new, convert, batching, drop_original=drop_original
    )


def plan_statements(
    connection: Connection,
    table: TableName,
    column: str,
    type_: TypeEngine[Any],
    *,
    to_compressed: bool,
    drop_original: bool = False,
) -> list[str]:
    """The statements of a shadow migration in their order, for a person to read.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column.
        type_: The type the column is to have.
        to_compressed: Compress, or the way back.
        drop_original: Whether the replaced column is dropped at the end.
    """
    described = catalog_of(connection).column(table, column)
    names = ShadowNames.of(table.name, column, to_compressed=to_compressed)
    shadow = shadow_in(connection, table, described, names, new_column(connection, table, described, type_))
    quote = connection.dialect.identifier_preparer.quote_identifier
    dropped = f"ALTER TABLE {table.quoted(connection.dialect)} DROP COLUMN {quote(names.kept)}"
    return [*shadow.steps(), *([dropped] if drop_original else [])]


def shadow_blockers(connection: Connection, table: TableName, column: str) -> list[str]:
    """Why the table cannot have a shadow column, for preflight: one sentence for each reason."""
    described = catalog_of(connection).column(table, column)
    names = ShadowNames.of(table.name, column, to_compressed=True)
    try:
        shadow = shadow_in(connection, table, described, names, NewColumn("", is_binary=True))
    except MigrationBlockedError as error:
        return list(error.blockers)
    return shadow.blockers(connection)


# The steps --------------------------------------------------------------------------------------------------


class _Filling:
    """A conversion for the backfill: the rows to be read are those that the new column lacks."""

    one_pass = True

    def __init__(self, convert: Compress | Decompress, shadow: Shadow) -> None:
        self._conversion = convert
        self._shadow = shadow
        self.convert = convert.convert
        self.convert_all = convert.convert_all
        self.reason = convert.reason

    def todo(self, rows: Rows) -> str | None:
        """As for Conversion."""
        del rows
        return self._shadow.todo_sql()

    def writes(self, rows: Rows) -> StoredAs:
        """As for Conversion."""
        return self._conversion.writes(rows)


def _migrate(
    connection: Connection,
    rows_bind: Engine | Connection,
    table: TableName,
    described: Column,
    names: ShadowNames,
    new: NewColumn,
    convert: Compress | Decompress,
    batching: Batching,
    *,
    drop_original: bool,
) -> RewriteResult:
    catalog = catalog_of(connection)
    result = RewriteResult(0, 0, 0, 0, 0.0, 0)
    begun = column_or_none(catalog, table, names.new)
    is_begun = begun is not None
    is_swapped = not is_begun and column_or_none(catalog, table, names.kept) is not None
    if not is_begun and not is_swapped and _has_type(connection, described, convert):
        # It was dropped at once by a run that ended before its revision was stamped, or another strategy
        # has been at work: what is left to do is done where it stands.
        if isinstance(convert, Compress):
            result = rewrite_column(rows_bind, table, described.name, convert, batching)
        return result
    shadow = shadow_in(connection, table, described, names, new)
    if is_swapped and (described.kind == "binary") != new.is_binary:
        sentence = (
            f"{table}.{described.name} is {described.type_sql} although an earlier migration has kept "
            f"{names.kept}; see what it holds, then drop it with op.drop_compressed_original"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    if not is_swapped:
        blockers = shadow.blockers(connection)
        if blockers:
            listed = "".join(f"\n  - {blocker}" for blocker in blockers)
            raise MigrationBlockedError(
                f"{table}.{described.name} cannot have a shadow column; nothing has been changed:{listed}",
                tuple(blockers),
            )
        # One that was begun the other way is of no use.
        is_ours = begun is not None and (begun.kind == "binary") == new.is_binary
        _prepare(rows_bind, shadow, is_begun=is_ours)
        filling = _Filling(convert, shadow)
        result = rewrite_column(rows_bind, table, described.name, filling, batching, target=names.new)
        # One pass meets every row, and the queue holds what changed since. A second one looks whether that is
        # so, since what is swapped away unfilled would be lost: triggers on MySQL have let changes pass.
        rewrite_column(rows_bind, table, described.name, filling, batching, target=names.new)
        _swap(rows_bind, shadow, convert, batching)
        _LOG.info("%s.%s: the column that was replaced is kept as %s", table, described.name, names.kept)
    with session_of(rows_bind, shadow.rows) as session:
        patiently(shadow.rows, session, lambda: shadow.clean(session))
        # What the way here has kept ends with the way back.
        patiently(shadow.rows, session, lambda: shadow.drop_column(session, names.kept_before))
        if drop_original:
            patiently(shadow.rows, session, lambda: shadow.drop_column(session, names.kept))
    return result


def _has_type(connection: Connection, column: Column, convert: Compress | Decompress) -> bool:
    """Whether the column has the type it is to have, where that can be told."""
    if convert.each_once or not alteration_of(connection.dialect).changes_type:
        return False
    return (column.kind == "binary") == isinstance(convert, Compress)


def _prepare(rows_bind: Engine | Connection, shadow: Shadow, *, is_begun: bool) -> None:
    with session_of(rows_bind, shadow.rows) as session:
        is_marked = is_begun and shadow.is_marked(session)
        session.rollback()
        if is_marked:
            return

        def prepare() -> None:
            # Without its triggers a column cannot be told to be right, however much of it is filled; and a
            # queue may have outlived its table.
            shadow.reset(session)
            shadow.prepare(session)

        patiently(shadow.rows, session, prepare)


def _swap(
    rows_bind: Engine | Connection, shadow: Shadow, convert: Compress | Decompress, batching: Batching
) -> None:
    catch_up = CatchUp(shadow, convert, batching.batch_bytes)
    with session_of(rows_bind, shadow.rows) as session:

        def swap() -> bool:
            catch_up.until_few_are_left(session)
            try:
                return shadow.swap(session, catch_up.under_lock)
            except (DataError, IntegrityError):
                shadow.rows.rollback(session)
                catch_up.to_the_end(session)
                return False

        while not patiently(shadow.rows, session, swap):
            pass
