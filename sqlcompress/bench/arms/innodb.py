"""The arms of MariaDB and MySQL.

MariaDB's manual, "InnoDB ROW_FORMAT=COMPRESSED", "InnoDB page compression", "Storage-engine independent
column compression"; MySQL's manual, "InnoDB table and page compression".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from sqlalchemy.types import TypeEngine

from sqlcompress.bench.arms.base import (
    ENGINE,
    HAND_WRITTEN_ARM,
    OUR_ARMS,
    OURS,
    PLAIN,
    SHADOW_ARM,
    TABLE,
    Arm,
    with_dictionary,
)
from sqlcompress.bench.arms.types import ColumnAttribute, ServerCompressed, plain


def _column_attribute(is_json: bool, _dictionary: object) -> TypeEngine[Any]:
    return ColumnAttribute(is_json)


def _server_compressed(is_json: bool, _dictionary: object) -> TypeEngine[Any]:
    return ServerCompressed(is_json)


def _row_compressed(dialect: str, kilobytes: int) -> dict[str, Any]:
    return {f"{dialect}_row_format": "COMPRESSED", f"{dialect}_key_block_size": str(kilobytes)}


def _common(dialect: str) -> tuple[Arm, ...]:
    return (
        Arm("plain", "plain", PLAIN, plain, convert=(f"ALTER TABLE {TABLE} FORCE",)),
        *(
            Arm(
                f"row-{kilobytes}k",
                f"ROW_FORMAT=COMPRESSED, {kilobytes} KB",
                ENGINE,
                plain,
                _row_compressed(dialect, kilobytes),
                convert=(f"ALTER TABLE {TABLE} ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={kilobytes}",),
            )
            for kilobytes in (8, 4)
        ),
    )


def _ours(dialect: str) -> tuple[Arm, ...]:
    return (
        *OUR_ARMS,
        SHADOW_ARM,
        Arm(
            "zstd-dictionary-row-8k",
            "sqlcompress zstd, dictionary, on ROW_FORMAT=COMPRESSED 8 KB",
            OURS,
            with_dictionary,
            _row_compressed(dialect, 8),
            needs_dictionary=True,
        ),
    )


_COMPRESS: Final = Arm(
    "compress-function",
    "COMPRESS() and UNCOMPRESS()",
    ENGINE,
    _server_compressed,
    convert=(f"ALTER TABLE {TABLE} MODIFY d LONGBLOB NOT NULL", f"UPDATE {TABLE} SET d = COMPRESS(d)"),
)
_PROTOCOL: Final = Arm(
    "protocol", "plain, protocol compressed", ENGINE, plain, connect_args={"compress": True}, only_link=True
)

MARIADB: Final = (
    *_common("mariadb"),
    Arm(
        "page",
        "page compression",
        ENGINE,
        plain,
        {"mariadb_page_compressed": "1"},
        convert=(f"ALTER TABLE {TABLE} PAGE_COMPRESSED=1",),
    ),
    Arm(
        "column-attribute",
        "COMPRESSED attribute",
        ENGINE,
        _column_attribute,
        convert=(f"ALTER TABLE {TABLE} MODIFY d LONGTEXT COMPRESSED NOT NULL",),
    ),
    _COMPRESS,
    _PROTOCOL,
    HAND_WRITTEN_ARM,
    *_ours("mariadb"),
)
MYSQL: Final = (
    *_common("mysql"),
    Arm(
        "page",
        "page compression",
        ENGINE,
        plain,
        {"mysql_compression": "'zlib'"},
        # The attribute alone touches no page that is there.
        convert=(f"ALTER TABLE {TABLE} COMPRESSION='zlib'", f"OPTIMIZE TABLE {TABLE}"),
    ),
    # MySQL turns a JSON column into bytes through a text.
    replace(
        _COMPRESS,
        convert=(
            f"ALTER TABLE {TABLE} MODIFY d LONGTEXT NOT NULL",
            f"ALTER TABLE {TABLE} MODIFY d LONGBLOB NOT NULL",
            f"UPDATE {TABLE} SET d = COMPRESS(d)",
        ),
    ),
    _PROTOCOL,
    HAND_WRITTEN_ARM,
    *_ours("mysql"),
)
