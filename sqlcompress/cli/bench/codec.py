"""``sqlcompress bench codec``: the types over the bare codec, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from sqlcompress.bench.overhead import Overhead, overheads
from sqlcompress.cli.console import console_of
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.options import json_option


@click.command(cls=JobCommand)
@click.option("--quick", is_flag=True, help="One process, few values: to see that it runs.")
@click.option("--only", default="", metavar="NAME", help="Only cases whose name begins so.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep pyperf's own file, for `python -m pyperf compare_to`.",
)
@json_option
def codec(*, quick: bool, only: str, output: Path | None, as_json: bool) -> None:
    """Time the types over the bare codec and serializer, value by value.

    pyperf runs every benchmark in several processes; on a quiet machine it takes about ten minutes. The ratio
    is what binding or reading one value through the type takes over what it takes by hand.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "codec.json"
        words = ["--processes=1", "--values=2", "--warmups=0", "--loops=20"] if quick else []
        command = [sys.executable, "-m", "sqlcompress.bench.codec", "-o", str(file), "--only", only, *words]
        with subprocess.Popen(  # noqa: S603 - our own module
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as child:
            for line in child.stdout or ():
                click.echo(line, nl=False, err=True)
        if child.returncode != 0:
            raise click.ClickException(f"pyperf ended with status {child.returncode}")
        if not file.exists():
            raise click.BadParameter(f"no case is called {only!r}", param_hint="--only")
        found = overheads(file)
        if output is not None:
            output.write_bytes(file.read_bytes())
    if as_json:
        click.echo(json.dumps([{**asdict(one), "ratio": one.ratio} for one in found], indent=2))
        return
    console_of(sys.stdout).print(_table(found))


def _table(found: list[Overhead]) -> Table:
    table = Table("value", "codec", "direction", "bare, µs", "type, µs", "ratio", "spread")
    for column in table.columns[3:]:
        column.justify = "right"
    for one in found:
        figures = f"{one.bare_us:.2f}", f"{one.type_us:.2f}", f"{one.ratio:.3f}", f"{one.spread:.0%}"
        table.add_row(one.value, one.codec, one.direction, *figures)
    return table
