"""Engines for one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from sqlalchemy import URL, Engine, NullPool, create_engine


def refuse_asynchronous(url: URL) -> None:
    """Stop where the URL names a driver that jobs cannot use.

    Raises:
        click.BadParameter: It does.
    """
    if url.get_dialect().is_async:
        raise click.BadParameter("takes a synchronous driver, such as psycopg or pymysql", param_hint="URL")


@contextmanager
def job_engine(url: URL) -> Iterator[Engine]:
    """An engine whose connections are the job's own and end with it."""
    engine = create_engine(url, poolclass=NullPool)
    try:
        yield engine
    finally:
        engine.dispose()
