"""Which dictionary a stored frame names, asked in SQL: what a zstd frame begins with (RFC 8878, 3.1.1.1).

After the magic number comes a byte that tells whether a window byte follows, and how many bytes the id of the
dictionary has: 4 for ours, 2 for the few below 65,536.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects import database_of
from sqlcompress.frames import ZSTD_MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Dialect

_SINGLE_SEGMENT = 0b0010_0000
_RESERVED = 0b0000_1000


def uses_dictionary_sql(dialect: Dialect, column_sql: str, ids: Iterable[int]) -> str:
    """A condition that holds for frames of these dictionaries.

    Args:
        dialect: The dialect.
        column_sql: A column of bytes, quoted; on SQLite of anything.
        ids: Ids of dictionaries, at least one.
    """
    literal = database_of(dialect.name).binary_literal
    alternatives = []
    for width in (4, 2):
        of_this_width = [number for number in ids if (number > 0xFFFF) == (width == 4)]
        if not of_this_width:
            continue
        listed = ", ".join(literal(number.to_bytes(width, "little")) for number in of_this_width)
        for has_window in (False, True):
            heads = ", ".join(literal(bytes([head])) for head in _heads(width, has_window=has_window))
            start = 7 if has_window else 6
            alternatives.append(
                f"(substr({column_sql}, 5, 1) IN ({heads})"
                f" AND substr({column_sql}, {start}, {width}) IN ({listed}))"
            )
    condition = f"(substr({column_sql}, 1, 4) = {literal(ZSTD_MAGIC)} AND ({' OR '.join(alternatives)}))"
    if dialect.name == "sqlite":
        # substr() of a text counts characters.
        return f"(typeof({column_sql}) = 'blob' AND {condition})"
    return condition


def _heads(width: int, *, has_window: bool) -> list[int]:
    """The values of the descriptor byte for such a frame; one of its bits is to be ignored."""
    flag = {4: 3, 2: 2}[width]
    return [
        head
        for head in range(256)
        if head & 3 == flag and not head & _RESERVED and bool(head & _SINGLE_SEGMENT) != has_window
    ]
