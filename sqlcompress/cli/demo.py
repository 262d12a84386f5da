"""``sqlcompress demo``: the whole story on real text."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from sqlalchemy import URL

from sqlcompress.cli.console import console_of, reporter
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.interrupts import terminated_as_interrupted
from sqlcompress.cli.options import dry_run_option, json_option, parse_url
from sqlcompress.demo import story
from sqlcompress.demo.models import TABLES
from sqlcompress.demo.reporting import DemoResult
from sqlcompress.demo.site import Site
from sqlcompress.jobs.figures import byte_size, ratio


@click.command(cls=JobCommand)
@click.option(
    "--url",
    callback=parse_url,
    metavar="URL",
    help="A database to run on instead of a temporary SQLite file: SQLite, PostgreSQL, MariaDB or MySQL. "
    "Refused where it has tables of an earlier run or is under Alembic already.",
)
@click.option(
    "--megabytes",
    type=click.FloatRange(min=0, min_open=True),
    help="Load about this much plain data.  [default: all there is, about 24 MB]",
)
@click.option("--keep", is_flag=True, help="Leave the compressed tables in place at the end.")
@json_option
@dry_run_option
def demo(url: URL | None, megabytes: float | None, *, keep: bool, as_json: bool, dry_run: bool) -> None:
    """Compress real text and show what it saves.

    Loads the standard library's sources, and JSON documents made from them, into plain tables; compresses
    them with two Alembic operations; inserts, reads, updates and finds rows through the ORM; compares every
    row with its original; then goes back to plain columns and drops the tables.
    """
    max_bytes = None if megabytes is None else int(megabytes * 1e6)
    with terminated_as_interrupted(), _database(url, keep=keep and not dry_run) as target:
        site = Site(target)
        try:
            if dry_run:
                _print_plan(site, url, as_json=as_json, keep=keep)
                return
            with reporter() as told:
                result = story.run(site, told, max_bytes=max_bytes, keep=keep)
        finally:
            site.close()
    if as_json:
        click.echo(json.dumps(_document(result), indent=2))
    else:
        _print_result(result)


@contextmanager
def _database(url: URL | None, *, keep: bool) -> Iterator[URL]:
    """The user's URL, or a SQLite file in a folder of its own, which goes unless it is to be kept."""
    if url is not None:
        yield url
    elif keep:
        yield _sqlite(tempfile.mkdtemp(prefix="sqlcompress-demo-"))
    else:
        with tempfile.TemporaryDirectory(prefix="sqlcompress-demo-") as folder:
            yield _sqlite(folder)


def _sqlite(folder: str) -> URL:
    return URL.create("sqlite", database=str(Path(folder, "demo.db")))


def _document(result: DemoResult) -> dict[str, Any]:
    document = asdict(result)
    for column, figures in zip(document["columns"], result.columns, strict=True):
        column["ratio"] = round(figures.ratio, 3)
    return document


def _print_plan(site: Site, url: URL | None, *, as_json: bool, keep: bool) -> None:
    end = "leave them compressed" if keep else "go back to plain columns and drop them"
    where = "a temporary file" if url is None else url.render_as_string(hide_password=True)
    if as_json:
        plan = {"database": site.title, "location": where, "tables": TABLES, "is_kept": keep, "dry_run": True}
        click.echo(json.dumps(plan, indent=2))
        return
    click.echo(f"Would run on {site.title} ({where}): create {' and '.join(sorted(TABLES))},")
    click.echo(f"load and compress them, compare every row, {end}. Nothing was changed.")


def _print_result(result: DemoResult) -> None:
    table = Table(title=f"{result.database}: before and after", title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("rows", "bytes before", "bytes after", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for column in result.columns:
        table.add_row(
            f"{column.table}.{column.column}",
            f"{column.rows:,}",
            byte_size(column.bytes_before),
            byte_size(column.bytes_after),
            ratio(column.bytes_before, column.bytes_after),
        )
    before = sum(column.bytes_before for column in result.columns)
    after = sum(column.bytes_after for column in result.columns)
    rows = sum(column.rows for column in result.columns)
    table.add_row(
        "both columns",
        f"{rows:,}",
        byte_size(before),
        byte_size(after),
        ratio(before, after),
        end_section=True,
    )
    storage = result.storage
    for label, size in (
        (storage.measure, storage.bytes_after),
        (f"{storage.measure}, after {storage.compaction}", storage.bytes_compacted),
    ):
        if size is not None:
            table.add_row(
                label, "", byte_size(storage.bytes_before), byte_size(size), ratio(storage.bytes_before, size)
            )
    console = console_of(sys.stdout)
    console.print(table)
    click.echo(f"{result.rows_verified:,} rows were compared with their originals: all are equal.")
    if storage.bytes_compacted is None:
        click.echo(f"The space that became free stays in the file until {storage.compaction}, which was not")
        click.echo("run because the database has tables of yours.")
    if result.is_kept:
        click.echo(f"The tables are left in {result.location}.")
