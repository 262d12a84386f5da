"""Two runs side by side, by their ratios to the plain arm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlcompress.bench.ratios import BASE, figures_of, ratio
from sqlcompress.bench.results import Results


@dataclass(frozen=True)
class Change:
    """One figure of one arm, in both runs.

    Attributes:
        database: The database.
        corpus: The corpus.
        arm: The arm.
        figure: The figure's name.
        before: Its ratio to the plain arm in the first run.
        after: In the second.
        is_apart: Whether the ranges over the rounds do not meet.
    """

    database: str
    corpus: str
    arm: str
    figure: str
    before: float
    after: float
    is_apart: bool


def changes(before: Results, after: Results) -> Iterator[Change]:
    """All figures that both runs have."""
    places = dict.fromkeys((one.database, one.corpus) for one in before.measured)
    for database, corpus in places:
        for arm in before.arms.get(database, {}):
            if arm == BASE:
                continue
            for figure in figures_of(before, database, corpus):
                first = ratio(before, database, corpus, arm, figure)
                second = ratio(after, database, corpus, arm, figure)
                if first is not None and second is not None and first.value and second.value:
                    is_apart = first.high < second.low or second.high < first.low
                    yield Change(database, corpus, arm, figure, first.value, second.value, is_apart)
