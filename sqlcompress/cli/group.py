"""The ``sqlcompress`` command: its subcommands, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

import sqlcompress as package

#: The module of each command; it holds an object of the command's name.
COMMANDS = {
    "cat": "sqlcompress.cli.cat",
    "demo": "sqlcompress.cli.demo",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use: ``cat`` in a pipe does not wait for Alembic."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None where there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - for the type checker
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package.__version__, "-V", "--version", package_name="sqlcompress")
def sqlcompress() -> None:
    """Compressed columns for SQLAlchemy: what they save, and what is stored in them."""
