"""``sqlcompress bench compare``: two runs side by side."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from sqlcompress.bench.compare import Change, changes
from sqlcompress.bench.results import Results
from sqlcompress.cli.console import console_of
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.options import json_option

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(cls=JobCommand)
@click.argument("before", type=_FOLDER)
@click.argument("after", type=_FOLDER)
@click.option("--all", "everything", is_flag=True, help="Also what differs by less than both runs vary.")
@json_option
def compare(*, before: Path, after: Path, everything: bool, as_json: bool) -> None:
    """What changed between two runs: ratios to the plain arm, which a faster machine does not move.

    By default only figures are shown whose ranges in the two runs do not meet.
    """
    found = [one for one in changes(Results.load(before), Results.load(after)) if everything or one.is_apart]
    if as_json:
        click.echo(json.dumps([{**asdict(one), "is_apart": one.is_apart} for one in found], indent=2))
        return
    console_of(sys.stdout).print(_table(found))


def _table(found: list[Change]) -> Table:
    table = Table("database", "corpus", "arm", "figure", "before", "after", "after / before")
    for column in table.columns[4:]:
        column.justify = "right"
    for one in found:
        figures = f"{one.before:.3f}", f"{one.after:.3f}", f"{one.after / one.before:.2f}"
        table.add_row(one.database, one.corpus, one.arm, one.figure, *figures)
    return table
