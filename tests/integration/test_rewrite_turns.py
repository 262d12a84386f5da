"""Other writers get a turn where the database lets none in by itself."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText
from sqlcompress.dialects.rows.sqlite import SQLiteRows
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite


@pytest.mark.databases("sqlite")  # the others have queues of those who wait
def test_the_job_rests_now_and_then_on_sqlite(engine, monkeypatch):
    table = sa.Table(
        "t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d", sa.Text)
    )
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": i, "d": "text " * 50} for i in range(30)])
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert rewrite(engine, "t", "d", convert=Compress(CompressedText()), batch_rows=10).rows_written == 30
    assert slept == []
    monkeypatch.setattr(SQLiteRows, "turn_after_seconds", 0.0)
    with engine.begin() as connection:
        connection.execute(table.update().values(d="text " * 60))
    rewrite(engine, "t", "d", convert=Compress(CompressedText()), batch_rows=10)
    # SQLite's own busy handler asks again every 100 ms.
    assert slept
    assert min(slept) > 0.1
