"""Rows read by a list of keys, in the job's own session: each by its index, whatever the key is."""

from __future__ import annotations

import uuid

import pytest
import sqlalchemy as sa

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.rows import rows_of
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.patience import session_of

COLUMNS = {
    "composite": {"a": sa.String(20), "k0": sa.Integer},
    "uuid": {"id": sa.Uuid},
    "number": {"n %": sa.BigInteger},
}


def _keys(kind):
    if kind == "composite":
        return [(f"a{i % 7}'\\%", i) for i in range(500)]
    if kind == "uuid":
        return [(uuid.UUID(int=i * 7919),) for i in range(500)]
    return [(i * 3,) for i in range(500)]


@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_are_found_by_their_keys(driver_engine, kind):
    engine = driver_engine
    key_columns = [sa.Column(name, type_, primary_key=True) for name, type_ in COLUMNS[kind].items()]
    table = sa.Table("order", sa.MetaData(), *key_columns, sa.Column("d", sa.LargeBinary))
    table.create(engine)
    names = list(COLUMNS[kind])
    all_keys = _keys(kind)
    with engine.begin() as connection:
        connection.execute(
            table.insert(),
            [
                {**dict(zip(names, key, strict=True)), "d": None if number % 5 == 0 else b"value %d" % number}
                for number, key in enumerate(all_keys)
            ],
        )
    with engine.connect() as connection:
        found = catalog_of(connection).table("order", None)
        described = catalog_of(connection).column(found, "d")
        _, _, key = key_of(connection, "order", "d", schema=None)
        rows = rows_of(connection, found, described, key)
    with session_of(engine, rows) as session:
        rows.begin(session)
        upto = rows.largest(session)
        page = rows.page(session, None, upto, 1000, 10_000, lock=False)
        wanted = [row.key for row in page[10:210]]
        got = rows.by_key(session, wanted)
        assert {row.key: row.value for row in got} == {row.key: row.value for row in page[10:210]}
        assert {row.key: row.value for row in rows.values(session, page[:50])} == {
            row.key: row.value for row in page[:50]
        }
        if engine.dialect.name == "postgresql":
            having_keys, values = rows.having_keys(wanted)
            plan = session.exec_driver_sql(
                f"EXPLAIN SELECT 1 FROM {rows.from_sql()} WHERE {having_keys}", values
            ).all()
            lines = "\n".join(str(line) for (line,) in plan)
            assert "Index Cond" in lines
            assert "Seq Scan" not in lines
        rows.rollback(session)
    with session_of(engine, rows) as session:
        rows.begin(session)
        assert rows.by_key(session, [page[0].key])[0].is_null is False
        rows.rollback(session)
