"""Documents to measure with, the same on every machine: JSON events and articles, made up from words."""

from __future__ import annotations

import random
from typing import Any

_TEXT = """
account action address agent amount batch body browser cache campaign cart channel city client code
country currency customer device discount domain error event feature field file filter flag group header
host index invoice item job label language level limit link list locale method mobile name number offset
order origin owner page path payment phone plan platform price product profile quantity query queue rate
reason region report request result role route rule score search segment sender server session shop size
source stage status
"""
_WORDS = _TEXT.split()


def event(number: int) -> dict[str, Any]:
    """A JSON document of about 900 bytes; each number gives another."""
    dice = random.Random(number)  # noqa: S311 - made up, not secret
    return {
        "event": f"{dice.choice(_WORDS)}.{dice.choice(_WORDS)}.changed",
        "id": f"{dice.getrandbits(128):032x}",
        "at": f"2026-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}:15:00.125Z",
        "account": {"id": dice.randint(1, 99999), "plan": dice.choice(_WORDS), "größe": dice.randint(1, 9)},
        "tags": dice.sample(_WORDS, 6),
        "lines": [
            {
                "product": dice.randint(1000, 9999),
                "name": f"{dice.choice(_WORDS)} {dice.choice(_WORDS)}",
                "quantity": dice.randint(1, 20),
                "price": round(dice.uniform(1, 200), 2),
                "taxed": dice.random() < 0.5,
            }
            for _ in range(5)
        ],
        "note": " ".join(dice.choices(_WORDS, k=18)),
    }


def article(number: int, size: int = 24_000) -> str:
    """A text of about ``size`` characters; each number gives another."""
    dice = random.Random(number)  # noqa: S311 - made up, not secret
    sentences: list[str] = []
    total = 0
    while total < size:
        words = dice.choices(_WORDS, k=dice.randint(5, 18))
        sentences.append(f"{' '.join(words).capitalize()}.")
        total += len(sentences[-1]) + 1
    return " ".join(sentences)
