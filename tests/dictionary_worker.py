"""A process that writes and reads with whatever dictionaries there are; every value follows from its key.

``python -m tests.dictionary_worker`` with a JSON document on standard input. It ends when the file ``stop``
is there, and prints how much it did and with which dictionaries.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from sqlcompress import CompressedText, Zstd, install, loading
from sqlcompress.known import known_of

T = sa.Table(
    "event",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("d", CompressedText(Zstd(dictionary="events"))),
)
#: Seconds between two transactions: as many rows as a rotation can go through in a second or two.
PAUSE = 0.05
KINDS = ("delivery", "invoice", "reminder")


def text(i: int) -> str:
    """The value of the row with that key."""
    kind = KINDS[i % 3]
    return (
        f"{kind} {i * 6151 % 99991:05} by northern parcel service, in transit at depot {i % 9}, order {i:06};"
        f" {kind} {i * 6113 % 99991:05} by northern parcel service, at depot {i % 8}"
    )


def work(connection: sa.Connection, first: int, keys: list[int], dice: random.Random) -> int:
    """Write a row, and read some of those before it."""
    key = keys[-1] + 10 if keys else first
    connection.execute(T.insert(), {"id": key, "d": text(key)})
    asked = [*dice.sample(keys, min(20, len(keys))), key]
    found = {i: value for i, value in connection.execute(sa.select(T.c.id, T.c.d).where(T.c.id.in_(asked)))}  # noqa: C416
    wrong = [i for i in asked if found.get(i) != text(i)]
    if wrong:
        raise AssertionError(f"wrong values for {wrong}")
    keys.append(key)
    return len(found)


def sync(settings: dict[str, Any], dice: random.Random) -> tuple[int, set[int]]:
    engine = install(sa.create_engine(settings["url"], **settings["arguments"]), refresh_seconds=0.2)
    keys: list[int] = []
    rows, seen, stop = 0, set[int](), settings["stop"]
    while not os.path.exists(stop):  # noqa: PTH110 - a moment
        with engine.begin() as connection:
            # Now and then a connection is held for long.
            for _ in range(dice.choice([1, 1, 1, 60])):
                rows += work(connection, settings["first"], keys, dice)
        seen |= {dictionary.id for dictionary in known_of(engine.dialect).active.values()}
        time.sleep(PAUSE)
    engine.dispose()
    return rows, seen


async def asynchronous(settings: dict[str, Any], dice: random.Random) -> tuple[int, set[int]]:
    engine = install(create_async_engine(settings["url"], **settings["arguments"]), refresh_seconds=0.2)
    keys: list[int] = []
    rows, seen, stop = 0, set[int](), settings["stop"]
    while not os.path.exists(stop):  # noqa: ASYNC240, PTH110 - a moment
        async with engine.begin() as connection:
            for _ in range(dice.choice([1, 1, 1, 60])):
                rows += await connection.run_sync(work, settings["first"], keys, dice)
            # Outside the greenlet, too.
            result = await connection.execute(sa.select(T.c.id, T.c.d).where(T.c.id.in_(keys[-30:])))
            for i, value in result.all():
                if value != text(i):
                    raise AssertionError(f"wrong value for {i}")
        seen |= {dictionary.id for dictionary in known_of(engine.dialect).active.values()}
        await asyncio.sleep(PAUSE)
    await engine.dispose()
    return rows, seen


if __name__ == "__main__":
    given = json.load(sys.stdin)
    loading.WRITE_SECONDS = given["write_seconds"]  # type: ignore[misc]
    chance = random.Random(given["first"])
    done = asyncio.run(asynchronous(given, chance)) if given["async"] else sync(given, chance)
    print(json.dumps({"rows": done[0], "dictionaries": sorted(done[1])}))
