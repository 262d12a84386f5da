"""Options that several commands share, as decorators, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from sqlcompress.jobs.shards import MAX_SHARDS

Function = TypeVar("Function", bound=Callable[..., Any])


def parse_url(ctx: click.Context, param: click.Parameter, value: str | None) -> URL | None:
    """A SQLAlchemy URL whose dialect is there, as an option's callback.

    Raises:
        click.BadParameter: It is no URL, or names a database SQLAlchemy does not know. The value is not
            repeated: it may hold a password.
    """
    if value is None:
        return None
    try:
        url = make_url(value)
    except (ArgumentError, ValueError) as error:
        raise click.BadParameter(
            "not a URL like postgresql+psycopg://user:password@host/database", ctx, param
        ) from error
    try:
        url.get_dialect()
    except NoSuchModuleError as error:
        raise click.BadParameter(f"SQLAlchemy knows no {url.drivername!r}", ctx, param) from error
    except ModuleNotFoundError as error:
        raise click.BadParameter(f"the module {error.name} is not installed", ctx, param) from error
    return url


def parse_shard(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Which part of a table, as an option's callback.

    Raises:
        click.BadParameter: It is not of the form ``"k/n"``.
    """
    number, slash, count = (value or "").partition("/")
    if value is None:
        return None
    is_number = number.isdecimal() and count.isdecimal() and value.isascii()
    if not slash or not is_number or not 1 <= int(number) <= int(count) <= MAX_SHARDS:
        raise click.BadParameter(f"takes K/N, K from 1 to N and N up to {MAX_SHARDS:,}", ctx, param)
    return value


def json_option(function: Function) -> Function:
    """``--json``: the result as one JSON document, and nothing else on standard output."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document on standard output and nothing else."
    )(function)


def dry_run_option(function: Function) -> Function:
    """``--dry-run``: say what would be done."""
    return click.option("--dry-run", is_flag=True, help="Look and say what would be done; change nothing.")(
        function
    )
