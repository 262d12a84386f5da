"""Logging in to a server to see that it is there and is what it is taken for."""

from __future__ import annotations

from sqlalchemy import URL, NullPool, create_engine, text

from tests.servers.kinds import Kind, Unavailable


def check(kind: Kind, url: URL) -> str:
    """Logs in once.

    Returns:
        The server's version.

    Raises:
        Unavailable: a server of another kind answered.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        version = str(connection.scalar(text("SELECT version()")))
    is_mariadb = "mariadb" in version.lower()
    if is_mariadb != (kind.name == "mariadb"):
        raise Unavailable(f"the server there is {version}")
    return version
