"""What a binary column holds, written down: its values alone cannot tell.

A binary value may begin like a frame without being one. So a mark in the job table says for which columns
every such value is a frame, set in the transaction that made it so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from sqlcompress.dialects.jobtable import NAME, identity_of, job_table
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.tables import TableName

#: Every value that begins like a frame is one, or none is.
State = Literal["framed", "plain"]

_PART = "binary"


def create_job_table(connection: Connection, schema: str | None) -> sa.Table:
    """The job table, made where it is not there yet.

    Args:
        connection: A connection in autocommit.
        schema: The schema of the table that is worked on.
    """
    job = job_table(schema)
    try:
        job.create(connection, checkfirst=True)
    except DBAPIError:
        # Another job may have made it at this moment.
        if not sa.inspect(connection).has_table(NAME, schema=schema):
            raise
    return job


def is_marked(connection: Connection, table: TableName, column: str, state: State) -> bool:
    """Whether the column is marked as being in this state.

    Raises:
        MigrationBlockedError: It is, but the mark was made for another table of this name, or for this one
            before it was rebuilt.
    """
    if not sa.inspect(connection).has_table(NAME, schema=table.schema):
        return False
    job = job_table(table.schema)
    found = connection.execute(
        sa.select(job.c.state, job.c.table_identity).where(*_this(job, table, column))
    ).first()
    if found is None or found[0] != state:
        return False
    if found[1] != identity_of(connection, table, column):
        done = "compressed" if state == "framed" else "decompressed"
        where = f"table_name = '{table.name}' AND column_name = '{column}' AND part = '{_PART}'"
        sentence = (
            f"{job.fullname} says that {table}.{column} has been {done}, but the table was made or rebuilt "
            f"after that was written. Look whether its values are {done}: if they are not, delete the row of "
            f"{job.fullname} where {where}; if they are, stamp the revision. Then go on"
        )
        raise MigrationBlockedError(sentence, (sentence,))
    return True


def set_mark(connection: Connection, table: TableName, column: str, state: State) -> None:
    """Mark the column in the transaction of ``connection``; the job table is there."""
    job = job_table(table.schema)
    connection.execute(job.delete().where(*_this(job, table, column)))
    connection.execute(
        job.insert().values(
            table_name=table.name,
            column_name=column,
            part=_PART,
            state=state,
            table_identity=identity_of(connection, table, column),
        )
    )


def forget_mark(connection: Connection, table: TableName, column: str) -> None:
    """Take the mark away, since another strategy has converted the column."""
    if sa.inspect(connection).has_table(NAME, schema=table.schema):
        job = job_table(table.schema)
        connection.execute(job.delete().where(*_this(job, table, column)))


def refuse_half_done(connection: Connection, table: TableName, column: str, state: State) -> None:
    """Stop another strategy from doing a second time what ``strategy="rewrite"`` has begun.

    Raises:
        MigrationBlockedError: The column is marked.
    """
    if is_marked(connection, table, column, state):
        sentence = (
            f'{table}.{column} was begun, or done, with strategy="rewrite", and another strategy would take '
            'its frames for plain values; run it with strategy="rewrite"'
        )
        raise MigrationBlockedError(sentence, (sentence,))


def _this(job: sa.Table, table: TableName, column: str) -> tuple[sa.ColumnElement[bool], ...]:
    return job.c.table_name == table.name, job.c.column_name == column, job.c.part == _PART
