"""Rows that must be committed together with the stamp of their revision, or be converted twice.

A binary value does not tell whether it is compressed. With ``strategy="atomic"`` that is no question as long
as the rows and the new version are one transaction; whatever would commit between the two is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import event

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from alembic.operations.base import Operations
    from sqlalchemy.engine import Connection

# MySQL manual, "Statements That Cause an Implicit Commit"; those that concern temporary tables do not.
_COMMITS = re.compile(
    r"\s*(?:(?:CREATE|DROP|ALTER)\s+(?!TEMPORARY)|RENAME\b|TRUNCATE\b|GRANT\b|REVOKE\b|(?:UN)?LOCK\b|ANALYZE\b"
    r"|OPTIMIZE\b|REPAIR\b|CHECK\b|CACHE\b|FLUSH\b|RESET\b|INSTALL\b|UNINSTALL\b|BEGIN\b|START\b|COMMIT\b"
    r"|SET\s+(?:PASSWORD|(?:SESSION\s+|@@(?:SESSION\.)?)?AUTOCOMMIT))",
    re.IGNORECASE,
)
_WRITES = re.compile(r"\s*(?:INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_NO_TRANSACTION = (
    'strategy="atomic" converts the rows in the migration\'s transaction, and the connection is in '
    "autocommit (env.py, or an autocommit_block() in the revision); run it in a transaction"
)


def refuse_autocommit(connection: Connection) -> None:
    """Make sure that there is a transaction.

    Raises:
        MigrationBlockedError: The connection commits each statement.
    """
    level = connection.get_execution_options().get("isolation_level")
    if level is None:
        level = getattr(connection.dialect, "_on_connect_isolation_level", None)
    if level == "AUTOCOMMIT":
        raise MigrationBlockedError(_NO_TRANSACTION, (_NO_TRANSACTION,))


def with_its_stamp(operations: Operations, name: str) -> None:
    """From here on, until the version is written, refuse what would commit on the migration's connection.

    Args:
        operations: The operations of the revision.
        name: The table and column, for the error.
    """
    connection: Connection = operations.get_bind()
    watch = _watches.get(connection)
    if watch is None:
        watch = _watches[connection] = _Watch(connection, operations.migration_context.version_table)
    watch.names.append(name)


class _Watch:
    """What a connection has done that is not stamped yet."""

    def __init__(self, connection: Connection, version_table: str) -> None:
        self.names: list[str] = []
        self._version_table = version_table
        self._commits_by_itself = alteration_of(connection.dialect).commits_by_itself
        event.listen(connection, "before_cursor_execute", self._statement)
        event.listen(connection, "commit", self._commit)
        event.listen(connection, "rollback", self._rollback)

    def _statement(
        self,
        connection: Connection,
        cursor: Any,
        statement: str,
        parameters: Any,
        context: Any,
        executemany: bool,
    ) -> None:
        del connection, cursor, parameters, context, executemany
        if not self.names:
            return
        if self._commits_by_itself and _COMMITS.match(statement):
            word = statement.split(maxsplit=1)[0].upper()
            self._refuse(f"{word}, which commits by itself on this database,")
        if self._version_table in statement and _WRITES.match(statement):
            self.names.clear()

    def _commit(self, connection: Connection) -> None:
        del connection
        if self.names:
            self._refuse('a commit (strategy="rewrite" or "shadow", or an autocommit_block())')

    def _rollback(self, connection: Connection) -> None:
        del connection
        self.names.clear()

    def _refuse(self, what: str) -> None:
        names = ", ".join(self.names)
        sentence = (
            f"the binary values of {names} are converted in the migration's transaction, and {what} comes "
            "after them in the same revision. Should that fail or be killed, a second run would convert them "
            f"again. Let the operation on {names} be the last of its revision, or give it one of its own"
        )
        raise MigrationBlockedError(f"{sentence}; what was converted is undone", (sentence,))


_watches: WeakKeyDictionary[Connection, _Watch] = WeakKeyDictionary()
