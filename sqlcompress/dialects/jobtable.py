"""The table in which jobs remember what rows do not tell, and locks under which it agrees with the rows."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress.dialects.names import PREFIX
from sqlcompress.dialects.tables import Binds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.rows import Rows
    from sqlcompress.dialects.tables import TableName

NAME = f"{PREFIX}job"


def _name(length: int) -> sa.types.TypeEngine[str]:
    """Text that is compared byte by byte, short enough for a key."""
    binary = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


def job_table(schema: str | None) -> sa.Table:
    """The table, one row for each column and kind of memory.

    Args:
        schema: The schema of the table that the column is in.
    """
    return sa.Table(
        NAME,
        sa.MetaData(),
        sa.Column("table_name", _name(64), primary_key=True),
        sa.Column("column_name", _name(64), primary_key=True),
        sa.Column("part", _name(32), primary_key=True),
        sa.Column("state", _name(32), nullable=False),
        sa.Column("after_key", sa.Text),
        sa.Column("upto_key", sa.Text),
        sa.Column("table_identity", _name(64)),
        schema=schema,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )


def identity_of(connection: Connection, table: TableName, column: str) -> str | None:
    """What tells the table, and where possible the column, from another of the same name made later.

    None where the database has nothing of the kind.
    """
    binds = Binds(connection.dialect.paramstyle)
    if connection.dialect.name == "postgresql":
        sql = (
            "SELECT c.oid::text || '.' || a.attnum::text FROM pg_attribute a"
            " JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE c.relname = {binds.next()}::text AND n.nspname = {binds.next()}::text"
            f" AND a.attname = {binds.next()}::text AND NOT a.attisdropped"
        )
        return str(connection.exec_driver_sql(sql, (table.name, table.schema, column)).scalar_one())
    if connection.dialect.name in {"mysql", "mariadb"}:
        sql = (
            "SELECT CAST(create_time AS CHAR) AS t FROM information_schema.tables"
            " WHERE table_name = %s AND table_schema = %s"
        )
        return str(connection.exec_driver_sql(sql, (table.name, table.schema)).scalar_one())
    return None


@contextmanager
def alone(rows: Rows, session: Connection, job: sa.Table) -> Iterator[None]:
    """One transaction in which nobody else writes to the table of ``rows``.

    Args:
        rows: The rows of the table.
        session: A connection from ``rows.open()``, outside a transaction.
        job: The job table, which is written too.
    """
    name = rows.dialect.name
    rows.begin(session)
    try:
        if name == "postgresql":
            # While this waits, everybody else waits behind it.
            session.exec_driver_sql("SET LOCAL lock_timeout = '200ms'")
            session.exec_driver_sql(f"LOCK TABLE {rows.table_sql} IN SHARE ROW EXCLUSIVE MODE")
        elif name in {"mysql", "mariadb"}:
            format_table = rows.dialect.identifier_preparer.format_table
            session.exec_driver_sql("SET SESSION lock_wait_timeout = 1")
            session.exec_driver_sql(f"LOCK TABLES {rows.table_sql} WRITE, {format_table(job)} WRITE")
        yield
        rows.commit(session)
    except BaseException:
        rows.rollback(session)
        raise
    finally:
        # It would commit what is open, so it comes after the rollback.
        if name in {"mysql", "mariadb"} and not session.invalidated:
            session.exec_driver_sql("UNLOCK TABLES")
            session.rollback()
