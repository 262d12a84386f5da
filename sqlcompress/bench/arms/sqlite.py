"""The arms of SQLite, which has no compression of its own; sqlite-zstd adds it to a table.

No shadow column: SQLite cannot take NOT NULL from the column that is kept.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy.types import TypeEngine

from sqlcompress.bench.arms.base import (
    ENGINE,
    HAND_WRITTEN_ARM,
    OUR_ARMS,
    OURS,
    PLAIN,
    TABLE,
    Arm,
    with_dictionary_level_19,
)
from sqlcompress.bench.arms.types import SerializedText

#: Level 19 and one dictionary for all rows: the settings of the extension's own introduction.
_ENABLE: Final = json.dumps({"table": TABLE, "column": "d", "compression_level": 19, "dict_chooser": "'all'"})
_COMPRESS: Final = "SELECT zstd_incremental_maintenance(NULL, 1)"


def _plain(is_json: bool, _dictionary: object) -> TypeEngine[Any]:
    # sqlite-zstd takes columns of text affinity only; for all arms, so that they keep the same.
    return SerializedText(is_json)


SQLITE: Final = (
    Arm("plain", "plain", PLAIN, _plain, convert=(f"UPDATE {TABLE} SET d = d || ''",)),
    Arm(
        "sqlite-zstd",
        "sqlite-zstd",
        ENGINE,
        _plain,
        # Values are stored plain; the maintenance that trains and compresses is part of the load.
        created=(f"SELECT zstd_enable_transparent('{_ENABLE.replace(chr(39), chr(39) * 2)}')",),
        loaded=(_COMPRESS,),
        convert=(f"SELECT zstd_enable_transparent('{_ENABLE.replace(chr(39), chr(39) * 2)}')", _COMPRESS),
        needs_extension=True,
    ),
    HAND_WRITTEN_ARM,
    *OUR_ARMS,
    Arm(
        "zstd-19-dictionary",
        "sqlcompress zstd level 19, dictionary",
        OURS,
        with_dictionary_level_19,
        needs_dictionary=True,
    ),
)
