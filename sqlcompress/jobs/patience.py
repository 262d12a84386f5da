"""A connection for work on a busy table, and waiting for the moment in which nobody else holds it."""

from __future__ import annotations

import logging
import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from sqlcompress.errors import MigrationFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlcompress.dialects.rows import Rows

_T = TypeVar("_T")

_LOG = logging.getLogger("alembic.sqlcompress")

# With a pause that grows to two seconds: five to ten minutes.
_TRIES = 300
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0


@contextmanager
def session_of(bind: Engine | Connection, rows: Rows) -> Iterator[Connection]:
    """A connection prepared as the rewrite job's are, outside a transaction."""
    if not isinstance(bind, Engine):
        with rows.lent(bind):
            yield rows.open(bind)
        return
    connection = rows.open(bind.connect())
    try:
        yield connection
    finally:
        if rows.connection_is_disposable and not connection.closed:
            # What was set for the session must not come back from the pool to an application.
            connection.rollback()
            connection.invalidate()
        connection.close()


def patiently(rows: Rows, session: Connection, action: Callable[[], _T]) -> _T:
    """Run ``action`` again as long as others hold the table, with a growing pause for them to go on."""
    for tries in range(1, _TRIES + 1):
        try:
            return action()
        except DBAPIError as error:  # noqa: PERF203 - the loop is for the exception
            rows.rollback(session)
            if not rows.is_transient(error):
                raise
            if tries == _TRIES:
                raise MigrationFailedError(
                    f"{rows.table}: long transactions held the table at each of {_TRIES} tries; end them, "
                    "or run the migration again at a quieter time: it goes on from here, and until then the "
                    "column is used as before"
                ) from error
            pause = min(_LONGEST_WAIT, _FIRST_WAIT * 1.5**tries) * random.uniform(0.5, 1.0)  # noqa: S311
            if tries in {5, 50}:
                _LOG.warning("%s: waiting for a moment in which no transaction holds the table", rows.table)
            time.sleep(pause)
    raise AssertionError  # the last try has returned or raised
