"""What companion columns may be of, and what stands at a path."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, CompileError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, digest_of, extracted
from sqlcompress.companions import companion_of, companions_of
from sqlcompress.following import at_path, digest
from sqlcompress.guard import guarded

DOCUMENT = {
    "text": "x",
    "number": 7,
    "share": 0.5,
    "yes": True,
    "nothing": None,
    "list": [1, {"deep": "y"}, (2, 3)],
    "empty": "",
}


@pytest.mark.parametrize(
    ("path", "wanted", "found"),
    [
        (("text",), str, "x"),
        (("empty",), str, ""),
        (("number",), int, 7),
        (("number",), float, 7.0),
        (("share",), float, 0.5),
        (("share",), Decimal, Decimal("0.5")),
        (("number",), Decimal, Decimal(7)),
        (("yes",), bool, True),
        (("nothing",), str, None),
        (("nothing", "deeper"), str, None),
        (("missing",), int, None),
        (("text", "deeper"), str, None),
        (("list", 0), int, 1),
        (("list", 9), int, None),
        (("list", "0"), int, None),
        (("list", 1, "deep"), str, "y"),
        (("list", 2, 1), int, 3),
        ((0,), int, None),
    ],
)
def test_what_stands_at_a_path(path, wanted, found):
    got = at_path(DOCUMENT, path, wanted)
    assert got == found
    assert type(got) is type(found)


@pytest.mark.parametrize(
    ("document", "path", "wanted"),
    [
        (DOCUMENT, ("text",), int),
        (DOCUMENT, ("number",), str),
        (DOCUMENT, ("yes",), int),
        (DOCUMENT, ("number",), bool),
        (DOCUMENT, ("share",), int),
        (DOCUMENT, ("list",), str),
        ({1: "x"}, ("1",), str),
        ({"a": {2: 3}}, ("a", "b"), int),
        ({"a": object()}, ("a", "b"), int),
        ({"a": {1, 2}}, ("a", 0), int),
    ],
)
def test_what_is_of_another_type_is_told_without_the_value(document, path, wanted):
    with pytest.raises(TypeError) as caught:
        at_path(document, path, wanted)
    assert str(caught.value).startswith(f"path [{path[0]!r}]")
    assert "'x'" not in str(caught.value)


def test_digests():
    assert digest("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest(bytearray(b"abc")) == digest(memoryview(b"abc")) == digest("abc")
    with pytest.raises(TypeError, match="not of int"):
        digest(7)
    with pytest.raises(ValueError, match="lone surrogate at position 1"):
        digest("a\ud800")


BODY = ("body", CompressedText())


def table(*columns):
    return sa.Table("t", sa.MetaData(), *columns)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: table(digest_of("body", "d"), sa.Column(*BODY)), "does not have before it"),
        (lambda: table(sa.Column(*BODY), digest_of("other", "d")), "does not have before it"),
        (lambda: table(sa.Column("body", sa.Text), digest_of("body", "d")), "of no compressed type"),
        (lambda: table(sa.Column("body", CompressedJSON()), digest_of("body", "d")), "extracted"),
        (lambda: table(sa.Column(*BODY), extracted("body", "a", sa.Text, "d")), "CompressedJSON"),
        (lambda: table(sa.Column(*BODY, server_default="x"), digest_of("body", "d")), "server_default"),
        (lambda: table(sa.Column(*BODY, onupdate="x"), digest_of("body", "d")), "onupdate"),
        (lambda: table(sa.Column(*BODY, default=sa.func.now()), digest_of("body", "d")), "SQL default"),
        (lambda: digest_of("body", "d", default=b"x"), "has no default"),
        (lambda: digest_of("body", "d", server_default="x"), "has no server_default"),
        (lambda: digest_of(7, "d"), "not of int"),
        (lambda: extracted("meta", (), sa.Text, "d"), "path"),
        (lambda: extracted("meta", -1, sa.Text, "d"), "from 0 on"),
        (lambda: extracted("meta", True, sa.Text, "d"), "path"),
        (lambda: extracted("meta", 1.5, sa.Text, "d"), "path"),
        (
            lambda: table(sa.Column("j", CompressedJSON()), extracted("j", "a", sa.Date, "d")),
            "integers, numbers, texts or booleans",
        ),
        (
            lambda: table(sa.Column("j", CompressedJSON()), extracted("j", "a", sa.JSON, "d")),
            "integers, numbers, texts or booleans",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def test_companions_go_along_where_a_table_goes():
    made = table(
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("body", CompressedText(), key="text"),
        digest_of("text", "d"),
        sa.Column("data", CompressedBinary()),
        digest_of("data", "e", filled=False),
    )
    for one in (made, made.to_metadata(sa.MetaData()), pickle.loads(pickle.dumps(made.metadata)).tables["t"]):
        assert [c.name for c, _ in companions_of(one.c.text)] == ["d"]
        assert [c.name for c, _ in companions_of(one.alias().c.text)] == ["d"]
        assert companion_of(one.c.e).filled is False
        assert companions_of(one.c.id) == []
        assert companions_of(sa.select(one).subquery().c.text) == []
    assert copy.copy(companion_of(made.c.d)) == companion_of(made.c.d)
    # A copy that Alembic puts into a table of its own is an ordinary column there.
    alone = sa.Table("alone", sa.MetaData(), made.c.d._copy())
    assert companion_of(alone.c.d) is None


def test_mixins_name_the_column():
    class HasBody:
        body: Mapped[str | None] = mapped_column(CompressedText())
        digest = digest_of("body")

    class Base(DeclarativeBase):
        pass

    class One(HasBody, Base):
        __tablename__ = "one"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Two(HasBody, Base):
        __tablename__ = "two"
        id: Mapped[int] = mapped_column(primary_key=True)

    for model in (One, Two):
        assert [c.name for c, _ in companions_of(model.__table__.c.body)] == ["digest"]
        assert "digest = " in str(sa.select(model.id).where(model.body == "x"))


def test_another_path_is_not_answered_from_the_cache():
    made = table(
        sa.Column("id", sa.Integer), sa.Column("j", CompressedJSON()), extracted("j", "a", sa.Text, "a_of_j")
    )
    asked = [sa.select(made.c.id).where(made.c.j[path].as_string() == "x") for path in ("a", "b")]
    assert asked[0]._generate_cache_key() != asked[1]._generate_cache_key()
    assert "a_of_j = " in str(asked[0])
    assert "a_of_j" not in str(asked[1])
    # Another type than the column's is asked of the document.
    assert "a_of_j" not in str(sa.select(made.c.id).where(made.c.j["a"].as_integer() == 1))


def test_statements_are_complete_when_they_are_shown():
    made = table(sa.Column("id", sa.Integer), sa.Column(*BODY), digest_of("body", "its"))
    dialect = sa.dialects.postgresql.dialect()
    dialect.statement_compiler = guarded(dialect.statement_compiler)
    compiled = sa.insert(made).compile(dialect=dialect)
    assert "INSERT INTO t (id, body, its) VALUES" in str(compiled)
    # The same value, by a type that makes the digest of it.
    assert compiled.construct_params({"id": 1, "body": "x"})["its"] == "x"
    assert "its=" in str(sa.update(made).values(body="x").compile(dialect=dialect))
    assert "its=" not in str(sa.update(made).values(id=1).compile(dialect=dialect))
    with pytest.raises(CompileError, match=r"t\.its follows t\.body, which this statement gives an SQL expr"):
        sa.update(made).values(body=made.c.body + "x").compile(dialect=dialect)
