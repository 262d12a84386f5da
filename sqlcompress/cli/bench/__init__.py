"""``sqlcompress bench``: measurements of compressed columns, beside in-engine compression and alone."""

from __future__ import annotations

import click

from sqlcompress.cli.bench.codec import codec
from sqlcompress.cli.bench.compare import compare
from sqlcompress.cli.bench.report import report
from sqlcompress.cli.bench.run import run


@click.group()
def bench() -> None:
    """Measure compressed columns on this machine."""


for command in (run, report, compare, codec):
    bench.add_command(command)
