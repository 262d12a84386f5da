"""Binary values tell by nothing whether they are done: a run that failed must not have them done twice."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

from sqlcompress import CompressedBinary, MigrationBlockedError
from tests.integration.alembic_project import Project, version

LONGBLOB = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")

VALUES = {
    1: b"",
    2: b"\x00\xff" * 300,
    3: CompressedBinary().to_stored(b"inner " * 100),
    4: CompressedBinary().to_stored(b"x" * 10)[:4] + b"\xff" * 20,
    5: None,
    6: b"plain " * 50,
}


def make(engine, name):
    t = sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("b", LONGBLOB),
    )
    t.create(engine)
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "b": value} for i, value in VALUES.items()])


def read(engine, name, type_):
    t = sa.table(name, sa.column("id"), sa.column("b", type_))
    with engine.connect() as connection:
        return {
            key: None if value is None else bytes(value) for key, value in connection.execute(sa.select(t))
        }


UP = 'op.compress_column("{}", "b", type_=CompressedBinary(), strategy="{}")'
DOWN = (
    'op.decompress_column("{}", "b", existing_type=CompressedBinary(), strategy="{}", '
    'type_=sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"))'
)


# What comes after the operation in its revision: nothing that commits, or on MySQL, where DDL does by itself,
# or on all databases, where a block of Alembic's or another strategy does.
FAILS = "op.execute('SELECT nonsense')"
DDL = 'op.add_column("nonsense", sa.Column("n", sa.Integer))'
BLOCK = "with op.get_context().autocommit_block(): op.execute('SELECT nonsense')"
REWRITE = 'op.compress_column("other", "d", type_=CompressedText())'


@pytest.mark.parametrize("then", [FAILS, DDL, BLOCK, REWRITE])
def test_rows_are_committed_with_their_stamp_or_not_at_all(engine, database_url, database, tmp_path, then):
    """What follows in the revision fails, or would be the end of the transaction and is refused."""
    make(engine, "t")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE other (id INTEGER PRIMARY KEY, d TEXT)"))
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision(f"{UP.format('t', 'atomic')}\n    {then}", f"{DOWN.format('t', 'atomic')}\n    {then}")
    project.upgrade("1")
    script = project.folder / "versions" / "2_.py"
    failing = script.read_text(encoding="utf-8")
    is_refused = then in {BLOCK, REWRITE} or (then == DDL and database in {"mariadb", "mysql"})
    for move, still, goal in ((project.upgrade, "1", "2"), (project.downgrade, "2", "1")):
        stored = read(engine, "t", LONGBLOB)
        with pytest.raises(MigrationBlockedError if is_refused else DBAPIError) as raised:
            move(goal)
        if is_refused:
            assert "t.b" in str(raised.value)
            assert "the last of its revision" in str(raised.value)
        assert version(engine) == still
        assert read(engine, "t", LONGBLOB) == stored
        # The administrator mends what failed.
        script.write_text(failing.replace(then, "pass"), encoding="utf-8")
        move(goal)
        assert version(engine) == goal
        script.write_text(failing, encoding="utf-8")
        assert read(engine, "t", CompressedBinary() if goal == "2" else LONGBLOB) == VALUES


def test_two_columns_and_what_comes_before_are_fine(engine, database_url, tmp_path):
    for name in ("t", "u"):
        make(engine, name)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE other (id INTEGER PRIMARY KEY, d TEXT)"))
        connection.execute(sa.text("INSERT INTO other VALUES (1, 'text text text')"))
    project = Project(tmp_path, database_url)
    project.revision("pass")
    project.revision(
        "\n    ".join(
            [
                'op.add_column("other", sa.Column("n", sa.Integer))',
                REWRITE,
                UP.format("t", "atomic"),
                UP.format("u", "atomic"),
                'op.execute("UPDATE other SET n = 5")',
            ]
        ),
        "\n    ".join([DOWN.format("u", "atomic"), DOWN.format("t", "atomic")]),
    )
    # Stamped by then, so that what it does is its own affair.
    project.revision('op.drop_column("other", "n")')
    project.upgrade()
    assert version(engine) == "3"
    assert read(engine, "t", CompressedBinary()) == read(engine, "u", CompressedBinary()) == VALUES
    project.downgrade("1")
    assert read(engine, "t", LONGBLOB) == read(engine, "u", LONGBLOB) == VALUES


@pytest.mark.databases("mariadb", "mysql")
def test_a_second_type_change_is_refused(engine, database_url, tmp_path):
    """BLOB becomes LONGBLOB, which commits what was converted before."""
    make(engine, "t")
    make(engine, "u")
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE u MODIFY b BLOB"))
    project = Project(tmp_path, database_url)
    project.revision(f"{UP.format('t', 'atomic')}\n    {UP.format('u', 'atomic')}")
    with pytest.raises(MigrationBlockedError, match="ALTER, which commits by itself"):
        project.upgrade()
    assert version(engine) is None
    assert read(engine, "t", LONGBLOB) == read(engine, "u", LONGBLOB) == VALUES
    script = project.folder / "versions" / "1_.py"
    lines = f"{UP.format('u', 'atomic')}\n    {UP.format('t', 'atomic')}"
    old = f"{UP.format('t', 'atomic')}\n    {UP.format('u', 'atomic')}"
    script.write_text(script.read_text(encoding="utf-8").replace(old, lines), encoding="utf-8")
    project.upgrade()
    assert read(engine, "t", CompressedBinary()) == read(engine, "u", CompressedBinary()) == VALUES


def test_autocommit_is_no_transaction(engine, database_url, tmp_path):
    make(engine, "t")
    project = Project(tmp_path, database_url)
    project.revision(f"with op.get_context().autocommit_block(): {UP.format('t', 'atomic')}")
    with pytest.raises(MigrationBlockedError, match="autocommit"):
        project.upgrade()
    assert read(engine, "t", LONGBLOB) == VALUES
    assert version(engine) is None
