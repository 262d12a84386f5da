"""Finding columns that became compressed or plain, for ``alembic revision --autogenerate`` and ``check``.

Alembic compares a column's declared types. The comparator here goes between the ``compare_type`` hook of
env.py and Alembic's own, and decides for the columns whose model is compressed or whose values are. What it
finds is lifted out of the table's other changes at the end, so that the reverse operation, the downgrade and
batch mode come out right by themselves.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from alembic.operations import ops as alembic_ops
from alembic.util import DispatchPriority, PriorityDispatchResult
from sqlalchemy import JSON, Enum, String
from sqlalchemy.types import LargeBinary, NullType, TypeDecorator, _Binary

from sqlcompress.alembic.companions import fill_of
from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp
from sqlcompress.alembic.render import render_compressed
from sqlcompress.codec import Gzip, Zlib, Zstd
from sqlcompress.compressed import Compressed
from sqlcompress.dialects import database_of
from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.contents import contents_of
from sqlcompress.dialects.tables import Column, TableName
from sqlcompress.frames import MAGICS
from sqlcompress.types import CompressedBinary, CompressedJSON, CompressedText

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from alembic.operations.ops import AlterColumnOp, MigrateOperation, ModifyTableOps, UpgradeOps
    from alembic.runtime.plugins import Plugin
    from sqlalchemy import Column as SchemaColumn
    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

    from sqlcompress.codec import Codec
    from sqlcompress.dialects.contents import Contents

_LOG = logging.getLogger("alembic.sqlcompress")

_CODECS: dict[bytes | None, Codec] = dict(zip(MAGICS, (Zstd(), Zlib(), Gzip()), strict=True))


# Rendering --------------------------------------------------------------------------------------------------


def _render_compressed_types(context: AutogenContext, upgrade_ops: UpgradeOps) -> PriorityDispatchResult:
    """Have compressed types rendered with their imports wherever a column is: Alembic adds none by itself."""
    del upgrade_ops
    hook = context.opts.get("render_item")

    def render_item(kind: str, item: Any, context: AutogenContext) -> Any:
        rendered = hook(kind, item, context) if hook else False
        if rendered is False and kind == "type" and isinstance(item, Compressed):
            return render_compressed(item, context)
        return rendered

    # Options of this one comparison: the migration context's own may serve another.
    context.opts = {**context.opts, "render_item": render_item}
    return PriorityDispatchResult.CONTINUE


# Comparing --------------------------------------------------------------------------------------------------


def _compare_type(
    context: AutogenContext,
    alter: AlterColumnOp,
    schema: str | None,
    table_name: str,
    column_name: str,
    found: SchemaColumn[Any],
    wanted: SchemaColumn[Any],
) -> PriorityDispatchResult:
    """Decide for columns that are or were compressed; the others are Alembic's."""
    if context.connection is None or isinstance(found.type, NullType):
        return PriorityDispatchResult.CONTINUE
    model = _model_type(wanted.type, context.dialect)
    contents = contents_of(
        context.connection,
        TableName(str(table_name), None if schema is None else str(schema)),
        Column(str(column_name), "other", ""),
    )
    if contents is None:
        return PriorityDispatchResult.CONTINUE
    if isinstance(model, Compressed):
        to_compress = (
            context.migration_context.impl.compare_type(found, wanted)
            if contents.is_declared
            else contents.has_plain_values()
        )
        alter.existing_type = found.type
        if to_compress:
            as_json = isinstance(model, CompressedJSON)
            alter.existing_type = contents.plain_type(found.type, as_json=as_json)
            alter.modify_type = model
            _detected(alter)
        return PriorityDispatchResult.STOP
    if not _is_text_or_json(model):
        return PriorityDispatchResult.CONTINUE
    if _is_compressed(found.type, contents, context.dialect):
        alter.existing_type = _compressed_for(model, contents)
        alter.modify_type = wanted.type
        _detected(alter)
        return PriorityDispatchResult.STOP
    if not contents.is_declared and _is_binary(found.type):
        # Decompressed: the values are text, and the declared type cannot follow.
        alter.existing_type = found.type
        return PriorityDispatchResult.STOP
    return PriorityDispatchResult.CONTINUE


def _model_type(type_: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    """The type that the model has on this database."""
    variant = type_._variant_mapping.get(dialect.name, type_)  # noqa: SLF001 - as Alembic reads it
    if not isinstance(variant, Compressed) or not variant._variant_mapping:  # noqa: SLF001
        return variant
    # The operation is for this one database: a variant for others has no say in it.
    copied = variant.copy()
    copied._variant_mapping = type(variant._variant_mapping)()  # noqa: SLF001
    return copied


def _plain(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """What a type of the application's own is made of."""
    while isinstance(type_, TypeDecorator) and not isinstance(type_, Compressed):
        type_ = type_.impl_instance
    return type_


def _is_text_or_json(type_: TypeEngine[Any]) -> bool:
    plain = _plain(type_)
    if isinstance(plain, String):
        # Enumerations, and MySQL's SET, are strings to SQLAlchemy.
        return not isinstance(plain, Enum) and str(plain.__visit_name__).upper() != "SET"
    return isinstance(plain, JSON)


def _is_binary(type_: TypeEngine[Any]) -> bool:
    return isinstance(type_, (LargeBinary, _Binary))


def _is_compressed(type_: TypeEngine[Any], contents: Contents, dialect: Dialect) -> bool:
    """Whether the column stores what a compressed type writes, as far as the database can tell.

    On servers the declared type alone decides: whether rows happen to be framed in the database that the
    script is written on says nothing about the one it will run on.
    """
    if not contents.is_declared:
        return contents.has_stored_values()
    return type(type_) is type(database_of(dialect.name).binary_type())


def _compressed_for(model: TypeEngine[Any], contents: Contents) -> Compressed[Any]:
    """The compressed type of a column whose model says ``model``, with the codec that is met in it."""
    codec = _CODECS.get(contents.magic(), Zstd())
    return CompressedJSON(codec) if isinstance(_plain(model), JSON) else CompressedText(codec)


def _detected(alter: AlterColumnOp) -> None:
    _LOG.info(
        "Detected type change from %r to %r on '%s.%s'",
        alter.existing_type,
        alter.modify_type,
        alter.table_name,
        alter.column_name,
    )


# Lifting ----------------------------------------------------------------------------------------------------


def _lift(context: AutogenContext, upgrade_ops: UpgradeOps) -> PriorityDispatchResult:
    """Turn type changes into operations of their own, in an order in which each finds what it needs."""
    lifted: list[MigrateOperation] = []
    for op in upgrade_ops.ops:
        if isinstance(op, alembic_ops.ModifyTableOps):
            lifted += _lifted(op, context.dialect)
        else:
            lifted.append(op)
    # Last: what is filled may be compressed by the same revision.
    lifted += _fills(upgrade_ops, context.dialect)
    upgrade_ops.ops[:] = lifted
    changes = [op for op in lifted if isinstance(op, (CompressColumnOp, DecompressColumnOp))]
    has_binary = any(
        isinstance(type_, CompressedBinary) for op in changes for type_ in (op.type_, op.existing_type)
    )
    if has_binary and not alteration_of(context.dialect).changes_type:
        # On SQLite binary rows are converted in the migration's transaction, which the other strategies
        # would commit too early.
        for op in changes:
            op.strategy = "atomic"
    return PriorityDispatchResult.CONTINUE


def _fills(upgrade_ops: UpgradeOps, dialect: Dialect) -> list[MigrateOperation]:
    """The companion columns that are added to tables which may have rows."""
    found = [
        fill_of(op, op.column, dialect)
        for table in upgrade_ops.ops
        if isinstance(table, alembic_ops.ModifyTableOps)
        for op in table.ops
        if isinstance(op, alembic_ops.AddColumnOp)
    ]
    return [op for op in found if op is not None]


def _lifted(table: ModifyTableOps, dialect: Dialect) -> list[MigrateOperation]:
    before: list[Any] = []
    ours: list[MigrateOperation] = []
    after: list[Any] = []
    changes = {
        id(op): change
        for op in table.ops
        if isinstance(op, alembic_ops.AlterColumnOp) and (change := _change(op, dialect)) is not None
    }
    if not changes:
        return [table]
    names = {str(change.column_name) for change in changes.values()}
    for op in table.ops:
        change = changes.get(id(op))
        if change is None:
            # An index on the column has to go first; a new one comes when the column holds what it is for.
            (before if _drops(op, names) else after).append(op)
            continue
        assert isinstance(op, alembic_ops.AlterColumnOp)  # noqa: S101 - for the type checker
        if op.modify_nullable is not None:
            change.existing_nullable = op.modify_nullable
        first, last = _others(op, change)
        before += first
        ours.append(change)
        after += last
    before_op = alembic_ops.ModifyTableOps(table.table_name, before, schema=table.schema)
    after_op = alembic_ops.ModifyTableOps(table.table_name, after, schema=table.schema)
    return [*([before_op] if before else []), *ours, *([after_op] if after else [])]


def _change(op: AlterColumnOp, dialect: Dialect) -> CompressColumnOp | DecompressColumnOp | None:
    """The operation that the type change of ``op`` is, if it is one of ours."""
    if op.modify_type is None or op.existing_type is None:
        return None
    shared: dict[str, Any] = {
        "existing_nullable": op.existing_nullable,
        "schema": None if op.schema is None else str(op.schema),
    }
    names = (str(op.table_name), str(op.column_name))
    model = _model_type(op.modify_type, dialect)
    existing = op.existing_type
    if isinstance(model, Compressed):
        if isinstance(model, CompressedBinary) and _is_binary(existing):
            # Binary values can look like frames, so the way back ends at the type that the column has then:
            # BLOB would be a second step.
            existing = database_of(dialect.name).binary_type()
        return CompressColumnOp(*names, type_=model, existing_type=existing, **shared)
    if isinstance(existing, Compressed):
        return DecompressColumnOp(*names, type_=op.modify_type, existing_type=existing, **shared)
    return None


def _others(
    op: AlterColumnOp, change: CompressColumnOp | DecompressColumnOp
) -> tuple[list[AlterColumnOp], list[AlterColumnOp]]:
    """What else changes about the column, before and after its type does.

    A new default comes last: it belongs to the new type, and would block the change.
    """
    adds_default = op.modify_server_default is not None and op.modify_server_default is not False
    late = alembic_ops.AlterColumnOp(
        op.table_name,
        op.column_name,
        schema=op.schema,
        existing_type=op.modify_type,
        existing_server_default=op.existing_server_default,
        existing_nullable=change.existing_nullable,
        existing_comment=op.existing_comment if op.modify_comment is False else op.modify_comment,
        modify_server_default=op.modify_server_default if adds_default else False,
    )
    op.modify_type = None
    if adds_default:
        op.modify_server_default = False
    return ([op] if op.has_changes() else []), ([late] if late.has_changes() else [])


def _drops(op: MigrateOperation, columns: set[str]) -> bool:
    """Whether the operation drops an index or a constraint on one of the columns."""
    if isinstance(op, alembic_ops.DropIndexOp):
        return bool({column.name for column in op.to_index().columns} & columns)
    if isinstance(op, alembic_ops.DropConstraintOp):
        constrained = getattr(op.to_constraint(), "columns", ())
        return bool({column.name for column in constrained} & columns)
    return False


def setup(plugin: Plugin) -> None:
    """Give the plugin its comparators."""
    plugin.add_autogenerate_comparator(
        _render_compressed_types, "autogenerate", "sqlcompress", priority=DispatchPriority.FIRST
    )
    plugin.add_autogenerate_comparator(_compare_type, "column", "types")
    plugin.add_autogenerate_comparator(
        _lift, "autogenerate", "sqlcompress_lift", priority=DispatchPriority.LAST
    )
