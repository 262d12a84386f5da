"""``sqlcompress maintain``: what is due for a database's dictionaries."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict

import click
from sqlalchemy import URL

from sqlcompress.cli.console import reporter
from sqlcompress.cli.dictionaries import drift_options
from sqlcompress.cli.engines import job_engine, refuse_asynchronous
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.interrupts import terminated_as_interrupted
from sqlcompress.cli.lag import check_lag_options, lag_of, lag_options
from sqlcompress.cli.options import dry_run_option, json_option, parse_url
from sqlcompress.cli.rewrite import Shown
from sqlcompress.jobs.maintain import Limits, Maintenance

_INTERRUPTED = 128 + signal.SIGINT


@click.command(cls=JobCommand)
@click.argument("url", callback=parse_url)
@click.option(
    "--max-seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="Begin nothing after this time."
)
@drift_options
@click.option(
    "--recompress/--no-recompress",
    default=True,
    show_default=True,
    help="Recompress the rows of replaced dictionaries.",
)
@click.option("--where", metavar="SQL", help="Of those, only rows of this condition, such as cold ones.")
@click.option("--drop", is_flag=True, help="Drop retired dictionaries that no value needs.")
@click.option(
    "--batch-rows", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="Rows a batch."
)
@click.option(
    "--pause", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Rest after each batch."
)
@click.option("--schema", help="The schema of sqlcompress_dictionary.")
@lag_options
@json_option
@dry_run_option
def maintain(
    url: URL,
    *,
    max_seconds: float | None,
    min_gain: float,
    fresh_rows: int,
    recompress: bool,
    where: str | None,
    drop: bool,
    batch_rows: int,
    pause: float,
    schema: str | None,
    schemas: tuple[str, ...],
    max_lag: float | None,
    lag_query: str | None,
    replicas: tuple[URL, ...],
    as_json: bool,
    dry_run: bool,
) -> None:
    """Do what is due for the dictionaries of a database; made to be called daily.

    For each column whose newest rows have a dictionary: train a new one where that pays, and have it written
    with once every application has it; retire what was replaced; recompress the rows of replaced ones. A run
    that is interrupted, or out of time, is gone on with by the next.
    """
    refuse_asynchronous(url)
    check_lag_options(max_lag, lag_query, replicas)
    if where is not None and not where.strip():
        raise click.UsageError("--where takes a condition in SQL.")
    with ExitStack() as stack:
        engine = stack.enter_context(job_engine(url))
        told = stack.enter_context(reporter())
        limits = Limits(
            max_seconds=max_seconds,
            min_gain=min_gain,
            fresh_rows=fresh_rows,
            recompress=recompress,
            where=where,
            drop=drop,
            batch_rows=batch_rows,
            pause_seconds=pause,
            lag_seconds=lag_of(stack, engine, lag_query, replicas),
            max_lag_seconds=5.0 if max_lag is None else max_lag,
        )
        stack.enter_context(terminated_as_interrupted())
        try:
            actions = Maintenance(
                engine,
                limits,
                schema=schema,
                schemas=schemas or None,
                dry_run=dry_run,
                say=told.note,
                progress=Shown(told),
            ).run()
        except KeyboardInterrupt:
            click.echo("Interrupted: what was done stays done; the next run goes on from here.", err=True)
            sys.exit(_INTERRUPTED)
    if as_json:
        click.echo(json.dumps([asdict(action) for action in actions], indent=2))
        return
    for action in actions:
        click.echo(": ".join(part for part in (action.kind, action.subject, action.detail) if part))
    if not actions:
        click.echo("No column has values with a dictionary; nothing is due.")
    if dry_run:
        click.echo("Nothing was changed.")
