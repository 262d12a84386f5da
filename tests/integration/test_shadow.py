"""strategy="shadow": a column filled beside the old one, whatever happens to the rows meanwhile."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    MigrationBlockedError,
    MigrationFailedError,
    Zlib,
)
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.names import our_name
from sqlcompress.frames import is_framed
from sqlcompress.jobs.catch_up import CatchUp
from sqlcompress.jobs.column import Batching, compress_column, decompress_column
from sqlcompress.jobs.leftovers import abandon_shadow, drop_originals
from sqlcompress.jobs.shadow import compress_shadow, decompress_shadow, plan_statements

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE, COLUMN = 'Order %s "x" é', "select: Größe%"
SMALL = Batching(batch_rows=10)


class Interrupted(Exception):  # noqa: N818 - stands for a kill
    pass


def table_of(type_, *, nullable=True, name=TABLE):
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("Part", sa.String(20), primary_key=True),
        sa.Column(COLUMN, type_, nullable=nullable, comment='it\'s 50% \\ "done"'),
        sa.Column("other", sa.Integer),
    )


def made(engine, values, type_=LONG, **kw):
    table = table_of(type_, **kw)
    table.create(engine)
    with engine.begin() as connection:
        rows = [{"id": i, "Part": f"p{i}", COLUMN: value, "other": i} for i, value in enumerate(values)]
        connection.execute(table.insert(), rows)
    return table


def run(engine, job, *args, batching=SMALL, drop_original=False, name=TABLE):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        found = catalog_of(connection).table(name, None)
        return job(connection, engine, found, COLUMN, *args, batching, drop_original=drop_original)


def inside(engine, function, *args, name=TABLE):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        return function(connection, catalog_of(connection).table(name, None), COLUMN, *args)


def values_of(engine, type_, name=TABLE):
    c = table_of(type_, name=name).c
    with engine.connect() as connection:
        found = connection.execute(sa.select(c.id, c.Part, c[COLUMN]).order_by(c.id))
        return {(i, part): value for i, part, value in found}


def raw_of(engine, name=TABLE):
    stored = values_of(engine, sa.LargeBinary, name)
    return {k: v.encode() if isinstance(v, str) else v for k, v in stored.items()}


def described(engine, name=TABLE):
    with engine.connect() as connection:
        catalog = catalog_of(connection)
        return catalog.column(catalog.table(name, None), COLUMN)


def leftovers(engine):
    """Whatever bears our name, the kept columns excepted."""
    inspector = sa.inspect(engine)
    tables = [name for name in inspector.get_table_names() if name.startswith("sqlcompress_")]
    columns = [c["name"] for c in inspector.get_columns(TABLE) if c["name"].startswith("sqlcompress_new")]
    sql = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        " UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'sqlcompress%'"
        " UNION ALL SELECT conname FROM pg_constraint WHERE conname LIKE 'sqlcompress%'",
    }.get(
        engine.dialect.name,
        "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = database()",
    )
    with engine.connect() as connection:
        triggers = list(connection.exec_driver_sql(sql.replace("%", "%%")).scalars())
    return tables + columns + triggers


def kept(engine):
    names = [column["name"] for column in sa.inspect(engine).get_columns(TABLE)]
    return sorted(name for name in names if name.startswith("sqlcompress_"))


TEXTS = [f"row {i} \U0001f600 é " * (i % 40) for i in range(95)] + ["Á", "a", "x^", " ", "end"]


@pytest.mark.parametrize("nullable", [True, False], ids=["NULL", "NOT NULL"])
def test_up_and_down(engine, database, nullable):
    if database == "sqlite" and not nullable:
        pytest.skip(
            "SQLite cannot take NOT NULL from a kept column; test_what_sqlite_cannot_do shows the refusal"
        )
    texts = [*TEXTS, None] if nullable else TEXTS
    made(engine, texts, nullable=nullable)
    expected = values_of(engine, LONG)
    before = described(engine)
    result = run(engine, compress_shadow, CompressedText(Zlib()))
    # Where the new column has a default of no bytes, empty values stand there from the beginning.
    has_default = not nullable and database in {"mariadb", "mysql"}
    assert result.rows_written == len([text for text in TEXTS if text or not has_default])
    between = described(engine)
    assert between.kind == "binary"
    assert (between.nullable, between.comment, between.default) == (nullable, before.comment, None)
    assert values_of(engine, CompressedText()) == expected
    assert sum(is_framed(value) for value in raw_of(engine).values() if value) > 50
    assert kept(engine) == [our_name("original", COLUMN)]
    assert leftovers(engine) == []

    run(engine, decompress_shadow, LONG, CompressedText())
    assert replace(described(engine), type_sql=before.type_sql) == before
    assert values_of(engine, LONG) == expected
    assert kept(engine) == [our_name("compressed", COLUMN)]

    run(engine, compress_shadow, CompressedText(), drop_original=True)
    assert values_of(engine, CompressedText()) == expected
    assert kept(engine) == []
    assert leftovers(engine) == []


def test_a_second_run_changes_nothing(engine):
    made(engine, TEXTS)
    run(engine, compress_shadow, CompressedText())
    stored = raw_of(engine)
    result = run(engine, compress_shadow, CompressedText())
    assert result.rows_written == 0
    assert raw_of(engine) == stored
    assert inside(engine, drop_originals) == [our_name("original", COLUMN)]
    assert inside(engine, drop_originals) == []
    assert kept(engine) == []


def change_everything(engine, table, expected):
    """One change of each kind, behind and ahead of the backfill; ``expected`` is kept in step."""

    def update(i, **values):
        new = {COLUMN if key == "value" else key: value for key, value in values.items()}
        with engine.begin() as connection:
            connection.execute(table.update().where(table.c.id == i).values(new))

    for base in (0, 80):
        pairs = {0: "changed " * 50, 1: None, 2: "a", 3: "A", 4: "a ", 5: "", 6: "\U0001f600" * 2000}
        for offset, value in pairs.items():
            update(base + offset, value=value)
            expected[base + offset, f"p{base + offset}"] = value
        update(base + 1, value="from NULL")
        expected[base + 1, f"p{base + 1}"] = "from NULL"
        # Under a case-insensitive collation this is no change.
        update(base + 3, value="a")
        expected[base + 3, f"p{base + 3}"] = "a"
        # The key moves, with the value and without.
        update(base + 7, Part="moved", value="moved " * 20)
        del expected[base + 7, f"p{base + 7}"]
        expected[base + 7, "moved"] = "moved " * 20
        update(base + 8, id=1000 - base)
        expected[1000 - base, f"p{base + 8}"] = expected.pop((base + 8, f"p{base + 8}"))
        with engine.begin() as connection:
            for i in (9, 10):
                connection.execute(table.delete().where(table.c.id == base + i))
            connection.execute(
                table.insert(), [{"id": base + 10, "Part": f"p{base + 10}", COLUMN: "again", "other": 1}]
            )
            connection.execute(
                table.insert(), [{"id": 2000 + base, "Part": "new", COLUMN: "new " * 99, "other": 1}]
            )
        del expected[base + 9, f"p{base + 9}"]
        expected[base + 10, f"p{base + 10}"] = "again"
        expected[2000 + base, "new"] = "new " * 99
        # A transaction that is undone leaves nothing.
        with engine.connect() as connection:
            connection.execute(table.update().where(table.c.id == base + 11).values({COLUMN: "undone"}))
            connection.rollback()


def test_rows_that_change_meanwhile(engine):
    table = made(engine, TEXTS)
    expected = values_of(engine, LONG)
    calls = []

    def progress(state):
        calls.append(state.rows_seen)
        if len(calls) == 3:
            change_everything(engine, table, expected)

    run(engine, compress_shadow, CompressedText(), batching=replace(SMALL, progress=progress, workers=1))
    assert values_of(engine, CompressedText()) == expected

    calls.clear()
    compressed = table_of(CompressedText())
    with engine.begin() as connection:
        connection.execute(compressed.delete())
        rows = [{"id": i, "Part": f"p{i}", COLUMN: text, "other": i} for i, text in enumerate(TEXTS)]
        connection.execute(compressed.insert(), rows)
    expected.clear()
    expected.update(values_of(engine, CompressedText()))

    def progress_down(state):
        calls.append(state.rows_seen)
        if len(calls) == 3:
            change_everything(engine, compressed, expected)

    batching = replace(SMALL, progress=progress_down, workers=1)
    run(engine, decompress_shadow, LONG, CompressedText(), batching=batching)
    assert values_of(engine, LONG) == expected


@pytest.mark.parametrize("lost", ["nothing", "a trigger", "the queue"])
def test_interrupted_and_run_again(engine, database, lost):
    table = made(engine, TEXTS)
    expected = values_of(engine, LONG)

    def progress(state):
        if state.rows_seen >= 30:
            raise Interrupted

    with pytest.raises(Interrupted):
        run(engine, compress_shadow, CompressedText(), batching=replace(SMALL, progress=progress, workers=1))
    assert described(engine).kind == "text"
    if lost != "nothing":
        quote = engine.dialect.identifier_preparer.quote_identifier
        trigger = quote(our_name("update", TABLE, COLUMN))
        on = f" ON {quote(TABLE)}" if database == "postgresql" else ""
        drop = f"DROP TRIGGER {trigger}{on}"
        if lost == "the queue":
            drop = f"DROP TABLE {quote(our_name('queue', TABLE, COLUMN))}"
        with engine.begin() as connection:
            connection.exec_driver_sql(drop)
    if lost != "the queue":
        # Seen by the triggers where they are all there; where not, everything is done again.
        change_everything(engine, table, expected)
    run(engine, compress_shadow, CompressedText())
    assert values_of(engine, CompressedText()) == expected
    assert leftovers(engine) == []


def test_values_that_begin_like_frames(engine, database):
    type_ = CompressedBinary()
    frame = type_.to_stored(b"text " * 100)
    values = [b"", b"plain", frame, type_.to_stored(frame), frame[:20], b"\x78\x9c", b"bytes " * 50, None] * 5
    binary = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
    made(engine, values, type_=binary)
    expected = values_of(engine, binary)
    with pytest.raises(MigrationBlockedError, match="drop_compressed_original in a later revision"):
        run(engine, compress_shadow, type_, drop_original=True)
    run(engine, compress_shadow, type_)
    assert values_of(engine, type_) == expected
    # Again, as after a kill before the revision was stamped.
    run(engine, compress_shadow, type_)
    assert values_of(engine, type_) == expected
    run(engine, decompress_shadow, binary, type_)
    run(engine, decompress_shadow, binary, type_)
    assert values_of(engine, binary) == expected


def test_json_goes_over_and_back(engine, database):
    types = [sa.JSON()] + ([postgresql.JSONB()] if database == "postgresql" else [])
    for number, type_ in enumerate(types):
        name = f"j{number}"
        documents = [{"k": i, "é": ["x" * i, None, 1.5]} for i in range(60)] + [[], "s", 7, True, {}]
        made(engine, documents, type_=type_, name=name)
        expected = values_of(engine, type_, name)
        run(engine, compress_shadow, CompressedJSON(), name=name)
        assert values_of(engine, CompressedJSON(), name) == expected
        run(engine, decompress_shadow, type_, CompressedJSON(), name=name)
        assert values_of(engine, type_, name) == expected


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_a_row_that_cannot_be_converted_stops_before_the_swap(engine):
    made(engine, TEXTS)
    small = CompressedText(max_size=300)
    with pytest.raises(MigrationFailedError) as caught:
        run(engine, compress_shadow, small)
    bad = {key for key, text in values_of(engine, LONG).items() if text and len(text.encode()) > 300}
    assert bad
    assert set(caught.value.failed_keys) == bad
    assert described(engine).kind == "text"
    run(engine, compress_shadow, CompressedText())
    assert list(values_of(engine, CompressedText()).values()) == TEXTS


@pytest.mark.databases("postgresql", "mariadb", "mysql")
def test_a_changed_row_that_does_not_fit_stops_before_the_swap(engine):
    made(engine, ["short"] * 50)
    run(engine, compress_shadow, CompressedText(), drop_original=True)
    compressed = table_of(CompressedText())
    calls = []

    def progress(state):
        calls.append(1)
        if len(calls) == 2:
            with engine.begin() as connection:
                connection.execute(
                    compressed.update().where(compressed.c.id == 3).values({COLUMN: "too long " * 9})
                )

    batching = replace(SMALL, progress=progress, workers=1)
    with pytest.raises(MigrationFailedError, match=r"\(3, 'p3'\).*refused by the server"):
        run(engine, decompress_shadow, sa.String(20), CompressedText(), batching=batching)
    assert described(engine).kind == "binary"
    with engine.begin() as connection:
        connection.execute(compressed.update().where(compressed.c.id == 3).values({COLUMN: "fits"}))
    run(engine, decompress_shadow, sa.String(20), CompressedText())
    assert list(values_of(engine, sa.String(20)).values()) == ["short"] * 3 + ["fits"] + ["short"] * 46


def test_a_long_transaction_is_waited_for(engine, database):
    table = made(engine, TEXTS)
    begun, seconds = threading.Event(), 2.5 if database != "sqlite" else 0.5

    def hold():
        with engine.connect() as connection:
            connection.execute(table.update().where(table.c.id == 1).values({COLUMN: "held"}))
            begun.set()
            time.sleep(seconds)
            connection.commit()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    run(engine, compress_shadow, CompressedText())
    thread.join()
    found = values_of(engine, CompressedText())
    assert found[1, "p1"] == "held"
    assert [*found.values()][2:] == TEXTS[2:]


def test_changes_that_pile_up_before_the_lock_are_caught_up_with_first(engine, monkeypatch):
    made(engine, ["x" * 200, "short", None])
    answers = [False, False, True]
    under_lock = CatchUp.under_lock

    def too_many_at_first(self, connection):
        return under_lock(self, connection) if answers.pop(0) else False

    monkeypatch.setattr(CatchUp, "under_lock", too_many_at_first)
    run(engine, compress_shadow, CompressedText())
    assert answers == []
    assert list(values_of(engine, CompressedText()).values()) == ["x" * 200, "short", None]


def test_given_up(engine):
    made(engine, TEXTS)
    before = values_of(engine, LONG)

    def progress(state):
        raise Interrupted

    with pytest.raises(Interrupted):
        run(engine, compress_shadow, CompressedText(), batching=replace(SMALL, progress=progress))
    assert inside(engine, abandon_shadow)
    assert leftovers(engine) == []
    assert values_of(engine, LONG) == before
    assert not inside(engine, abandon_shadow)


def test_another_strategy_takes_over(engine):
    made(engine, TEXTS)
    expected = values_of(engine, LONG)

    def progress(state):
        raise Interrupted

    with pytest.raises(Interrupted):
        run(engine, compress_shadow, CompressedText(), batching=replace(SMALL, progress=progress))

    def rewriting(connection, bind, found, column, *args, drop_original):
        job = compress_column if len(args) == 2 else decompress_column
        return job(connection, bind, found, column, *args, atomic=False)

    run(engine, rewriting, CompressedText())
    assert values_of(engine, CompressedText()) == expected
    assert leftovers(engine) == []
    run(engine, decompress_shadow, LONG, CompressedText())
    run(engine, compress_shadow, CompressedText())
    assert kept(engine) == [our_name("original", COLUMN)]
    run(engine, rewriting, LONG, CompressedText())
    assert values_of(engine, LONG) == expected
    assert kept(engine) == []


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("id INTEGER PRIMARY KEY, d TEXT NOT NULL", "NOT NULL"),
        ("id INTEGER PRIMARY KEY, d TEXT DEFAULT 'x'", "default"),
        ("id INTEGER, d TEXT", "no lasting number"),
        ("id TEXT PRIMARY KEY, d TEXT", "no lasting number"),
    ],
)
def test_what_sqlite_cannot_do(engine, columns, reason):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE TABLE t ({columns})")
        found = catalog_of(connection).table("t", None)
        before = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all()
        with pytest.raises(MigrationBlockedError, match=reason):
            compress_shadow(connection, engine, found, "d", CompressedText(), SMALL, drop_original=False)
        assert connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all() == before


def test_the_plan_holds_the_statements(engine, database):
    made(engine, TEXTS[:3])
    statements = inside(
        engine, lambda *args: plan_statements(*args, CompressedText(), to_compressed=True, drop_original=True)
    )
    text = "\n".join(statements)
    for piece in ("ADD COLUMN", "CREATE TRIGGER", our_name("queue", TABLE, COLUMN)[:20], "DROP COLUMN"):
        assert piece in text
    assert leftovers(engine) == []
