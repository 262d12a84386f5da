"""A migration that is killed before any of its statements is finished by running it again, up and down.

``SQLCOMPRESS_TEST_LONG=1`` kills before every statement; otherwise once before each kind of statement that
changes something, DDL among them, and before some that only ask.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText
from sqlcompress.frames import MAGICS
from tests.integration.alembic_project import Project, version
from tests.integration.interrupted import KILLED, Migrations

LONG = bool(os.environ.get("SQLCOMPRESS_TEST_LONG"))
ROWS = 24

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
PLAIN = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'


def text(i):
    return ["", "short", f"row {i} é \U0001f600 'quoted' % :name " * 20, os.urandom(300).hex()][i % 4]


def make(engine, strategy="rewrite"):
    """A table with what a type change may lose; its rows by key."""
    nullable = strategy == "shadow" and engine.dialect.name == "sqlite"  # which it asks for there
    comment = {} if engine.dialect.name == "sqlite" else {"comment": "100% it's \\ kept"}
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", LONG_TEXT, nullable=nullable, **comment),
        sa.Column("j", sa.JSON(none_as_null=True)),
        sa.Column("n", sa.Integer, nullable=False),
    )
    t.create(engine)
    rows = {
        i: (text(i), None if i % 5 == 0 else {"number": i, "pad": f"{i} " * 40, "exact": 2**60 + i}, i)
        for i in range(ROWS)
    }
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": d, "j": j, "n": n} for i, (d, j, n) in rows.items()])
    return rows


def project_of(folder, url, strategy, *, workers=1, columns="dj", dropped=""):
    """Revision 2 compresses these columns; of those ``dropped`` the upgrade keeps no original."""
    project = Project(folder, url)
    project.revision("pass")
    settings = f'strategy="{strategy}", batch_rows=10, workers={workers}'
    drop = ", drop_original=True"
    up, down = [], []
    for name in columns:
        plain, framed = (PLAIN, "CompressedText()") if name == "d" else ("sa.JSON()", "CompressedJSON()")
        up.append(
            f'op.compress_column("t", "{name}", type_={framed}, existing_type={plain}, '
            f"{settings}{drop if name in dropped else ''})"
        )
        down.insert(
            0,
            f'op.decompress_column("t", "{name}", type_={plain}, existing_type={framed}, '
            f"{settings}{drop if strategy == 'shadow' else ''})",
        )
    project.revision("\n    ".join(up), "\n    ".join(down))
    project.upgrade("1")
    return project


def state(engine):
    """All there is in the database: revision, tables, columns, triggers, functions, and each stored value."""
    inspector = sa.inspect(engine)
    found = {"version": version(engine), "triggers": triggers(engine)}
    for name in sorted(inspector.get_table_names()):
        columns = inspector.get_columns(name)
        found[f"order of {name}"] = [c["name"] for c in columns]
        columns.sort(key=lambda column: column["name"])
        found[name] = [
            (c["name"], str(c["type"]), c["nullable"], c["default"], c.get("comment")) for c in columns
        ]
        # Whatever the driver hands over, with its Python type.
        t = sa.table(name, *(sa.column(c["name"]) for c in columns))
        with engine.connect() as connection:
            rows = connection.execute(sa.select(t)).all()
        found[f"rows of {name}"] = sorted(
            (tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows), key=repr
        )
    return found


def triggers(engine):
    statement = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'index', 'view')",
        "postgresql": "SELECT tgname AS name FROM pg_trigger WHERE NOT tgisinternal UNION ALL"
        " SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace UNION ALL"
        " SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    }.get(
        engine.dialect.name,
        "SELECT trigger_name AS name FROM information_schema.triggers WHERE trigger_schema = database()"
        " UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = database()"
        " UNION ALL SELECT constraint_name FROM information_schema.table_constraints"
        " WHERE constraint_schema = database()",
    )
    with engine.connect() as connection:
        return sorted(connection.execute(sa.text(statement)).scalars())


def compressed_rows(engine, columns="dj"):
    return rows_through(engine, columns)


def plain_rows(engine):
    return rows_through(engine, "")


def rows_through(engine, compressed):
    types = {"d": sa.Text(), "j": sa.JSON(none_as_null=True)}
    framed = {"d": CompressedText(), "j": CompressedJSON(none_as_null=True)}
    types.update((name, framed[name]) for name in compressed)
    t = sa.table("t", sa.column("id"), sa.column("d", types["d"]), sa.column("j", types["j"]), sa.column("n"))
    with engine.connect() as connection:
        return {row.id: (row.d, row.j, row.n) for row in connection.execute(sa.select(t))}


def frames(engine, columns, magic=MAGICS[0]):
    """How many values are frames, all others being plain as a compressed type keeps them."""
    t = sa.table("t", *map(sa.column, columns))
    with engine.connect() as connection:
        values = [bytes(v) for row in connection.execute(sa.select(t)) for v in row if v is not None]
    return sum(value.startswith(magic) for value in values)


def chosen(points):
    """Numbers of points: one of each kind that changes something, and some in between."""
    if LONG:
        return [point.number for point in points]
    kinds, previous = {}, ""
    for point in points:
        # The same for the other column or for another batch is the same kind; so is a commit after the same.
        kind = re.sub(r"[dj](?=[\"`])", "?", point.statement)[:70]
        if point.changes:
            kinds.setdefault(f"{previous} COMMIT" if kind == "COMMIT" else kind, point.number)
        previous = kind
    return sorted({*kinds.values(), *(len(points) * tenth // 10 for tenth in range(1, 11))})


CASES = [("rewrite", "dj"), ("atomic", "dj"), ("shadow", "d"), *([("shadow", "dj")] if LONG else [])]


@pytest.mark.parametrize(("strategy", "columns"), CASES)
def test_killed_before_any_statement_and_run_again(
    engine, database_url, database, tmp_path, strategy, columns
):
    rows = make(engine, strategy)
    is_shadow = strategy == "shadow"
    dropped = (columns[1:] or ("d" if database in {"sqlite", "mariadb"} else "")) if is_shadow else ""
    project = project_of(tmp_path, database_url, strategy, columns=columns, dropped=dropped)
    before = state(engine)
    with closing(Migrations(project, "2", "1")) as migrations:
        migrations.points("up")
        assert compressed_rows(engine, columns) == rows
        # Every other text is short, and every fifth document is NULL.
        assert frames(engine, columns) == ROWS // 2 + (19 if "j" in columns else 0)
        up_once = state(engine)
        assert up_once["version"] == "2"
        kept = [f"sqlcompress_original_{name}" for name in columns if is_shadow and name not in dropped]
        assert [name for name in up_once["order of t"] if name not in "idjn"] == kept
        assert up_once.keys() == before.keys()
        migrations.points("down")
        assert plain_rows(engine) == rows
        if is_shadow and database in {"sqlite", "postgresql"}:
            # A new column stands at the end.
            rest = [name for name in before["order of t"] if name not in columns]
            before["order of t"] = [*rest, *reversed(columns)]
        assert state(engine) == before
        up = migrations.points("up")
        after = state(engine)
        down = migrations.points("down")
        numbers = {"up": chosen(up), "down": chosen(down)}
        if is_shadow and not LONG:
            # Both ways have the same statements, and many: each kind is met on one of them.
            numbers = {"up": numbers["up"][::2], "down": numbers["down"][1::2]}
        ways = [Way("up", "1", up, numbers["up"], after), Way("down", "2", down, numbers["down"], before)]
        kill_everywhere(engine, migrations, ways, same_order=not is_shadow or database != "sqlite")
        assert plain_rows(engine) == rows


class Way(NamedTuple):
    direction: str
    still: str
    points: list
    numbers: list
    wanted: dict


def kill_everywhere(engine, migrations, ways, *, same_order=True):
    """One way and the other in turn: killed at the next of its points, run again, and all as it should be."""
    assert min(len(way.numbers) for way in ways) >= 12
    for turn in range(max(len(way.numbers) for way in ways)):
        for direction, still, points, numbers, wanted in ways:
            number = numbers[turn % len(numbers)]
            where = f"{direction}, killed before {points[number - 1]}"
            assert migrations.run(direction, number) == KILLED, where
            assert version(engine) == still, where
            if turn % 3 == 0:
                # What goes on where the first stopped has other statements, and can be killed too.
                assert migrations.run(direction, 1 + number * 5 // 7) in {KILLED, 0}, where
            if version(engine) == still:
                assert migrations.run(direction) == 0, where
            found = state(engine)
            if not same_order:
                # No type tells that a column whose original is dropped is done: it is done once more.
                found["order of t"] = wanted["order of t"]
            assert found == wanted, where
        if engine.dialect.name == "mysql":
            # A table takes 64 instant changes of its columns between two copies.
            with engine.connect() as connection:
                connection.execute(sa.text("OPTIMIZE TABLE t")).all()


def test_another_codec_is_killed_and_run_again(engine, database_url, tmp_path):
    rows = make(engine)
    project = project_of(tmp_path, database_url, "rewrite", columns="d")
    project.revision(
        'op.recompress_column("t", "d", type_=CompressedText(Zlib()), batch_rows=10, workers=1)',
        'op.recompress_column("t", "d", type_=CompressedText(), batch_rows=10, workers=1)',
    )
    project.upgrade("2")
    before = state(engine)
    with closing(Migrations(project, "3", "2")) as migrations:
        up = migrations.points("up")
        after = state(engine)
        assert compressed_rows(engine, "d") == rows
        assert frames(engine, "d", MAGICS[1]) == ROWS // 2
        down = migrations.points("down")
        assert state(engine) == before
        ways = [Way("up", "2", up, chosen(up), after), Way("down", "3", down, chosen(down), before)]
        kill_everywhere(engine, migrations, ways)
        assert compressed_rows(engine, "d") == rows
