"""Figures over those of the plain arm in the same round, and how much they vary."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from sqlcompress.bench.results import Results

BASE = "plain"


@dataclass(frozen=True)
class Ratio:
    """A figure of one arm.

    Attributes:
        value: The median, over the rounds, of the figure over that of the plain arm in the same round.
        low: The smallest of the rounds.
        high: The largest.
        figure: The median of the figure itself, in its own unit.
        rounds: How many there were.
    """

    value: float
    low: float
    high: float
    figure: float
    rounds: int


def ratio(results: Results, database: str, corpus: str, arm: str, figure: str) -> Ratio | None:
    """A figure of an arm over that of the plain arm; None where one of them was not measured."""
    by_round: dict[int, dict[str, float]] = {}
    for one in results.measured:
        if (
            (one.database, one.corpus) == (database, corpus)
            and one.arm in {arm, BASE}
            and figure in one.figures
        ):
            by_round.setdefault(one.round, {})[one.arm] = one.figures[figure]
    pairs = [(found[arm], found[BASE]) for found in by_round.values() if arm in found and found.get(BASE)]
    if not pairs:
        return None
    values = [own / base for own, base in pairs]
    median = statistics.median(own for own, _ in pairs)
    return Ratio(statistics.median(values), min(values), max(values), median, len(pairs))


def figures_of(results: Results, database: str, corpus: str) -> list[str]:
    """Names of all figures that were measured, in the order they came."""
    names: dict[str, None] = {}
    for one in results.measured:
        if (one.database, one.corpus) == (database, corpus):
            names.update(dict.fromkeys(one.figures))
    return list(names)
