"""``sqlcompress bench run``: the same rows in plain columns, in the engine's own compression and in ours."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from sqlcompress.bench.corpora import NAMES
from sqlcompress.bench.databases import DATABASES
from sqlcompress.bench.limits import DiskLimits
from sqlcompress.bench.options import WORK, Options
from sqlcompress.bench.report import write_report
from sqlcompress.bench.run import run as measure
from sqlcompress.cli.console import LineReporter
from sqlcompress.cli.errors import JobCommand

_PLAIN = ("mariadb", "mysql", "postgresql", "sqlite")


class _Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.3
    """Names with commas between them."""

    name = "NAME,…"

    def __init__(self, known: tuple[str, ...] | None) -> None:
        self._known = known

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        for name in names:
            if self._known is not None and name not in self._known:
                self.fail(f"{name!r} is none of {', '.join(self._known)}", param, ctx)
        return names


def _rates(_ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[int, ...]:
    try:
        rates = tuple(int(rate) for rate in value)
    except ValueError:
        raise click.BadParameter("whole numbers of Mbit/s are needed", param=param) from None
    if any(not 1 <= rate <= 100_000 for rate in rates):
        raise click.BadParameter("a rate is 1 to 100000 Mbit/s", param=param)
    return rates


@click.command(cls=JobCommand)
@click.option("--databases", type=_Names(tuple(DATABASES)), default=_PLAIN, help="Which are started.")
@click.option(
    "--corpora", type=_Names(NAMES), default=None, help="text, json, short; all, if no file is given."
)
@click.option(
    "--corpus",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE.jsonl",
    help="Rows of your own: one JSON value a line, gzip or not. Can be given again.",
)
@click.option("--arms", type=_Names(None), default=(), help="Only these, and the plain arm.")
@click.option("--work", type=_Names(WORK), default=WORK, help=f"Only this: {', '.join(WORK)}.")
@click.option("--rows", type=click.IntRange(100), help="Rows of a table. [default: 200 MB of plain values]")
@click.option("--reads", type=click.IntRange(10), help="Reads by key. [default: as rows, at most 40,000]")
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Turns of each arm."
)
@click.option("--sessions", type=click.IntRange(1, 64), default=8, show_default=True, help="Clients.")
@click.option(
    "--memory-mb",
    type=click.IntRange(5),
    help="Buffer pool, shared buffers, SQLite's cache. [default: an eighth of the plain values]",
)
@click.option("--disk-iops", type=click.IntRange(50), help="Reads, and writes, a second of the disk.")
@click.option("--disk-mb", type=click.IntRange(1), help="Megabytes read, and written, a second.")
@click.option("--cache-mb", type=click.IntRange(64), help="Memory of the server, the page cache included.")
@click.option(
    "--link-mbit",
    type=_Names(None),
    callback=_rates,
    default=("10", "100", "1000"),
    help="Rates of the link.",
)
@click.option("--link-rows", type=click.IntRange(10), help="Rows that pass it. [default: about 5 MB]")
@click.option("--quick", is_flag=True, help="Little data, one round: to see that all of it runs.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="FOLDER",
    help="For results.json, the tables and the plots.",
)
def run(
    *,
    databases: tuple[str, ...],
    corpora: tuple[str, ...] | None,
    files: tuple[Path, ...],
    arms: tuple[str, ...],
    work: tuple[str, ...],
    rows: int | None,
    reads: int | None,
    rounds: int,
    sessions: int,
    memory_mb: int | None,
    disk_iops: int | None,
    disk_mb: int | None,
    cache_mb: int | None,
    link_mbit: tuple[int, ...],
    link_rows: int | None,
    quick: bool,
    output: Path,
) -> None:
    """Start private servers and measure every arm on the same rows.

    Servers run from this machine's programs, on the loopback interface, in a temporary folder that is
    removed afterwards; a full run takes hours. Results are written after every turn of an arm. Every value
    that is read is compared with the one that was written.
    """
    known = {arm.name for name in databases for arm in DATABASES[name].arms}
    for arm in arms:
        if arm not in known:
            raise click.BadParameter(
                f"no arm is called {arm!r}: {', '.join(sorted(known))}", param_hint="--arms"
            )
    options = Options(
        databases=databases,
        corpora=(() if files else NAMES) if corpora is None else corpora,
        folder=output,
        files=files,
        arms=arms,
        work=work,
        rows=rows,
        reads=reads,
        rounds=1 if quick else rounds,
        sessions=min(sessions, 2) if quick else sessions,
        memory_mb=memory_mb,
        limits=DiskLimits(disk_iops, disk_mb, cache_mb),
        rates=link_mbit[-1:] if quick else link_mbit,
        link_rows=link_rows,
        quick=quick,
    )
    if (output / "results.json").exists():
        raise click.BadParameter(f"{output} holds the results of another run", param_hint="--output")
    command = shlex.join(["sqlcompress", *sys.argv[1:]])
    results = measure(options, command, LineReporter(sys.stderr))
    for file in write_report(results, output):
        click.echo(file)
