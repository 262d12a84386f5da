"""A shadow column: its life from the first statement to the swap.

The state is read from the database, so that a migration goes on wherever it was killed. At every moment a row
is right in the new column, or its key stands in the queue, or the backfill has not come to it yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.names import ShadowNames
    from sqlcompress.dialects.rows import KeyValue, Rows


@dataclass(frozen=True)
class NewColumn:
    """What the new column has to be once it stands where the old one stood.

    Attributes:
        type_sql: The type, as the database is told.
        is_binary: Whether it holds bytes.
        default_sql: The default it gets with the swap, as SQL, or None.
        grants: Statements that give it the column privileges of the old one, to be run after the swap.
    """

    type_sql: str
    is_binary: bool
    default_sql: str | None = None
    grants: tuple[str, ...] = ()


class Shadow(ABC):
    """The statements of one database. Connections are those that ``rows.open`` has prepared."""

    def __init__(self, rows: Rows, names: ShadowNames, new: NewColumn) -> None:
        self.rows = rows
        self.names = names
        self.column = rows.column
        self.table = rows.table
        self.dialect = rows.dialect
        self.new = new
        self.queue_sql = self.in_schema(names.queue)
        self.key_names = tuple(f"k{i}" for i in range(len(rows.key_sql)))

    def quote(self, name: str) -> str:
        """A name for a statement."""
        return self.dialect.identifier_preparer.quote_identifier(name)

    def in_schema(self, name: str) -> str:
        """A name in the schema of the table."""
        schema = self.table.schema
        return self.quote(name) if schema is None else f"{self.quote(schema)}.{self.quote(name)}"

    # States -----------------------------------------------------------------------------------------------

    @abstractmethod
    def is_marked(self, connection: Connection) -> bool:
        """Whether queue and triggers are there, all of them and switched on."""

    @abstractmethod
    def prepare(self, connection: Connection) -> None:
        """Add the new column, the queue and the triggers: in this order, so that no change is missed.

        Must find nothing of them; waits for no lock longer than a moment.
        """

    @abstractmethod
    def reset(self, connection: Connection) -> None:
        """Take away whatever :meth:`prepare` has made so far, the new column last."""

    @abstractmethod
    def swap(self, connection: Connection, catch_up: Callable[[Connection], bool]) -> bool:
        """Under one lock: the last changes, then both names at once.

        Args:
            connection: A connection outside a transaction.
            catch_up: Called once nobody else can write; empties the queue, or gives False where that would
                take too long.

        Returns:
            False where ``catch_up`` gave up: nothing has been changed then.
        """

    @abstractmethod
    def clean(self, connection: Connection) -> None:
        """After the swap: take away triggers and queue, finish what needs no lock; again without effect."""

    @abstractmethod
    def drop_column(self, connection: Connection, name: str) -> None:
        """Drop one of our columns."""

    def blockers(self, connection: Connection) -> list[str]:
        """What this table cannot have a shadow column for, beyond what stops any migration."""
        del connection
        return []

    # SQL --------------------------------------------------------------------------------------------------

    def todo_sql(self) -> str:
        """True for rows that the backfill has not been to."""
        return f"{self.rows.target_sql} IS NULL"

    def steps(self) -> list[str]:
        """The statements in their order, for a person to read; the real ones where there are no values."""
        return []

    def backfill_step(self) -> str:
        """The rows, in :meth:`steps`."""
        new = self.rows.target_sql
        return (
            f"-- rows: {self.rows.column_sql} into {new} by key, in batches; then those in {self.queue_sql}"
        )

    # Queue ------------------------------------------------------------------------------------------------

    def take(self, connection: Connection, limit: int) -> list[tuple[int, KeyValue]]:
        """The oldest entries of the queue: their numbers and the keys of the rows."""
        keys = ", ".join(self.queued_key_sql())
        found = connection.exec_driver_sql(
            f"SELECT seq, {keys} FROM {self.queue_sql} ORDER BY seq LIMIT {limit}"
        )
        return [(int(seq), tuple(key)) for seq, *key in found.all()]

    def queued_key_sql(self) -> tuple[str, ...]:
        """The columns of the queue as keys are read elsewhere."""
        return self.key_names

    def forget(self, connection: Connection, entries: Sequence[int]) -> None:
        """Delete these entries and no others: one with a number between may be committed only now."""
        listed = ", ".join(str(seq) for seq in entries)
        connection.exec_driver_sql(f"DELETE FROM {self.queue_sql} WHERE seq IN ({listed})")

    def waiting(self, connection: Connection, at_most: int) -> int:
        """Entries in the queue, counted up to ``at_most``."""
        found: Any = connection.exec_driver_sql(
            f"SELECT count(*) FROM (SELECT 1 AS one FROM {self.queue_sql} LIMIT {at_most}) AS q"
        ).scalar_one()
        return int(found)
