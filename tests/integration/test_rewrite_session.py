"""What the rewrite job leaves behind on a connection that is not its own: nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText
from sqlcompress.errors import MigrationFailedError
from sqlcompress.frames import is_framed
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite

BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")

ASKED = {
    "postgresql": "SELECT current_setting('enable_seqscan'), current_setting('enable_sort'),"
    " current_setting('jit'), current_setting('synchronous_commit'),"
    " coalesce(current_setting('sqlcompress.job', true), ''), current_setting('transaction_isolation')",
    "mysql": "SELECT @@time_zone, @@sql_mode, @sqlcompress_job, @@transaction_isolation",
    "mariadb": "SELECT @@time_zone, @@sql_mode, @sqlcompress_job, @@tx_isolation",
    "sqlite": "SELECT 1",
}


@pytest.fixture
def table(engine):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("d", BLOB, nullable=False),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": f"row {i} ".encode() * 40} for i in range(1, 51)])
    return t


@pytest.mark.parametrize("level", [None, "AUTOCOMMIT", "SERIALIZABLE"])
def test_a_lent_connection_is_given_back_as_it_was(engine, database, table, level):
    with engine.connect() as connection:
        if level is not None:
            connection.execution_options(isolation_level=level)
        before = connection.exec_driver_sql(ASKED[database]).one()
        factory = getattr(connection.connection.driver_connection, "cursor_factory", None)
        connection.rollback()
        result = rewrite(connection, "t", "d", convert=Compress(CompressedText()), batch_rows=20)
        assert result.rows_written == 50
        assert not connection.in_transaction()
        assert connection.exec_driver_sql(ASKED[database]).one() == before
        assert getattr(connection.connection.driver_connection, "cursor_factory", None) is factory
        connection.rollback()
        # What it was before is also what it does: a rollback undoes a statement, except in autocommit.
        connection.execute(table.delete().where(table.c.id == 1))
        connection.rollback()
        left = connection.scalar(sa.select(sa.func.count()).select_from(table))
        assert left == (49 if level == "AUTOCOMMIT" else 50)


def test_a_lent_connection_is_given_back_after_an_error(engine, database, table):
    with engine.begin() as connection:
        connection.execute(table.update().where(table.c.id == 7).values(d=b"\xff" * 100))
    with engine.connect() as connection:
        before = connection.exec_driver_sql(ASKED[database]).one()
        connection.rollback()
        with pytest.raises(MigrationFailedError, match="1 rows could not be converted"):
            rewrite(connection, "t", "d", convert=Compress(CompressedText()))
        assert connection.exec_driver_sql(ASKED[database]).one() == before
        connection.rollback()
        values = dict(connection.execute(sa.select(table.c.id, table.c.d)).all())
        assert [i for i, value in values.items() if not is_framed(value)] == [7]
