"""Options that have a job wait for replicas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

import click
from sqlalchemy import URL, Engine, text

from sqlcompress.cli.engines import job_engine
from sqlcompress.cli.options import parse_url

Function = TypeVar("Function", bound=Callable[..., Any])


def lag_options(function: Function) -> Function:
    """``--max-lag``, ``--lag-query`` and ``--replica``."""
    for option in reversed(
        (
            click.option(
                "--max-lag",
                type=click.FloatRange(min=0),
                metavar="SECONDS",
                help="Wait while replicas lag more.",
            ),
            click.option("--lag-query", metavar="SQL", help="Gives the lag in seconds, as one number."),
            click.option(
                "--replica",
                "replicas",
                multiple=True,
                callback=lambda ctx, param, values: tuple(parse_url(ctx, param, value) for value in values),
                metavar="URL",
                help="Where --lag-query is asked; URL itself if not given. May be given several times.",
            ),
        )
    ):
        function = option(function)
    return function


def check_lag_options(max_lag: float | None, lag_query: str | None, replicas: tuple[URL, ...]) -> None:
    """See that the options go together.

    Raises:
        click.UsageError: They do not.
    """
    if (max_lag is None) != (lag_query is None):
        raise click.UsageError("--max-lag and --lag-query go together.")
    if replicas and lag_query is None:
        raise click.UsageError("--replica goes with --lag-query.")


def lag_of(
    stack: ExitStack, engine: Engine, lag_query: str | None, replicas: tuple[URL, ...]
) -> Callable[[], float | None] | None:
    """The function that a job asks for the lag; None without ``--lag-query``."""
    if lag_query is None:
        return None
    return _lag([stack.enter_context(job_engine(replica)) for replica in replicas] or [engine], lag_query)


def _lag(engines: list[Engine], query: str) -> Callable[[], float | None]:
    """The lag of the replica that is furthest behind; None where one does not know."""

    def lag_seconds() -> float | None:
        furthest = 0.0
        for engine in engines:
            with engine.connect() as connection:
                lag = connection.execute(text(query)).scalar()
            if lag is None:
                return None
            furthest = max(furthest, float(lag))
        return furthest

    return lag_seconds
