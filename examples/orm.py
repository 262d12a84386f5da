"""Two compressed columns in ordinary ORM code.

Run it: python examples/orm.py
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import String, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlcompress import CompressedJSON, CompressedText, Zlib


class Base(DeclarativeBase):
    """The models."""


class Article(Base):
    """A text and what is known about it."""

    __tablename__ = "article"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(200), index=True)
    body: Mapped[str] = mapped_column(CompressedText())
    # zlib is what MySQL and MariaDB can decompress themselves.
    meta: Mapped[dict[str, Any]] = mapped_column(CompressedJSON(Zlib(level=6)))


def main() -> None:
    """Write, change and read one article."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)

    with Session(engine) as session, session.begin():
        session.add(
            Article(
                title="Rain", body="It rained all day. " * 200, meta={"tags": ["weather"], "likes": 2**40}
            )
        )

    with Session(engine) as session, session.begin():
        article = session.scalars(select(Article).where(Article.title == "Rain")).one()
        article.body += "In the evening it stopped."
        article.meta = {**article.meta, "edited": True}

    with Session(engine) as session:
        article = session.scalars(select(Article)).one()
        stored = session.connection().exec_driver_sql("SELECT length(body) FROM article").scalar_one()
        print(f"{article.title}: {len(article.body)} characters, {stored} bytes stored, {article.meta}")
    engine.dispose()


if __name__ == "__main__":
    main()
