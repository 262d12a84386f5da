"""Which rows the rewrite job takes, and what it waits for."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText
from sqlcompress.frames import is_framed
from sqlcompress.jobs import lag
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite

BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


@pytest.fixture
def table(engine):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", BLOB),
        sa.Column("kind", sa.String(20)),
    )
    t.create(engine)
    rows = [
        {"id": i, "d": f"row {i} ".encode() * 40, "kind": "50% cold" if i % 2 else "hot"} for i in range(100)
    ]
    with engine.begin() as connection:
        connection.execute(t.insert(), rows)
    return t


def framed(engine, table):
    with engine.connect() as connection:
        return {i for i, value in connection.execute(sa.select(table.c.id, table.c.d)) if is_framed(value)}


def run(engine, **kw):
    return rewrite(engine, "t", "d", convert=Compress(CompressedText()), batch_rows=10, **kw)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("kind = '50% cold'", set(range(1, 100, 2))),
        ("kind LIKE '50%' OR id = 4", {*range(1, 100, 2), 4}),
        ("id < 10 -- the first ones", set(range(10))),
        ("id < 0", set()),
    ],
)
def test_where_takes_these_rows_only(engine, table, where, expected):
    result = run(engine, where=where)
    assert framed(engine, table) == expected
    assert result.rows_written == len(expected)
    assert run(engine).rows_written == 100 - len(expected)


@pytest.mark.parametrize("where", ["", "  "])
def test_an_empty_condition_is_refused(engine, table, where):
    with pytest.raises(ValueError, match="condition in SQL"):
        run(engine, where=where)
    assert framed(engine, table) == set()


def test_replicas_are_waited_for(engine, table, monkeypatch):
    # Asks after each batch: with any time between, the job may be done before the last answer is wanted.
    monkeypatch.setattr(lag, "_SECONDS_BETWEEN_QUESTIONS", 0.0)
    answers = iter([9.0, None, 7.0, 1.0, 30.0])
    waits, asked = [], []

    def lag_seconds():
        asked.append(len(framed(engine, table)))
        return next(answers, 0.0)

    def progress(state):
        if state.waiting_for:
            waits.append(state.waiting_for)

    run(engine, lag_seconds=lag_seconds, max_lag_seconds=5.0, progress=progress, workers=1)
    assert framed(engine, table) == set(range(100))
    # Nothing is written from one question to the next as long as the answer is no.
    assert asked[:4] == [10, 10, 10, 10]
    assert waits[:4] == [
        "replicas: the lag is 9.0 s, at most 5.0 s is wanted",
        "replicas: the lag is unknown, at most 5.0 s is wanted",
        "replicas: the lag is 7.0 s, at most 5.0 s is wanted",
        "replicas: the lag is 30.0 s, at most 5.0 s is wanted",
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_hook_raises_ends_the_job_in_order(engine, table, workers):
    def lag_seconds():
        raise ConnectionError("no replica")

    with pytest.raises(ConnectionError, match="no replica"):
        run(engine, lag_seconds=lag_seconds, workers=workers)
    done = framed(engine, table)
    assert 0 < len(done) < 100
    assert run(engine).rows_written == 100 - len(done)
