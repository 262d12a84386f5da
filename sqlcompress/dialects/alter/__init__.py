"""Changing a column's type, one class for each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.dialects.alter.base import Alteration, TargetType
from sqlcompress.dialects.alter.mysql import MySQLAlteration
from sqlcompress.dialects.alter.postgresql import PostgreSQLAlteration
from sqlcompress.dialects.alter.sqlite import SQLiteAlteration

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import Dialect

__all__ = ["Alteration", "TargetType", "alteration_of"]

_BY_NAME: dict[str, type[Alteration]] = {
    "sqlite": SQLiteAlteration,
    "postgresql": PostgreSQLAlteration,
    "mysql": MySQLAlteration,
    "mariadb": MySQLAlteration,
}


def alteration_of(dialect: Dialect) -> Alteration:
    """The type changes of the database that ``dialect`` is for."""
    return _BY_NAME.get(dialect.name, Alteration)(dialect)
