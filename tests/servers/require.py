"""SQLCOMPRESS_TEST_REQUIRE: databases and drivers whose absence is an error instead of a skip."""

from __future__ import annotations

import os
from importlib import import_module

from tests.servers.kinds import DRIVER_MODULES, KINDS, Misconfigured, Unavailable

VARIABLE = "SQLCOMPRESS_TEST_REQUIRE"


def required() -> frozenset[str]:
    """The names in the variable, separated by commas.

    Raises:
        Misconfigured: a name is neither a database nor a driver.
    """
    names = frozenset(name.strip() for name in os.environ.get(VARIABLE, "").split(",")) - {""}
    known = {*KINDS, *DRIVER_MODULES}
    unknown = sorted(names - known)
    if unknown:
        raise Misconfigured(f"{VARIABLE} names {', '.join(unknown)}; known are {', '.join(sorted(known))}")
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
