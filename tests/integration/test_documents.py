"""Every code block of the README and the pages runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import sqlalchemy as sa

from tests.documents import PAGES, ROOT, blocks_of, run

README = ROOT / "README.md"


def test_every_block_says_its_language():
    known = {"python", "sh", "console", "text", "sql", "json", "ini", "toml", "html", "javascript"}
    for page in PAGES:
        for block in blocks_of(page):
            assert block.language in known, f"{page.name}:{block.line}"


@pytest.mark.parametrize("page", [page for page in PAGES if page != README], ids=lambda page: page.name)
def test_python_blocks_of_the_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, [block for block in blocks_of(page) if block.language == "python"], {"__name__": "__page__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_readme_commands_are_targets_of_make():
    commands = [
        line for block in blocks_of(README) if block.language == "sh" for line in block.code.split("\n")
    ]
    targets = [command.removeprefix("make ") for command in commands if command]
    assert targets == ["demo", "test"]
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_readme_story(tmp_path, monkeypatch):
    """The model, the migration and the application code, on a table that was plain before."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    monkeypatch.chdir(tmp_path)
    model, migration, application = [block for block in blocks_of(README) if block.language == "python"]
    namespace: dict[str, object] = {"__name__": "__readme__"}
    text = "Было 'plain'; x^2 ✓ " * 50
    engine = sa.create_engine("sqlite:///articles.db")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE article (id INTEGER PRIMARY KEY, title VARCHAR NOT NULL,"
            " body TEXT NOT NULL, meta JSON NOT NULL)"
        )
        connection.execute(
            sa.text("INSERT INTO article (title, body, meta) VALUES ('before', :body, :meta)"),
            {"body": text, "meta": json.dumps({"k": "v" * 200})},
        )

    run(README, [model, migration], namespace)
    with engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        namespace["upgrade"]()
    with engine.connect() as connection:
        stored = connection.exec_driver_sql("SELECT typeof(body), typeof(meta), body FROM article").one()
    assert stored[:2] == ("blob", "blob")
    assert stored[2].startswith(b"\x28\xb5\x2f\xfd")

    run(README, [application], namespace)
    article = namespace["Article"]
    with namespace["Session"](engine) as session:
        rows = session.execute(
            sa.select(article.title, article.body, article.meta).order_by(article.id)
        ).all()
    namespace["engine"].dispose()
    assert rows == [
        ("before", text, {"k": "v" * 200}),
        ("Notes", "A long text. " * 500 + "And an end.", {"language": "en"}),
    ]

    with engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        namespace["downgrade"]()
    with engine.connect() as connection:
        plain = connection.exec_driver_sql("SELECT title, body, meta FROM article ORDER BY id").all()
    engine.dispose()
    assert [(title, body, json.loads(meta)) for title, body, meta in plain] == rows


def test_python_in_the_readme_needs_no_more_than_it_imports():
    """The blocks run in a fresh interpreter, in which nothing has been imported before."""
    code = "".join(block.code for block in blocks_of(README)[:2] if block.language == "python")
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
