"""The plain value of a compressed column in SQL, where a server can decode it: zlib on MySQL and MariaDB.

``UNCOMPRESS()`` takes a zlib stream behind four bytes that declare its length, and a length that is larger
than needed does no harm (MySQL manual, "Encryption and Compression Functions"; tried on MySQL 9.7 and MariaDB
10.11). It answers NULL to what it cannot decode, which would make rows vanish from every condition; so what
is no NULL and gives NULL raises.
"""

from __future__ import annotations

from typing import Final

#: zlib expands at most 1032 to 1, so a frame of fewer bytes than this holds less than 16 MiB.
_SURELY_16_MIB: Final = 16_256
_16_MIB: Final = 16_777_216
#: 16 MiB as UNCOMPRESS() wants a length: four bytes, the lowest first.
_DECLARED_16_MIB: Final = "x'00000001'"
_PACKET: Final = "@@max_allowed_packet"
#: The largest value that the server can hand over at all, in the same form.
_DECLARED_PACKET: Final = (
    f"CHAR({_PACKET} & 255, {_PACKET} >> 8 & 255, {_PACKET} >> 16 & 255, {_PACKET} >> 24 & 255)"
)


def mysql_plain_sql(column_sql: str, *, is_text: bool, max_size: int) -> str:
    """The plain value of a column that holds plain values and zlib frames.

    A frame of another codec, a damaged one, one of more than ``max_allowed_packet`` bytes, and a plain value
    that is no UTF-8 raise error 1690, "value is out of range". MariaDB does not look at what a frame holds:
    where another program has framed what is no UTF-8, its bad bytes come as question marks.

    Args:
        column_sql: The column, quoted.
        is_text: Whether it is text, which comes as utf8mb4; otherwise it comes as bytes.
        max_size: The most bytes of a plain value. Up to 16 MiB the expression holds no system variable, which
            an index or a generated column must not have; a server whose ``max_allowed_packet`` is below that
            (MySQL's default is 64 MiB, MariaDB's 16) answers with the same error then.
    """
    # Not a constant, which the optimizer would compute, and fail, before any row is looked at.
    failure = f"HEX(~0 + LENGTH({column_sql}))"
    length = (
        f"CASE WHEN LENGTH({column_sql}) < {_SURELY_16_MIB} AND {_PACKET} >= {_16_MIB} "
        f"THEN {_DECLARED_16_MIB} ELSE {_DECLARED_PACKET} END"
    )
    if max_size <= _16_MIB:
        length = _DECLARED_16_MIB
    decoded = f"UNCOMPRESS(CONCAT({length}, {column_sql}))"
    kept = column_sql
    if is_text:
        decoded = f"CONVERT({decoded} USING utf8mb4)"
        # MySQL answers NULL to what is no UTF-8, but MariaDB puts question marks into it.
        kept = f"CONVERT({column_sql} USING utf8mb4)"
        kept = f"CASE WHEN CONVERT({kept} USING binary) = {column_sql} THEN {kept} END"
    plain = (
        f"CASE WHEN LEFT({column_sql}, 2) = x'789c' THEN {decoded} "
        f"WHEN LEFT({column_sql}, 4) = x'28b52ffd' OR LEFT({column_sql}, 3) = x'1f8b08' THEN NULL "
        f"ELSE {kept} END"
    )
    return f"CASE WHEN {column_sql} IS NOT NULL THEN COALESCE({plain}, {failure}) END"
