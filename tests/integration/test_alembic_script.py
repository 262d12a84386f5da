"""``--sql``: what a script cannot do is refused, and the command it names does what it says."""

from __future__ import annotations

import io
import re
import shlex

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, MigrationBlockedError, Zlib, Zstd
from tests.commandline import invoke

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def script(dialect_name, *args, **kw):
    output = io.StringIO()
    opts = {"as_sql": True, "output_buffer": output}
    Operations(MigrationContext.configure(dialect_name=dialect_name, opts=opts)).compress_column(*args, **kw)
    return output.getvalue()


def test_the_command_in_the_script_compresses_the_rows(engine, database):
    sa.Table(
        "Odd 'name", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("d e", LONG)
    ).create(engine)
    documents = [f'{{"row": {i}, "text": "{"again " * 20}"}}' for i in range(50)]
    with engine.begin() as connection:
        t = sa.table("Odd 'name", sa.column("id"), sa.column("d e"))
        connection.execute(t.insert(), [{"id": i, "d e": text} for i, text in enumerate(documents, 1)])
    type_ = CompressedJSON(Zlib(9), min_size=100)
    text = script(
        engine.dialect.name, "Odd 'name", "d e", type_=type_, existing_type=LONG, existing_nullable=True
    )
    statements = [part for part in re.sub(r"^--.*$", "", text, flags=re.MULTILINE).split(";") if part.strip()]
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))
    (line,) = re.findall(r"^-- !!!   (sqlcompress .*)$", text, re.MULTILINE)
    words = shlex.split(line)
    assert words[:3] == ["sqlcompress", "rewrite", "URL"]
    outcome = invoke("rewrite", engine.url.render_as_string(hide_password=False), *words[3:])
    assert outcome.exit_code == 0, outcome.stderr
    t = sa.table("Odd 'name", sa.column("id"), sa.column("d e", sa.LargeBinary))
    with engine.connect() as connection:
        stored = list(connection.scalars(sa.select(t.c["d e"]).order_by(t.c.id)))
    assert stored == [type_.to_stored(document.encode()) for document in documents]


def test_the_command_names_what_is_not_the_default():
    def command(**kw):
        text = script("postgresql", "t", "d", existing_type=sa.Text(), **kw)
        return re.findall(r"^-- !!!   (.*)$", text, re.MULTILINE)

    assert command(type_=CompressedText()) == ["sqlcompress rewrite URL t d"]
    assert command(type_=CompressedText(Zstd(9), legacy=("mysql", "zlib")), schema="s") == [
        "sqlcompress rewrite URL t d --schema s --level 9 --legacy mysql --legacy zlib"
    ]
    assert command(type_=CompressedText(), where="a < 'x'") == [
        "sqlcompress rewrite URL t d --where 'a < '\"'\"'x'\"'\"''"
    ]


@pytest.mark.parametrize(
    ("kw", "said"),
    [
        ({"type_": CompressedText(), "strategy": "shadow"}, "moves rows"),
        ({"type_": CompressedText(), "strategy": "atomic"}, "moves rows"),
        ({"type_": CompressedBinary()}, "begins like a frame"),
        ({"type_": CompressedText(), "dry_run": True}, "looks at the database"),
    ],
    ids=["shadow", "atomic", "binary", "dry run"],
)
def test_what_a_script_cannot_do(kw, said):
    with pytest.raises(MigrationBlockedError, match=said):
        script("postgresql", "t", "d", existing_type=sa.Text(), **kw)
