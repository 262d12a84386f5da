"""Finds a database server for the tests, in the order that docs/testing.md describes."""

from __future__ import annotations

import os

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from tests.servers import lease
from tests.servers.kinds import KINDS, Kind, Misconfigured, Unavailable
from tests.servers.login import check

__all__ = ["KINDS", "Kind", "Misconfigured", "Unavailable", "find", "release"]

_found: dict[str, URL] = {}
_missing: dict[str, Unavailable] = {}


def find(name: str) -> URL:
    """The URL of a running server of the kind ``name``, with the default synchronous driver.

    The first call may start a server; later calls in the same process give the same answer. A server that
    was started here runs until every process that asked for it has called `release` or has ended.

    Args:
        name: "postgresql", "mariadb" or "mysql". SQLite has no server.

    Returns:
        A URL with rights to create and drop databases. The database it names belongs to the server's owner
        and is never written to.

    Raises:
        Unavailable: there is no such server; the message names each way that was tried and why it failed.
        Misconfigured: the environment names a server that cannot be used.
    """
    kind = KINDS[name]
    if name in _missing:
        raise _missing[name]
    if name not in _found:
        try:
            _found[name] = _from_environment(kind) or make_url(lease.take(name))
        except Unavailable as reason:
            _missing[name] = reason
            raise
    return _found[name]


def release() -> None:
    """Gives up every server that `find` started; returns when those nobody else uses have been stopped."""
    _found.clear()
    lease.release_all()


def _from_environment(kind: Kind) -> URL | None:
    text = os.environ.get(kind.url_variable)
    if not text:
        return None
    try:
        given = make_url(text)
    except ArgumentError:
        raise Misconfigured(f"{kind.url_variable} is not a database URL") from None
    if given.get_backend_name() not in kind.backends:
        raise Misconfigured(f"{kind.url_variable} names {given.get_backend_name()}, not {kind.name}")
    url = given.set(drivername=kind.drivername(kind.sync_drivers[0]))
    try:
        check(kind, url)
    except Exception as error:
        raise Misconfigured(f"{kind.url_variable} does not lead to {kind.title}: {error}") from error
    return url
