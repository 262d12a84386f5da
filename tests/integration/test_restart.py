"""A migration that is killed before any of its statements is finished by running it again, up and down.

``SQLCOMPRESS_TEST_LONG=1`` kills before every statement; otherwise before everything that changes something,
of many batches a few, and before some of the questions.
"""

from __future__ import annotations

import os
from contextlib import closing

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedJSON, CompressedText
from sqlcompress.frames import MAGICS
from tests.integration.alembic_project import Project, version
from tests.integration.interrupted import KILLED, Migrations

LONG = bool(os.environ.get("SQLCOMPRESS_TEST_LONG"))
ROWS = 24

PLAIN = 'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")'


def text(i):
    return ["", "short", f"row {i} é \U0001f600 'quoted' % :name " * 20, os.urandom(300).hex()][i % 4]


def make(engine):
    """A table with what a type change may lose; its rows by key."""
    comment = {} if engine.dialect.name == "sqlite" else {"comment": "100% it's \\ kept"}
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column(
            "d", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False, **comment
        ),
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


def project_of(folder, url, strategy, workers=1):
    project = Project(folder, url)
    project.revision("pass")
    settings = f'strategy="{strategy}", batch_rows=10, workers={workers}'
    if strategy == "shadow":
        settings += ", drop_original=True"
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText(), existing_type={PLAIN}, {settings})\n'
        f'    op.compress_column("t", "j", type_=CompressedJSON(), existing_type=sa.JSON(), {settings})',
        f'op.decompress_column("t", "j", type_=sa.JSON(), existing_type=CompressedJSON(), {settings})\n'
        f'    op.decompress_column("t", "d", type_={PLAIN}, existing_type=CompressedText(), {settings})',
    )
    project.upgrade("1")
    return project


def state(engine):
    """All there is in the database: revision, tables, columns, triggers, functions, and each stored value."""
    inspector = sa.inspect(engine)
    found = {"version": version(engine), "triggers": triggers(engine)}
    for name in sorted(inspector.get_table_names()):
        columns = inspector.get_columns(name)
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


def compressed_rows(engine):
    t = sa.table(
        "t",
        sa.column("id"),
        sa.column("d", CompressedText()),
        sa.column("j", CompressedJSON(none_as_null=True)),
        sa.column("n"),
    )
    with engine.connect() as connection:
        return {row.id: (row.d, row.j, row.n) for row in connection.execute(sa.select(t))}


def plain_rows(engine):
    t = sa.table(
        "t",
        sa.column("id"),
        sa.column("d", sa.Text),
        sa.column("j", sa.JSON(none_as_null=True)),
        sa.column("n"),
    )
    with engine.connect() as connection:
        return {row.id: (row.d, row.j, row.n) for row in connection.execute(sa.select(t))}


def chosen(points):
    """Numbers of points: all that change something but the middle batches, and some that only ask."""
    if LONG:
        return [point.number for point in points]
    numbers, seen = set(), {}
    for point in points:
        if point.changes:
            # Batches look alike up to their values: two of a kind will do.
            kind = point.statement[:60]
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= 2 or is_ddl(point):
                numbers.add(point.number)
    numbers.update(len(points) * tenth // 10 for tenth in range(1, 11))
    return sorted(numbers)


def is_ddl(point):
    return point.statement.upper().startswith(("ALTER", "CREATE", "DROP", "RENAME", "LOCK", "UNLOCK"))


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_killed_before_any_statement_and_run_again(engine, database_url, tmp_path, strategy):
    rows = make(engine)
    project = project_of(tmp_path, database_url, strategy)
    before = state(engine)
    with closing(Migrations(project, "2", "1")) as migrations:
        up = migrations.points("up")
        after = state(engine)
        assert compressed_rows(engine) == rows
        assert after["version"] == "2"
        assert sum(bytes(r[1])[:4] == MAGICS[0] for r in after["rows of t"] if not isinstance(r[1], str)) > 5
        assert not [name for name in after if name.startswith("sqlcompress")]
        down = migrations.points("down")
        assert plain_rows(engine) == rows
        assert state(engine) == before
        ways = [("up", "1", up, after), ("down", "2", down, before)]
        numbers = {direction: chosen(points) for direction, _, points, _ in ways}
        turns = max(map(len, numbers.values()))
        for turn in range(turns):
            for direction, still, points, wanted in ways:
                number = numbers[direction][turn % len(numbers[direction])]
                where = f"{direction}, killed before {points[number - 1]}"
                assert migrations.run(direction, number) == KILLED, where
                assert version(engine) == still, where
                if turn % 3 == 0:
                    # What goes on where the first stopped has other statements, and can be killed too.
                    assert migrations.run(direction, 1 + number * 5 // 7) in {KILLED, 0}, where
                if version(engine) == still:
                    assert migrations.run(direction) == 0, where
                assert state(engine) == wanted, where
        assert plain_rows(engine) == rows
        assert min(map(len, numbers.values())) >= 12
