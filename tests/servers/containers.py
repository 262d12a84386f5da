"""A server in a container, through testcontainers, where a Docker engine answers."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL

from sqlcompress.bench.servers.innodb import MYSQL_SETTINGS
from sqlcompress.bench.servers.login import wait_until_ready
from tests.servers import login
from tests.servers.kinds import Kind, Unavailable
from tests.servers.mysql import SETTINGS

if TYPE_CHECKING:
    from contextlib import ExitStack

#: Seconds for the engine to answer at all.
_ENGINE_SECONDS = 5
#: Seconds without any news from the engine while it gets an image or starts a container.
_SILENCE_SECONDS = 60
_START_SECONDS = 180.0


def start(kind: Kind, running: ExitStack) -> URL:
    """Starts the kind's image, which the engine gets first where it has to."""
    if find_spec("testcontainers") is None:
        raise Unavailable("the package testcontainers is not installed")
    from testcontainers.core.container import DockerContainer

    on_loopback = _is_reached_on_loopback()
    image = os.environ.get(kind.image_variable) or kind.image
    password = secrets.token_hex(16)
    container = DockerContainer(image, docker_client_kw={"timeout": _SILENCE_SECONDS})
    if kind.name == "postgresql":
        port, user, database = 5432, "postgres", "postgres"
        container.with_env("POSTGRES_PASSWORD", password)
        container.with_command("postgres -c fsync=off -c synchronous_commit=off -c max_connections=200")
    elif kind.name == "mariadb":
        port, user, database = 3306, "root", None
        container.with_env("MARIADB_ROOT_PASSWORD", password)
        container.with_command(" ".join(SETTINGS))
    else:
        port, user, database = 3306, "root", None
        container.with_env("MYSQL_ROOT_PASSWORD", password)
        container.with_command(" ".join((*SETTINGS, *MYSQL_SETTINGS)))
    bindings: dict[str, Any] = container.ports
    bindings[str(port)] = ("127.0.0.1", None) if on_loopback else None  # None: a port of the engine's choice
    try:
        running.enter_context(container)
        host, published = container.get_container_host_ip(), int(container.get_exposed_port(port))
    except Exception as error:  # docker, requests, urllib3 and testcontainers each have their own
        raise Unavailable(f"{image} does not start: {_first_line(error)}") from error
    if on_loopback:
        host = "127.0.0.1"  # for MySQL's clients localhost means a socket file
    url = URL.create(kind.drivername(kind.sync_drivers[0]), user, password, host, published, database)
    if kind.name != "postgresql":
        url = url.update_query_dict({"charset": "utf8mb4"})
    wait_until_ready(lambda: login.check(kind, url), _START_SECONDS, lambda: _is_running(container))
    return url


def _is_reached_on_loopback() -> bool:
    """Whether containers' ports are reached on this machine's loopback interface.

    They are not where the engine is on another machine, nor from inside a container.

    Raises:
        Unavailable: no engine answers.
    """
    from testcontainers.core.config import ConnectionMode
    from testcontainers.core.docker_client import DockerClient

    try:
        engine = DockerClient(timeout=_ENGINE_SECONDS)
        try:
            engine.client.ping()
            is_direct = engine.get_connection_mode() is ConnectionMode.docker_host
            return is_direct and engine.host() in {"localhost", "127.0.0.1"}
        finally:
            engine.client.close()
    except Exception as error:  # as above
        raise Unavailable(f"no engine answers ({type(error).__name__})") from error


def _is_running(container: Any) -> bool:
    wrapped = container.get_wrapped_container()
    wrapped.reload()
    return bool(wrapped.status in {"created", "running"})


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
