"""The demonstration's tables twice: as they were, and with the two large columns compressed.

What a user changes is the type of a column. Both versions describe the same tables, so that the same rows can
be written before the migration and read after it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, String, Text
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from sqlcompress import CompressedJSON, CompressedText


class PlainBase(MappedAsDataclass, DeclarativeBase):
    """The models before the migration."""


class PlainArticle(PlainBase):
    """A text in a plain column."""

    __tablename__ = "sqlcompress_demo_article"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(String(255), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    body: Mapped[str] = mapped_column(Text().with_variant(LONGTEXT(), "mysql", "mariadb"))


class PlainSymbol(PlainBase):
    """A JSON document in a plain column."""

    __tablename__ = "sqlcompress_demo_symbol"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(String(255), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    line: Mapped[int]
    meta: Mapped[dict[str, Any]] = mapped_column(JSON)


class Base(MappedAsDataclass, DeclarativeBase):
    """The models after the migration."""


class Article(Base):
    """A text in a compressed column."""

    __tablename__ = "sqlcompress_demo_article"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(String(255), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    body: Mapped[str] = mapped_column(CompressedText())


class Symbol(Base):
    """A JSON document in a compressed column."""

    __tablename__ = "sqlcompress_demo_symbol"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(String(255), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    line: Mapped[int]
    meta: Mapped[dict[str, Any]] = mapped_column(CompressedJSON())


#: The tables, the last made first: the order to drop them in.
TABLES = (Symbol.__tablename__, Article.__tablename__)
