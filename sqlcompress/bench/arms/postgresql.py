"""The arms of PostgreSQL.

PostgreSQL's manual, "TOAST" and "ALTER TABLE … SET COMPRESSION". A value that is longer than about 2 KB is
compressed, and moved out of the row where that is not enough; a shorter one stays as it is.
"""

from __future__ import annotations

from typing import Final

from sqlcompress.bench.arms.base import ENGINE, HAND_WRITTEN_ARM, OUR_ARMS, PLAIN, SHADOW_ARM, TABLE, Arm
from sqlcompress.bench.arms.types import plain

_COLUMN: Final = f"ALTER TABLE {TABLE} ALTER COLUMN d"
#: Rewrites every value with the column's new setting.
_REWRITE: Final = f"UPDATE {TABLE} SET d = CAST(CAST(d AS text) || '' AS {{type}})"

POSTGRESQL: Final = (
    # As the server ships: values of more than 2 KB are compressed with pglz.
    Arm(
        "plain",
        "plain (pglz)",
        PLAIN,
        plain,
        created=(f"{_COLUMN} SET COMPRESSION pglz",),
        convert=(_REWRITE,),
    ),
    Arm(
        "lz4",
        "TOAST lz4",
        ENGINE,
        plain,
        created=(f"{_COLUMN} SET COMPRESSION lz4",),
        convert=(f"{_COLUMN} SET COMPRESSION lz4", _REWRITE),
    ),
    Arm("external", "uncompressed (EXTERNAL)", ENGINE, plain, created=(f"{_COLUMN} SET STORAGE EXTERNAL",)),
    HAND_WRITTEN_ARM,
    *OUR_ARMS,
    SHADOW_ARM,
)
