"""``sqlcompress bench report``: tables and plots of results that are there."""

from __future__ import annotations

from pathlib import Path

import click

from sqlcompress.bench.report import write_report
from sqlcompress.bench.results import Results
from sqlcompress.cli.errors import JobCommand


@click.command(cls=JobCommand)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Render the tables and plots of FOLDER's results again."""
    for file in write_report(Results.load(folder), folder):
        click.echo(file)
