"""Which databases and drivers the tests run on, and whose absence is an error instead of a skip."""

from __future__ import annotations

import os
from importlib import import_module

from tests.servers.kinds import DRIVER_MODULES, KINDS, Misconfigured, Unavailable

#: Programs of others that tests read values with; the tests look for them themselves.
PROGRAMS = frozenset({"node", "zstd"})

_REQUIRE = "SQLCOMPRESS_TEST_REQUIRE"
_DATABASES = "SQLCOMPRESS_TEST_DATABASES"


def required() -> frozenset[str]:
    """The databases, drivers and programs in SQLCOMPRESS_TEST_REQUIRE, separated by commas there.

    Raises:
        Misconfigured: a name is none of them.
    """
    return _names(_REQUIRE, {*KINDS, *DRIVER_MODULES, *PROGRAMS})


def chosen() -> tuple[str, ...]:
    """The databases in SQLCOMPRESS_TEST_DATABASES, or all of them where it is not set.

    Raises:
        Misconfigured: a name is no database.
    """
    names = _names(_DATABASES, set(KINDS))
    return tuple(name for name in KINDS if name in names or not names)


def _names(variable: str, known: set[str]) -> frozenset[str]:
    names = frozenset(name.strip() for name in os.environ.get(variable, "").split(",")) - {""}
    unknown = sorted(names - known)
    if unknown:
        raise Misconfigured(f"{variable} names {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return names


def import_driver(driver: str) -> None:
    """Sees that a driver can be used.

    Raises:
        Unavailable: it is not installed, or does not load.
    """
    module, package = DRIVER_MODULES[driver]
    try:
        import_module(module)
    except ImportError as error:
        raise Unavailable(f"the driver {driver} cannot be used: {error}; `pip install {package}`") from None
