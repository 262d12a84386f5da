"""A dump made with the database's own program, restored elsewhere, with and without the dictionaries."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import uuid

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedText, DictionaryNotFoundError, DictionaryStore, Zstd, install
from sqlcompress.dialects.dictionarytable import NAME
from sqlcompress.training import train

T = sa.Table(
    "event",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("d", CompressedText(Zstd(dictionary="events"))),
)


def text(i):
    return f"delivery {i * 6151 % 99991:05} by northern parcel service, in transit at {i % 9}, order {i:06}"


TEXTS = {i: text(i) for i in range(300)} | {1000: None, 1001: "short"}


def programs(*names):
    found = [shutil.which(name) for name in names]
    if None in found:
        pytest.skip(f"not on this machine: {', '.join(names)}")
    return found


def run(arguments, environment, text=None):
    done = subprocess.run(
        arguments, input=text, capture_output=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def server(url):
    words = []
    if url.query.get("unix_socket"):
        words += ["--socket", str(url.query["unix_socket"])]
    else:
        words += ["--protocol", "tcp", "--host", str(url.host), "--port", str(url.port or 3306)]
    return [*words, "--user", str(url.username)]


def copied(engine, folder, *, without):
    """The URL of another database with what a dump of the first holds."""
    url = engine.url
    name = f"sqlcompress_test_{uuid.uuid4().hex[:12]}"
    if engine.dialect.name == "sqlite":
        target = url.set(database=str(folder / "copy.sqlite"))
        with sqlite3.connect(url.database) as source, sqlite3.connect(target.database) as restored:
            lines = [line for line in source.iterdump() if NAME not in line or not without]
            restored.executescript("\n".join(lines))
        source.close()
        restored.close()
        return target
    target = url.set(database=name)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    if engine.dialect.name == "postgresql":
        dump, client = programs("pg_dump", "psql")
        environment = {"PGPASSWORD": url.password or ""}
        where = ["-h", str(url.host), "-p", str(url.port or 5432), "-U", str(url.username)]
        left_out = ["-T", NAME] if without else []
        dumped = run([dump, *where, *left_out, str(url.database)], environment)
        run([client, *where, "-q", "-v", "ON_ERROR_STOP=1", "-d", name], environment, dumped)
    else:
        dump, client = programs("mariadb-dump", "mariadb")
        environment = {"MYSQL_PWD": url.password or ""}
        left_out = [f"--ignore-table={url.database}.{NAME}"] if without else []
        skip_ssl = ["--skip-ssl"]
        dumped = run([dump, *server(url), *skip_ssl, *left_out, str(url.database)], environment)
        run([client, *server(url), *skip_ssl, name], environment, dumped)
    return target


@pytest.fixture
def filled(engine):
    install(engine, refresh_seconds=0)
    store = DictionaryStore(engine)
    store.create_table()
    T.create(engine)
    dictionary = train("events", [text(i).encode() for i in range(2000, 3000)], sizes=(4096,)).dictionary
    store.publish(dictionary)
    store.activate(dictionary.id, after_seconds=0)
    with engine.begin() as connection:
        connection.execute(T.insert(), [{"id": i, "d": value} for i, value in TEXTS.items()])
    return dictionary


@pytest.mark.parametrize("without", [False, True], ids=["whole", "without the dictionaries"])
def test_a_dump_restored_elsewhere(engine, database, filled, tmp_path, without):
    url = copied(engine, tmp_path, without=without)
    restored = install(sa.create_engine(url))
    try:
        with restored.connect() as connection:
            query = sa.select(T.c.id, T.c.d)
            if not without:
                assert {i: value for i, value in connection.execute(query)} == TEXTS  # noqa: C416
                return
            with pytest.raises(DictionaryNotFoundError, match="never came along with a dump") as caught:
                connection.execute(query).all()
            assert caught.value.dictionary_id == filled.id
            short = query.where(T.c.id >= 1000).order_by(T.c.id)
            assert [value for _, value in connection.execute(short)] == [None, "short"]
        # What the first database still has mends it.
        store = DictionaryStore(restored)
        store.create_table()
        store.publish(filled)
        with restored.connect() as connection:
            assert {i: value for i, value in connection.execute(query)} == TEXTS  # noqa: C416
    finally:
        restored.dispose()
        if database != "sqlite":
            engine.dispose()
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"DROP DATABASE {url.database}")
