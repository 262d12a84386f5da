"""What machine this is, and the versions of what is compared."""

from __future__ import annotations

import importlib.metadata
import platform
import sqlite3
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import zstandard

import sqlcompress

_PACKAGES: Final = (
    "SQLAlchemy",
    "zstandard",
    "mysqlclient",
    "pymysql",
    "psycopg",
    "psycopg2-binary",
    "pysqlite3-binary",
    "sqlite-zstd-build",
)


def machine() -> dict[str, str]:
    """Processor, cores, memory and system; no name of the machine or of a person."""
    return {
        "processor": _processor(),
        "cores": str(psutil.cpu_count(logical=True)),
        "memory": f"{psutil.virtual_memory().total / (1 << 30):.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of Python, libraries and drivers that are installed."""
    found = {
        "sqlcompress": sqlcompress.__version__,
        "Python": platform.python_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)),
        "SQLite of Python": sqlite3.sqlite_version,
    }
    for package in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
