"""Bars of the figures that decide: load, size, reads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sqlcompress.bench.ratios import Ratio, ratio
from sqlcompress.bench.results import Results

_SHOWN: Final = {
    "load_seconds": "load, seconds",
    "allocated_bytes": "allocated, bytes",
    "rebuilt_bytes": "rebuilt, bytes",
    "read_seconds": "reads by key, seconds",
}
#: Told apart by people who see colours differently too (Okabe and Ito, "Color Universal Design", 2008).
_COLOURS: Final = {
    "plain": "#999999",
    "engine": "#E69F00",
    "hand-written": "#56B4E9",
    "sqlcompress": "#009E73",
}
_INCHES_A_BAR: Final = 0.34


def plot(results: Results, database: str, corpus: str, folder: Path) -> list[Path]:
    """One picture for a database and corpus, as PNG and SVG; none where nothing of it was measured.

    Returns:
        The files.
    """
    panels = {name: found for name in _SHOWN if (found := _of_arms(results, database, corpus, name))}
    if not panels:
        return []
    arms = results.arms[database]
    height = 1.2 + _INCHES_A_BAR * max(map(len, panels.values()))
    figure = Figure(figsize=(3.2 * len(panels) + 2.2, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (name, found) in zip(axes, panels.items(), strict=True):
        titles = [arms[arm]["title"] for arm in found]
        ratios = list(found.values())
        axis.barh(
            titles,
            [one.value for one in ratios],
            color=[_COLOURS[arms[arm]["family"]] for arm in found],
            xerr=(
                [one.value - one.low for one in ratios],
                [one.high - one.value for one in ratios],
            ),
            error_kw={"elinewidth": 1, "ecolor": "#333333"},
        )
        for place, one in enumerate(ratios):
            axis.text(0.02, place, f"{one.value:.2f}", va="center", transform=axis.get_yaxis_transform())
        axis.axvline(1.0, color="#333333", linewidth=0.8)
        axis.set_title(_SHOWN[name], fontsize=10)
        axis.set_xlim(left=0)
    axes[0].invert_yaxis()
    figure.suptitle(
        f"{database}, {corpus}: over the plain arm of the same round, less is better", fontsize=11
    )
    files = [folder / f"{database}-{corpus}.{suffix}" for suffix in ("png", "svg")]
    for file in files:
        # No date, so that rendering again changes nothing.
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        figure.savefig(file, dpi=110, metadata=metadata)
    return files


def _of_arms(results: Results, database: str, corpus: str, name: str) -> dict[str, Ratio]:
    found = {arm: ratio(results, database, corpus, arm, name) for arm in results.arms[database]}
    return {arm: one for arm, one in found.items() if one is not None}
