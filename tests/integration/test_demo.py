"""The demonstration on every database: what it shows, what it refuses, and how it leaves things."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from sqlalchemy import URL, Engine, inspect, text

from sqlcompress.demo import application, story
from sqlcompress.demo.models import TABLES, Article, PlainArticle, PlainSymbol, Symbol
from sqlcompress.demo.reporting import DemoResult
from sqlcompress.demo.site import Site, removal
from sqlcompress.errors import SqlcompressError
from sqlcompress.frames import ZSTD_MAGIC
from tests.commandline import invoke

ROOT = Path(__file__).parents[2]
SOME_BYTES = 150_000


class Kept:
    """A reporter that keeps what it is told, and can stop the run at a step as Ctrl-C would."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.steps: list[str] = []
        self.notes: list[str] = []
        self.most: dict[str, int] = {}
        self.stop_at = stop_at

    def step(self, title: str) -> None:
        self.steps.append(title)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, label: str, rows: int, total: int | None, detail: str = "") -> None:
        self.most[label] = max(rows, self.most.get(label, 0))
        if self.stop_at is not None and self.steps[-1].startswith(self.stop_at):
            raise KeyboardInterrupt


def run(url: URL, reporter: Kept, *, keep: bool = False) -> DemoResult:
    site = Site(url)
    try:
        return story.run(site, reporter, max_bytes=SOME_BYTES, keep=keep)
    finally:
        site.close()


def demo(url: URL, *options: str) -> Result:
    rendered = url.render_as_string(hide_password=False)
    return invoke("demo", "--url", rendered, *options)


def tables(engine: Engine) -> set[str]:
    engine.dispose()
    return set(inspect(engine).get_table_names())


def test_the_story_is_told_and_leaves_nothing(database_url, engine):
    reporter = Kept()
    result = run(database_url, reporter)

    assert len(reporter.steps) == 7
    assert result.rows_verified == sum(column.rows for column in result.columns) + 2
    assert [(column.table, column.column) for column in result.columns] == [
        ("sqlcompress_demo_article", "body"),
        ("sqlcompress_demo_symbol", "meta"),
    ]
    for column in result.columns:
        assert column.rows > 0
        assert column.ratio > 1.8
        # The migrations' own progress came through to the end; the way back may see the row inserted since.
        assert reporter.most[f"{column.table}.{column.column}"] - column.rows in {0, 1}
    assert result.storage.bytes_compacted is not None
    assert 0 < result.storage.bytes_compacted < result.storage.bytes_after
    assert not result.is_kept
    assert tables(engine) == set()


def test_the_command_prints_json_and_no_password(database_url, engine):
    outcome = demo(database_url, "--megabytes", "0.15", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    document = json.loads(outcome.stdout)
    assert document["rows_verified"] == sum(column["rows"] for column in document["columns"]) + 2
    assert all(column["ratio"] > 1.8 for column in document["columns"])
    if database_url.password:
        assert f":{database_url.password}@" not in outcome.stdout + outcome.stderr
    assert tables(engine) == set()


def test_the_command_prints_one_table(database_url):
    outcome = demo(database_url, "--megabytes", "0.15")
    assert outcome.exit_code == 0, outcome.stderr
    for part in ("bytes before", "ratio", "sqlcompress_demo_symbol.meta", "both columns", ", after "):
        assert outcome.stdout.count(part) == 1
    assert re.search(
        r"^[\d,]+ rows were compared with their originals: all are equal\.$", outcome.stdout, re.MULTILINE
    )
    # Nothing a terminal would take as a command, on either stream.
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f]", outcome.stdout + outcome.stderr) is None


def test_kept_tables_are_compressed_refused_and_removable(database_url, engine):
    outcome = demo(database_url, "--megabytes", "0.15", "--keep", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    assert tables(engine) == {*TABLES, "alembic_version"}
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT body FROM sqlcompress_demo_article")).scalars().all()
        assert sum(bytes(value).startswith(ZSTD_MAGIC) for value in stored) > len(stored) / 2
        revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    assert revision == "sqlcompress_demo_0002"

    again = demo(database_url, "--megabytes", "0.15")
    assert again.exit_code == 1
    assert again.stdout == ""
    assert again.stderr.count("\n") == 1
    assert removal() in again.stderr

    with engine.begin() as connection:
        for statement in removal().split("; "):
            connection.execute(text(statement))
    assert demo(database_url, "--megabytes", "0.1").exit_code == 0
    # The version table was there before that run, so it is there after it.
    assert tables(engine) == {"alembic_version"}


def test_a_database_under_alembic_is_refused_and_not_touched(database_url, engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('0001')"))
    outcome = demo(database_url)
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Error: The database is under Alembic already")
    assert tables(engine) == {"alembic_version"}
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["0001"]


def test_the_users_tables_stay_as_they_are(database_url, engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mine (id INTEGER PRIMARY KEY, body VARCHAR(20))"))
        connection.execute(text("INSERT INTO mine VALUES (1, 'kept')"))
    result = run(database_url, Kept())
    # SQLite compacts whole files only, and this one is the user's.
    assert (result.storage.bytes_compacted is None) is (engine.dialect.name == "sqlite")
    assert tables(engine) == {"mine"}
    with engine.connect() as connection:
        assert connection.execute(text("SELECT id, body FROM mine")).all() == [(1, "kept")]


@pytest.mark.parametrize("step", ["Compress", "Go back"])
def test_an_interrupted_run_cleans_up(database_url, engine, step):
    reporter = Kept(stop_at=step)
    with pytest.raises(KeyboardInterrupt):
        run(database_url, reporter)
    assert reporter.steps[-1].startswith(step)
    assert tables(engine) == set()


def test_a_clean_up_that_fails_says_how_to_remove_and_hides_nothing(database_url, monkeypatch):
    def fail(self):
        raise SqlcompressError("the server went away")

    monkeypatch.setattr(Site, "clean_up", fail)
    reporter = Kept(stop_at="Compress")
    with pytest.raises(KeyboardInterrupt):
        run(database_url, reporter)
    assert reporter.notes[-1] == f"the clean-up did not finish; to remove what is left: {removal()}"


def test_an_interrupted_run_that_keeps_says_how_to_remove(database_url, engine):
    reporter = Kept(stop_at="Compress")
    with pytest.raises(KeyboardInterrupt):
        run(database_url, reporter, keep=True)
    assert reporter.notes[-1] == f"stopped half way; to remove what is there: {removal()}"
    assert set(TABLES) <= tables(engine)


def test_a_dry_run_changes_nothing(database_url, engine):
    outcome = demo(database_url, "--dry-run")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.startswith("Would run on ")
    plan = json.loads(demo(database_url, "--dry-run", "--json").stdout)
    assert plan["dry_run"] is True
    assert tables(engine) == set()


def test_a_changed_row_is_found(database_url):
    class Tampering(Kept):
        def step(self, title: str) -> None:
            super().step(title)
            if title.startswith("Compare"):
                with site.engine.begin() as connection:
                    connection.execute(
                        text("UPDATE sqlcompress_demo_symbol SET name = 'x' WHERE kind = 'class'")
                    )

    site = Site(database_url)
    with pytest.raises(
        SqlcompressError, match=r"sqlcompress_demo_symbol: \d+ rows differ .*, \d+ are missing"
    ):
        story.run(site, Tampering(), max_bytes=SOME_BYTES)
    site.close()


@pytest.mark.databases("sqlite")  # a file of ours is what only SQLite has
class TestSQLiteFile:
    def test_a_file_the_run_has_made_goes_with_it(self, database_url):
        assert demo(database_url, "--megabytes", "0.1").exit_code == 0
        assert not Path(database_url.database).exists()

    def test_a_dry_run_makes_no_file(self, database_url):
        assert demo(database_url, "--dry-run").exit_code == 0
        assert not Path(database_url.database).exists()

    def test_a_folder_that_is_not_there_is_one_line(self, tmp_path):
        outcome = demo(URL.create("sqlite", database=str(tmp_path / "no" / "such.db")))
        assert outcome.exit_code == 1
        assert outcome.stderr == "Error: OperationalError: unable to open database file\n"

    @pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
    def test_a_child_process_that_is_stopped_leaves_no_file(self, tmp_path, sent):
        path = tmp_path / "demo.db"
        child = subprocess.Popen(
            [
                sys.executable,
                "-W",
                "error",
                "-m",
                "sqlcompress.cli",
                "demo",
                "--url",
                f"sqlite:///{path}",
                "--megabytes",
                "2",
            ],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stderr is not None
        for line in child.stderr:
            if line.startswith("Compress"):
                child.send_signal(sent)
                break
        out, err = child.communicate(timeout=60)
        assert child.returncode == 1
        assert out == ""
        assert err.strip().endswith("Aborted!")
        assert "Traceback" not in err
        assert not path.exists()


@pytest.mark.databases("postgresql", "mariadb", "mysql")  # SQLite has no server to be missing
def test_a_server_that_does_not_answer_is_one_line_without_the_password(database_url):
    outcome = demo(database_url.set(host="127.0.0.1", port=1, username="someone", password="s3cr3t"))
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Error: OperationalError: ")
    assert outcome.stderr.count("\n") == 1
    assert "s3cr3t" not in outcome.stdout + outcome.stderr


def test_the_stock_environment_goes_up_and_down(database_url, engine, tmp_path):
    """As a user does it: the alembic command, its ini file, and an env.py nobody has edited."""
    ini = tmp_path / "alembic.ini"
    rendered = database_url.render_as_string(hide_password=False).replace("%", "%%")
    stock = (ROOT / "alembic.ini").read_text()
    ini.write_text(
        stock.replace("sqlite:///demo.db", rendered).replace("%(here)s/migrations", str(ROOT / "migrations"))
    )

    def alembic(*arguments: str) -> None:
        outcome = subprocess.run(
            [sys.executable, "-m", "alembic", "-c", str(ini), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert outcome.returncode == 0, outcome.stderr

    rows = story.corpus.build(SOME_BYTES)
    originals = application.Originals(rows)
    alembic("upgrade", "sqlcompress_demo_0001")
    application.load(engine, rows, Kept())
    engine.dispose()
    alembic("upgrade", "head")
    assert application.verify(engine, originals, Kept(), Article, Symbol) == originals.rows
    engine.dispose()
    alembic("downgrade", "-1")
    assert application.verify(engine, originals, Kept(), PlainArticle, PlainSymbol) == originals.rows
    engine.dispose()
    alembic("upgrade", "head")
    alembic("downgrade", "base")
    assert tables(engine) == {"alembic_version"}
