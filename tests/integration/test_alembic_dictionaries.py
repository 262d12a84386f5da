"""Dictionaries in revisions: the table, training, a migration that uses them, and the way back."""

from __future__ import annotations

import io
import logging

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql

from sqlcompress import (
    CompressedText,
    DictionaryStore,
    MigrationBlockedError,
    Zlib,
    Zstd,
    install,
)
from sqlcompress.frames import is_framed
from tests.integration.alembic_project import Project, version

LONGTEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TYPE = CompressedText(Zstd(dictionary="events"))
PLAIN = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'
COMPRESSED = 'CompressedText(Zstd(dictionary="events"))'


def document(i):
    return (
        f'{{"event": "order.line.added", "account": "{i * 7919 % 10007:06}", "tags": ["größe", "{i % 7}"],'
        f' "payload": {{"quantity": {i % 13}, "unit price": {i * 31 % 997}.50, "currency": "EUR"}}}}'
    )


DOCUMENTS = {i: document(i) for i in range(1, 1201)}


@pytest.fixture
def table(engine):
    t = sa.Table(
        "event",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", LONGTEXT),
    )
    t.create(engine)
    with engine.begin() as connection:
        rows = [{"id": i, "d": value} for i, value in DOCUMENTS.items()]
        connection.execute(t.insert(), [*rows, {"id": 2000, "d": None}, {"id": 2001, "d": "short"}])
    return t


def read(engine, type_):
    t = sa.table("event", sa.column("id", sa.Integer), sa.column("d", type_))
    with engine.connect() as connection:
        return {i: value for i, value in connection.execute(sa.select(t.c.id, t.c.d))}  # noqa: C416 - rows


def frames(engine):
    t = sa.table("event", sa.column("id", sa.Integer), sa.column("d", sa.LargeBinary))
    query = sa.select(t.c.id, t.c.d).where(t.c.id <= len(DOCUMENTS))
    with engine.connect() as connection:
        return {i: bytes(value) for i, value in connection.execute(query)}


EVERYTHING = DOCUMENTS | {2000: None, 2001: "short"}


@pytest.mark.parametrize("strategy", ["rewrite", "shadow", "atomic"])
def test_train_and_compress_in_one_revision_and_back(engine, table, tmp_path, strategy):
    project = Project(tmp_path, engine.url)
    up = [
        "op.create_dictionary_table()",
        f'op.train_dictionary("events", "event", "d", type_={COMPRESSED}, sizes=(4096, 16384))',
        f'op.compress_column("event", "d", type_={COMPRESSED}, strategy="{strategy}")',
    ]
    down = [
        f'op.decompress_column("event", "d", type_={PLAIN}, existing_type={COMPRESSED},'
        f' strategy="{strategy}", drop_original=True)'
        if strategy == "shadow"
        else f'op.decompress_column("event", "d", type_={PLAIN}, existing_type={COMPRESSED},'
        f' strategy="{strategy}")',
    ]
    project.revision("\n    ".join(up[:2]), "op.drop_dictionary_table()")
    project.revision(up[2], down[0])
    project.upgrade()
    [entry] = DictionaryStore(engine).list()
    assert (entry.name, entry.state) == ("events", "active")
    assert entry.stored_bytes < 0.6 * entry.stored_bytes_without
    dictionary = DictionaryStore(engine).get(entry.id)
    expected = CompressedText(Zstd(dictionary=dictionary))
    assert frames(engine) == {i: expected.to_stored(text.encode()) for i, text in DOCUMENTS.items()}
    application = install(sa.create_engine(engine.url))
    assert read(application, TYPE) == EVERYTHING
    application.dispose()
    project.downgrade("1")
    assert read(engine, LONGTEXT) == EVERYTHING
    if strategy == "shadow":  # what an earlier run has kept may hold frames
        with engine.connect() as connection:
            kept = [c["name"] for c in sa.inspect(connection).get_columns("event")]
        assert kept == ["id", "d"]
    project.downgrade("base")
    assert not DictionaryStore(engine).exists()
    assert version(engine) is None


def test_both_in_one_revision_run_again_after_a_failure(engine, table, tmp_path):
    project = Project(tmp_path, engine.url)
    project.revision("op.create_dictionary_table()")
    project.revision(
        f'op.train_dictionary("events", "event", "d", type_={COMPRESSED}, sizes=(4096,))\n'
        f'    op.compress_column("event", "d", type_={COMPRESSED}, batch_rows=100)\n'
        "    if True:\n"
        '        raise RuntimeError("stopped here")'
    )
    with pytest.raises(RuntimeError, match="stopped here"):
        project.upgrade()
    [entry] = DictionaryStore(engine).list()
    before = frames(engine)
    assert all(is_framed(frame) for frame in before.values())
    script = next(p for p in (project.folder / "versions").iterdir() if p.name.startswith("2"))
    script.write_text(script.read_text(encoding="utf-8").replace("if True:", "if False:"), encoding="utf-8")
    project.upgrade()
    assert [found.id for found in DictionaryStore(engine).list()] == [entry.id]
    assert frames(engine) == before


def test_recompress_with_a_dictionary_trained_from_compressed_values(engine, table, tmp_path):
    project = Project(tmp_path, engine.url)
    project.revision('op.compress_column("event", "d", type_=CompressedText(Zlib()))')
    project.revision(
        "op.create_dictionary_table()\n"
        f'    op.train_dictionary("events", "event", "d", type_={COMPRESSED}, sizes=(4096,))\n'
        f'    op.recompress_column("event", "d", type_={COMPRESSED}, existing_type=CompressedText(Zlib()))',
        f'op.recompress_column("event", "d", type_=CompressedText(Zlib()), existing_type={COMPRESSED})\n'
        "    op.drop_dictionary_table()",
    )
    project.upgrade()
    [entry] = DictionaryStore(engine).list()
    expected = CompressedText(Zstd(dictionary=DictionaryStore(engine).get(entry.id)))
    assert frames(engine) == {i: expected.to_stored(text.encode()) for i, text in DOCUMENTS.items()}
    project.downgrade("1")
    zlib = CompressedText(Zlib())
    assert frames(engine) == {i: zlib.to_stored(text.encode()) for i, text in DOCUMENTS.items()}
    assert not DictionaryStore(engine).exists()


def test_the_table_is_not_dropped_while_values_need_it(engine, table, tmp_path):
    project = Project(tmp_path, engine.url)
    project.revision(
        "op.create_dictionary_table()\n"
        f'    op.train_dictionary("events", "event", "d", type_={COMPRESSED}, sizes=(4096,))\n'
        f'    op.compress_column("event", "d", type_={COMPRESSED})',
        "op.drop_dictionary_table()",
    )
    project.upgrade()
    with pytest.raises(MigrationBlockedError) as caught:
        project.downgrade()
    [blocker] = caught.value.blockers
    assert blocker.startswith("1,200 values of ")
    assert "event.d need a dictionary" in blocker
    assert len(DictionaryStore(engine).list()) == 1
    assert read(install(engine), TYPE) == EVERYTHING


def test_no_gain_is_a_result_and_the_column_compresses_without(engine, table, tmp_path, caplog):
    project = Project(tmp_path, engine.url)
    project.revision(
        "op.create_dictionary_table()\n"
        f'    op.train_dictionary("events", "event", "d", type_={COMPRESSED}, where="id < 50")\n'
        f'    op.compress_column("event", "d", type_={COMPRESSED})'
    )
    with caplog.at_level(logging.INFO, "alembic"):
        project.upgrade()
    assert "no dictionary 'events': 49 different values are too few to train from" in caplog.text
    assert "no dictionary 'events' is active yet: values are compressed without one" in caplog.text
    assert DictionaryStore(engine).list() == []
    without = CompressedText()
    assert frames(engine) == {i: without.to_stored(text.encode()) for i, text in DOCUMENTS.items()}


def test_training_without_the_table_says_how_to_make_it(engine, table, tmp_path):
    project = Project(tmp_path, engine.url)
    project.revision(f'op.train_dictionary("events", "event", "d", type_={COMPRESSED})')
    with pytest.raises(MigrationBlockedError, match=r"op\.create_dictionary_table\(\)"):
        project.upgrade()


def test_scripts(engine):
    output = io.StringIO()
    context = MigrationContext.configure(
        dialect=engine.dialect, opts={"as_sql": True, "output_buffer": output}
    )
    op = Operations(context)
    op.create_dictionary_table()
    assert "CREATE TABLE sqlcompress_dictionary (" in output.getvalue()
    with pytest.raises(MigrationBlockedError, match="run this revision online"):
        op.drop_dictionary_table()
    with pytest.raises(MigrationBlockedError, match="run this revision online"):
        op.train_dictionary("events", "event", "d", type_=TYPE)
