"""Running a stock Alembic environment from a program, against one database URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

if TYPE_CHECKING:
    from sqlalchemy import URL


def upgrade(url: str | URL, script_location: str | Path, revision: str = "head") -> None:
    """Upgrade the database at ``url`` to ``revision``.

    Args:
        url: A database URL, with its password.
        script_location: The folder that holds ``env.py`` and ``versions``.
        revision: As on Alembic's command line.
    """
    command.upgrade(config(url, script_location), revision)


def downgrade(url: str | URL, script_location: str | Path, revision: str = "base") -> None:
    """Downgrade the database at ``url`` to ``revision``; arguments as for :func:`upgrade`."""
    command.downgrade(config(url, script_location), revision)


def config(url: str | URL, script_location: str | Path) -> Config:
    """A configuration without a file, so that logging and paths stay the program's own."""
    made = Config()
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    # configparser takes a percent sign, as in an escaped password, for the start of a reference.
    made.set_main_option("sqlalchemy.url", text.replace("%", "%%"))
    made.set_main_option("script_location", str(Path(script_location).resolve()).replace("%", "%%"))
    made.set_main_option("path_separator", "os")
    return made
