"""The ``sqlcompress`` command: its subcommands, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

import sqlcompress as package
from sqlcompress.cli import missing
from sqlcompress.errors import MissingDependencyError

#: The module of each command; it holds an object of the command's name.
COMMANDS = {
    "bench": "sqlcompress.cli.bench",
    "cat": "sqlcompress.cli.cat",
    "demo": "sqlcompress.cli.demo",
    "dictionaries": "sqlcompress.cli.dictionaries",
    "maintain": "sqlcompress.cli.maintain",
    "rewrite": "sqlcompress.cli.rewrite",
    "train": "sqlcompress.cli.train",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use: ``cat`` in a pipe does not wait for Alembic."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None where there is none of that name.

        Raises:
            click.ClickException: A package it needs is not installed.
        """
        if cmd_name not in COMMANDS:
            return None
        try:
            command: click.Command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        except ModuleNotFoundError as error:
            raise click.ClickException(str(missing(error))) from error
        except MissingDependencyError as error:
            raise click.ClickException(str(error)) from error
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package.__version__, "-V", "--version", package_name="sqlcompress")
def sqlcompress() -> None:
    """Compressed columns for SQLAlchemy: what they save, and what is stored in them."""
