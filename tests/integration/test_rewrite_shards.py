"""A table spread over jobs that know nothing of each other."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, CompressedText, MigrationBlockedError, MigrationFailedError
from sqlcompress.dialects.jobtable import job_table
from sqlcompress.frames import is_framed
from sqlcompress.jobs.conversions import Compress
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.jobs.shards import _key_from, _key_to

BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


def make(engine, *keys, rows=()):
    t = sa.Table("t", sa.MetaData(), *keys, sa.Column("d", BLOB))
    t.create(engine)
    if rows:
        with engine.begin() as connection:
            connection.execute(t.insert(), list(rows))
    return t


def numbered(engine, count):
    rows = [{"id": 3 * i, "d": f"row {i} ".encode() * 40} for i in range(count)]
    return make(engine, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), rows=rows)


def shard(engine, which, **kw):
    return rewrite(engine, "t", "d", convert=Compress(CompressedText()), shard=which, batch_rows=20, **kw)


def plain(engine, t):
    with engine.connect() as connection:
        return [key for key, d in connection.execute(sa.select(t.c.id, t.c.d)) if not is_framed(d)]


def ranges(engine):
    with engine.connect() as connection:
        return connection.execute(sa.select(job_table(None))).all()


def test_every_row_is_in_one_shard_also_those_that_come_later(engine):
    t = numbered(engine, 100)
    assert shard(engine, "2/4").rows_written == 25
    assert len(ranges(engine)) == 4
    later = [-5, 1, 100, 1000]
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": b"later " * 40} for i in later])
    written = [shard(engine, f"{k}/4").rows_written for k in (4, 3, 1)]
    assert sum(written) == 75 + len(later) - 1
    assert plain(engine, t) == [100]  # came behind a shard that was done: that one is run again
    assert ranges(engine) == []
    assert rewrite(engine, "t", "d", convert=Compress(CompressedText())).rows_written == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_more_shards_than_rows(engine, count):
    t = numbered(engine, count)
    assert sum(shard(engine, f"{k}/5").rows_written for k in (5, 1, 3, 2, 4)) == count
    assert plain(engine, t) == []
    assert ranges(engine) == []


@pytest.mark.databases("postgresql", "mysql", "mariadb")
def test_all_at_the_same_moment(engine):
    t = numbered(engine, 200)
    results, errors, together = [], [], threading.Barrier(4)

    def run(k):
        together.wait()
        try:
            results.append(shard(engine, f"{k}/4", workers=1).rows_written)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sum(results) == 200
    assert plain(engine, t) == []
    assert ranges(engine) == []


def test_a_key_of_text_and_date(engine):
    rows = [
        {"a": f"Ä{i % 7}%", "b": dt.date(2024, 1, 1) + dt.timedelta(i), "d": f"row {i} ".encode() * 40}
        for i in range(60)
    ]
    keys = sa.Column("a", sa.String(20), primary_key=True), sa.Column("b", sa.Date, primary_key=True)
    t = make(engine, *keys, rows=rows)
    assert sum(shard(engine, f"{k}/3").rows_written for k in (1, 2, 3)) == 60
    with engine.connect() as connection:
        assert all(is_framed(d) for d in connection.scalars(sa.select(t.c.d)))


def test_another_number_of_shards_is_refused_and_another_condition_is_not(engine):
    numbered(engine, 40)
    assert shard(engine, "1/2").rows_written == 20
    with pytest.raises(MigrationBlockedError, match="in 2 shards"):
        shard(engine, "1/3")
    assert shard(engine, "3/3", where="id > 0").rows_written == 14
    assert shard(engine, "2/2").rows_written == 6


def test_a_shard_that_failed_is_run_again(engine):
    t = numbered(engine, 20)
    with engine.begin() as connection:
        connection.execute(t.update().where(t.c.id == 3).values(d=b"\xff" * 200))
    with pytest.raises(MigrationFailedError):
        shard(engine, "1/2")
    shard(engine, "2/2")
    assert len(ranges(engine)) == 2
    with engine.begin() as connection:
        connection.execute(t.delete().where(t.c.id == 3))
    shard(engine, "1/2")
    assert ranges(engine) == []
    assert plain(engine, t) == []


@pytest.mark.parametrize(
    "wrong", ["", "1", "0/3", "4/3", "1/0", "1/1001", "1/2/3", "a/b", " 1/2", "\u0661/2"]
)
def test_a_wrong_shard(engine, wrong):
    numbered(engine, 1)
    with pytest.raises(ValueError, match="such as"):
        shard(engine, wrong)


def test_binary_values_cannot_be_sharded(engine):
    numbered(engine, 1)
    with pytest.raises(ValueError, match="rows tell"):
        rewrite(engine, "t", "d", convert=Compress(CompressedBinary(), each_once=True), shard="1/2")


@pytest.mark.parametrize(
    "key",
    [
        (1, "Ä'"),
        (b"\x00\xff", Decimal("1.50"), 0.1),
        (uuid.UUID(int=5), dt.datetime.fromisoformat("2024-05-06T07:08:09.000010"), dt.date(2024, 5, 6)),
        (dt.time(1, 2, 3, 4), dt.timedelta(days=-2, microseconds=5)),
    ],
)
def test_keys_are_kept_exactly(key):
    assert _key_from(_key_to(key)) == key
