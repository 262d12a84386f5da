"""Generated columns and indexes over ``decompressed()``: that servers take them, and that plans use them."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from sqlalchemy import func

from sqlcompress import CompressedJSON, CompressedText, Zlib, decompressed, install
from tests.integration.test_decompressed import make_functions

#: MySQL and MariaDB take no system variable in an index, and need none for values up to here.
MAX_SIZE = 16 * 2**20
ROWS = 300


def text(number):
    return f"subject {number}\n" + "the quick brown fox jumps over the lazy dog " * 20


@pytest.fixture
def table(engine, database):
    install(engine)
    if database == "postgresql":
        make_functions(engine)
    made = sa.Table(
        "mail",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", CompressedText(Zlib(), max_size=MAX_SIZE)),
        sa.Column("meta", CompressedJSON(Zlib(), max_size=MAX_SIZE)),
    )
    made.create(engine)
    return made


def fill(engine, table):
    rows = [{"id": n, "body": text(n), "meta": {"user": {"id": n}, "x": "y" * 100}} for n in range(ROWS)]
    with engine.begin() as connection:
        connection.execute(table.insert(), rows)
        plain = sa.table(
            "mail", sa.column("id"), sa.column("body", sa.LargeBinary), sa.column("meta", sa.LargeBinary)
        )
        values = {
            "id": ROWS,
            "body": text(ROWS).encode(),
            "meta": json.dumps({"user": {"id": ROWS}}).encode(),
        }
        connection.execute(plain.insert(), values)


def plan(connection, database, statement):
    """What the server says it would do."""
    sql = f"EXPLAIN {statement.compile(connection, compile_kwargs={'literal_binds': True})}"
    if database == "postgresql":
        connection.exec_driver_sql("ANALYZE mail")
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        return " ".join(connection.exec_driver_sql(sql).scalars())
    connection.exec_driver_sql("ANALYZE TABLE mail").close()
    return " ".join(map(str, connection.exec_driver_sql(sql).mappings().all()))


@pytest.mark.databases("postgresql", "mysql", "mariadb")
def test_generated_columns_are_indexed(engine, database, table):
    beginning = func.substr(decompressed(table.c.body), 1, 12)
    if database in ("mysql", "mariadb"):
        beginning = sa.cast(beginning, sa.CHAR(12))
    user = decompressed(table.c.meta)["user"]["id"].as_integer()
    with engine.begin() as connection:
        for name, type_, expression in (("subject", "VARCHAR(12)", beginning), ("user_id", "BIGINT", user)):
            ddl = sa.Column(name, sa.Text, sa.Computed(expression, persisted=True))
            compiled = connection.dialect.ddl_compiler(connection.dialect, None).process(ddl.computed)
            connection.exec_driver_sql(f"ALTER TABLE mail ADD COLUMN {name} {type_} {compiled}")
            connection.exec_driver_sql(f"CREATE INDEX mail_{name} ON mail ({name})")
    fill(engine, table)
    t = sa.table("mail", sa.column("id"), sa.column("subject"), sa.column("user_id"))
    with engine.connect() as connection:
        for condition, expected, index in (
            (t.c.subject == "subject 7\nth", 7, "mail_subject"),
            (t.c.user_id == 11, 11, "mail_user_id"),
            (t.c.user_id == ROWS, ROWS, "mail_user_id"),
        ):
            statement = sa.select(t.c.id).where(condition)
            assert connection.scalars(statement).all() == [expected]
            assert index in plan(connection, database, statement)
        # What cannot be decoded is not stored beside an empty column.
        broken = sa.table("mail", sa.column("id"), sa.column("body", sa.LargeBinary))
        with pytest.raises(sa.exc.DBAPIError):
            connection.execute(broken.insert().values(id=9999, body=b"\x78\x9c\x00 not a frame"))


@pytest.mark.databases("postgresql", "mysql")  # MariaDB has no index over an expression
def test_an_index_over_the_expression_is_used(engine, database, table):
    beginning = func.substr(table.c.body, 1, 12)
    if database == "mysql":
        beginning = func.trim(sa.cast(beginning, sa.CHAR(12)))  # an index takes no LONGTEXT
    sa.Index("mail_beginning", beginning).create(engine)
    fill(engine, table)
    statement = sa.select(table.c.id).where(beginning == "subject 7\nth")
    with engine.connect() as connection:
        assert connection.scalars(statement).all() == [7]
        assert "mail_beginning" in plan(connection, database, statement)
