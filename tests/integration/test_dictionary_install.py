"""Engines that learn of their database's dictionaries: at checkout, on demand, in every kind of pool."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import QueuePool, SingletonThreadPool, StaticPool

from sqlcompress import (
    CompressedText,
    Dictionary,
    DictionaryNotFoundError,
    DictionaryStore,
    Zlib,
    Zstd,
    install,
)
from sqlcompress.dialects.dictionarytable import dictionary_table
from sqlcompress.frames import is_framed
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.conversions import Recompress
from sqlcompress.jobs.drift import dictionary_of
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.known import known_of
from sqlcompress.training import train

T = sa.Table(
    "event",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("d", CompressedText(Zstd(dictionary="events"))),
)


def text(i, kind="delivery"):
    return (
        f"{kind} {i * 6151 % 99991:05} by northern parcel service, in transit at depot {i % 9}, order {i:06};"
        f" {kind} {i * 6113 % 99991:05} by northern parcel service, at depot {i % 8}"
    )


def trained(kind, name="events"):
    values = [text(i, kind).encode() for i in range(5000, 5600)]
    found = train(name, values, sizes=(2048,)).dictionary
    assert found is not None
    return found


DELIVERY, INVOICE, REMINDER = trained("delivery"), trained("invoice"), trained("reminder")


def activate(bind, dictionary):
    store = DictionaryStore(bind)
    store.create_table()
    store.publish(dictionary)
    store.activate(dictionary.id, after_seconds=0)


def write(engine, first, kind="delivery", count=10):
    with engine.begin() as connection:
        rows = [{"id": i, "d": text(i, kind)} for i in range(first, first + count)]
        connection.execute(T.insert(), rows)
    return {row["id"]: row["d"] for row in rows}


def read(connection):
    return {i: value for i, value in connection.execute(sa.select(T.c.id, T.c.d))}  # noqa: C416 - rows


def used(engine, first, count=10):
    """The ids of the dictionaries that frames in these rows name; 0 for none."""
    query = sa.select(sa.type_coerce(T.c.d, sa.LargeBinary)).where(T.c.id.between(first, first + count - 1))
    with engine.connect() as connection:
        stored = [bytes(value) for value in connection.scalars(query)]
    assert len(stored) == count
    assert all(is_framed(value) for value in stored)
    return {dictionary_of(value) for value in stored}


def another(engine, **kw):
    """As another process has it: an engine over the same database that knows nothing yet."""
    return sa.create_engine(engine.url, **kw)


def test_one_column_through_the_life_of_its_dictionaries(engine):
    application = install(another(engine), refresh_seconds=0)
    T.create(engine)
    rows = write(application, 0)  # there is no table of dictionaries
    DictionaryStore(engine).create_table()
    rows |= write(application, 10)  # none is trained
    DictionaryStore(engine).publish(DELIVERY)
    rows |= write(application, 20)  # readers have it
    activate(engine, DELIVERY)
    rows |= write(application, 30)
    activate(engine, INVOICE)
    rows |= write(application, 40, "invoice")
    DictionaryStore(engine).retire(INVOICE.id)
    rows |= write(application, 50)
    DictionaryStore(engine).retire(DELIVERY.id)
    rows |= write(application, 60)
    plain, zlib = text(70), text(71)
    raw = sa.table("event", sa.column("id"), sa.column("d", sa.LargeBinary))
    with engine.begin() as connection:
        connection.execute(raw.insert(), [{"id": 70, "d": plain.encode()}])
        connection.execute(raw.insert(), [{"id": 71, "d": CompressedText(Zlib()).to_stored(zlib.encode())}])
    rows |= {70: plain, 71: zlib}
    assert [used(engine, first) for first in range(0, 70, 10)] == [
        {0},
        {0},
        {0},
        {DELIVERY.id},
        {INVOICE.id},
        {DELIVERY.id},
        {0},
    ]
    for fresh in (application, install(another(engine))):
        with fresh.connect() as connection:
            assert read(connection) == rows
        fresh.dispose()
    # All of it, whatever it was made with, into frames of another dictionary.
    activate(engine, REMINDER)
    with engine.connect() as connection:
        type_ = with_dictionaries(connection, T.c.d.type)
    assert rewrite(engine, "event", "d", convert=Recompress(type_, type_)).rows_written == len(rows)
    assert used(engine, 0, len(rows)) == {REMINDER.id}
    application = install(another(engine))
    with application.connect() as connection:
        assert read(connection) == rows
    application.dispose()


def test_a_dictionary_met_on_a_connection_that_is_held(engine):
    T.create(engine)
    reader = install(another(engine, **one_connection(engine)))
    with reader.connect() as connection:
        assert read(connection) == {}
        connection.rollback()
        activate(engine, DELIVERY)
        install(engine, refresh_seconds=0)
        rows = write(engine, 0)
        assert used(engine, 0) == {DELIVERY.id}
        assert read(connection) == rows
        values = connection.scalars(sa.select(T.c.d).order_by(T.c.id))
        assert values.all() == list(rows.values())
    reader.dispose()


def one_connection(engine):
    return {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": 1}


def test_asynchronous_engines(async_engine, engine):
    T.create(engine)
    activate(engine, DELIVERY)
    install(engine, refresh_seconds=0)
    rows = write(engine, 0)

    async def met_unknown(connection):
        """As if the dictionary had come just now."""
        known_of(async_engine.dialect).forget_others([])

    async def story():
        install(async_engine, refresh_seconds=60)
        query = sa.select(T.c.id, T.c.d).order_by(T.c.id)
        async with async_engine.begin() as connection:
            await connection.execute(T.insert(), [{"id": 100 + i, "d": text(i)} for i in range(10)])
        async with async_engine.connect() as connection:
            expected = list((rows | {100 + i: text(i) for i in range(10)}).items())
            # Result processors run outside the greenlet here,
            await met_unknown(connection)
            assert [tuple(row) for row in (await connection.execute(query)).all()] == expected
            await met_unknown(connection)
            assert (await connection.scalars(query.with_only_columns(T.c.d))).all() == [
                v for _, v in expected
            ]
            # in it here,
            await met_unknown(connection)
            assert await connection.run_sync(lambda c: [tuple(row) for row in c.execute(query)]) == expected
            # and while rows are still coming here.
            await met_unknown(connection)
            streamed = await connection.stream(query)
            assert [tuple(row) async for row in streamed] == expected
            # Many tasks at once, none of which waits for another.
            await met_unknown(connection)

        async def one():
            async with async_engine.connect() as connection:
                return (await connection.execute(query)).all()

        for found in await asyncio.gather(*(one() for _ in range(4))):
            assert [tuple(row) for row in found] == expected
        await async_engine.dispose()

    asyncio.run(asyncio.wait_for(story(), 60))
    assert used(engine, 100) == {DELIVERY.id}


def statements_of(engine, monkeypatch, work):
    """How many statements ``work`` sends, by the database's own count or at the driver."""
    name = engine.dialect.name
    sent = []
    if name == "sqlite":
        sa.event.listen(engine, "connect", lambda connection, _: connection.set_trace_callback(sent.append))
    elif name == "postgresql":
        cursors = engine.dialect.dbapi.Cursor
        execute = cursors.execute

        def noted(self, query, *args, **kw):
            sent.append(query)
            return execute(self, query, *args, **kw)

        monkeypatch.setattr(cursors, "execute", noted)
    else:
        counts = []
        for step in (lambda: None, work):
            step()
            with engine.connect() as connection:
                status = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Questions'").one()
                counts.append(int(status[1]))
        engine.dispose()
        return counts[1] - counts[0]
    work()
    engine.dispose()
    monkeypatch.undo()
    return len(sent)


def test_no_statement_more_for_a_statement(engine, monkeypatch):
    T.create(engine)
    activate(engine, DELIVERY)

    def work(application, first):
        for i in range(first, first + 100):
            with application.begin() as connection:
                connection.execute(T.insert(), {"id": i, "d": text(i)})
                assert connection.scalar(sa.select(T.c.d).where(T.c.id == i)) == text(i)

    bare, installed = (another(engine, **one_connection(engine)) for _ in range(2))
    install(installed)
    without = statements_of(bare, monkeypatch, lambda: work(bare, 0))
    with_ = statements_of(installed, monkeypatch, lambda: work(installed, 1000))
    assert used(engine, 1000, 100) == {DELIVERY.id}
    assert without >= 200
    # At the first checkout: whether the table is there, what is in it, the contents, the transaction's end.
    assert 0 <= with_ - without <= 5


def test_an_id_that_is_nowhere_is_asked_for_once(engine, caplog):
    T.create(engine)
    with engine.begin() as connection:
        type_ = CompressedText(Zstd(dictionary=DELIVERY))
        raw = sa.table("event", sa.column("id"), sa.column("d", sa.LargeBinary))
        connection.execute(
            raw.insert(), [{"id": i, "d": type_.to_stored(text(i).encode())} for i in range(5)]
        )
    reader = install(another(engine))
    asked = []
    sa.event.listen(reader.pool, "connect", lambda *_: asked.append(1))
    with reader.connect() as connection:
        asked.clear()
        for i in range(5):
            with pytest.raises(DictionaryNotFoundError, match="sqlcompress dictionaries import") as caught:
                connection.execute(sa.select(T.c.d).where(T.c.id == i)).all()
            assert caught.value.dictionary_id == DELIVERY.id
            assert "delivery" not in str(caught.value)
    assert len(asked) <= 1
    reader.dispose()


def test_a_damaged_row_is_named_and_others_are_read(engine, caplog):
    T.create(engine)
    install(engine, refresh_seconds=0)
    activate(engine, DELIVERY)
    rows = write(engine, 0)
    activate(engine, INVOICE)
    rows |= write(engine, 10, "invoice")
    t = dictionary_table(None)
    with engine.begin() as connection:
        damaged = INVOICE.content[:-9] + b"damaged!!"
        connection.execute(t.update().where(t.c.id == INVOICE.id).values(content=damaged))
    application = install(another(engine), refresh_seconds=0)
    with caplog.at_level(logging.WARNING, "sqlcompress"), application.connect() as connection:
        undamaged = connection.scalars(sa.select(T.c.d).where(T.c.id < 10).order_by(T.c.id))
        assert undamaged.all() == [rows[i] for i in range(10)]
        result = connection.execute(sa.select(T.c.d))
        with pytest.raises(DictionaryNotFoundError, match="is damaged where it is kept") as caught:
            result.all()
        assert caught.value.dictionary_id == INVOICE.id
        result.close()
    assert caplog.text.count("is damaged where it is kept") == 1
    # Nothing is written with it, nor with the one it replaced.
    rows |= write(application, 20, "invoice")
    assert used(engine, 20) == {0}
    DictionaryStore(engine).publish(INVOICE)  # as `dictionaries import` does
    fresh = install(another(engine))
    with fresh.connect() as connection:
        assert read(connection) == rows
    for each in (application, fresh):
        each.dispose()


def test_two_databases_with_different_dictionaries_of_one_name(tmp_path):
    engines = [sa.create_engine(f"sqlite:///{tmp_path}/{name}.sqlite") for name in ("one", "two")]
    for engine, dictionary in zip(engines, (DELIVERY, INVOICE), strict=True):
        install(engine, refresh_seconds=0)
        T.create(engine)
        activate(engine, dictionary)
    rows = [write(engine, 0) for engine in engines]
    assert [used(engine, 0) for engine in engines] == [{DELIVERY.id}, {INVOICE.id}]
    for engine, expected in zip(engines, rows, strict=True):
        with engine.connect() as connection:
            assert read(connection) == expected
        engine.dispose()
    assert set(known_of(engines[0].dialect)) == {DELIVERY.id}


@pytest.mark.parametrize(
    "pool", [StaticPool, SingletonThreadPool, None], ids=lambda pool: getattr(pool, "__name__", "default")
)
def test_sqlite_in_memory(pool):
    arguments = {"connect_args": {"check_same_thread": False}} if pool is StaticPool else {}
    engine = install(sa.create_engine("sqlite://", **({"poolclass": pool} if pool else {}), **arguments))
    T.create(engine)
    rows = write(engine, 0)
    activate(engine, DELIVERY)
    install(engine, refresh_seconds=0)
    known = known_of(engine.dialect)
    with engine.connect() as connection:
        connection.rollback()
    time.sleep(0.01)
    engine_loader_is_due(engine)
    rows |= write(engine, 10)
    assert used(engine, 10) == {DELIVERY.id}
    known.forget_others([])
    with engine.connect() as connection:
        # A second cursor on the same connection, while the first has rows to come.
        known.forget_others([])
        assert read(connection) == rows
    engine.dispose()


def engine_loader_is_due(engine):
    """As if the seconds until the next question were over."""
    from sqlcompress.loading import loader_for

    loader_for(engine, None)._next = 0.0


@pytest.mark.databases("sqlite")
def test_a_read_only_database(engine):
    T.create(engine)
    install(engine, refresh_seconds=0)
    activate(engine, DELIVERY)
    rows = write(engine, 0)
    path = engine.url.database
    engine.dispose()
    reader = install(sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true"))
    with reader.connect() as connection:
        assert read(connection) == rows
    reader.dispose()


def test_a_writer_that_has_not_asked_for_long_writes_without(engine):
    T.create(engine)
    activate(engine, DELIVERY)
    application = install(another(engine), refresh_seconds=60)
    with application.connect() as connection:
        connection.execute(T.insert(), {"id": 0, "d": text(0)})
        known_of(application.dialect).writes_until = time.monotonic() - 1
        engine_loader_is_due(application)
        connection.execute(T.insert(), {"id": 1, "d": text(1)})
        # It has asked aside by now, and writes with it again.
        deadline = time.monotonic() + 20
        while known_of(application.dialect).writes_until < time.monotonic() and time.monotonic() < deadline:
            time.sleep(0.02)
        connection.execute(T.insert(), {"id": 2, "d": text(2)})
        connection.commit()
    assert [used(engine, i, 1) for i in range(3)] == [{DELIVERY.id}, {0}, {DELIVERY.id}]
    application.dispose()


@pytest.mark.databases("postgresql")
def test_no_permission_on_the_table(engine, caplog):
    T.create(engine)
    activate(engine, DELIVERY)
    role = f"sqlcompress_reader_{os.getpid()}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        connection.exec_driver_sql(f"GRANT SELECT, INSERT ON event TO {role}")
    restricted = install(sa.create_engine(engine.url.set(username=role, password="x")), refresh_seconds=0)
    try:
        with caplog.at_level(logging.WARNING, "sqlcompress"):
            rows = write(restricted, 0)
            rows |= write(restricted, 10)
        assert used(engine, 0, 20) == {0}
        assert caplog.text.count("the dictionaries in the database could not be read") == 1
        with restricted.connect() as connection:
            assert read(connection) == rows
    finally:
        restricted.dispose()
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP OWNED BY {role}")
            connection.exec_driver_sql(f"DROP ROLE {role}")


def test_threads(engine):
    T.create(engine)
    install(engine, refresh_seconds=0)
    activate(engine, DELIVERY)
    expected = write(engine, 0, count=50)
    readers = [install(another(engine)) for _ in range(2)]

    def work(number):
        for i in range(10):
            with readers[number % 2].connect() as connection:
                known_of(readers[number % 2].dialect).forget_others([DELIVERY.id] * (i % 2))
                assert read(connection) == expected

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result()
    for reader in readers:
        reader.dispose()


def test_an_engine_is_not_kept_alive(tmp_path):
    engine = install(sa.create_engine(f"sqlite:///{tmp_path}/x.sqlite"), refresh_seconds=0)
    T.create(engine)
    activate(engine, DELIVERY)
    write(engine, 0)
    with engine.connect() as connection:
        read(connection)
    engine.dispose()
    gone = weakref.ref(engine), weakref.ref(engine.dialect)
    del engine, connection
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_installed_twice_and_after_the_first_statement(engine):
    T.create(engine)
    write(engine, 0)
    activate(engine, DELIVERY)
    assert install(install(engine), refresh_seconds=0) is engine
    write(engine, 10)
    assert (used(engine, 0), used(engine, 10)) == ({0}, {DELIVERY.id})


@pytest.mark.parametrize("seconds", [-1, 61])
def test_refresh_seconds_out_of_bounds(seconds):
    engine = sa.create_engine("sqlite://")
    with pytest.raises(ValueError, match="it goes from 0 to 60"):
        install(engine, refresh_seconds=seconds)


@pytest.mark.databases("postgresql", "mysql", "mariadb")
def test_a_schema_of_its_own(engine):
    schema = f"sqlcompress_own_{os.getpid()}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    try:
        store = DictionaryStore(engine, schema)
        store.create_table()
        store.publish(DELIVERY)
        store.activate(DELIVERY.id, after_seconds=0)
        application = install(another(engine), schema=schema)
        T.create(engine)
        rows = write(application, 0)
        assert used(engine, 0) == {DELIVERY.id}
        reader = install(another(engine), schema=schema)
        with reader.connect() as connection:
            assert read(connection) == rows
        for each in (application, reader):
            each.dispose()
    finally:
        with engine.begin() as connection:
            cascade = " CASCADE" if engine.dialect.name == "postgresql" else ""
            connection.exec_driver_sql(f"DROP SCHEMA {schema}{cascade}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_workers(engine):
    """As gunicorn does with preloading: the parent has loaded, its children read and write."""
    T.create(engine)
    install(engine, refresh_seconds=0)
    activate(engine, DELIVERY)
    expected = write(engine, 0)
    engine.dispose()
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                engine.dispose(close=False)
                write(engine, 100 * (number + 1))
                with engine.connect() as connection:
                    found = {i: v for i, v in read(connection).items() if i < 100}
                status = 0 if found == expected else 2
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert [used(engine, 100 * number) for number in (1, 2, 3)] == [{DELIVERY.id}] * 3


def test_a_file_beside_the_code_needs_no_store(engine, tmp_path):
    DELIVERY.to_file(tmp_path / "events.zdict")
    type_ = CompressedText(Zstd(dictionary=Dictionary.from_file(tmp_path / "events.zdict")))
    t = sa.table("event", sa.column("id"), sa.column("d", type_))
    T.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": 1, "d": text(1)}])
        assert connection.scalar(sa.select(t.c.d)) == text(1)
    assert used(engine, 1, 1) == {DELIVERY.id}
