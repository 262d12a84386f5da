"""Compressed columns with an asynchronous driver.

Run it: pip install aiosqlite greenlet; python examples/async_orm.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlcompress import CompressedJSON


class Base(DeclarativeBase):
    """The models."""


class Event(Base):
    """A JSON document."""

    __tablename__ = "event"

    id: Mapped[int] = mapped_column(primary_key=True)
    payload: Mapped[dict[str, Any]] = mapped_column(CompressedJSON())


async def main() -> None:
    """Write events and stream them back."""
    engine = create_async_engine("sqlite+aiosqlite://")
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)

    async with AsyncSession(engine) as session, session.begin():
        session.add_all(Event(payload={"number": number, "text": "tick " * 100}) for number in range(1000))

    async with AsyncSession(engine) as session:
        numbers = [event.payload["number"] async for event in await session.stream_scalars(select(Event))]
    print(f"{len(numbers)} events read, their numbers add up to {sum(numbers)}")
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(main())
