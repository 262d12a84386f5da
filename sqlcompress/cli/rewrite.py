"""``sqlcompress rewrite``: the rewrite job, outside Alembic."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click
from sqlalchemy import URL

from sqlcompress import Dictionary
from sqlcompress.cli.column_type import column_type, column_type_options
from sqlcompress.cli.console import BarReporter, LineReporter, reporter
from sqlcompress.cli.engines import job_engine, refuse_asynchronous
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.interrupts import terminated_as_interrupted
from sqlcompress.cli.lag import check_lag_options, lag_of, lag_options
from sqlcompress.cli.options import dry_run_option, json_option, parse_shard, parse_url
from sqlcompress.errors import DictionaryStoreError
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.conversions import Compress, Recompress
from sqlcompress.jobs.figures import byte_size, ratio
from sqlcompress.jobs.plan import Plan, plan_rewrite
from sqlcompress.jobs.progress import Progress
from sqlcompress.jobs.recompress import check_recompress
from sqlcompress.jobs.rewrite import RewriteResult
from sqlcompress.jobs.rewrite import rewrite as rewrite_job

_INTERRUPTED = 128 + signal.SIGINT


@click.command(cls=JobCommand)
@click.argument("url", callback=parse_url)
@click.argument("table")
@click.argument("column")
@column_type_options
@click.option(
    "--recompress", is_flag=True, help="Store frames as these options say, too, not only plain values."
)
@click.option("--schema", help="The table's schema.")
@click.option("--where", metavar="SQL", help="Only rows of this condition, such as those that are cold.")
@click.option(
    "--batch-rows", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="Rows a batch."
)
@click.option(
    "--batch-bytes", type=click.IntRange(min=1), default=4_194_304, show_default=True, help="Bytes a batch."
)
@click.option(
    "--pause", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Rest after each batch."
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Connections side by side."
)
@click.option(
    "--shard",
    callback=parse_shard,
    metavar="K/N",
    help="Only part K of N; the others are run elsewhere, or later.",
)
@lag_options
@json_option
@dry_run_option
def rewrite(
    url: URL,
    table: str,
    column: str,
    *,
    kind: str,
    codec: str,
    level: int | None,
    dictionary: Path | None,
    dictionary_name: str | None,
    min_size: int,
    legacy: tuple[str, ...],
    recompress: bool,
    schema: str | None,
    where: str | None,
    batch_rows: int,
    batch_bytes: int,
    pause: float,
    workers: int,
    shard: str | None,
    max_lag: float | None,
    lag_query: str | None,
    replicas: tuple[URL, ...],
    as_json: bool,
    dry_run: bool,
) -> None:
    """Compress what is still plain in a compressed COLUMN of TABLE.

    The job of op.compress_column, without Alembic and without a change of the type: for the rows of a table
    whose type change came from a script, for rows that were written plain, and with --recompress for another
    codec, level or dictionary. Interrupt it at any time and run it again: finished rows are left alone.
    """
    refuse_asynchronous(url)
    check_lag_options(max_lag, lag_query, replicas)
    if shard is not None and dry_run:
        raise click.UsageError("--dry-run tells of the whole table: leave --shard out.")
    if where is not None and not where.strip():
        raise click.UsageError("--where takes a condition in SQL.")
    given = column_type(kind, codec, level, dictionary, min_size, legacy, dictionary_name)
    with ExitStack() as stack:
        engine = stack.enter_context(job_engine(url))
        with engine.connect() as connection:
            type_ = with_dictionaries(connection, given, schema)
            if dictionary_name is not None and not isinstance(
                getattr(type_.codec, "dictionary", None), Dictionary
            ):
                raise DictionaryStoreError(f"no dictionary {dictionary_name!r} is active in the database")
            convert = Recompress(type_, type_) if recompress else Compress(type_)
            found = check_recompress(connection, table, column, type_, type_, schema=schema)
            if dry_run:
                plan = plan_rewrite(
                    connection,
                    found.name,
                    column,
                    type_,
                    schema=found.schema,
                    recompress=recompress,
                    batching=Batching(batch_rows, batch_bytes, pause, workers, where=where),
                )
                _print_plan(plan, as_json=as_json)
                return
        lag = lag_of(stack, engine, lag_query, replicas)
        shown = Shown(stack.enter_context(reporter()))
        stack.enter_context(terminated_as_interrupted())
        try:
            result = rewrite_job(
                engine,
                found.name,
                column,
                schema=found.schema,
                convert=convert,
                batch_rows=batch_rows,
                batch_bytes=batch_bytes,
                pause_seconds=pause,
                workers=workers,
                progress=shown,
                lag_seconds=lag,
                max_lag_seconds=5.0 if max_lag is None else max_lag,
                where=where,
                shard=shard,
            )
        except KeyboardInterrupt:
            rows = 0 if shown.last is None else shown.last.rows_written
            click.echo(
                f"Interrupted: {rows:,} rows were rewritten, the batch at hand was undone. Run the command "
                "again to go on from here.",
                err=True,
            )
            sys.exit(_INTERRUPTED)
    _print(str(found), column, result, as_json=as_json)


class Shown:
    """Shows a job's progress and remembers the last of it."""

    def __init__(self, told: BarReporter | LineReporter) -> None:
        self.last: Progress | None = None
        self._told = told
        self._waited_for: str | None = None

    def __call__(self, progress: Progress) -> None:
        """Show how far the job is."""
        self.last = progress
        if progress.waiting_for is not None:
            if progress.waiting_for != self._waited_for:
                self._told.note(f"waiting for {progress.waiting_for}")
            self._waited_for = progress.waiting_for
            return
        left = progress.seconds_left
        detail = (
            f"{byte_size(progress.bytes_before)} -> {byte_size(progress.bytes_after)}, ratio "
            f"{ratio(progress.bytes_before, progress.bytes_after)}"
        )
        if left is not None and not progress.done:
            detail += f", {left:,.0f} s left"
        label = f"{progress.table}.{progress.column}"
        self._told.progress(label, progress.rows_seen, progress.rows_total, detail)


def _print(table: str, column: str, result: RewriteResult, *, as_json: bool) -> None:
    if as_json:
        document = {"table": table, "column": column, **asdict(result)}
        document["ratio"] = round(result.bytes_before / result.bytes_after, 3) if result.bytes_after else None
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(
        f"{table}.{column}: {result.rows_written:,} rows of {result.rows_seen:,} read were rewritten in "
        f"{result.seconds:.1f} s, {byte_size(result.bytes_before)} -> {byte_size(result.bytes_after)} (ratio "
        f"{ratio(result.bytes_before, result.bytes_after)})."
    )


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**plan.as_dict(), "dry_run": True}, indent=2))
        return
    for line in plan.lines():
        click.echo(line)
    click.echo("Nothing was changed.")
