"""Expected errors as one line on standard error and exit status 1, with no password in it."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError, SQLAlchemyError

from sqlcompress.errors import SqlcompressError

# Of a driver's errors, those that tell about the server and the statement; the others quote values.
_TELLING = (InterfaceError, OperationalError, ProgrammingError)


def one_line(error: Exception, url: URL | None = None) -> str:
    """The message of an expected error in one line, the URL's password masked.

    Args:
        error: An error of this package or of SQLAlchemy.
        url: The URL that the command was given.
    """
    if isinstance(error, DBAPIError):
        # SQLAlchemy's own text goes on with the statement and its parameters.
        kind = type(error.orig).__name__
        message = f"{kind}: {error.orig}" if isinstance(error, _TELLING) else f"the database reported {kind}"
    else:
        # Not str(): SQLAlchemy appends a link to its manual.
        message = str(error.args[0]) if error.args else type(error).__name__
    line = " ".join(message.split())
    password = None if url is None else url.password
    return line.replace(str(password), "***") if password else line


class JobCommand(click.Command):
    """A command that expected errors end with one line; any other is a fault and keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises:
            click.ClickException: An error of this package or of SQLAlchemy; click prints it and exits with 1.
        """
        try:
            return super().invoke(ctx)
        except (SqlcompressError, SQLAlchemyError) as error:
            raise click.ClickException(one_line(error, ctx.params.get("url"))) from error
