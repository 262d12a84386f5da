"""Checked by mypy and pyright, never run: how the public names look to a type checker."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from typing_extensions import assert_type

from sqlcompress import (
    Codec,
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    DecodeError,
    Dictionary,
    DictionaryNotFoundError,
    Gzip,
    MigrationBlockedError,
    MigrationFailedError,
    SqlcompressError,
    Zlib,
    Zstd,
)

events = Dictionary.from_file("events.zdict")
assert_type(events, Dictionary)
assert_type(events.id, int)
assert_type(events.content, bytes)
codecs: list[Codec] = [
    Zstd(),
    Zstd(19, events, checksum=False),
    Zstd(dictionary="events"),
    Zlib(9),
    Gzip(level=1),
]


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "article"

    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str] = mapped_column(CompressedText())
    notes: Mapped[str | None] = mapped_column(CompressedText("zlib", 64, 10_000, ("mysql", "base64")))
    meta: Mapped[dict[str, Any]] = mapped_column(CompressedJSON(Zstd(dictionary=events)))
    state: Mapped[dict[str, Any]] = mapped_column(MutableDict.as_mutable(CompressedJSON()))
    data: Mapped[bytes] = mapped_column(CompressedBinary(Gzip()))


table = sa.Table(
    "item",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("body", CompressedText().with_variant(sa.Text(), "sqlite")),
    sa.Column("meta", CompressedJSON(none_as_null=True, serializer=json.dumps, deserializer=json.loads)),
    sa.Column("data", CompressedBinary(codec="gzip", min_size=0, max_size=2**20, legacy=("zlib",))),
)

body_column: sa.Column[str] = sa.Column("body", CompressedText())
data_column: sa.Column[bytes] = sa.Column("data", CompressedBinary())
meta_column: sa.Column[Any] = sa.Column("meta", CompressedJSON(), default=CompressedJSON.NULL)


def stored_and_back(kind: CompressedText | CompressedJSON | CompressedBinary) -> bytes:
    assert_type(kind.codec, Codec)
    assert_type(kind.min_size, int)
    assert_type(kind.max_size, int)
    assert_type(kind.legacy, tuple[str, ...])
    stored = kind.to_stored(b"plain")
    assert_type(stored, bytes)
    return kind.from_stored(stored)


def read(session: Session) -> list[str]:
    article = session.get_one(Article, 1)
    assert_type(article.body, str)
    assert_type(article.notes, str | None)
    assert_type(article.meta, dict[str, Any])
    assert_type(article.data, bytes)
    missing = sa.select(Article.id).where(Article.notes.is_(None))
    for key in session.scalars(missing):
        assert_type(key, int)
    return list(session.scalars(sa.select(Article.body)))


def told(error: SqlcompressError) -> tuple[object, ...]:
    if isinstance(error, DictionaryNotFoundError):
        assert_type(error.dictionary_id, int | None)
    if isinstance(error, DecodeError):
        as_value_error: ValueError = error
        return (as_value_error,)
    if isinstance(error, MigrationBlockedError):
        assert_type(error.blockers, tuple[str, ...])
    if isinstance(error, MigrationFailedError):
        return error.failed_keys
    return ()
