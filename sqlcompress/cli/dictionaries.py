"""``sqlcompress dictionaries``: the dictionaries that a database keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table
from sqlalchemy import URL

from sqlcompress import Dictionary
from sqlcompress.cli.console import console_of, reporter
from sqlcompress.cli.engines import job_engine, refuse_asynchronous
from sqlcompress.cli.errors import JobCommand
from sqlcompress.cli.options import json_option, parse_url
from sqlcompress.entries import StoredDictionary
from sqlcompress.errors import DictionaryStoreError
from sqlcompress.jobs.drift import FRESH_ROWS, Drift, drift, uses
from sqlcompress.jobs.figures import byte_size
from sqlcompress.jobs.references import Scanned, drop_dictionary
from sqlcompress.jobs.train import NO_TABLE
from sqlcompress.store import GRACE_SECONDS, DictionaryStore
from sqlcompress.training import MIN_GAIN

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group()
def dictionaries() -> None:
    """List, activate, retire, drop, export and import the dictionaries of a database.

    DICTIONARY is an id, or a name that one dictionary alone has.
    """


def _url(function: Function) -> Function:
    schema = click.option("--schema", help="The schema of sqlcompress_dictionary.")
    return schema(click.argument("url", callback=parse_url)(function))


@dictionaries.command("list", cls=JobCommand)
@_url
@json_option
def list_(url: URL, *, schema: str | None, as_json: bool) -> None:
    """List all dictionaries."""
    with job_engine(url) as engine:
        found = _store(engine, schema).list()
    if as_json:
        click.echo(json.dumps([_document(entry) for entry in found], indent=2))
        return
    table = Table("id", "name", "state", "size", "ratio", "without", "created (UTC)")
    for entry in found:
        with_, without = _ratios(entry)
        created = f"{entry.created_at:%Y-%m-%d %H:%M}"
        table.add_row(str(entry.id), entry.name, entry.state, f"{entry.size:,}", with_, without, created)
    console_of(sys.stdout).print(table)


@dictionaries.command(cls=JobCommand)
@_url
@click.argument("dictionary")
@json_option
def show(url: URL, dictionary: str, *, schema: str | None, as_json: bool) -> None:
    """Show one dictionary: state, moments, and what was measured when it was trained."""
    with job_engine(url) as engine:
        store = _store(engine, schema)
        entry = _one(store, dictionary)
        store.get(entry.id)  # its content is what its SHA-256 says
    if as_json:
        click.echo(json.dumps(_document(entry), indent=2))
        return
    for name, value in _document(entry).items():
        click.echo(f"{name.replace('_', ' ')}: {'-' if value is None else value}")


@dictionaries.command(cls=JobCommand)
@_url
@click.argument("dictionary")
@click.option(
    "--after",
    type=click.FloatRange(min=0),
    default=GRACE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Counted from when it was published; by 180 s every application has it.",
)
def activate(url: URL, dictionary: str, *, schema: str | None, after: float) -> None:
    """Have values written with a dictionary."""
    with job_engine(url) as engine:
        store = _store(engine, schema)
        _print_state(store.activate(_one(store, dictionary).id, after_seconds=after))


@dictionaries.command(cls=JobCommand)
@_url
@click.argument("dictionary")
def retire(url: URL, dictionary: str, *, schema: str | None) -> None:
    """Have nobody write with a dictionary any more; its values stay readable."""
    with job_engine(url) as engine:
        store = _store(engine, schema)
        _print_state(store.retire(_one(store, dictionary).id))


@dictionaries.command(cls=JobCommand)
@_url
@click.argument("dictionary")
@click.option(
    "--in-schema",
    "schemas",
    multiple=True,
    help="Where to look for values that need it; may be given several times. All schemas on PostgreSQL, the "
    "database of the URL elsewhere.",
)
@click.option("--wait", is_flag=True, help="Wait until it has been retired for 180 s.")
def drop(url: URL, dictionary: str, *, schema: str | None, schemas: tuple[str, ...], wait: bool) -> None:
    """Delete a retired dictionary, once it is proved that no value needs it.

    Every binary column is looked through. Export it first, if a dump that is kept may need it.
    """
    refuse_asynchronous(url)
    with job_engine(url) as engine, reporter() as told:
        entry = _one(_store(engine, schema), dictionary)

        def tell(scanned: Scanned) -> None:
            detail = f"table {scanned.tables_seen + 1} of {scanned.tables_total}"
            told.progress(scanned.table, scanned.rows_seen, scanned.rows_total, detail)

        drop_dictionary(engine, entry.id, schema=schema, schemas=schemas or None, wait=wait, progress=tell)
    click.echo(f"Dictionary {entry.id} ({entry.name!r}) was dropped.")


@dictionaries.command(cls=JobCommand)
@_url
@click.argument("dictionary")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(url: URL, dictionary: str, file: Path, *, schema: str | None) -> None:
    """Write a dictionary to FILE, for import and for `zstd -D`."""
    with job_engine(url) as engine:
        store = _store(engine, schema)
        found = store.get(_one(store, dictionary).id)
    try:
        found.to_file(file)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    click.echo(f"{file}: dictionary {found.id} ({found.name!r}), {byte_size(len(found.content))}.")


@dictionaries.command("import", cls=JobCommand)
@_url
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="What columns call it; the name of the file without its ending by default.")
def import_(url: URL, file: Path, *, schema: str | None, name: str | None) -> None:
    """Keep the dictionary in FILE, so that values made with it can be read; activate it to write with it."""
    try:
        dictionary = Dictionary.from_file(file, name)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    with job_engine(url) as engine:
        _print_state(_store(engine, schema).publish(dictionary))


def drift_options(function: Function) -> Function:
    """``--min-gain``, ``--fresh-rows`` and ``--in-schema``."""
    for option in reversed(
        (
            click.option(
                "--min-gain",
                type=click.FloatRange(0, 1, max_open=True),
                default=MIN_GAIN,
                show_default=True,
                help="What a new dictionary has to save of the stored bytes to pay.",
            ),
            click.option(
                "--fresh-rows",
                type=click.IntRange(min=1),
                default=FRESH_ROWS,
                show_default=True,
                help="Newest rows that are looked at.",
            ),
            click.option(
                "--in-schema",
                "schemas",
                multiple=True,
                help="Where to look for columns; may be given several times.",
            ),
        )
    ):
        function = option(function)
    return function


@dictionaries.command("drift", cls=JobCommand)
@_url
@drift_options
@json_option
def drift_(
    url: URL, *, schema: str | None, min_gain: float, fresh_rows: int, schemas: tuple[str, ...], as_json: bool
) -> None:
    """Compare each active dictionary, on its column's newest rows, with one trained anew."""
    with job_engine(url) as engine, reporter() as told:
        _store(engine, schema)
        with engine.connect() as connection:
            store = DictionaryStore(connection, schema)
            found = [
                drift(connection, store, use, min_gain=min_gain, rows=fresh_rows, progress=told.note)
                for use in list(uses(connection, store, schemas or None))
            ]
    if as_json:
        click.echo(json.dumps([_drift_document(one) for one in found], indent=2))
        return
    for one in found:
        verdict = "retrain" if one.pays else "keep"
        click.echo(f"{one.use}: {verdict} {one.use.name!r} ({one.use.dictionary_id}): {one.reason}.")
    if not found:
        click.echo("No column has values with a dictionary.")


def _drift_document(one: Drift) -> dict[str, Any]:
    training = one.training
    return {
        "column": str(one.use),
        "name": one.use.name,
        "dictionary": one.use.dictionary_id,
        "pays": one.pays,
        "reason": one.reason,
        "gain": round(one.gain, 4),
        "held_out_rows": training.held_out_rows,
        "held_out_bytes": training.held_out_bytes,
        "stored_bytes": None if training.rival is None else training.rival.stored_bytes,
        "stored_bytes_new": None if training.chosen is None else training.chosen.stored_bytes,
    }


def _store(engine: Any, schema: str | None) -> DictionaryStore:
    refuse_asynchronous(engine.url)
    store = DictionaryStore(engine, schema)
    if not store.exists():
        raise DictionaryStoreError(NO_TABLE)
    return store


def _one(store: DictionaryStore, wanted: str) -> StoredDictionary:
    """The dictionary of an id, or of a name that it has alone."""
    listed = store.list()
    named = [entry for entry in listed if entry.name == wanted]
    if not named and wanted.isdecimal():
        named = [entry for entry in listed if entry.id == int(wanted)]
    if not named:
        raise DictionaryStoreError(f"there is no dictionary {wanted!r}: see `sqlcompress dictionaries list`")
    if len(named) > 1:
        ids = ", ".join(f"{entry.id} ({entry.state})" for entry in named)
        raise DictionaryStoreError(f"several dictionaries are called {wanted!r}: give one of the ids {ids}")
    return named[0]


def _ratios(entry: StoredDictionary) -> tuple[str, str]:
    if not entry.held_out_bytes or not entry.stored_bytes or not entry.stored_bytes_without:
        return "-", "-"
    return (
        f"{entry.held_out_bytes / entry.stored_bytes:.2f}",
        f"{entry.held_out_bytes / entry.stored_bytes_without:.2f}",
    )


def _document(entry: StoredDictionary) -> dict[str, Any]:
    document = asdict(entry)
    for name in ("created_at", "activated_at", "retired_at"):
        if document[name] is not None:
            document[name] = f"{document[name]:%Y-%m-%dT%H:%M:%S}Z"
    return document


def _print_state(entry: StoredDictionary) -> None:
    moment = f" for {entry.activated_at:%Y-%m-%d %H:%M:%S} UTC" if entry.state == "scheduled" else ""
    click.echo(f"Dictionary {entry.id} ({entry.name!r}) is {entry.state}{moment}.")
