"""Columns as the databases have them, and statements that carry stored values about."""

from __future__ import annotations

import pickle

import pytest
import sqlalchemy as sa
from sqlalchemy import (
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Zstd
from sqlcompress.frames import is_framed
from tests.values import DICTIONARY, IN_ORDER, document

LONG = "a text that says the same thing again and again " * 30


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "article"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(String(40), unique=True)
    body: Mapped[str | None] = mapped_column(CompressedText())
    meta: Mapped[object] = mapped_column(CompressedJSON(Zstd(dictionary=DICTIONARY)), nullable=True)
    data: Mapped[bytes | None] = mapped_column(CompressedBinary("zlib"))


ARTICLES = Article.__table__
ROWS = [
    {
        "id": n,
        "title": f"title {n}",
        "body": LONG + str(n),
        "meta": document(n),
        "data": LONG.encode() + bytes([n]),
    }
    for n in range(1, 12)
]


@pytest.fixture
def articles(engine):
    Base.metadata.create_all(engine)
    return engine


def stored(connection, table=ARTICLES):
    raw = [type_coerce(table.c[name], LargeBinary) for name in ("body", "meta", "data")]
    return [tuple(map(bytes, row)) for row in connection.execute(select(*raw).order_by(table.c.id))]


def storage_of(connection, table):
    query = sa.text(
        "SELECT attname, attstorage::text FROM pg_attribute"
        " WHERE attrelid = CAST(:table AS regclass) AND attnum > 0 AND NOT attisdropped"
    )
    return dict(connection.execute(query, {"table": table}).all())


@pytest.mark.databases("postgresql")  # the one that would compress a second time
def test_created_columns_are_stored_external(driver_engine):
    metadata = MetaData()
    Table(
        'odd "name" 100%',
        metadata,
        Column("id", Integer, primary_key=True),
        Column('a%b "c"', CompressedText()),
        Column("plain", String),
        Column("variant", sa.JSON().with_variant(CompressedJSON(), "postgresql")),
    )
    Table("only_variant", metadata, Column("v", sa.Text().with_variant(CompressedText(), "postgresql")))
    unpickled = pickle.loads(pickle.dumps(metadata))
    with driver_engine.begin() as connection:
        for made in (metadata, unpickled):
            made.create_all(connection)
            kept = storage_of(connection, '"odd ""name"" 100%"')
            assert kept == {"id": "p", 'a%b "c"': "e", "plain": "x", "variant": "e"}
            assert storage_of(connection, "only_variant") == {"v": "e"}
            made.drop_all(connection)
        # Under a translated schema the table of that schema is meant.
        connection.execute(sa.schema.CreateSchema("tenant"))
        translated = connection.execution_options(schema_translate_map={None: "tenant"})
        metadata.tables["only_variant"].create(translated)
        assert storage_of(connection, "tenant.only_variant") == {"v": "e"}


@pytest.mark.databases("postgresql")  # as above
def test_columns_that_alembic_creates_are_stored_external(engine):
    pytest.importorskip("alembic")
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    with engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        operations.create_table("item", Column("id", Integer), Column("d", CompressedText()))
        assert storage_of(connection, "item") == {"id": "p", "d": "e"}


def test_reflected_tables_hold_the_stored_bytes(articles):
    with articles.begin() as connection:
        connection.execute(insert(Article), ROWS)
        plain = Table("article", MetaData(), autoload_with=connection)
        typed = Table("article", MetaData(), Column("body", CompressedText()), autoload_with=connection)
        row = connection.execute(select(plain.c.body).where(plain.c.id == 1)).one()
        assert is_framed(bytes(row.body))
        assert connection.scalar(select(typed.c.body).where(typed.c.id == 1)) == ROWS[0]["body"]


def test_copied_and_pickled_metadata(engine):
    copied = MetaData()
    ARTICLES.to_metadata(copied, name="copied")
    unpickled = pickle.loads(pickle.dumps(copied))
    unpickled.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(unpickled.tables["copied"]), ROWS)
        for table in (copied.tables["copied"], unpickled.tables["copied"]):
            rows = connection.execute(select(table).order_by(table.c.id)).all()
            assert [row._asdict() for row in rows] == ROWS


def test_two_settings_never_share_a_compiled_statement(engine):
    codecs = {"zstd": b"\x28\xb5\x2f\xfd", "zlib": b"\x78\x9c", "gzip": b"\x1f\x8b\x08"}
    tables = {
        codec: Table(
            "item", MetaData(), Column("id", Integer, primary_key=True), Column("d", CompressedText(codec))
        )
        for codec in codecs
    }
    tables["zstd"].create(engine)
    with engine.begin() as connection:
        for number, (codec, magic) in enumerate([*codecs.items()] * 2, start=1):
            table = tables[codec]
            connection.execute(insert(table), {"id": number, "d": LONG})
            raw = select(type_coerce(table.c.d, LargeBinary)).where(table.c.id == number)
            assert bytes(connection.scalar(raw)).startswith(magic)
        narrow = Table("item", MetaData(), Column("id", Integer), Column("d", CompressedText(max_size=64)))
        assert connection.scalar(select(tables["zlib"].c.d).where(tables["zlib"].c.id == 1)) == LONG
        with pytest.raises(ValueError, match="max_size=64"):
            connection.scalar(select(narrow.c.d).where(narrow.c.id == 1))


def returns(engine, what="insert_returning"):
    if not getattr(engine.dialect, what):
        pytest.skip(f"{engine.dialect.name} has no RETURNING for this")


def test_rows_that_insert_returns_to_the_orm(articles):
    returns(articles)
    with Session(articles) as session:
        made = session.scalars(insert(Article).returning(Article), ROWS).all()
        assert [
            {name: getattr(row, name) for name in ROWS[0]} for row in sorted(made, key=lambda row: row.id)
        ] == ROWS
        one = session.execute(
            insert(Article).values({**ROWS[0], "id": 50, "title": "t"}).returning(Article.body)
        )
        assert one.scalar() == ROWS[0]["body"]
        many = [{**row, "id": row["id"] + 100, "title": None} for row in ROWS]
        columns = insert(Article).returning(Article.id, Article.meta, Article.body, **IN_ORDER)
        got = session.execute(columns, many).all()
        assert [tuple(row) for row in got] == [(row["id"], row["meta"], row["body"]) for row in many]
        upper = session.scalars(
            update(Article).where(Article.id == 1).values(body="new").returning(Article.body)
            if articles.dialect.update_returning
            else select(Article.body).where(Article.id == 50)
        )
        assert upper.one() in {"new", ROWS[0]["body"]}


def test_rows_that_insert_returns_to_core(articles):
    returns(articles)
    with articles.begin() as connection:
        statement = insert(ARTICLES).returning(ARTICLES, **IN_ORDER)
        assert [row._asdict() for row in connection.execute(statement, ROWS)] == ROWS


def test_upserts_carry_stored_bytes_over_as_they_are(articles, database):
    with articles.begin() as connection:
        connection.execute(insert(Article), ROWS)
        before = stored(connection)
        changed = [
            {**row, "body": row["body"] + " changed", "meta": {"new": row["meta"]}} for row in ROWS[:5]
        ]
        changed += [{**ROWS[0], "id": 90, "title": "added"}]
        if database in {"mariadb", "mysql"}:
            statement = mysql.insert(ARTICLES)
            names = ("body", "meta", "data")
            statement = statement.on_duplicate_key_update({name: statement.inserted[name] for name in names})
        else:
            statement = {"sqlite": sqlite, "postgresql": postgresql}[database].insert(ARTICLES)
            statement = statement.on_conflict_do_update(
                index_elements=["id"],
                set_={name: statement.excluded[name] for name in ("body", "meta", "data")},
            )
        connection.execute(statement, changed)
        rows = [row._asdict() for row in connection.execute(select(ARTICLES).order_by(ARTICLES.c.id))]
        assert rows == changed[:5] + ROWS[5:] + changed[5:]
        # A value given beside excluded.… is bound as one.
        if database in {"mariadb", "mysql"}:
            literal = mysql.insert(ARTICLES).values(ROWS[0]).on_duplicate_key_update(body="bound " * 50)
        else:
            literal = {"sqlite": sqlite, "postgresql": postgresql}[database].insert(ARTICLES).values(ROWS[0])
            literal = literal.on_conflict_do_update(index_elements=["id"], set_={"body": "bound " * 50})
        connection.execute(literal)
        assert connection.scalar(select(ARTICLES.c.body).where(ARTICLES.c.id == 1)) == "bound " * 50
        assert stored(connection)[5:11] == before[5:11]


def test_a_copy_from_one_column_to_another_keeps_the_stored_bytes(articles):
    other = ARTICLES.to_metadata(MetaData(), name="other")
    other.create(articles)
    with articles.begin() as connection:
        connection.execute(insert(Article), ROWS)
        names = list(ROWS[0])
        connection.execute(insert(other).from_select(names, select(*(ARTICLES.c[name] for name in names))))
        assert stored(connection, other) == stored(connection)
        assert [row._asdict() for row in connection.execute(select(other).order_by(other.c.id))] == ROWS


@pytest.mark.parametrize("synchronize", ["auto", "evaluate", "fetch", False])
def test_updates_of_rows_in_memory(articles, synchronize):
    with Session(articles) as session:
        session.execute(insert(Article), ROWS)
        article = session.get(Article, 1)
        statement = update(Article).where(Article.id == 1).values(body=LONG, meta={"a": 1}, data=b"d" * 99)
        session.execute(statement, execution_options={"synchronize_session": synchronize})
        if synchronize is False:
            session.expire(article)
        assert (article.body, article.meta, article.data) == (LONG, {"a": 1}, b"d" * 99)
        session.execute(update(Article), [{"id": 1, "body": "by key"}, {"id": 2, "body": None}])
        session.expire_all()
        assert [session.get(Article, key).body for key in (1, 2)] == ["by key", None]
        missing = session.scalars(select(Article.id).where(Article.body.is_(None))).all()
        assert missing == [2]
        assert len(session.scalars(select(Article.id).where(Article.body != None)).all()) == 10  # noqa: E711
        session.rollback()


def test_bulk_operations_of_the_session(articles):
    with Session(articles) as session:
        session.bulk_insert_mappings(Article, ROWS)
        session.bulk_save_objects([Article(**{**ROWS[0], "id": 80, "title": None})])
        session.bulk_update_mappings(Article, [{"id": 80, "meta": [1, 2], "body": LONG}])
        session.add_all([Article(**{**row, "id": row["id"] + 100, "title": None}) for row in ROWS])
        session.flush()
        session.expire_all()
        rows = session.scalars(select(Article).order_by(Article.id)).all()
        assert [(row.id, row.body) for row in rows[:11]] == [(row["id"], row["body"]) for row in ROWS]
        assert (rows[11].meta, rows[11].body, rows[11].data) == ([1, 2], LONG, ROWS[0]["data"])
        assert [row.meta for row in rows[12:]] == [row["meta"] for row in ROWS]


def test_through_subqueries_ctes_unions_and_aliases(articles):
    with articles.begin() as connection:
        connection.execute(insert(Article), ROWS)
        inner = select(ARTICLES.c.id, ARTICLES.c.body).where(ARTICLES.c.id < 3)
        expected = [(row["id"], row["body"]) for row in ROWS[:2]]
        for source in (inner.subquery(), inner.cte(), ARTICLES.alias()):
            statement = select(source.c.id, source.c.body).where(source.c.id < 3).order_by(source.c.id)
            assert [tuple(row) for row in connection.execute(statement)] == expected
        both = sa.union_all(inner, inner).subquery()
        assert len(connection.execute(select(both.c.body)).all()) == 4
        labelled = select(ARTICLES.c.body.label("text")).where(ARTICLES.c.id == 1)
        assert connection.execute(labelled).one().text == ROWS[0]["body"]
        assert connection.scalar(select(labelled.scalar_subquery())) == ROWS[0]["body"]


def test_defaults_of_the_column(engine):
    table = Table(
        "item",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("fixed", CompressedText(), default="fixed " * 30),
        Column("made", CompressedJSON(), default=dict),
        Column("changed", CompressedBinary(), onupdate=b"changed " * 30),
    )
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(table).values(id=1))
        assert connection.execute(select(table)).one() == (1, "fixed " * 30, {}, None)
        connection.execute(update(table).values(id=2))
        assert connection.execute(select(table)).one() == (2, "fixed " * 30, {}, b"changed " * 30)
