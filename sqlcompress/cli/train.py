"""``sqlcompress train``: a dictionary out of a column's values."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from sqlalchemy import URL

from sqlcompress.cli.column_type import column_type
from sqlcompress.cli.console import console_of, reporter
from sqlcompress.cli.engines import job_engine, refuse_asynchronous
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.options import dry_run_option, json_option, parse_url
from sqlcompress.jobs.sample import SAMPLE_BYTES, SAMPLE_ROWS
from sqlcompress.jobs.train import Trained, train_from
from sqlcompress.store import GRACE_SECONDS, DictionaryStore
from sqlcompress.training import MAX_SIZE, MIN_GAIN, MIN_SIZE, SIZES, Training


@click.command(cls=JobCommand)
@click.argument("url", callback=parse_url)
@click.argument("name")
@click.argument("table")
@click.argument("column")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["binary", "json", "text"]),
    default="text",
    show_default=True,
    help="What the model says of the column.",
)
@click.option(
    "--legacy",
    type=click.Choice(["mysql", "zlib", "base64"]),
    multiple=True,
    help="Also read this older format; may be given several times.",
)
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(MIN_SIZE, MAX_SIZE),
    multiple=True,
    default=SIZES,
    show_default=True,
    help="Bytes of a dictionary to try; may be given several times.",
)
@click.option(
    "--level",
    "levels",
    type=click.IntRange(1, 22),
    multiple=True,
    default=(3,),
    show_default=True,
    help="A zstd level to measure; may be given several times.",
)
@click.option(
    "--min-gain",
    type=click.FloatRange(0, 1, max_open=True),
    default=MIN_GAIN,
    show_default=True,
    help="The part of the stored bytes that has to be saved.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), default=SAMPLE_ROWS, show_default=True, help="Values to train from."
)
@click.option(
    "--bytes",
    "sample_bytes",
    type=click.IntRange(min=1),
    default=SAMPLE_BYTES,
    show_default=True,
    help="Their plain bytes at most.",
)
@click.option("--where", metavar="SQL", help="Only rows of this condition.")
@click.option("--schema", help="The table's schema.")
@click.option("--dictionary-schema", help="The schema of sqlcompress_dictionary.")
@click.option(
    "--activate-after",
    type=click.FloatRange(min=0),
    default=GRACE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="When it is written with; by 180 s every application has it.",
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to a file, too.")
@json_option
@dry_run_option
def train(
    url: URL,
    name: str,
    table: str,
    column: str,
    *,
    kind: str,
    legacy: tuple[str, ...],
    sizes: tuple[int, ...],
    levels: tuple[int, ...],
    min_gain: float,
    rows: int,
    sample_bytes: int,
    where: str | None,
    schema: str | None,
    dictionary_schema: str | None,
    activate_after: float,
    output: Path | None,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Train a dictionary NAME from COLUMN of TABLE, and keep it in the database where it pays.

    The values may be plain or compressed. A part of them is held out and measured on; where no dictionary
    pays, the reason is printed and nothing is kept. With --dry-run it is only measured.
    """
    refuse_asynchronous(url)
    if not name:
        raise click.BadParameter("cannot be empty", param_hint="NAME")
    type_ = column_type(kind, "zstd", None, None, 64, legacy)
    with job_engine(url) as engine, reporter() as told, engine.begin() as connection:
        trained = train_from(
            connection,
            name,
            table,
            column,
            type_=type_,
            store=DictionaryStore(connection, dictionary_schema),
            schema=schema,
            where=where,
            sizes=sizes,
            levels=levels,
            min_gain=min_gain,
            sample_rows=rows,
            sample_bytes=sample_bytes,
            activate_after=activate_after,
            keep=not dry_run,
            progress=told.note,
        )
        if output is not None and trained.training.dictionary is not None:
            trained.training.dictionary.to_file(output)
    if as_json:
        click.echo(json.dumps(_document(trained), indent=2))
        return
    _print(name, trained)


def _document(trained: Trained) -> dict[str, Any]:
    training = trained.training
    return {
        "dictionary": None if training.dictionary is None else training.dictionary.id,
        "reason": training.reason,
        "state": None if trained.stored is None else trained.stored.state,
        "sample_rows": training.sample_rows,
        "sample_bytes": training.sample_bytes,
        "held_out_rows": training.held_out_rows,
        "held_out_bytes": training.held_out_bytes,
        "candidates": [
            {**asdict(candidate), "ratio": candidate.ratio, "ratio_without": candidate.ratio_without}
            for candidate in training.candidates
        ],
    }


def table_of(training: Training) -> Table:
    """What was measured, for printing."""
    table = Table("size", "level", "ratio", "without", "µs to compress", "without", "µs to read", "without")
    for column in table.columns:
        column.justify = "right"
    for candidate in training.candidates:
        chosen = "*" if candidate is training.chosen else ""
        table.add_row(
            f"{chosen}{candidate.size:,}",
            str(candidate.level),
            f"{candidate.ratio:.2f}",
            f"{candidate.ratio_without:.2f}",
            f"{candidate.compress_us:.1f}",
            f"{candidate.compress_us_without:.1f}",
            f"{candidate.decompress_us:.1f}",
            f"{candidate.decompress_us_without:.1f}",
        )
    return table


def _print(name: str, trained: Trained) -> None:
    training = trained.training
    if training.candidates:
        console_of(sys.stdout).print(table_of(training))
    numbers = f"{training.sample_rows:,} values trained from, {training.held_out_rows:,} measured on"
    click.echo(f"{numbers}: {training.reason}.")
    if training.dictionary is None:
        click.echo(f"No dictionary {name!r} was made; columns that name it go on as they are.")
    elif trained.stored is None:
        click.echo("Nothing was changed.")
    else:
        click.echo(f"Dictionary {trained.stored.id} ({name!r}) is {trained.stored.state}.")
