"""Connections that a job works on: prepared, lent, given back."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection, Dialect
    from sqlalchemy.exc import DBAPIError


class Sessions:
    """How a database wants its connections and transactions handled."""

    #: Whether :meth:`open` leaves the session in a state that must not go back to a pool.
    connection_is_disposable: ClassVar[bool] = False
    #: Whether two connections can write at the same time.
    writes_side_by_side: ClassVar[bool] = True

    dialect: Dialect

    def open(self, connection: Connection) -> Connection:
        """Prepare a connection that the job has for itself."""
        return connection.execution_options(isolation_level="READ COMMITTED")

    @contextmanager
    def lent(self, connection: Connection) -> Iterator[None]:
        """What :meth:`open` sets on a connection that its owner goes on using is set back in the end."""
        began = not connection.in_transaction()
        level = connection.get_execution_options().get("isolation_level")
        state = self.session_state(connection)
        if began and connection.in_transaction():
            connection.rollback()
        try:
            yield
        except BaseException:
            # The error is what counts; a connection that is lost has no settings either.
            with suppress(SQLAlchemyError):
                self._give_back(connection, state, level, began=began)
            raise
        self._give_back(connection, state, level, began=began)

    def _give_back(self, connection: Connection, state: Any, level: Any, *, began: bool) -> None:
        if connection.closed or connection.invalidated:
            return
        if began and connection.in_transaction():
            connection.rollback()
        self.set_session_state(connection, state)
        if connection.get_execution_options().get("isolation_level") != level:
            usual = getattr(self.dialect, "_on_connect_isolation_level", None)
            connection.execution_options(isolation_level=usual or connection.default_isolation_level)
            if level is not None:
                # MySQL's AUTOCOMMIT leaves the level that transactions have as it is.
                connection.execution_options(isolation_level=level)

    def session_state(self, connection: Connection) -> Any:
        """The session's settings that :meth:`open` changes, beside the isolation level."""
        del connection

    def set_session_state(self, connection: Connection, state: Any) -> None:
        """Set back what :meth:`session_state` gave."""

    def hurry(self, connection: Connection) -> None:
        """Let commits return before they are on disk, where no work can be lost by that unnoticed."""

    def settle(self, connection: Connection) -> None:
        """Return once all that was committed after :meth:`hurry` is on disk."""

    def begin(self, connection: Connection) -> None:
        """Begin a transaction on a connection from :meth:`open`."""
        connection.begin()

    def commit(self, connection: Connection) -> None:
        """Commit what :meth:`begin` began."""
        connection.commit()

    def rollback(self, connection: Connection) -> None:
        """Undo what was done since :meth:`begin`."""
        connection.rollback()

    @contextmanager
    def surrounded(self, connection: Connection) -> Iterator[None]:
        """Work inside the caller's transaction, with other writers kept out until it ends."""
        del connection
        yield

    def is_transient(self, error: DBAPIError) -> bool:
        """Whether the same statement may succeed when it is run again."""
        del error
        return False
