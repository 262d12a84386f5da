"""Operators on compressed columns: IS NULL works, everything else raises with advice, from either side."""

from __future__ import annotations

import copy
import inspect
import itertools

import pytest
import sqlalchemy as sa
from sqlalchemy import Column, Integer, MetaData, String, Table
from sqlalchemy.dialects import mysql, oracle, postgresql, sqlite
from sqlalchemy.exc import CompileError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.sql import operators

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText
from sqlcompress.guard import guarded

DIALECTS = (sqlite.dialect(), postgresql.dialect(), mysql.dialect(), oracle.dialect())


class Base(DeclarativeBase):
    pass


class Article(Base):
    __tablename__ = "article"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    body: Mapped[str] = mapped_column(CompressedText())
    meta: Mapped[object] = mapped_column(CompressedJSON())
    data: Mapped[bytes] = mapped_column(CompressedBinary())


TABLE = Article.__table__
COLUMNS = {
    f"{kind} {name}": column
    for name in ("body", "meta", "data")
    for kind, column in (
        ("core", TABLE.c[name]),
        ("orm", getattr(Article, name)),
        ("alias", TABLE.alias().c[name]),
        ("subquery", sa.select(TABLE).subquery().c[name]),
        ("label", TABLE.c[name].label("shown")),
        ("scalar", sa.select(TABLE.c[name]).scalar_subquery()),
    )
}

#: Everything a column can be asked; from SQLAlchemy and not by hand, so that one it adds is met.
METHODS = {
    name: method
    for name, method in inspect.getmembers(operators.ColumnOperators, inspect.isfunction)
    if name not in {"operate", "reverse_operate", "__hash__", "__sa_operate__", "op", "bool_op", "__init__"}
    and not (name.startswith("_") and not name.startswith("__"))
}
#: Those that Python calls where the column is on the right of something that is no SQL expression.
REVERSED = {name for name in METHODS if name.startswith("__r") and name != "__rshift__"}


def calls_of(column):
    """Each method of the column with arguments it takes, by name."""
    for name, method in METHODS.items():
        if name in REVERSED:
            continue
        required = [
            parameter
            for parameter in list(inspect.signature(method).parameters.values())[1:]
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        ]
        bound = getattr(column, name)
        for value in ("x", 5, sa.literal("x"), TABLE.c.title):
            arguments = [["x"] if name in {"in_", "not_in", "notin_"} else value for _ in required]
            yield name, value, lambda bound=bound, arguments=arguments: bound(*arguments)
            if not required:
                break
    for sign in ("@@", "->", "~~", "&&"):
        yield f"op {sign}", "x", lambda sign=sign: column.op(sign)("x")
        yield f"bool_op {sign}", "x", lambda sign=sign: column.bool_op(sign)("x")


def compiled_everywhere(expression):
    for dialect in DIALECTS:
        sa.select(TABLE.c.id).where(expression).compile(dialect=dialect)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_operator_raises_with_advice(name):
    column = COLUMNS[name]
    tried = set()
    for method, value, call in calls_of(column):
        with pytest.raises((CompileError, NotImplementedError)) as caught:
            compiled_everywhere(call())
        if isinstance(caught.value, NotImplementedError):
            # Column types of SQLAlchemy's own refuse these as well: [], <<, @ and the like.
            with pytest.raises(NotImplementedError):
                getattr(sa.column("d", sa.LargeBinary), method)("x")
            continue
        assert "compressed bytes" in str(caught.value), (method, value)
        assert "IS NULL" in str(caught.value)
        tried.add(method)
    assert {"like", "ilike", "in_", "between", "startswith", "contains", "__lt__", "__add__", "desc"} <= tried
    assert len(tried) > 45


@pytest.mark.parametrize("name", COLUMNS)
def test_every_operator_from_the_other_side_raises(name):
    column = COLUMNS[name]
    for value in (b"x", 5, 2.5):
        for call in (
            lambda value=value: value == column,
            lambda value=value: value != column,
            lambda value=value: value < column,
            lambda value=value: value >= column,
            lambda value=value: value + column,
            lambda value=value: value - column,
            lambda value=value: value * column,
            lambda value=value: value / column,
            lambda value=value: value // column,
        ):
            with pytest.raises(CompileError, match="compressed bytes"):
                call()
    # Texts and bytes have an operator of their own for this one.
    with pytest.raises(CompileError, match="compressed bytes"):
        _ = 5 % column


# Of the operators some make no sense for the other column's type, which SQLAlchemy says; they compile.
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
@pytest.mark.parametrize("name", COLUMNS)
def test_every_operator_of_another_column_raises_under_the_guard(name):
    column = COLUMNS[name]
    dialects = [copy.copy(dialect) for dialect in DIALECTS]
    for dialect in dialects:
        dialect.statement_compiler = guarded(dialect.statement_compiler)
    tried = set()
    for method, function in METHODS.items():
        required = [
            parameter
            for parameter in list(inspect.signature(function).parameters.values())[1:]
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        ]
        if method in REVERSED or method == "collate" or not required:
            continue
        arguments = [[column] if method in {"in_", "not_in", "notin_"} else column for _ in required]
        try:
            expression = getattr(TABLE.c.title, method)(*arguments)
        except NotImplementedError:
            continue
        for dialect in dialects:
            with pytest.raises(CompileError):  # a database that lacks the operator says so first
                sa.select(TABLE.c.id).where(expression).compile(dialect=dialect)
        tried.add(method)
    assert {"__eq__", "__add__", "__lt__", "like", "ilike", "in_", "between", "startswith", "concat"} <= tried


def test_the_advice_names_operator_and_column():
    for expression, named in (
        (lambda: Article.body.like("%x%"), "LIKE on article.body"),
        (lambda: TABLE.c.meta["a"], r"\[…\] on article.meta"),
        (lambda: TABLE.c.body < "x", "< on article.body"),
        (TABLE.c.body.desc, "ORDER BY on article.body"),
        (lambda: TABLE.c.body + "x", r"(\+|\|\|) on article.body"),
        (lambda: sa.literal_column("d", CompressedText()) < "x", "< on d"),
    ):
        with pytest.raises(CompileError, match=named):
            expression()


NULL_TESTS = {
    "IS NULL": (
        lambda c: c == None,  # noqa: E711
        lambda c: c.is_(None),
        lambda c: c == sa.null(),
        lambda c: c.is_(sa.null()),
        lambda c: ~(c != None),  # noqa: E711
        lambda c: sa.not_(c.is_not(None)),
    ),
    "IS NOT NULL": (
        lambda c: c != None,  # noqa: E711
        lambda c: c.is_not(None),
        lambda c: c != sa.null(),
        lambda c: c.is_not(sa.null()),
        lambda c: sa.not_(c.is_(None)),
    ),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("expected", NULL_TESTS)
def test_asking_for_null_works(column, expected):
    for make in NULL_TESTS[expected]:
        for dialect in DIALECTS:
            assert str(make(COLUMNS[column]).compile(dialect=dialect)).endswith(expected)


def test_is_distinct_from_null_works():
    for dialect in DIALECTS:
        for expression in (TABLE.c.body.is_distinct_from(None), TABLE.c.body.is_not_distinct_from(sa.null())):
            assert "NULL" in str(sa.select(TABLE.c.id).where(expression).compile(dialect=dialect))


def test_columns_are_compared_inside_sqlalchemy():
    columns = [TABLE.c.id, TABLE.c.title, TABLE.c.body, TABLE.c.meta, TABLE.c.data]
    for one, other in itertools.product(columns, columns):
        assert bool(one == other) is (one is other)
        assert bool(one != other) is (one is not other)
        assert columns.index(one) == next(n for n, column in enumerate(columns) if column is one)
    assert TABLE.c.body in columns
    assert Article.body.expression in columns
    assert TABLE.alias().c.body not in columns


def test_a_comparison_of_columns_compiles_in_no_statement():
    other = TABLE.alias()
    for expression in (
        TABLE.c.body == other.c.body,
        TABLE.c.body != other.c.body,
        TABLE.c.body == TABLE.c.title,
        Article.body == Article.body,
        sa.and_(TABLE.c.id == 1, TABLE.c.body == other.c.body),
        sa.not_(TABLE.c.body == other.c.body),
    ):
        for dialect in DIALECTS:
            with pytest.raises(CompileError, match=r"on article\.body: the database sees compressed bytes"):
                sa.select(TABLE.c.id).where(expression).compile(dialect=dialect)
    with pytest.raises(CompileError):
        sa.select(TABLE.c.id).join(other, TABLE.c.body == other.c.body).compile()


def test_variants_have_the_comparator_of_the_outer_type():
    table = Table(
        "t", MetaData(), Column("d", CompressedText().with_variant(String(), "sqlite")), Column("n", Integer)
    )
    with pytest.raises(CompileError, match=r"t\.d"):
        table.c.d.like("x")
