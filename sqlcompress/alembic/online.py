"""The operations on a live database: checks, the job, and what the log says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON
from sqlalchemy.types import LargeBinary, _Binary

from sqlcompress.alembic.dry_run import show_plan
from sqlcompress.alembic.log import Logged
from sqlcompress.alembic.places import batching_of, bind_of, places, read_only
from sqlcompress.alembic.stamped import refuse_autocommit, with_its_stamp
from sqlcompress.dialects.alter import alteration_of
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.column import compress_column, decompress_column
from sqlcompress.jobs.marks import forget_mark
from sqlcompress.jobs.plan import plan_compress, plan_decompress
from sqlcompress.jobs.preflight import check_compress, check_decompress
from sqlcompress.jobs.shadow import compress_shadow, decompress_shadow
from sqlcompress.types import CompressedBinary, CompressedJSON, CompressedText

if TYPE_CHECKING:
    from alembic.operations.base import Operations
    from sqlalchemy.engine import Connection
    from sqlalchemy.types import TypeEngine

    from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
    from sqlcompress.compressed import Compressed


def compress_online(operations: Operations, op: CompressColumnOp) -> None:
    """Compress the column of ``op``."""
    connection = bind_of(operations)
    given: Compressed[Any] = op.type_  # type: ignore[assignment]  # the operation has checked it
    with read_only(connection):
        type_ = with_dictionaries(connection, given, op.schema)
    strategy = _strategy(op.strategy, type_, connection)
    if op.dry_run:
        plan = partial(plan_compress, drop_original=op.drop_original, existing_type=op.existing_type)
        show_plan(operations, op, lambda: plan(connection, *_named(op), type_, **_how(op, strategy)))
        return
    with read_only(connection):
        table, _ = check_compress(
            connection,
            op.table_name,
            op.column_name,
            type_,
            schema=op.schema,
            strategy=strategy,
            existing_type=op.existing_type,
        )
    atomic = strategy == "atomic"
    if atomic:
        refuse_autocommit(connection)
    with (
        places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("compressed", ddl, table, keeps_original=_keeps_original(op)) as log,
    ):
        batching = batching_of(op, log.progress)
        if op.strategy == "shadow":
            log.result = compress_shadow(
                ddl, rows, table, op.column_name, type_, batching, drop_original=op.drop_original
            )
        else:
            log.result = compress_column(ddl, rows, table, op.column_name, type_, batching, atomic=atomic)
        if strategy != "rewrite" and isinstance(type_, CompressedBinary):
            forget_mark(ddl, table, op.column_name)
    if atomic and isinstance(type_, CompressedBinary):
        with_its_stamp(operations, f"{table}.{op.column_name}")


def decompress_online(operations: Operations, op: DecompressColumnOp) -> None:
    """Decompress the column of ``op``."""
    connection = bind_of(operations)
    given: Compressed[Any] = op.existing_type or _reading(op.type_, connection)  # type: ignore[assignment]
    with read_only(connection):
        existing = with_dictionaries(connection, given, op.schema)
    strategy = _strategy(op.strategy, existing, connection)
    if op.dry_run:
        plan = partial(plan_decompress, drop_original=op.drop_original)
        show_plan(
            operations, op, lambda: plan(connection, *_named(op), op.type_, existing, **_how(op, strategy))
        )
        return
    with read_only(connection):
        table, _ = check_decompress(
            connection,
            op.table_name,
            op.column_name,
            op.type_,
            existing,
            schema=op.schema,
            strategy=strategy,
        )
    atomic = strategy == "atomic"
    if atomic:
        refuse_autocommit(connection)
    with (
        places(operations, table.schema, atomic=atomic) as (ddl, rows),
        Logged("decompressed", ddl, table, keeps_original=_keeps_original(op)) as log,
    ):
        batching = batching_of(op, log.progress)
        if op.strategy == "shadow":
            log.result = decompress_shadow(
                ddl, rows, table, op.column_name, op.type_, existing, batching, drop_original=op.drop_original
            )
        else:
            log.result = decompress_column(
                ddl, rows, table, op.column_name, op.type_, existing, batching, atomic=atomic
            )
        if strategy != "rewrite" and isinstance(existing, CompressedBinary):
            forget_mark(ddl, table, op.column_name)
    # Where no type changes, plain text that looks like a legacy format would be decoded again, too.
    text_is_unclear = bool(existing.legacy) and not alteration_of(connection.dialect).changes_type
    if atomic and (isinstance(existing, CompressedBinary) or text_is_unclear):
        with_its_stamp(operations, f"{table}.{op.column_name}")


def _strategy(strategy: str, type_: Compressed[Any], connection: Connection) -> str:
    """The strategy; where nothing tells a table from another of its name, binary rows go with their stamp."""
    is_told = alteration_of(connection.dialect).changes_type
    return (
        strategy if strategy != "rewrite" or is_told or not isinstance(type_, CompressedBinary) else "atomic"
    )


def _keeps_original(op: CompressColumnOp | DecompressColumnOp) -> bool:
    return op.strategy == "shadow" and not op.drop_original


def _named(op: CompressColumnOp | DecompressColumnOp) -> tuple[str, str]:
    return op.table_name, op.column_name


def _how(op: CompressColumnOp | DecompressColumnOp, strategy: str) -> dict[str, Any]:
    return {"schema": op.schema, "strategy": strategy, "batching": batching_of(op, None)}


def _reading(type_: TypeEngine[Any], connection: Connection) -> TypeEngine[Any]:
    """A compressed type that reads what a column of the plain ``type_`` was compressed from."""
    plain = type_.dialect_impl(connection.dialect)
    if isinstance(plain, JSON):
        return CompressedJSON()
    return CompressedBinary() if isinstance(plain, (LargeBinary, _Binary)) else CompressedText()
