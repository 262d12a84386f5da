"""Questions to compressed columns: decoded by the database, or answered by an index over a companion column.

Run it: python examples/questions.py
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlcompress import CompressedJSON, CompressedText, digest_of, extracted, install, stored_size


class Base(DeclarativeBase):
    """The models."""


class Mail(Base):
    """A text and a document, each with a companion."""

    __tablename__ = "mail"

    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str] = mapped_column(CompressedText())
    body_digest = digest_of(body, index=True)
    meta: Mapped[dict[str, Any]] = mapped_column(CompressedJSON())
    sender = extracted(meta, ("from", "id"), BigInteger, index=True)


def main() -> None:
    """Ask in every way."""
    engine = install(create_engine("sqlite://"))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        for number in range(500):
            body = f"Dear customer {number},\n" + "thank you for your message. " * 30
            session.add(Mail(body=body, meta={"from": {"id": number % 50}, "read": number % 3 == 0}))
        session.commit()
        one = session.scalars(select(Mail).where(Mail.id == 7)).one()
        for title, question in (
            ("by the digest", select(Mail.id).where(Mail.body == one.body)),
            ("by the sender", select(Mail.id).where(Mail.meta["from"]["id"].as_integer() == 6)),
            ("decoded: LIKE", select(Mail.id).where(Mail.body.like("%customer 12%"))),
            ("decoded: another path", select(Mail.id).where(Mail.meta["read"].as_boolean())),
        ):
            print(f"{title}: {len(session.scalars(question).all())} rows")
        sizes = select(func.sum(stored_size(Mail.body)), func.sum(func.length(Mail.body)))
        print("{:,} bytes stored of {:,}".format(*session.execute(sizes).one()))


if __name__ == "__main__":
    main()
