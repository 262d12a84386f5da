"""What the guarded compiler opens, refuses and lets through, on each dialect's own compiler."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Mapped

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, install
from sqlcompress.guard import Guard, guarded


class Base(orm.DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "article"
    id: Mapped[int] = orm.mapped_column(primary_key=True)
    title: Mapped[str]
    body: Mapped[str | None] = orm.mapped_column(CompressedText())
    other: Mapped[str | None] = orm.mapped_column(CompressedText())
    meta: Mapped[dict] = orm.mapped_column(CompressedJSON())
    blob: Mapped[bytes | None] = orm.mapped_column(CompressedBinary())


class Note(Base):
    __tablename__ = "note"
    id: Mapped[int] = orm.mapped_column(primary_key=True)
    text: Mapped[str]
    raw: Mapped[bytes] = orm.mapped_column(sa.LargeBinary)
    article_id: Mapped[int] = orm.mapped_column(sa.ForeignKey("article.id"))


A, N, T = Article, Note, Article.__table__
DIALECTS = {
    "sqlite": sqlite.dialect(),
    "postgresql": postgresql.dialect(),
    "mysql": mysql.dialect(),
    "mssql": mssql.dialect(),
    "oracle": oracle.dialect(),
}
for dialect in DIALECTS.values():
    dialect.statement_compiler = guarded(dialect.statement_compiler)

aliased = orm.aliased(A, name="again")
subquery = sa.select(A.id, A.body, A.title).subquery("inner")
cte = sa.select(A.id, A.body).cte("cte")

OPENED = {
    "plain == column": lambda: sa.select(N).where(N.text == A.body),
    "plain != column": lambda: sa.select(N).where(N.text != A.body),
    "literal == column": lambda: sa.select(A).where(sa.literal("x") == A.body),
    "plain < column": lambda: sa.select(A).where(A.title < A.body),
    "plain like column": lambda: sa.select(A).where(A.title.like(A.body)),
    "plain between": lambda: sa.select(A).where(A.title.between("a", A.body)),
    "plain in list": lambda: sa.select(A).where(A.title.in_([A.body, "x"])),
    "plain in select": lambda: sa.select(N).where(N.text.in_(sa.select(A.body))),
    "plain not in select": lambda: sa.select(N).where(N.text.not_in(sa.select(A.body))),
    "plain == scalar subquery": lambda: sa.select(N).where(N.text == sa.select(A.body).scalar_subquery()),
    "plain + column": lambda: sa.select(A.title + A.body),
    "plain is distinct from": lambda: sa.select(A).where(A.title.is_distinct_from(A.body)),
    "column == column": lambda: sa.select(A).where(A.body == A.other),
    "tuple in": lambda: sa.select(A).where(sa.tuple_(A.title, A.body).in_([("a", "b")])),
    "function": lambda: sa.select(sa.func.lower(A.body)),
    "function in where": lambda: sa.select(A).where(sa.func.length(A.body) > 3),
    "coalesce": lambda: sa.select(sa.func.coalesce(A.body, "")),
    "nullif": lambda: sa.select(sa.func.nullif(A.body, "")),
    "max": lambda: sa.select(sa.func.max(A.body)),
    "json function": lambda: sa.select(sa.func.json_extract(A.meta, "$.a")),
    "cast": lambda: sa.select(sa.cast(A.body, sa.String(10))),
    "cast to integer": lambda: sa.select(sa.cast(A.meta, sa.Integer)),
    "type_coerce": lambda: sa.select(sa.type_coerce(A.body, sa.Text)),
    "type_coerce compared": lambda: sa.select(A).where(sa.type_coerce(A.body, sa.Text) == "x"),
    "case value": lambda: sa.select(sa.case({"x": 1}, value=A.body)),
    "case condition": lambda: sa.select(sa.case((A.title == A.body, 1), else_=0)),
    "case mixed result": lambda: sa.select(sa.case((A.id == 1, A.body), else_=A.title)),
    "order by": lambda: sa.select(A).order_by(A.body),
    "order by label": lambda: sa.select(A.body.label("b")).order_by("b"),
    "order by name": lambda: sa.select(A.id, A.body).order_by("body"),
    "order by label object": lambda: sa.select(lab := A.body.label("b")).order_by(lab),
    "order by desc of name": lambda: sa.select(A.id, A.body).order_by(sa.desc("body")),
    "over order by": lambda: sa.select(sa.func.row_number().over(order_by=A.body)),
    "within group": lambda: sa.select(sa.func.percentile_disc(0.5).within_group(T.c.body)),
    "having": lambda: sa.select(A.title).group_by(A.title).having(A.title == sa.func.max(A.body)),
    "alias": lambda: sa.select(aliased).where(aliased.title == aliased.body),
    "subquery": lambda: sa.select(subquery).where(subquery.c.title == subquery.c.body),
    "cte": lambda: sa.select(cte).where(sa.literal("x") == cte.c.body),
    "join on": lambda: sa.select(N).join(A, N.text == A.body),
    "exists": lambda: sa.select(N).where(sa.exists().where(N.text == A.body)),
    "correlated": lambda: sa.select(A.id).where(sa.select(N.id).where(N.text == A.body).exists()),
    "update where": lambda: sa.update(A).where(A.title == A.body).values(id=1),
    "delete where": lambda: sa.delete(A).where(A.title == A.body),
    "returning function": lambda: sa.insert(A).returning(sa.func.lower(A.body)),
    "collate": lambda: sa.select(sa.collate(T.c.title, "C") == T.c.body),
    "any": lambda: sa.select(N).where(N.text == sa.any_(sa.select(A.body).scalar_subquery())),
}

REFUSED = {
    "union with plain": lambda: sa.union(sa.select(A.title), sa.select(A.body)),
    "union all, plain second": lambda: sa.union_all(sa.select(A.body), sa.select(A.title)),
    "except": lambda: sa.except_(sa.select(A.body), sa.select(N.text)),
    "update plain from compressed": lambda: sa.update(A).values(title=A.body),
    "update compressed from plain": lambda: sa.update(A).values(body=A.title),
    "update from subquery": lambda: sa.update(N).values(text=sa.select(A.body).scalar_subquery()),
    "update function of itself": lambda: sa.update(A).values(body=sa.func.upper(A.body)),
    "update in order": lambda: sa.update(A).ordered_values((A.title, A.body), (A.id, 1)),
    "insert from select": lambda: sa.insert(N).from_select(["text"], sa.select(A.body)),
    "insert from plain select": lambda: sa.insert(A).from_select(
        ["title", "body"], sa.select(A.title, A.title)
    ),
    "insert value": lambda: sa.insert(N).values(text=sa.select(A.body).scalar_subquery()),
}

ALLOWED = {
    "select": lambda: sa.select(A),
    "columns": lambda: sa.select(A.body, A.meta, A.blob),
    "label": lambda: sa.select(A.body.label("b")),
    "is null": lambda: sa.select(A).where(A.body.is_(None)),
    "== None": lambda: sa.select(A).where(A.body == None),  # noqa: E711
    "is not null": lambda: sa.select(A).where(A.body.is_not(None), A.meta != sa.null()),
    "not is null": lambda: sa.select(A).where(~A.body.is_(None)),
    "count": lambda: sa.select(sa.func.count(A.body)),
    "count over": lambda: sa.select(sa.func.count(A.body).over(partition_by=A.title)),
    "group by": lambda: sa.select(A.body, sa.func.count()).group_by(A.body),
    "distinct": lambda: sa.select(A.body).distinct(),
    "order by others": lambda: sa.select(A.body).order_by(A.title, A.id.desc(), "title"),
    "stored size": lambda: sa.select(sa.func.length(sa.type_coerce(A.body, sa.LargeBinary))),
    "type_coerce to its own": lambda: sa.select(sa.type_coerce(A.body, CompressedText())),
    "case of compressed": lambda: sa.select(sa.case((A.id == 1, A.body), else_=A.other)),
    "case with null": lambda: sa.select(sa.case((A.id == 1, A.body), else_=sa.null())),
    "case on null": lambda: sa.select(sa.case((A.body.is_(None), 1), else_=0)),
    "union": lambda: sa.union_all(sa.select(A.body), sa.select(A.other)),
    "scalar subquery": lambda: sa.select(sa.select(A.body).limit(1).scalar_subquery()),
    "subquery": lambda: sa.select(subquery.c.body).where(subquery.c.id == 1),
    "cte": lambda: sa.select(cte).where(cte.c.body.is_not(None)),
    "alias": lambda: sa.select(aliased.body).where(aliased.id == 1),
    "join": lambda: sa.select(A.body, N).join(N, N.article_id == A.id),
    "in another select": lambda: sa.select(N).where(N.article_id.in_(sa.select(A.id))),
    "insert": lambda: sa.insert(A).values(title="t", body="x", meta={}),
    "insert null": lambda: sa.insert(A).values(title="t", body=sa.null(), meta={}),
    "insert from select": lambda: sa.insert(A).from_select(["title", "body"], sa.select(A.title, A.other)),
    "insert raw": lambda: sa.insert(A).values(title="t", body=sa.text("x"), meta={}),
    "update": lambda: sa.update(A).values(body="x", title="t"),
    "update with null": lambda: sa.update(A).values(body=sa.null()),
    "update from its like": lambda: sa.update(A).values(body=A.other),
    "update plain": lambda: sa.update(A).values(title=sa.func.upper(A.title)),
    "delete": lambda: sa.delete(A).where(A.body.is_(None)),
    "plain in list": lambda: sa.select(A).where(A.title.in_(["a", "b"])),
    "plain everything": lambda: sa.select(sa.func.max(N.text)).where(N.text.like("x%")).group_by(N.id),
    "largebinary": lambda: sa.select(N).where(N.raw == b"x"),
}

#: A decoder with what it decodes.
DECODED = re.compile(r"sqlcompress_(plain|text|binary)\([^()]*\)")


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("name", OPENED)
def test_opened_where_the_database_decodes(name, dialect):
    sql = str(OPENED[name]().compile(dialect=DIALECTS[dialect]))
    asked = sql.rpartition("RETURNING")[2] if "RETURNING" in sql else sql
    asked = re.split(r"\b(?:ON|WHERE|HAVING|ORDER BY)\b", asked, maxsplit=1)[-1]
    assert DECODED.search(asked)
    assert not re.search(r"\b(body|other|meta)\b(?! *FROM)", re.sub(r"\bAS \w+", "", DECODED.sub("", asked)))


@pytest.mark.parametrize("dialect", ["mysql", "mssql", "oracle"])
@pytest.mark.parametrize("name", OPENED)
def test_refused_where_it_does_not(name, dialect):
    with pytest.raises(sa.exc.CompileError) as caught:
        OPENED[name]().compile(dialect=DIALECTS[dialect])
    if "not support" not in str(caught.value):  # which SQLAlchemy says of its own elements
        assert re.search(r"cannot be decoded|compressed bytes", str(caught.value))
        named = r"\b(article|again|inner|cte)\.(body|other|meta)\b|compressed value"
        assert re.search(named, str(caught.value))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, dialect):
    with pytest.raises(sa.exc.CompileError, match=r"compressed bytes"):
        REFUSED[name]().compile(dialect=DIALECTS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed_compiles_to_the_same_sql(name, dialect):
    statement = ALLOWED[name]()
    plain = type(DIALECTS[dialect])()
    assert str(statement.compile(dialect=DIALECTS[dialect])) == str(statement.compile(dialect=plain))


def test_upserts():
    for kind, dialect in ((sqlite, "sqlite"), (postgresql, "postgresql")):
        insert = kind.insert(A).values(id=1, title="t", body="x", meta={})
        for good in ({"body": insert.excluded.body}, {"body": "new"}, {"title": insert.excluded.title}):
            insert.on_conflict_do_update(index_elements=["id"], set_=good).compile(dialect=DIALECTS[dialect])
        for bad in ({"title": insert.excluded.body}, {"body": insert.excluded.title}):
            with pytest.raises(sa.exc.CompileError, match="compressed bytes"):
                insert.on_conflict_do_update(index_elements=["id"], set_=bad).compile(
                    dialect=DIALECTS[dialect]
                )
    insert = mysql.insert(A).values(id=1, title="t", body="x", meta={})
    for good in ({"body": insert.inserted.body}, {"body": "new"}, {"title": insert.inserted.title}):
        insert.on_duplicate_key_update(good).compile(dialect=DIALECTS["mysql"])
    for bad in ({"title": insert.inserted.body}, {"body": insert.inserted.title}):
        with pytest.raises(sa.exc.CompileError, match="compressed bytes"):
            insert.on_duplicate_key_update(bad).compile(dialect=DIALECTS["mysql"])


def test_relationship_order_by_is_seen_after_the_orm_has_built_the_statement():
    class Local(orm.DeclarativeBase):
        pass

    class Child(Local):
        __tablename__ = "child"
        id: Mapped[int] = orm.mapped_column(primary_key=True)
        parent_id: Mapped[int] = orm.mapped_column(sa.ForeignKey("parent.id"))
        body: Mapped[str] = orm.mapped_column(CompressedText())

    class Parent(Local):
        __tablename__ = "parent"
        id: Mapped[int] = orm.mapped_column(primary_key=True)
        children: Mapped[list[Child]] = orm.relationship(order_by=Child.__table__.c.body)

    statement = sa.select(Parent).options(orm.joinedload(Parent.children))
    assert "ORDER BY sqlcompress_text(child_1.body)" in str(statement.compile(dialect=DIALECTS["postgresql"]))
    with pytest.raises(sa.exc.CompileError, match=r"child\.body of CompressedText\(\) cannot be decoded"):
        statement.compile(dialect=DIALECTS["mysql"])


def test_variants_decide_by_dialect():
    table = sa.Table(
        "v",
        sa.MetaData(),
        sa.Column("outer", CompressedText().with_variant(sa.Text(), "postgresql")),
        sa.Column("inner", sa.Text().with_variant(CompressedText(), "sqlite")),
    )
    for column, plain_on, compressed_on in (
        (table.c.outer, "postgresql", "sqlite"),
        (table.c.inner, "postgresql", "sqlite"),
    ):
        for statement in (
            sa.select(table).where(sa.func.lower(column) == "x"),
            sa.select(table).where(column == "x"),
            sa.select(table).order_by(column),
        ):
            assert "sqlcompress" not in str(statement.compile(dialect=DIALECTS[plain_on]))
            assert "sqlcompress_plain(" in str(statement.compile(dialect=DIALECTS[compressed_on]))


def test_install_takes_engines_only_and_leaves_others_alone():
    first, second = sa.create_engine("sqlite://"), sa.create_engine("sqlite://")
    assert install(first) is first
    compiler = first.dialect.statement_compiler
    assert issubclass(compiler, Guard)
    install(first)
    assert first.dialect.statement_compiler is compiler
    assert not issubclass(second.dialect.statement_compiler, Guard)
    with pytest.raises(TypeError, match="not str"):
        install("sqlite://")
    with pytest.raises(TypeError, match="not Connection"), first.connect() as connection:
        install(connection)
    first.dispose()


def test_install_takes_async_engines():
    pytest.importorskip("aiosqlite")
    engine = create_async_engine("sqlite+aiosqlite://")
    assert install(engine) is engine
    assert issubclass(engine.sync_engine.dialect.statement_compiler, Guard)


def test_a_statement_compiled_before_is_compiled_anew():
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    statement = sa.select(A.id).order_by(A.body)
    sent = []
    sa.event.listen(engine, "before_cursor_execute", lambda *args: sent.append(args[2]))
    with engine.connect() as connection:
        assert connection.execute(statement).all() == []
    install(engine)
    with engine.connect() as connection:
        assert connection.execute(statement).all() == []
    engine.dispose()
    assert ["sqlcompress_plain" in sql for sql in sent if "ORDER BY" in sql] == [False, True]


def test_types_around_compressed_ones_are_refused():
    class Mine(sa.types.TypeDecorator):
        impl = CompressedText
        cache_ok = True

    table = sa.Table("m", sa.MetaData(), sa.Column("d", Mine), sa.Column("t", sa.Text))
    with pytest.raises(sa.exc.CompileError, match=r"== on m\.d"):
        _ = table.c.d == "x"
    assert str(table.c.d.is_(None)) == "m.d IS NULL"
    for expression in (table.c.t == table.c.d, sa.func.lower(table.c.d), sa.type_coerce(table.c.d, sa.Text)):
        with pytest.raises(sa.exc.CompileError, match=r"a TypeDecorator of compressed values on m\.d"):
            sa.select(expression).compile(dialect=DIALECTS["postgresql"])


def test_sequences_have_no_arguments_to_open():
    assert "nextval" in str(sa.select(sa.Sequence("s").next_value()).compile(dialect=DIALECTS["postgresql"]))


def test_the_elements_of_a_statement_are_left_as_they_were():
    statements = {name: make() for name, make in {**OPENED, **ALLOWED}.items()}
    before = {name: str(statement) for name, statement in statements.items()}
    keys = {name: statement._generate_cache_key() for name, statement in statements.items()}
    for statement in statements.values():
        for dialect in ("sqlite", "postgresql"):
            first = str(statement.compile(dialect=DIALECTS[dialect]))
            assert str(statement.compile(dialect=DIALECTS[dialect])) == first
    assert {name: str(statement) for name, statement in statements.items()} == before
    assert {name: statement._generate_cache_key() for name, statement in statements.items()} == keys


def test_what_an_aggregate_sorts_by_on_postgresql():
    ordered = postgresql.aggregate_order_by
    for order, shown in (
        ((A.other,), "ORDER BY sqlcompress_text(article.other)"),
        ((A.other.desc(), A.id), "ORDER BY sqlcompress_text(article.other) DESC, article.id"),
        ((A.id,), "ORDER BY article.id"),
    ):
        joined = sa.select(sa.func.string_agg(ordered(A.body, *order), ","))
        sql = str(joined.compile(dialect=DIALECTS["postgresql"]))
        assert f"sqlcompress_text(article.body) {shown}" in sql
    plain = sa.select(sa.func.string_agg(ordered(A.title, A.id), ",")).compile(dialect=DIALECTS["postgresql"])
    assert "article.title ORDER BY article.id" in str(plain)


def test_names_of_the_orm_are_those_of_attributes_and_of_an_upsert_those_of_columns():
    class Crossed(orm.DeclarativeBase):
        pass

    class Pair(Crossed):
        __tablename__ = "pair"
        id: Mapped[int] = orm.mapped_column(primary_key=True)
        plain: Mapped[str] = orm.mapped_column("packed_", sa.Text)
        packed: Mapped[str] = orm.mapped_column("plain", CompressedText())

    dialect = DIALECTS["sqlite"]
    with pytest.raises(sa.exc.CompileError, match="cannot move"):
        sa.update(Pair).values(plain=Pair.packed).compile(dialect=dialect)
    sa.update(Pair).values(packed=Pair.packed).compile(dialect=dialect)
    insert = sqlite.insert(Pair)
    values = insert.values(id=1, plain="x", packed="y")
    with pytest.raises(sa.exc.CompileError, match="cannot move"):
        values.on_conflict_do_update(set_={"packed_": insert.excluded.plain}).compile(dialect=dialect)
    values.on_conflict_do_update(set_={"plain": insert.excluded.plain}).compile(dialect=dialect)
