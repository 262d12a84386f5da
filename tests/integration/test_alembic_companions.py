"""op.add_digest and op.add_extracted: companions of rows from before, on a table in use, after a kill too."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest
import sqlalchemy as sa

from sqlcompress import (
    CompressedBinary,
    CompressedJSON,
    CompressedText,
    MigrationBlockedError,
    MigrationFailedError,
    Zlib,
    digest_of,
    extracted,
    install,
)
from tests.integration.alembic_project import Project, version
from tests.integration.interrupted import KILLED, Migrations

TEXTS = [f"row {i} \U0001f600 of the table " * (i % 30 + 1) for i in range(90)]
TYPES = {
    "user_id": (("user", "id"), sa.BigInteger()),
    "tag": ("tag", sa.String(40)),
    "share": (("shares", 1), sa.Float()),
    "price": ("price", sa.Numeric(10, 2)),
    "is_new": ("new", sa.Boolean()),
}

BLOCKED, WRONG = MigrationBlockedError, sa.exc.ArgumentError


def document(number):
    if number % 9 == 0:
        return {"text": TEXTS[number]}
    return {
        "user": {"id": number * 10**9},
        "tag": f"täg {number}",
        "shares": [1, number / 8],
        "price": number + 0.25,
        "new": bool(number % 2),
        "text": TEXTS[number],
    }


def before(metadata):
    return sa.Table(
        "order",
        metadata,
        sa.Column("Key x", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", CompressedText()),
        sa.Column("data", CompressedBinary()),
        sa.Column("meta", CompressedJSON(Zlib())),
    )


def after(metadata):
    return sa.Table(
        "order",
        metadata,
        sa.Column("Key x", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", CompressedText()),
        sa.Column("data", CompressedBinary()),
        sa.Column("meta", CompressedJSON(Zlib())),
        digest_of("body", "body_digest"),
        digest_of("data", "data_digest"),
        *(extracted("meta", path, type_, name) for name, (path, type_) in TYPES.items()),
    )


UP = """
    op.add_digest("order", "body", "body_digest", existing_type=CompressedText(), batch_rows=10)
    op.add_digest("order", "data", "data_digest", existing_type=CompressedBinary(), batch_rows=10)
    shared = {"existing_type": CompressedJSON(), "batch_rows": 10}
    op.add_extracted("order", "meta", "user_id", ("user", "id"), type_=sa.BigInteger(), **shared)
    op.add_extracted("order", "meta", "tag", "tag", type_=sa.String(40), **shared)
    op.add_extracted("order", "meta", "share", ["shares", 1], type_=sa.Float(), **shared)
    op.add_extracted("order", "meta", "price", "price", type_=sa.Numeric(10, 2), **shared)
    op.add_extracted("order", "meta", "is_new", "new", type_=sa.Boolean(), **shared)
"""
DOWN = "\n".join(
    f"    op.drop_column('order', '{name}')" for name in ("body_digest", "data_digest", *TYPES)
).strip()


def fill(engine):
    t = before(sa.MetaData())
    t.create(engine)
    rows = [
        {"Key x": n, "body": TEXTS[n], "data": TEXTS[n].encode()[::-1], "meta": document(n)}
        for n in range(90)
    ]
    with engine.begin() as connection:
        connection.execute(t.insert(), rows)
        nothing = {"Key x": 90, "body": None, "data": None, "meta": sa.null()}
        connection.execute(t.insert().values(nothing))
        connection.execute(t.insert(), {"Key x": 91, "body": "", "data": b"", "meta": {"tag": ""}})


def check(engine):
    t = after(sa.MetaData())
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t)).mappings().all()
    assert len(rows) == 92
    for row in rows:
        for name in ("body", "data"):
            plain = row[name].encode() if isinstance(row[name], str) else row[name]
            assert row[f"{name}_digest"] == (None if plain is None else hashlib.sha256(plain).digest())
        meta = row["meta"] or {}
        assert row["user_id"] == meta.get("user", {}).get("id")
        assert row["tag"] == meta.get("tag")
        assert row["share"] == ([*meta.get("shares", []), None, None])[1]
        assert row["price"] == (Decimal(str(meta["price"])) if "price" in meta else None)
        assert row["is_new"] == meta.get("new")
    return t


def test_rows_from_before_are_filled(engine, database_url, tmp_path):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision(UP.strip(), DOWN)
    project.upgrade()
    t = check(engine)
    install(engine)
    with engine.connect() as connection:
        ask = sa.select(t.c["Key x"])
        assert connection.scalars(ask.where(t.c.body == TEXTS[5])).all() == [5]
        assert connection.scalars(ask.where(t.c.meta["user"]["id"].as_integer() == 7 * 10**9)).all() == [7]
    project.downgrade()
    assert {c["name"] for c in sa.inspect(engine).get_columns("order")} == {"Key x", "body", "data", "meta"}
    project.upgrade()
    check(engine)


def test_a_column_that_is_there_keeps_what_it_has(engine, database_url, tmp_path):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision("op.add_column('order', sa.Column('tag', sa.String(40)))")
    project.revision(
        "op.add_extracted('order', 'meta', 'tag', 'tag', type_=sa.String(40), existing_type=CompressedJSON())"
    )
    project.upgrade("1")
    t = sa.table("order", sa.column("Key x"), sa.column("tag"))
    with engine.begin() as connection:
        connection.execute(sa.update(t).where(t.c["Key x"] == 4).values(tag="mine"))
    project.upgrade()
    with engine.connect() as connection:
        found = dict(connection.execute(sa.select(t)).all())
    assert (found[4], found[5], found[90], found[91]) == ("mine", "täg 5", None, "")


def test_killed_anywhere_it_goes_on(engine, database_url, tmp_path):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision(UP.strip().splitlines()[0].strip(), "op.drop_column('order', 'body_digest')")
    migrations = Migrations(project, "1", "base")
    t = sa.table("order", sa.column("Key x"), sa.column("body", CompressedText()), sa.column("body_digest"))
    try:
        points = [point for point in migrations.points("up") if point.changes]
        assert len(points) > 10
        assert migrations.run("down") == 0
        for point in points[: -2 : max(1, len(points) // 8)]:
            assert migrations.run("up", point.number) == KILLED
            assert migrations.run("up") == 0
            assert version(engine) == "1"
            with engine.connect() as connection:
                for _, body, found in connection.execute(sa.select(t)):
                    assert found == (None if body is None else hashlib.sha256(body.encode()).digest())
            assert migrations.run("down") == 0
    finally:
        migrations.close()


def test_what_cannot_be_filled_is_told_by_key(engine, database_url, tmp_path):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision(
        "op.add_extracted('order', 'meta', 'tag', 'user', type_=sa.Text(), existing_type=CompressedJSON())"
    )
    with pytest.raises(MigrationFailedError) as caught:
        project.upgrade()
    assert "path ['user']: the value there is dict, and the extracted column takes str" in str(caught.value)
    assert "80 " in str(caught.value)
    assert version(engine) is None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            "op.add_digest('order', 'none', 'd', existing_type=CompressedText())",
            MigrationBlockedError,
            "none",
        ),
        ("op.add_digest('none', 'body', 'd', existing_type=CompressedText())", BLOCKED, "none"),
        ("op.add_digest('order', 'body', 'd', existing_type=sa.Text())", TypeError, "existing_type"),
        (
            "op.add_digest('order', 'meta', 'd', existing_type=CompressedJSON())",
            WRONG,
            "digest_of",
        ),
        (
            "op.add_extracted('order', 'meta', 'd', (), type_=sa.Text(), existing_type=CompressedJSON())",
            WRONG,
            r"path=\(\)",
        ),
        (
            "op.add_extracted('order', 'meta', 'd', 'a', type_=sa.Date(), existing_type=CompressedJSON())",
            WRONG,
            "Date",
        ),
        (
            "op.add_digest('order', 'body', 'd', existing_type=CompressedText(), strategy='shadow')",
            ValueError,
            "strategies",
        ),
    ],
)
@pytest.mark.databases("sqlite", "postgresql")
def test_bad_calls_change_nothing(engine, database_url, tmp_path, call, error, words):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision(call)
    with pytest.raises(error, match=words):
        project.upgrade()
    assert {c["name"] for c in sa.inspect(engine).get_columns("order")} == {"Key x", "body", "data", "meta"}
    assert version(engine) is None


def test_in_the_migrations_own_transaction(engine, database_url, tmp_path):
    fill(engine)
    project = Project(tmp_path, database_url)
    project.revision(
        UP.strip()
        .replace("batch_rows=10", "strategy='atomic'")
        .replace('"batch_rows": 10', '"strategy": "atomic"')
    )
    project.upgrade()
    check(engine)
