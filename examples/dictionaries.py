"""A dictionary trained from the rows at hand, and what it saves on those that follow.

Run it: python examples/dictionaries.py
"""

from __future__ import annotations

import json

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, create_engine, func, select, type_coerce

from sqlcompress import CompressedJSON, DictionaryStore, Zstd, install
from sqlcompress.training import train

EVENT = Table(
    "event",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("body", CompressedJSON(Zstd(dictionary="events"))),
)


def event(number: int) -> dict[str, object]:
    """An event like those before it."""
    return {
        "event": "order.line.added",
        "account": f"{number * 7919 % 10007:06}",
        "line": {"product": number % 997, "quantity": number % 13, "price": f"{number % 89}.50"},
    }


def main() -> None:
    """Write events without a dictionary, train one from them, and write as many with it."""
    engine = install(create_engine("sqlite://"), refresh_seconds=0)
    EVENT.metadata.create_all(engine)
    store = DictionaryStore(engine)
    store.create_table()
    with engine.begin() as connection:
        connection.execute(EVENT.insert(), [{"body": event(i)} for i in range(1000)])
        values = [json.dumps(body).encode() for body in connection.scalars(select(EVENT.c.body))]
    training = train("events", values)
    if training.dictionary is None:
        raise SystemExit(training.reason)
    # At once, since this program is the only one: after_seconds is for other processes to hear of it.
    store.publish(training.dictionary, training)
    store.activate(training.dictionary.id, after_seconds=0)
    with engine.begin() as connection:
        connection.execute(EVENT.insert(), [{"body": event(i)} for i in range(1000, 2000)])
        size = func.sum(func.length(type_coerce(EVENT.c.body, LargeBinary)))
        for label, condition in (("before", EVENT.c.id <= 1000), ("after", EVENT.c.id > 1000)):
            print(f"{label}: {connection.scalar(select(size).where(condition))} bytes")
        bodies = connection.scalars(select(EVENT.c.body).order_by(EVENT.c.id)).all()
    print(f"equal: {bodies == [event(i) for i in range(2000)]}")


if __name__ == "__main__":
    main()
