"""What the operations share: their arguments, checked, and how rows are rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations.ops import MigrateOperation
from sqlalchemy.types import to_instance

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine

STRATEGIES = ("rewrite", "shadow", "atomic")

#: The settings of an operation and their defaults, in the order in which they are rendered.
DEFAULTS: dict[str, Any] = {
    "strategy": "rewrite",
    "batch_rows": 1000,
    "batch_bytes": 4_194_304,
    "pause_seconds": 0.0,
    "workers": 2,
    "lag_seconds": None,
    "max_lag_seconds": 5.0,
    "where": None,
    "drop_original": False,
    "dry_run": False,
}


class ColumnOp(MigrateOperation):
    """An operation on one column.

    Args:
        table_name: The table.
        column_name: The column.
        type_: The type the column is to have.
        existing_type: The type it has.
        existing_nullable: Whether it takes NULL; for scripts.
        schema: The table's schema.
        settings: See :data:`DEFAULTS`.
    """

    #: What the operation is called on ``op``.
    name: ClassVar[str]

    def __init__(
        self,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        existing_type: TypeEngine[Any] | None = None,
        existing_nullable: bool | None = None,
        schema: str | None = None,
        **settings: Any,
    ) -> None:
        unknown = sorted(settings.keys() - DEFAULTS.keys())
        if unknown:
            raise TypeError(f"{self.name}() takes no argument {unknown[0]!r}")
        self.table_name = table_name
        self.column_name = column_name
        self.type_: TypeEngine[Any] = to_instance(type_)
        self.existing_type = None if existing_type is None else to_instance(existing_type)
        self.existing_nullable = existing_nullable
        self.schema = schema
        chosen = DEFAULTS | settings
        self.strategy: str = chosen["strategy"]
        self.batch_rows: int = chosen["batch_rows"]
        self.batch_bytes: int = chosen["batch_bytes"]
        self.pause_seconds: float = chosen["pause_seconds"]
        self.workers: int = chosen["workers"]
        self.lag_seconds: Callable[[], float | None] | None = chosen["lag_seconds"]
        self.max_lag_seconds: float = chosen["max_lag_seconds"]
        self.where: str | None = chosen["where"]
        self.drop_original: bool = chosen["drop_original"]
        self.dry_run: bool = chosen["dry_run"]
        self._check()

    def _check(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy={self.strategy!r}: there are {', '.join(map(repr, STRATEGIES))}")
        if not 1 <= self.batch_rows <= 10_000:
            raise ValueError("batch_rows goes from 1 to 10,000")
        if self.batch_bytes < 1 or self.pause_seconds < 0 or self.workers < 1:
            raise ValueError("batch_bytes and workers are at least 1, pause_seconds at least 0")
        if self.lag_seconds is not None and not callable(self.lag_seconds):
            raise TypeError("lag_seconds takes a function that gives the replicas' lag in seconds")
        if self.max_lag_seconds < 0:
            raise ValueError("max_lag_seconds is at least 0")
        if self.where is not None and (self.strategy != "rewrite" or not self.where.strip()):
            raise ValueError('where= is a condition in SQL, for strategy="rewrite"')
        if self.drop_original and self.strategy != "shadow":
            raise ValueError('drop_original=True is for strategy="shadow", which keeps the original')

    def settings(self) -> dict[str, Any]:
        """The arguments that say how rows are rewritten."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (
            self.name,
            self.schema,
            self.table_name,
            self.column_name,
            self.existing_type,
            self.type_,
        )
