"""Companion columns: kept right on every write path, asked by index, and refused where they cannot follow."""

from __future__ import annotations

import asyncio
import hashlib
from decimal import Decimal
from functools import partial

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import CompileError, IntegrityError, InvalidRequestError
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Zlib, digest_of, extracted, install

LONG = "The quick brown fox jumps over the lazy dog. " * 9


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "Note %s"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str | None] = mapped_column(sa.String(50))
    body: Mapped[str | None] = mapped_column("Größe x", CompressedText())
    digest = digest_of(body, index=True)
    other: Mapped[str | None] = mapped_column(CompressedText(Zlib()), default="nothing")
    other_digest = digest_of("other")
    data: Mapped[bytes | None] = mapped_column(CompressedBinary(), default=lambda: b"\0" * 100)
    data_digest = digest_of(data)
    meta: Mapped[dict | None] = mapped_column(MutableDict.as_mutable(CompressedJSON(none_as_null=True)))
    user_id = extracted(meta, ("user", "id"), sa.BigInteger, index=True)
    tag = extracted(meta, "tag", sa.String(40))
    share = extracted(meta, ("shares", 1), sa.Float)
    price = extracted(meta, "price", sa.Numeric(10, 2))
    is_new = extracted(meta, "new", sa.Boolean)


T = Note.__table__


def sha(value):
    if value is None:
        return None
    return hashlib.sha256(value.encode() if isinstance(value, str) else value).digest()


def check(connection):
    """Each row's companions are what follows from its values."""
    rows = connection.execute(sa.select(T)).mappings().all()
    for row in rows:
        assert row["digest"] == sha(row["Größe x"]), row["id"]
        assert row["other_digest"] == sha(row["other"]), row["id"]
        assert row["data_digest"] == sha(row["data"]), row["id"]
        meta = row["meta"] or {}
        assert row["user_id"] == meta.get("user", {}).get("id"), row["id"]
        assert row["tag"] == meta.get("tag"), row["id"]
        assert row["share"] == ([*meta.get("shares", []), None, None])[1], row["id"]
        price = meta.get("price")
        assert row["price"] == (None if price is None else Decimal(str(price))), row["id"]
        assert row["is_new"] == meta.get("new"), row["id"]
    return {row["id"]: row for row in rows}


def document(number):
    return {
        "user": {"id": number},
        "tag": f"t{number}",
        "shares": [1, number / 4],
        "price": number + 0.25,
        "new": bool(number % 2),
        "text": LONG,
    }


@pytest.fixture
def noted(engine):
    install(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session, session.begin():
        for number in range(1, 7):
            session.add(
                Note(id=number, body=f"{LONG}{number}", meta=document(number), data=bytes([number]) * 90)
            )
        session.add(Note(id=7))
        session.add(Note(id=8, body=None, other=None, data=None, meta=None))
    with engine.connect() as connection:
        rows = check(connection)
    assert len(rows) == 8
    assert rows[7]["other"] == "nothing"
    assert rows[7]["data"] == bytes(100)
    assert rows[3]["user_id"] == 3
    return engine


def flush(engine):
    with Session(engine) as session, session.begin():
        first, second = session.get(Note, 1), session.get(Note, 2)
        first.body, first.meta = "short", {"tag": "new"}
        second.meta["user"] = {"id": 77}
        second.title = "only this"
        session.get(Note, 3).body = None
        session.delete(session.get(Note, 4))
        session.get(Note, 5).title = "nothing compressed"


def test_the_session_reads_them_anew(noted):
    with Session(noted) as session:
        note = session.get(Note, 1)
        assert (note.digest, note.tag) == (sha(f"{LONG}1"), "t1")
        note.body, note.meta = "new", {"tag": "other"}
        session.flush()
        assert (note.digest, note.tag, note.user_id) == (sha("new"), "other", None)
        made = Note(id=99, body="made")
        session.add(made)
        session.flush()
        assert (made.digest, made.tag) == (sha("made"), None)


def bulk(engine):
    with Session(engine) as session, session.begin():
        session.bulk_insert_mappings(
            Note, [{"id": n, "body": f"b{n}", "meta": document(n)} for n in (20, 21)]
        )
        session.bulk_save_objects([Note(id=22, body="x", other="y")])
        session.bulk_update_mappings(Note, [{"id": n, "body": f"u{n}"} for n in (1, 2)])
        session.execute(sa.insert(Note), [{"id": n, "body": f"e{n}", "data": b"1"} for n in (23, 24)])
        session.execute(sa.update(Note), [{"id": n, "body": f"v{n}", "meta": document(n)} for n in (3, 4)])


def core(engine):
    body = T.c["Größe x"]
    with engine.begin() as connection:
        connection.execute(sa.insert(T), {"id": 30, "Größe x": "one"})
        connection.execute(sa.insert(T), [{"id": n, "Größe x": f"m{n}", "other": "o"} for n in range(31, 40)])
        connection.execute(sa.insert(T).values({"id": 40, body: "by values", T.c.meta: document(4)}))
        connection.execute(sa.insert(T).values({"id": 41, body: sa.null()}))
        connection.execute(
            sa.insert(T).values(
                [
                    {"id": n, "Größe x": f"v{n}", "meta": document(n), "other": "o", "data": b"2"}
                    for n in (50, 51, 52)
                ]
            )
        )
        connection.execute(sa.update(T).where(T.c.id == 1).values({body: "updated"}))
        connection.execute(sa.update(T).where(T.c.id == 2).values(other="updated", meta=document(9)))
        connection.execute(sa.update(T).where(T.c.id == 3).values(title="nothing compressed"))
        named = sa.update(T).where(T.c.id == sa.bindparam("key")).values({body: sa.bindparam("new")})
        connection.execute(named, [{"key": n, "new": f"n{n}"} for n in (4, 5)])
        connection.execute(
            sa.update(T).where(T.c.id == sa.bindparam("key")), [{"key": 6, "Größe x": "by parameters"}]
        )
        connection.execute(
            sa.update(T).where(T.c.id == 31).ordered_values((T.c.title, "a"), (body, "ordered"))
        )
        connection.execute(sa.update(T).where(T.c.id == 32).values({body: T.c.other}))
        for value in ("again", "and again"):  # one compiled statement, two values
            connection.execute(sa.update(T).where(T.c.id == 33).values({body: value}))
            check(connection)
        with pytest.raises(CompileError, match=r"digest follows Note %s\.Größe x, which .* an SQL"):
            connection.execute(sa.update(T).values({body: sa.func.coalesce(body, T.c.other)}))
        with pytest.raises(CompileError, match="the values of a SELECT"):
            connection.execute(sa.insert(T).from_select(["id", "other"], sa.select(T.c.id + 100, T.c.other)))
        connection.execute(
            sa.insert(T).from_select(
                ["id", "other", "other_digest"],
                sa.select(T.c.id + 100, T.c.other, T.c.other_digest),
                include_defaults=False,
            )
        )


def orm_enabled(engine):
    with Session(engine) as session, session.begin():
        session.execute(sa.update(Note).where(Note.id == 1).values(body="orm"))
        session.execute(sa.update(Note).where(Note.body == f"{LONG}2").values({Note.body: "found by digest"}))
        session.execute(sa.insert(Note).values(id=60, body="orm values", meta=document(60)))
        session.execute(sa.insert(Note).values([{"id": n, "body": f"many {n}"} for n in (61, 62)]))
        loaded = session.get(Note, 3)
        session.execute(sa.update(Note).where(Note.body == loaded.body).values(title="evaluated", body="now"))
        assert (loaded.title, loaded.body) == ("evaluated", "now")
        assert session.get(Note, 2).digest == sha("found by digest")


def upserts(engine):
    body = T.c["Größe x"]
    name = engine.dialect.name
    with engine.begin() as connection:
        rows = [{"id": n, "Größe x": f"up{n}", "meta": document(n)} for n in (1, 2, 70)]
        for new in ("excluded", "value"):
            if name in ("mysql", "mariadb"):
                statement = mysql_insert(T)
                given = statement.inserted["Größe x"] if new == "excluded" else "given"
                statement = statement.on_duplicate_key_update({"Größe x": given})
            else:
                statement = (postgresql_insert if name == "postgresql" else sqlite_insert)(T)
                given = statement.excluded["Größe x"] if new == "excluded" else "given"
                statement = statement.on_conflict_do_update(index_elements=["id"], set_={body: given})
            connection.execute(statement, rows if new == "excluded" else rows[0])
            check(connection)
        assert connection.scalar(sa.select(body).where(T.c.id == 1)) == "given"
        assert connection.scalar(sa.select(body).where(T.c.id == 2)) == "up2"


@pytest.mark.parametrize("write", [flush, bulk, core, orm_enabled, upserts])
def test_every_write_keeps_them(noted, write):
    write(noted)
    with noted.connect() as connection:
        check(connection)


def writes_of_each_kind(connection):
    install(connection.engine)
    Base.metadata.create_all(connection)
    body = T.c["Größe x"]
    with Session(connection) as session:
        session.add_all([Note(id=n, body=f"{LONG}{n}", meta=document(n)) for n in range(1, 20)])
        session.flush()
        session.get(Note, 2).body = "changed"
        session.get(Note, 3).meta["tag"] = "changed"
        session.flush()
        check(connection)
        found = sa.select(Note.id).where(Note.body.in_([f"{LONG}4", "changed"]))
        assert sorted(session.scalars(found)) == [2, 4]
        session.execute(sa.update(Note), [{"id": n, "body": f"u{n}"} for n in (5, 6)])
        session.execute(sa.insert(Note).values([{"id": n, "body": f"v{n}"} for n in (21, 22)]))
    connection.execute(sa.insert(T), [{"id": n, "Größe x": f"m{n}", "other": None} for n in range(30, 40)])
    connection.execute(sa.update(T).where(body == "m31").values({body: "again", T.c.meta: document(31)}))
    rows = check(connection)
    assert (rows[31]["Größe x"], rows[31]["tag"], rows[5]["Größe x"]) == ("again", "t31", "u5")


def test_with_every_driver(driver_engine):
    with driver_engine.connect() as connection:
        writes_of_each_kind(connection)


def test_with_every_asyncio_driver(async_engine):
    async def write():
        async with async_engine.connect() as connection:
            await connection.run_sync(writes_of_each_kind)

    asyncio.run(write())


def ids(connection, *conditions):
    return connection.execute(sa.select(Note.id).where(*conditions).order_by(Note.id)).scalars().all()


def test_questions_go_through_them(noted):
    other = aliased(Note)
    with noted.connect() as connection:
        ask = partial(ids, connection)
        assert ask(Note.body == f"{LONG}3") == [3]
        assert ask(Note.body == "none of them") == []
        assert ask(Note.body == sa.bindparam("v", f"{LONG}3")) == [3]
        assert ask(Note.body != f"{LONG}3") == [1, 2, 4, 5, 6]
        assert ask(Note.body.in_([f"{LONG}3", f"{LONG}5", "x"])) == [3, 5]
        assert ask(Note.body.not_in([f"{LONG}3", f"{LONG}5"])) == [1, 2, 4, 6]
        assert ask(Note.body.in_([])) == []
        assert ask(Note.body.is_(None)) == [7, 8]
        assert ask(Note.body.is_not_distinct_from(f"{LONG}3")) == [3]
        assert ask(Note.data == b"\2" * 90) == [2]
        assert ask(Note.meta["user"]["id"].as_integer() == 4) == [4]
        assert ask(Note.meta[("user", "id")].as_integer().in_([4, 5])) == [4, 5]
        assert ask(Note.meta["tag"].as_string().like("t%"), Note.id < 3) == [1, 2]
        assert ask(Note.meta[("shares", 1)].as_float() > 1) == [5, 6]
        assert ask(Note.meta["price"].as_numeric(10, 2) == Decimal("2.25")) == [2]
        assert ask(Note.meta["new"].as_boolean()) == [1, 3, 5]
        found = sa.select(other.id).where(
            other.body == f"{LONG}1", other.meta["user"]["id"].as_integer() == 1
        )
        assert connection.execute(found).scalars().all() == [1]
        # Another path of the same statement's shape is not answered by what was compiled for the first.
        for path in ("tag", "none"):
            expected = {"tag": [2], "none": []}[path]
            if noted.dialect.name == "sqlite":
                assert ask(Note.meta[path].as_string() == "t2") == expected
        sql = str(
            sa.select(Note.id)
            .where(Note.body == "x", Note.meta["user"]["id"].as_integer() == 1)
            .compile(noted)
        )
        assert "decompress" not in sql.lower()
        assert "sqlcompress" not in sql


def test_a_value_of_another_type_is_refused(noted):
    with noted.connect() as connection:
        for wrong in ({"user": {"id": "7"}}, {"user": {"id": True}}, {"tag": 7}, {"price": "1"}, {"new": 1}):
            with pytest.raises(sa.exc.StatementError) as caught:
                connection.execute(sa.insert(T).values(id=90, meta=wrong))
            assert "path [" in str(caught.value.orig)
            connection.rollback()
        for fine in ({"user": 7}, {"user": {"id": None}}, {"shares": [1]}, {"user": [1]}, {}):
            connection.execute(sa.insert(T).values(id=91, meta=fine))
            assert connection.execute(sa.select(T.c.user_id, T.c.share).where(T.c.id == 91)).one() == (
                None,
                None,
            )
            connection.rollback()


def test_without_install_nothing_is_written(engine):
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            sa.insert(T).values(id=1, title="no compressed value", other=sa.null(), data=sa.null())
        )
        for statement in (
            sa.insert(T).values({"id": 2, "Größe x": "x"}),
            sa.update(T).values({"Größe x": "x"}),
            sa.insert(T).values(id=2),
        ):
            with pytest.raises(InvalidRequestError, match=r"install\(engine\) has to see"):
                connection.execute(statement)


def test_a_unique_digest_makes_values_unique(engine, metadata_of):
    table = metadata_of(
        sa.Column("id", sa.Integer, primary_key=True),
        body := sa.Column("body", CompressedText()),
        digest_of(body, "body_digest", unique=True),
    )
    install(engine)
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(
            sa.insert(table), [{"id": 1, "body": LONG}, {"id": 2, "body": None}, {"id": 3, "body": None}]
        )
    with engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(sa.insert(table), {"id": 4, "body": LONG})


@pytest.fixture
def metadata_of():
    return lambda *columns: sa.Table("made", sa.MetaData(), *columns)


def test_what_is_not_filled_is_written_and_not_asked(engine, metadata_of):
    table = metadata_of(
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("body", CompressedText("zlib")),
        digest_of("body", "body_digest", filled=False),
    )
    install(engine)
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), {"id": 1, "body": LONG})
        assert connection.scalar(sa.select(table.c.body_digest)) == sha(LONG)
    asked = sa.select(table.c.id).where(table.c.body == LONG)
    assert "body_digest" not in str(asked.compile(engine))
