"""Results as Markdown tables and plots, in the folder of the results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlcompress.bench.figures import Figure, Group, amount, groups
from sqlcompress.bench.plots import plot
from sqlcompress.bench.ratios import BASE, Ratio, figures_of, ratio
from sqlcompress.bench.results import Results

FILE: Final = "README.md"
#: Differences smaller than this are not called better or worse.
_CLEARLY: Final = 0.02


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write the tables and plots.

    Args:
        results: Of a run, complete or not.
        folder: Where they go; files that are there are replaced.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [file for place in _places(results) for file in plot(results, *place, folder)]
    tables = folder / FILE
    tables.write_text("\n".join(_lines(results, files)) + "\n", encoding="utf-8")
    return [tables, *files]


def _places(results: Results) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.database, one.corpus) for one in results.measured))


def _lines(results: Results, files: list[Path]) -> Iterator[str]:
    yield "# Benchmark results"
    yield ""
    yield f"    {results.command}"
    yield ""
    yield f"Begun {results.started}. Figures are ratios to the plain arm of the same round: the median of"
    yield "the rounds, and from the smallest to the largest. Less is better everywhere. The plain arm's row"
    yield "has the figures themselves. Every value that was read was compared with the one that was written."
    yield ""
    yield from _facts("Machine", results.machine)
    yield from _facts("Versions", results.versions)
    settings = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in results.settings.items()
        if value is not None
    }
    yield from _facts("Settings", settings)
    for name, facts in results.corpora.items():
        yield f"Corpus {name}: {facts['rows']:,} rows of {facts['mean_bytes']:,.0f} bytes on average, made"
        yield f"of {facts['documents']:,} documents ({facts['source']}); {facts['reads']:,} reads by key; the"
        yield f"dictionary of {facts['dictionary_bytes']:,} bytes was trained from other documents."
        yield ""
    if results.left_out:
        yield "Left out:"
        yield ""
        yield from (f"- {text}" for text in results.left_out)
        yield ""
    yield from _better(results)
    for database, corpus in _places(results):
        yield f"## {database}, {corpus}"
        yield ""
        for file in files:
            if file.suffix == ".png" and file.stem == f"{database}-{corpus}":
                yield f"![Load, size and reads of each arm]({file.name})"
                yield ""
        for group in groups(figures_of(results, database, corpus)):
            yield from _table(results, database, corpus, group)


def _facts(title: str, facts: dict[str, str]) -> Iterator[str]:
    yield f"{title}:"
    yield ""
    yield from (f"- {name}: {value}" for name, value in facts.items())
    yield ""


def _table(results: Results, database: str, corpus: str, group: Group) -> Iterator[str]:
    rows = [
        (name, facts, [ratio(results, database, corpus, name, figure.name) for figure in group.figures])
        for name, facts in results.arms[database].items()
    ]
    yield f"### {group.title}"
    yield ""
    yield group.note
    yield ""
    yield f"| arm | {' | '.join(figure.title for figure in group.figures)} |"
    yield f"| --- |{' ---: |' * len(group.figures)}"
    for name, facts, found in rows:
        if any(one is not None for one in found):
            cells = [
                _cell(figure, one, is_base=name == BASE)
                for figure, one in zip(group.figures, found, strict=True)
            ]
            yield f"| {facts['title']} | {' | '.join(cells)} |"
    yield ""


def _cell(figure: Figure, found: Ratio | None, *, is_base: bool) -> str:
    if found is None:
        return ""
    if is_base:
        return amount(found.figure, figure.unit)
    if found.rounds == 1:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _better(results: Results) -> Iterator[str]:
    """Where the best arm of the engine beats the best of ours."""
    yield "## Where in-engine compression is the better choice"
    yield ""
    yield "Each line is a figure in which the engine's best arm, or the plain column, is better than the best"
    yield f"of ours by more than {_CLEARLY:.0%}. Each side's arm is chosen figure by figure."
    yield ""
    yield "| database | corpus | figure | the engine's best | | ours | |"
    yield "| --- | --- | --- | --- | ---: | --- | ---: |"
    for database, corpus in _places(results):
        for group in groups(figures_of(results, database, corpus)):
            for figure in group.figures:
                engine = _best(results, database, corpus, figure, {"plain", "engine"})
                ours = _best(results, database, corpus, figure, {"sqlcompress"})
                if engine and ours and engine[1] < ours[1] * (1 - _CLEARLY):
                    place = f"{database} | {corpus} | {group.title}: {figure.title}"
                    yield f"| {place} | {engine[0]} | {engine[1]:.2f} | {ours[0]} | {ours[1]:.2f} |"
    yield ""


def _best(
    results: Results, database: str, corpus: str, figure: Figure, families: set[str]
) -> tuple[str, float] | None:
    found = [
        (facts["title"], one.value)
        for name, facts in results.arms[database].items()
        if facts["family"] in families
        and (one := ratio(results, database, corpus, name, figure.name)) is not None
    ]
    return min(found, key=lambda pair: pair[1]) if found else None
