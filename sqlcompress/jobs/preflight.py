"""What stands in the way of a type change, found out before anything is changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.alter import TargetType, alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.names import PREFIX, kept_name
from sqlcompress.dialects.rows import rows_of
from sqlcompress.errors import DecodeError, MigrationBlockedError
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.leftovers import column_or_none
from sqlcompress.jobs.marks import is_marked, refuse_half_done
from sqlcompress.jobs.pages import PageSize, pages
from sqlcompress.jobs.shadow import shadow_blockers
from sqlcompress.types import CompressedBinary

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection
    from sqlalchemy.types import TypeEngine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.tables import Column, TableName

_SHOWN_KEYS = 10
# What a shadow migration that was killed has left is no obstacle to its going on.
_OURS = re.compile(rf"\b{PREFIX}(insert|update|notnull)_")


def check_compress(
    connection: Connection,
    table: str,
    column: str,
    type_: Compressed[Any],
    *,
    schema: str | None,
    strategy: str,
    existing_type: TypeEngine[Any] | None = None,
) -> tuple[TableName, Column]:
    """The table and column to compress.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column.
        type_: The compressed type.
        schema: The table's schema.
        strategy: ``"rewrite"``, ``"shadow"`` or ``"atomic"``.
        existing_type: The plain type that the way back names; a collation of its own is kept by it.

    Raises:
        MigrationBlockedError: Something would be lost, changed or broken; each thing is named.
    """
    found, described, blockers = _common(
        connection, table, column, schema, compress=True, strategy=strategy, plain=existing_type
    )
    if described.kind == "other":
        blockers.append(
            f"the column {column} is {described.type_sql or 'of no type'}; "
            "text, JSON and binary columns can be compressed"
        )
    is_binary = isinstance(type_, CompressedBinary)
    if is_binary and described.kind in {"text", "json"}:
        blockers.append(f"the column {column} holds text; use CompressedText or CompressedJSON")
    blockers += _legacy_needs_atomic(type_, strategy=strategy)
    if is_binary and strategy != "rewrite":
        refuse_half_done(connection, found, column, "framed")
    _raise(found, column, blockers)
    return found, described


def check_decompress(
    connection: Connection,
    table: str,
    column: str,
    type_: TypeEngine[Any],
    existing_type: Compressed[Any],
    *,
    schema: str | None,
    strategy: str,
) -> tuple[TableName, Column]:
    """The table and column to decompress. Every row is decoded and measured against the target type.

    Raises:
        MigrationBlockedError: Something would be lost, changed or broken; each thing is named.
    """
    found, described, blockers = _common(
        connection, table, column, schema, compress=False, strategy=strategy, plain=type_
    )
    alteration = alteration_of(connection.dialect)
    target = TargetType(type_, connection.dialect)
    blockers += alteration.target_blockers(target)
    blockers += _legacy_needs_atomic(existing_type, strategy=strategy)
    if existing_type.legacy and strategy != "atomic":
        blockers.append(
            "a plain text can look like a legacy format, so that a second run would decode it once more; "
            "leave legacy= out of existing_type (the compressing migration made frames of such rows)"
        )
    is_binary = isinstance(existing_type, CompressedBinary)
    if is_binary and alteration.commits_by_itself and strategy != "shadow":
        change = alteration.to_plain(connection, found, described, target)
        if change:
            blockers.append(
                f"changing the type to {target.sql} commits half of the work, and a rerun could not tell "
                "which values are plain; name the type the column has now (LONGBLOB) and change it in a "
                "later revision"
            )
    _raise(found, column, blockers)
    if strategy != "rewrite" and is_binary:
        refuse_half_done(connection, found, column, "plain")
    is_done = is_binary and is_marked(connection, found, column, "plain")
    if not is_done and (described.kind == "binary" or not alteration.changes_type):
        blockers += _misfits(connection, found, described, existing_type, target)
    _raise(found, column, blockers)
    return found, described


def _common(
    connection: Connection,
    table: str,
    column: str,
    schema: str | None,
    *,
    compress: bool,
    strategy: str,
    plain: TypeEngine[Any] | None,
) -> tuple[TableName, Column, list[str]]:
    catalog = catalog_of(connection, renames=strategy == "shadow")
    found = catalog.table(table, schema)
    described = catalog.column(found, column)
    collation = getattr(plain, "collation", None)
    blockers = [
        sentence
        for sentence in catalog.blockers(found, described, compress=compress, collation=collation)
        if not _OURS.search(sentence)
    ]
    try:
        key_of(connection, table, column, schema=schema)
    except MigrationBlockedError as error:
        blockers += error.blockers
    if strategy == "shadow":
        is_swapped = any(
            column_or_none(catalog, found, kept_name(column, compressed=compressed)) is not None
            for compressed in (False, True)
        )
        if not is_swapped:
            blockers += shadow_blockers(connection, found, column)
    return found, described, list(dict.fromkeys(blockers))


def _legacy_needs_atomic(type_: Compressed[Any], *, strategy: str) -> list[str]:
    if not isinstance(type_, CompressedBinary) or strategy != "rewrite":
        return []
    if not type_.legacy:
        return []
    sentence = (
        "a plain binary value may begin like a legacy format, so that a second run could not tell what is "
        'done; leave legacy= out, or use strategy="atomic", which converts all rows in one transaction'
    )
    return [sentence]


def _misfits(
    connection: Connection, table: TableName, column: Column, type_: Compressed[Any], target: TargetType
) -> list[str]:
    """What does not fit into the target type, by reason, with counts and some keys."""
    _, _, key = key_of(connection, table.name, column.name, schema=table.schema)
    rows = rows_of(connection, table, column, key)
    alteration = alteration_of(connection.dialect)
    checks = alteration.fits(target, alteration.default_charset(connection, table))
    counts: dict[str, int] = {}
    keys: dict[str, list[str]] = {}
    for row in pages(connection, rows, PageSize(1000, 4_194_304, rows.statement_bytes)):
        if row.value is None:
            reason: str | None = "is longer than max_allowed_packet"
        elif row.stored_as != "binary":
            continue
        else:
            try:
                plain = type_.from_stored(row.value)
            except DecodeError as error:
                reason = f"cannot be decoded ({type(error).__name__})"
            else:
                reason = next((found for check in checks if (found := check(plain))), None)
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + 1
            shown = keys.setdefault(reason, [])
            if len(shown) < _SHOWN_KEYS:
                shown.append(repr(row.key[0] if len(row.key) == 1 else row.key))
    return [
        f"{count:,} row{'s' if count > 1 else ''}: the value {reason}; by key: {', '.join(keys[reason])}"
        f"{', …' if count > len(keys[reason]) else ''}; change these rows, or choose a wider type than "
        f"{target.sql}"
        for reason, count in counts.items()
    ]


def _raise(table: TableName, column: str, blockers: list[str]) -> None:
    if blockers:
        listed = "".join(f"\n  - {blocker}" for blocker in blockers)
        raise MigrationBlockedError(
            f"{table}.{column} cannot be migrated as it stands; nothing has been changed:{listed}",
            tuple(blockers),
        )
