"""What the package keeps in a user's database is in no model: autogenerate must not propose to drop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic.operations import ops as alembic_ops
from alembic.util import DispatchPriority, PriorityDispatchResult

from sqlcompress.dialects.names import PREFIX

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
    from alembic.operations.ops import MigrateOperation, UpgradeOps
    from alembic.runtime.plugins import Plugin

_TABLES = tuple(f"{PREFIX}{kind}" for kind in ("queue_", "job", "dictionary"))
_COLUMNS = tuple(f"{PREFIX}{kind}" for kind in ("new_", "original_", "compressed_", "key"))


def _leave_ours(context: AutogenContext, upgrade_ops: UpgradeOps) -> PriorityDispatchResult:
    """Take out the drops of our tables and of the columns that a shadow migration fills or keeps."""
    del context
    upgrade_ops.ops[:] = [op for op in upgrade_ops.ops if not _is_ours(op)]
    for table in upgrade_ops.ops:
        if isinstance(table, alembic_ops.ModifyTableOps):
            table.ops[:] = [op for op in table.ops if not _drops_ours(op)]
    upgrade_ops.ops[:] = [
        op for op in upgrade_ops.ops if not isinstance(op, alembic_ops.ModifyTableOps) or op.ops
    ]
    return PriorityDispatchResult.CONTINUE


def _is_ours(op: MigrateOperation) -> bool:
    """Whether the operation drops a table of ours, or an index of one."""
    if isinstance(op, (alembic_ops.DropTableOp, alembic_ops.ModifyTableOps)):
        return str(op.table_name).startswith(_TABLES)
    return False


def _drops_ours(op: MigrateOperation) -> bool:
    return isinstance(op, alembic_ops.DropColumnOp) and str(op.column_name).startswith(_COLUMNS)


def setup(plugin: Plugin) -> None:
    """Give the plugin its comparator."""
    plugin.add_autogenerate_comparator(
        _leave_ours, "autogenerate", "sqlcompress_ours", priority=DispatchPriority.LAST
    )
