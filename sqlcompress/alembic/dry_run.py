"""``dry_run=True``: the plan is printed, and the revision does not count as applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import context
from alembic.util import CommandError

from sqlcompress.alembic.places import read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from alembic.operations.base import Operations

    from sqlcompress.alembic.settings import ColumnOp
    from sqlcompress.jobs.plan import Plan


def show_plan(operations: Operations, op: ColumnOp, make: Callable[[], Plan]) -> None:
    """Print the plan of an operation.

    Args:
        operations: The operations of the revision.
        op: The operation.
        make: Makes the plan, on the migration's connection.

    Raises:
        CommandError: Alembic is applying a revision, which would be stamped although nothing was done.
    """
    with read_only(operations.get_bind()):
        plan = make()
    config = operations.migration_context.config
    for line in plan.lines():
        if config is None:
            print(line)  # noqa: T201 - the output of the operation, as Alembic prints its own
        else:
            config.print_stdout("%s", line)
    if getattr(context, "_proxy", None) is not None:
        raise CommandError(
            f"dry run of {op.name} on {op.table_name}.{op.column_name}: nothing was changed by it and the "
            "revision was not applied; take dry_run=True out to run it"
        )
