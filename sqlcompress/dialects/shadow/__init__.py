"""A new column beside the old one, and triggers that remember what changed, one class for each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.shadow.base import NewColumn, Shadow
from sqlcompress.dialects.shadow.mysql import MySQLShadow
from sqlcompress.dialects.shadow.postgresql import PostgreSQLShadow
from sqlcompress.dialects.shadow.sqlite import SQLiteShadow

if TYPE_CHECKING:
    from sqlcompress.dialects.names import ShadowNames
    from sqlcompress.dialects.rows import Rows

__all__ = ["NewColumn", "Shadow", "shadow_of"]

_BY_NAME: dict[str, type[Shadow]] = {
    "sqlite": SQLiteShadow,
    "postgresql": PostgreSQLShadow,
    "mysql": MySQLShadow,
    "mariadb": MySQLShadow,
}


def shadow_of(rows: Rows, names: ShadowNames, new: NewColumn) -> Shadow:
    """The shadow of the column that ``rows`` reads."""
    return _BY_NAME[rows.dialect.name](rows, names, new)
