"""What the demonstration is made of: its rows, and its Alembic environment."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import make_url

from sqlcompress.demo import corpus, story
from sqlcompress.demo.site import Site
from sqlcompress.errors import MissingDependencyError, SqlcompressError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    return corpus.build()


def test_there_are_twenty_megabytes_of_distinct_rows(rows):
    articles = {(row.name, row.kind): row.body for row in rows.articles}
    symbols = {(row.name, row.kind, row.line): row.meta for row in rows.symbols}
    assert (len(articles), len(symbols)) == (len(rows.articles), len(rows.symbols))
    size = sum(len(body.encode()) for body in articles.values())
    size += sum(len(json.dumps(meta)) for meta in symbols.values())
    assert size == rows.plain_bytes >= 20_000_000


def test_every_row_fits_every_database(rows):
    for article in rows.articles:
        assert article.body
        assert "\0" not in article.body
        assert len(article.name) <= 255
    for symbol in rows.symbols:
        text = json.dumps(symbol.meta, ensure_ascii=False)
        text.encode()
        assert re.search(r"(?<!\\)(?:\\\\)*\\u0000", text) is None
        assert json.loads(text) == symbol.meta
        assert len(symbol.name) <= 255


def test_a_document_says_what_the_source_says(tmp_path):
    folder = tmp_path / "library"
    package = folder / "pack" / "sub"
    package.mkdir(parents=True)
    (folder / "pack" / "tests").mkdir()
    (folder / "pack" / "tests" / "skipped.py").write_text("x = 1\n")
    (folder / "broken.py").write_text("def (:\n")
    (folder / "empty.py").write_text("")
    source = (
        '"""About it."""\nimport os.path\nfrom . import one as two\n\n'
        "class Shape(Base):\n"
        '    """A shape.\n\n    More.\n    """\n'
        "    async def area(self, *, unit: str = 'm') -> float:\n"
        "        return self.scale.by(unit) + area()(1)\n"
    )
    (package / "__init__.py").write_text(source)
    built = corpus.build(max_bytes=1, folder=folder)
    assert [(row.name, row.kind) for row in built.articles] == [("broken", "module")]

    built = corpus.build(folder=folder)
    assert [row.name for row in built.articles if row.kind == "module"] == ["broken", "pack.sub"]
    module, shape, area = built.symbols
    assert module.meta == {
        "module": "pack.sub",
        "doc": "About it.",
        "lines": 12,
        "imports": ["os.path", ".:one"],
        "classes": ["Shape"],
        "functions": [],
    }
    assert (shape.name, shape.kind, shape.line) == ("pack.sub.Shape", "class", 5)
    assert shape.meta["bases"] == ["Base"]
    assert shape.meta["doc"] == "A shape.\n\nMore."
    assert shape.meta["members"] == [{"name": "area", "doc": ""}]
    assert area.meta["arguments"] == [
        {"name": "self", "annotation": None},
        {"name": "unit", "annotation": "str"},
    ]
    assert area.meta["calls"] == ["(...)", "area", "self.scale.by"]
    assert area.meta["is_async"] is True
    assert area.meta["source"].startswith("    async def area(")
    assert area.meta["source"].endswith("area()(1)")


def test_the_order_is_the_same_each_time():
    assert corpus.build(500_000) == corpus.build(500_000)


def test_a_python_without_sources_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    with pytest.raises(SqlcompressError, match="carries no sources"):
        corpus.build()


def test_the_alembic_environment_is_stock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command.init(Config("alembic.ini"), "migrations")
    for name in ("env.py", "script.py.mako", "README"):
        assert (ROOT / "migrations" / name).read_bytes() == Path("migrations", name).read_bytes(), name
    stock = Path("alembic.ini").read_text().splitlines()
    ours = (ROOT / "alembic.ini").read_text().splitlines()
    different = [line for line, other in zip(ours, stock, strict=True) if line != other]
    assert different == ["sqlalchemy.url = sqlite:///demo.db"]


def test_the_migrations_are_found():
    assert (story.migrations_folder() / "versions" / "0001_plain_tables.py").is_file()


def test_the_wheel_carries_the_migrations_where_they_are_looked_for():
    assert '"migrations" = "sqlcompress/demo/migrations"' in (ROOT / "pyproject.toml").read_text()
    assert Path(story.__file__).parent == ROOT / "sqlcompress" / "demo"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"])
def test_a_database_in_memory_is_refused(url):
    with pytest.raises(SqlcompressError, match="in memory"):
        Site(make_url(url))


def test_an_asynchronous_driver_is_refused():
    with pytest.raises(SqlcompressError, match="asynchronous"):
        Site(make_url("sqlite+aiosqlite:///x.db"))


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(MissingDependencyError, match="needs the Python module pymysql"):
        Site(make_url("mysql+pymysql://user@host/name"))


def test_another_database_is_refused(monkeypatch):
    monkeypatch.setattr("sqlcompress.demo.databases._BY_NAME", {})
    with pytest.raises(SqlcompressError, match="not on sqlite"):
        Site(make_url(f"sqlite:///{Path(__file__).parent}/no-such.db"))
    assert not (Path(__file__).parent / "no-such.db").exists()
