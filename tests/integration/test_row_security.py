"""PostgreSQL's policies hide rows even from a table's owner: what is not seen is not migrated."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from sqlcompress import CompressedText, MigrationBlockedError
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.jobs.column import Batching
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.preflight import check_compress
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.jobs.shadow import compress_shadow

pytestmark = pytest.mark.databases("postgresql")


@pytest.fixture
def owner(engine):
    """An engine as the owner of the table ``doc``, who sees the rows of one tenant of three."""
    role = f"owner_{engine.url.database}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f'CREATE ROLE "{role}"')
        connection.exec_driver_sql("CREATE TABLE doc (id int PRIMARY KEY, tenant int, d text)")
        connection.exec_driver_sql(
            "INSERT INTO doc SELECT i, mod(i, 3), repeat('row ' || i, 100) FROM generate_series(1, 300) i"
        )
        connection.exec_driver_sql("ALTER TABLE doc ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        connection.exec_driver_sql("CREATE POLICY own ON doc USING (tenant = 1)")
        connection.exec_driver_sql(f'GRANT ALL ON SCHEMA public TO "{role}"')
        connection.exec_driver_sql(f'ALTER TABLE doc OWNER TO "{role}"')
    made = sa.create_engine(engine.url, connect_args={"options": f"-c role={role}"})
    yield made
    made.dispose()
    with engine.begin() as connection:
        connection.exec_driver_sql(f'DROP OWNED BY "{role}"')
        connection.exec_driver_sql(f'DROP ROLE "{role}"')


@pytest.mark.parametrize("strategy", ["rewrite", "shadow", "atomic"])
def test_hidden_rows_are_a_blocker(owner, strategy):
    with owner.connect() as connection, pytest.raises(MigrationBlockedError, match="row-level security"):
        check_compress(connection, "doc", "d", CompressedText(), schema=None, strategy=strategy)


def test_a_shadow_column_is_not_filled_without_the_hidden_rows(owner):
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        table = catalog_of(connection).table("doc", None)
        with pytest.raises(DBAPIError, match="row-level security"):
            compress_shadow(connection, owner, table, "d", CompressedText(), Batching(), drop_original=False)


def test_the_rewrite_job_leaves_no_hidden_row_out(owner):
    with owner.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE doc ALTER d TYPE bytea USING convert_to(d, 'UTF8')")
    with pytest.raises(DBAPIError, match="row-level security"):
        rewrite(owner, "doc", "d", convert=Compress(CompressedText()))


def test_an_owner_who_is_not_forced_sees_all(owner):
    with owner.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ALTER TABLE doc NO FORCE ROW LEVEL SECURITY")
        table, _ = check_compress(connection, "doc", "d", CompressedText(), schema=None, strategy="shadow")
        result = compress_shadow(
            connection, owner, table, "d", CompressedText(), Batching(), drop_original=False
        )
    assert result.rows_written == 300
