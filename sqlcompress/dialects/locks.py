"""LOCK TABLES on MySQL and MariaDB, ended whatever happens and without hiding what happened."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection


@contextmanager
def locked_for_writing(connection: Connection, *tables: str) -> Iterator[None]:
    """Inside the block nobody else reads or writes these tables.

    Args:
        connection: The only connection that may use them; no other table can be used on it meanwhile.
        tables: Quoted names.
    """
    connection.exec_driver_sql("LOCK TABLES " + ", ".join(f"{table} WRITE" for table in tables))
    try:
        yield
    except BaseException:
        # The connection may be lost, and its locks with it; what ended the block says more.
        with suppress(SQLAlchemyError):
            connection.exec_driver_sql("UNLOCK TABLES")
        raise
    connection.exec_driver_sql("UNLOCK TABLES")
