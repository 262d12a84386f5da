"""The names of what a job puts into a user's database; all begin with ``sqlcompress_``."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

PREFIX = "sqlcompress_"

# PostgreSQL cuts names after 63 bytes without a word; MySQL and MariaDB refuse more than 64 characters.
_LONGEST = 63


def our_name(kind: str, *parts: str) -> str:
    """``sqlcompress_<kind>_<parts>``; where that is too long, cut and ended with a hash of the whole.

    Args:
        kind: What the object is for.
        parts: The table's or the column's name, or both.
    """
    name = f"{PREFIX}{kind}_{'_'.join(parts)}"
    if len(name.encode()) <= _LONGEST:
        return name
    digest = sha256(name.encode()).hexdigest()[:8]
    return f"{name.encode()[: _LONGEST - 9].decode(errors='ignore')}_{digest}"


def kept_name(column: str, *, compressed: bool) -> str:
    """The name under which a shadow migration keeps the column it replaced.

    Args:
        column: The column.
        compressed: The kept column holds compressed values, since the migration decompressed.
    """
    return our_name("compressed" if compressed else "original", column)


@dataclass(frozen=True)
class ShadowNames:
    """What a shadow migration of one column calls its objects.

    Attributes:
        new: The column that is filled beside the old one.
        kept: The old column after the swap.
        kept_before: What a migration of the other direction has kept.
        queue: The table of the keys of rows that changed meanwhile.
        on_insert: The trigger on INSERT.
        on_update: The trigger on UPDATE.
        function: The function of both triggers, where the database wants one.
        check: The constraint that stands for NOT NULL until the database has seen every row.
    """

    new: str
    kept: str
    kept_before: str
    queue: str
    on_insert: str
    on_update: str
    function: str
    check: str

    @classmethod
    def of(cls, table: str, column: str, *, to_compressed: bool) -> ShadowNames:
        """The names for ``column`` of ``table``."""
        return cls(
            new=our_name("new", column),
            kept=kept_name(column, compressed=not to_compressed),
            kept_before=kept_name(column, compressed=to_compressed),
            queue=our_name("queue", table, column),
            on_insert=our_name("insert", table, column),
            on_update=our_name("update", table, column),
            function=our_name("mark", table, column),
            check=our_name("notnull", table, column),
        )
