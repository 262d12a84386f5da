"""Documents to measure with: from a file, or made up."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

_WORDS = """
account action address agent amount api batch body browser cache campaign cart channel city client
code country currency customer device discount domain email error event feature field file filter
flag group header host id index invoice item job key label language level limit link list locale
method mobile name number offset order origin owner page path payment phone plan platform price
product profile quantity query queue rate reason region report request result role route rule score
search segment sender server session shop size source stage status step stock store stream subject
tag target tax team template tenant theme ticket time token topic total trace type unit update url
user value version view visit widget zone
""".split()


def documents(count: int, path: str | None) -> list[bytes]:
    """``count`` JSON documents of about 900 bytes, or lines of a file, repeated where it has fewer.

    Args:
        count: How many.
        path: A file of one document a line, gzip or not; None for made-up events.
    """
    if path is not None:
        data = Path(path).read_bytes()
        lines = (gzip.decompress(data) if path.endswith(".gz") else data).splitlines()
        return [lines[i % len(lines)] for i in range(count)]
    dice = random.Random(0)  # noqa: S311
    return [_event(dice, i) for i in range(count)]


def _event(dice: random.Random, number: int) -> bytes:
    def words(low: int, high: int) -> str:
        return " ".join(dice.choice(_WORDS) for _ in range(dice.randrange(low, high)))

    event = {
        "id": f"{dice.getrandbits(128):032x}",
        "type": f"{dice.choice(_WORDS)}.{dice.choice(('created', 'changed', 'deleted', 'viewed'))}",
        "number": number,
        "at": f"2026-0{dice.randrange(1, 10)}-1{dice.randrange(10)}T1{dice.randrange(10)}:00:00Z",
        "user": {
            "id": dice.randrange(10**7),
            "name": words(2, 3).title(),
            "locale": dice.choice(("en", "de", "fr")),
        },
        "context": {
            "ip": f"10.{dice.randrange(256)}.{dice.randrange(256)}.7",
            "page": f"/{words(3, 5).replace(' ', '/')}",
        },
        "items": [
            {
                "sku": f"{dice.getrandbits(32):08x}",
                "title": words(2, 6),
                "quantity": dice.randrange(9),
                "price": dice.random(),
            }
            for _ in range(dice.randrange(1, 7))
        ],
        "note": words(5, 40),
    }
    return json.dumps(event, separators=(",", ":")).encode()
