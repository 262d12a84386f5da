"""A compressed type over a column that is still TEXT: what was there is read, what goes wrong is told."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedJSON, CompressedText, UnknownFormatError


@pytest.fixture
def tables(driver_engine):
    metadata = sa.MetaData()
    plain = sa.Table("t", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text))
    metadata.create_all(driver_engine)

    def read_as(type_):
        return sa.table("t", sa.column("id", sa.Integer), sa.column("d", type_))

    return plain, read_as


TEXTS = ["", "a", "plain", "\\x", "\\x4", "\\x4G", "\\x41 ", "\\X41", "x41", "\\x41\n", "é" * 100]


def test_plain_text_is_read(driver_engine, tables):
    plain, read_as = tables
    with driver_engine.begin() as connection:
        connection.execute(plain.insert(), [{"id": i, "d": text} for i, text in enumerate(TEXTS, 1)])
    table = read_as(CompressedText())
    with driver_engine.connect() as connection:
        assert list(connection.scalars(sa.select(table.c.d).order_by(table.c.id))) == TEXTS


@pytest.mark.databases("postgresql")
@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (CompressedText(), "short"),
        (CompressedText(), "long " * 100),
        (CompressedText(legacy=("zlib",)), "long " * 100),
        (CompressedJSON(), {"a": 1}),
        (CompressedJSON(), {"a": "long " * 100}),
    ],
    ids=["short text", "frame", "legacy", "short document", "framed document"],
)
def test_bytes_that_postgresql_turned_to_text_are_not_taken_for_text(driver_engine, tables, type_, value):
    # The server converts bytea to text by itself where it is assigned to a TEXT column; asyncpg refuses.
    _, read_as = tables
    table = read_as(type_)
    try:
        with driver_engine.begin() as connection:
            connection.execute(table.insert().values(id=1, d=value))
    except sa.exc.DBAPIError:
        return
    with driver_engine.connect() as connection, pytest.raises(UnknownFormatError, match="not binary yet"):
        connection.scalars(sa.select(table.c.d)).all()
