"""Companion columns that a model gains: added, filled, and nothing left to find."""

from __future__ import annotations

import hashlib

import pytest
import sqlalchemy as sa

from sqlcompress import CompressedJSON, CompressedText, digest_of, extracted, install
from tests.integration.test_autogenerate import LONG, Environment, fill, model, only, operations

TEXTS = ["the first text, " * 20, "short", None]


@pytest.fixture
def environment(database_url, tmp_path):
    return Environment(tmp_path, database_url)


def with_companions(**kw):
    return model(
        sa.Column("d", CompressedText("zlib")),
        digest_of("d", "d_digest", index=True, **kw),
        sa.Column("j", CompressedJSON()),
        extracted("j", ("user", "id"), sa.BigInteger, "user_id", **kw),
    )


def before():
    return model(sa.Column("d", CompressedText("zlib")), sa.Column("j", CompressedJSON()))


ROWS = [{"d": text, "j": {"user": {"id": number}}} for number, text in enumerate(TEXTS)]


def companions(engine):
    t = sa.table("t", sa.column("id"), sa.column("d_digest"), sa.column("user_id"))
    with engine.connect() as connection:
        return connection.execute(sa.select(t.c.d_digest, t.c.user_id).order_by(t.c.id)).all()


FILLED = [(text and hashlib.sha256(text.encode()).digest(), number) for number, text in enumerate(TEXTS)]


def test_a_column_is_added_and_filled(engine, environment):
    before().create_all(engine)
    fill(engine, before(), ROWS)
    metadata = with_companions()
    environment.use(metadata)
    up, down = operations(environment.revision())
    assert "op.add_digest('t', 'd', 'd_digest', existing_type=CompressedText(codec=Zlib()))" in up
    words = "'user_id', ('user', 'id'), type_=sa.BigInteger(), existing_type=CompressedJSON())"
    assert f"op.add_extracted('t', 'j', {words}" in up
    assert up.index("op.add_column(") < up.index("op.add_digest(")
    assert down.count("op.drop_column(") == 2
    environment.upgrade()
    assert companions(engine) == FILLED
    environment.is_settled()
    assert operations(environment.revision()) == ("pass", "pass")
    environment.upgrade()
    install(engine)
    t = only(metadata)
    with engine.connect() as connection:
        assert connection.scalars(sa.select(t.c.id).where(t.c.d == "short")).all() == [1]
    environment.downgrade()
    environment.downgrade()
    assert [column["name"] for column in sa.inspect(engine).get_columns("t")] == ["id", "d", "j"]
    environment.upgrade()
    assert companions(engine) == FILLED


def test_what_is_not_filled_yet_is_only_added(engine, environment):
    before().create_all(engine)
    fill(engine, before(), ROWS)
    environment.use(with_companions(filled=False))
    up, _ = operations(environment.revision())
    assert "add_column" in up
    assert "add_digest" not in up
    assert "add_extracted" not in up
    environment.upgrade()
    assert companions(engine) == [(None, None)] * 3
    environment.use(with_companions())
    environment.is_settled()


def test_compressed_and_given_a_digest_by_one_revision(engine, environment):
    plain = model(sa.Column("d", LONG))
    plain.create_all(engine)
    fill(engine, plain, [{"d": text} for text in TEXTS])
    metadata = model(sa.Column("d", CompressedText()), digest_of("d", "d_digest"))
    environment.use(metadata)
    up, _ = operations(environment.revision())
    assert up.index("op.compress_column(") < up.index("op.add_digest(")
    environment.upgrade()
    t = only(metadata)
    with engine.connect() as connection:
        rows = connection.execute(sa.select(t.c.d, t.c.d_digest).order_by(t.c.id)).all()
    assert rows == [(text, found[0]) for text, found in zip(TEXTS, FILLED, strict=True)]
    environment.is_settled()
    environment.downgrade()
    with engine.connect() as connection:
        assert connection.scalars(sa.select(only(plain).c.d).order_by(only(plain).c.id)).all() == TEXTS


def test_a_new_table_needs_no_filling(engine, environment):
    environment.use(with_companions())
    up, _ = operations(environment.revision())
    assert "op.create_table('t'" in up
    assert "add_digest" not in up
    environment.upgrade()
    environment.is_settled()
