"""The rewrite job by itself: keys, budgets, bad rows, locks, writers, drivers."""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, CompressedText, MigrationBlockedError, MigrationFailedError
from sqlcompress.dialects.rows import Rows, rows_of
from sqlcompress.frames import MAGICS
from sqlcompress.jobs import batches
from sqlcompress.jobs.conversions import Compress, Decompress
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.pages import PageSize, pages
from sqlcompress.jobs.progress import reporting_to
from sqlcompress.jobs.rewrite import rewrite

BLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
TYPE = CompressedText()


def text(i):
    return f"row {i} of a text that compresses " * 10


def table(engine, *columns, rows=0, name="t"):
    columns = columns or (sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),)
    t = sa.Table(name, sa.MetaData(), *columns, sa.Column("d", BLOB), sa.Column("other", sa.Integer))
    t.create(engine)
    if rows:
        with engine.begin() as connection:
            connection.execute(t.insert(), [{"id": i, "d": text(i).encode()} for i in range(rows)])
    return t


def values(engine, t):
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t.c.id, sa.type_coerce(t.c.d, sa.types.NullType())))
        return {key: value.encode() if isinstance(value, str) else bytes(value) for key, value in rows}


KEYS = {
    "text": (lambda i: f"k{i:03}{'Ää'[i % 2]} ", sa.String(50)),
    "decimal": (lambda i: Decimal(i * 7 % 301) / 100, sa.Numeric(10, 2)),
    "uuid": (lambda i: uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128, version=4), sa.Uuid()),
    "binary": (lambda i: (i * 40503 % 65536).to_bytes(2, "big").ljust(16, b"\0"), sa.LargeBinary(16)),
    "negative": (lambda i: (i - 150) * 2**40, sa.BigInteger),
    "date": (
        lambda i: sa.func.now().type.python_type(2001, 1, 1 + i % 28, i % 24, i % 60, i // 7, 123456),
        sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    ),
}


@pytest.mark.parametrize("kind", KEYS)
def test_each_row_is_visited_once_by_a_key_of(engine, database, kind):
    make, type_ = KEYS[kind]
    if kind == "binary" and database in {"mysql", "mariadb"}:
        type_ = mysql.BINARY(16)
    t = table(engine, sa.Column("id", type_, primary_key=True, autoincrement=False))
    keys = sorted({make(i) for i in range(300)})
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": k, "d": text(n).encode()} for n, k in enumerate(keys)])
    result = rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=7)
    assert (result.rows_seen, result.rows_written, result.passes) == (len(keys), len(keys), 2)
    found = values(engine, t)
    assert {k: TYPE.from_stored(v).decode() for k, v in found.items()} == {
        k: text(n) for n, k in enumerate(keys)
    }
    assert rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=7).rows_seen == 0


def test_a_composite_key_and_a_unique_index(engine, database):
    text_type = (
        sa.String(20, collation="utf8mb4_unicode_ci") if database in {"mysql", "mariadb"} else sa.String(20)
    )
    one = table(
        engine,
        sa.Column("a", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("b", text_type, primary_key=True),
        sa.Column("c", sa.Integer, primary_key=True, autoincrement=False),
    )
    two = table(
        engine,
        sa.Column("x", sa.Integer, nullable=False),
        sa.Column("y", text_type, nullable=False),
        sa.UniqueConstraint("x", "y", name="odd name"),
        name="two",
    )
    rows = [(a, b, c) for a in range(4) for b in ("", "a", "ß", "Z", "é") for c in range(5)]
    with engine.begin() as connection:
        connection.execute(
            one.insert(), [{"a": a, "b": b, "c": c, "d": text(a).encode()} for a, b, c in rows]
        )
        connection.execute(two.insert(), [{"x": i, "y": f"{i}", "d": text(i).encode()} for i in range(100)])
    for name in ("t", "two"):
        result = rewrite(engine, name, "d", convert=Compress(TYPE), batch_rows=7)
        assert (result.rows_seen, result.rows_written) == (100, 100)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    "columns",
    [
        "id TEXT PRIMARY KEY, d BLOB",  # may hold NULLs
        "id INTEGER, rowid TEXT, d BLOB",
        "id TEXT, n INTEGER, d BLOB, PRIMARY KEY (n, id)) WITHOUT ROWID --",
        "id TEXT COLLATE NOCASE PRIMARY KEY, d BLOB) WITHOUT ROWID --",
    ],
)
def test_sqlite_keys(engine, columns):
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE t ({columns}\n)" if "--" not in columns else f"CREATE TABLE t ({columns[:-3]}"
        )
        names = "id, n, d" if ", n " in columns else "id, d"
        for i in range(100):
            key = None if "may hold" in columns and i % 2 else f"{'aB'[i % 2]}{i}"
            row = (key, i % 5, text(i).encode()) if ", n " in columns else (key, text(i).encode())
            connection.exec_driver_sql(f"INSERT INTO t ({names}) VALUES ({','.join('?' * len(row))})", row)
    result = rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=7)
    assert (result.rows_seen, result.rows_written) == (100, 100)


def test_no_key_is_refused(engine, database):
    if database == "sqlite":
        pytest.skip("every table without a key of its own has a rowid")
    with engine.begin() as connection:
        connection.execute(
            sa.text(f"CREATE TABLE t (id int UNIQUE, d {'bytea' if database == 'postgresql' else 'blob'})")
        )
    with pytest.raises(MigrationBlockedError, match="primary key"):
        rewrite(engine, "t", "d", convert=Compress(TYPE))


def test_rows_that_cannot_be_converted_are_left_counted_and_named(engine):
    t = table(engine, rows=50)
    bad = {7: b"\xff\xfe" * 50, 13: b"\x28\xb5\x2f\xfd and not a frame" * 5}
    with engine.begin() as connection:
        for key, value in bad.items():
            connection.execute(t.update().where(t.c.id == key), {"d": value})
    # A value that begins like a frame is taken for done where text can be told by it: a corrupt frame shows
    # when it is read, and in a conversion that reads frames.
    with pytest.raises(MigrationFailedError) as raised:
        rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=10)
    assert raised.value.failed_keys == (7,)
    assert "UnknownFormatError" in str(raised.value)
    with pytest.raises(MigrationFailedError) as raised:
        rewrite(engine, "t", "d", convert=Decompress(TYPE), batch_rows=10)
    assert 13 in raised.value.failed_keys
    found = values(engine, t)
    assert {key: found[key] for key in bad} == bad


def test_batches_are_bounded_in_bytes(engine, monkeypatch):
    t = table(engine)
    noise = random.Random(3)
    sizes = [900] * 60 + [300_000] * 12 + [4_000_000] + [100] * 20
    rows = {i: noise.randbytes(size // 2).hex().encode() for i, size in enumerate(sizes)}
    with engine.begin() as connection:
        for key, value in rows.items():
            connection.execute(t.insert(), {"id": key, "d": value})
    pages, writes = [], []
    page, write = Rows.page, Rows.write

    def seen(self, *args, **kw):
        found = page(self, *args, **kw)
        pages.append(sum(len(row.value) for row in found if row.value is not None))
        return found

    def written(self, *args, original=write):
        writes.append(sum(len(change.value) for change in args[1]))
        return original(self, *args)

    monkeypatch.setattr(Rows, "page", seen)
    for class_ in {Rows, *Rows.__subclasses__()}:
        if "write" in class_.__dict__:
            monkeypatch.setattr(
                class_,
                "write",
                lambda self, *a, original=class_.__dict__["write"]: written(self, *a, original=original),
            )
    result = rewrite(engine, "t", "d", convert=Compress(TYPE), batch_bytes=1_000_000, workers=1)
    assert result.rows_written == len([s for s in sizes if s >= 900]) + len([s for s in sizes if s == 100])
    assert max(pages) <= 4_000_000
    assert max(writes) <= 2_100_000
    found = values(engine, t)
    assert {k: TYPE.from_stored(v) for k, v in found.items()} == rows


@pytest.mark.parametrize("change", ["DELETE FROM t WHERE id = 3", "UPDATE t SET d = NULL WHERE id = 3"])
def test_a_long_value_that_goes_while_it_is_read_is_no_failure(engine, monkeypatch, change):
    t = table(engine, rows=3)
    with engine.begin() as connection:
        long = {"id": 3, "d": b"a long value " * 100_000}
        connection.execute(t.insert(), [long, {"id": 4, "d": b"the last"}])
    asked = Rows.values

    def values_after_the_change(rows, connection, long_rows):
        connection.rollback()
        with engine.begin() as other:
            other.exec_driver_sql(change)
        return asked(rows, connection, long_rows)

    monkeypatch.setattr(Rows, "values", values_after_the_change)
    with engine.connect() as connection:
        found, column, key = key_of(connection, "t", "d")
        rows = rows_of(connection, found, column, key)
        read = {row.key[0]: row.value for row in pages(connection, rows, PageSize(1000, 1000, None))}
    assert read == {0: text(0).encode(), 1: text(1).encode(), 2: text(2).encode(), 4: b"the last"}


def test_progress_is_told_and_ends(engine):
    table(engine, rows=100)
    told = []
    with reporting_to(told.append):
        rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=20)
    last = told[-1]
    assert (last.table.split(".")[-1], last.column, last.done) == ("t", "d", True)
    assert (last.rows_seen, last.rows_total, last.rows_written, last.rows_failed) == (100, 100, 100, 0)
    assert last.bytes_before == sum(len(text(i)) for i in range(100))
    assert last.ratio > 3
    assert last.seconds_left == 0
    assert [p.rows_seen for p in told] == sorted(p.rows_seen for p in told)
    assert all(p.rows_total == 100 for p in told)


def test_a_lock_held_by_another_is_waited_for(engine, database, monkeypatch):
    """The server gives up waiting (55P03, 1205, SQLITE_BUSY); the job tries again, the newer value stays."""
    t = table(engine, rows=50)
    arguments = {
        "sqlite": {"timeout": 0.02},
        "postgresql": {"options": "-c lock_timeout=100"},
    }.get(database, {"init_command": "SET SESSION innodb_lock_wait_timeout = 1"})
    impatient = sa.create_engine(engine.url, connect_args=arguments)
    newer = TYPE.to_stored(b"newer " * 50)
    waits = []
    with engine.connect() as holder:
        holder.execute(t.update().where(t.c.id == 30), {"d": newer})

        def wait(tries):
            waits.append(tries)
            holder.commit()

        monkeypatch.setattr(batches, "_wait", wait)
        result = rewrite(impatient, "t", "d", convert=Compress(TYPE), batch_rows=20, workers=1)
    impatient.dispose()
    assert waits == [1]
    assert result.rows_written == 49
    assert values(engine, t)[30] == newer


@pytest.mark.databases("mariadb", "mysql")
def test_a_deadlock_is_survived(engine, monkeypatch):
    t = table(engine, rows=100)
    waits = []
    monkeypatch.setattr(batches, "_wait", waits.append)
    outcome = []
    with engine.connect() as other, engine.connect() as watcher:
        # The server's victim is who has changed less: the job has only locked so far.
        other.execute(t.insert(), [{"id": 1000 + i, "d": b""} for i in range(200)])
        other.execute(t.update().where(t.c.id == 90), {"other": 1})
        job = threading.Thread(
            target=lambda: outcome.append(rewrite(engine, "t", "d", convert=Compress(TYPE), workers=1))
        )
        job.start()
        waiting = sa.text("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'")
        while not watcher.execute(waiting).scalar():
            watcher.rollback()
            assert job.is_alive()
            # The server shows the same picture again to whoever asks within 0.1 s of the last question.
            job.join(0.2)
        other.execute(t.update().where(t.c.id == 1), {"other": 1})
        other.commit()
        job.join()
    assert waits == [1]
    assert outcome[0].rows_written == 100


def test_a_writer_meanwhile_loses_nothing(engine, database):
    """Updates, inserts and deletes beside the job; at the end each row is what its journal says."""
    t = table(engine, rows=400)
    compressed = sa.table("t", sa.column("id"), sa.column("d", TYPE))
    journal = {i: text(i) for i in range(400)}
    stop, begun = threading.Event(), threading.Event()
    troubles = []

    def write():
        dice = random.Random(5)
        other = sa.create_engine(engine.url)
        try:
            while not stop.is_set():
                key, new = dice.randrange(450), f"written {dice.random()} " * dice.randrange(1, 20)
                with other.begin() as connection:
                    if key >= 400 and key not in journal:
                        connection.execute(sa.insert(compressed), {"id": key, "d": new})
                    elif key % 10 == 9:
                        connection.execute(sa.delete(compressed).where(compressed.c.id == key))
                    else:
                        connection.execute(sa.update(compressed).where(compressed.c.id == key), {"d": new})
                if key % 10 == 9 and not (key >= 400 and key not in journal):
                    journal.pop(key, None)
                elif key in journal or key >= 400:
                    journal[key] = new
                begun.set()
        except Exception as error:  # noqa: BLE001 - shown by the main thread
            troubles.append(error)
            begun.set()
        finally:
            other.dispose()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    try:
        rewrite(engine, "t", "d", convert=Compress(TYPE), batch_rows=10, pause_seconds=0.002)
    finally:
        stop.set()
        writer.join()
    assert not troubles
    assert {k: TYPE.from_stored(v).decode() for k, v in values(engine, t).items()} == journal


def test_every_driver(driver_engine):
    through_alembic(driver_engine)


def through_alembic(engine):
    table_of_text(engine)
    with engine.connect() as connection:
        up(connection)
    with engine.connect() as connection:
        stored = [bytes(v) for v in connection.execute(sa.text("SELECT d FROM t ORDER BY id")).scalars()]
        assert all(value.startswith(MAGICS[0]) for value in stored)
    with engine.connect() as connection:
        down(connection)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT d FROM t ORDER BY id")).scalars().all() == [
            text(i) for i in range(120)
        ]


def table_of_text(engine):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("d", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")),
    )
    with engine.begin() as connection:
        fill(connection, t)


def fill(connection, t):
    t.create(connection)
    connection.execute(t.insert(), [{"id": i, "d": text(i)} for i in range(120)])


def up(connection):
    context = MigrationContext.configure(connection)
    with context.begin_transaction(_per_migration=True):
        Operations(context).compress_column("t", "d", type_=TYPE, batch_rows=50)


def down(connection):
    context = MigrationContext.configure(connection)
    with context.begin_transaction(_per_migration=True):
        Operations(context).decompress_column(
            "t",
            "d",
            type_=sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
            existing_type=TYPE,
            batch_rows=50,
        )


def test_every_asynchronous_driver(async_engine):
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("d", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")),
    )

    async def story():
        async with async_engine.begin() as connection:
            await connection.run_sync(fill, t)
        async with async_engine.connect() as connection:
            await connection.run_sync(up)
        async with async_engine.connect() as connection:
            stored = (await connection.execute(sa.text("SELECT d FROM t ORDER BY id"))).scalars().all()
            assert all(bytes(value).startswith(MAGICS[0]) for value in stored)
        async with async_engine.connect() as connection:
            await connection.run_sync(down)
        async with async_engine.connect() as connection:
            plain = (await connection.execute(sa.text("SELECT d FROM t ORDER BY id"))).scalars().all()
            assert plain == [text(i) for i in range(120)]
        await async_engine.dispose()

    asyncio.run(story())


def test_binary_atomic_inside_a_transaction_that_is_rolled_back(engine):
    t = table(engine, rows=20)
    before = values(engine, t)
    with engine.connect() as connection:
        convert = Compress(CompressedBinary(), each_once=True)
        assert rewrite(connection, "t", "d", convert=convert, own_transactions=False).rows_written == 20
        connection.rollback()
    assert values(engine, t) == before


@pytest.mark.parametrize("wrong", [{"batch_rows": 0}, {"batch_rows": 10_001}, {"batch_bytes": 0}])
@pytest.mark.databases("sqlite")
def test_settings_out_of_bounds(engine, wrong):
    table(engine)
    with pytest.raises(ValueError, match="batch_"):
        rewrite(engine, "t", "d", convert=Compress(TYPE), **wrong)
