"""The main job from plain tables to what was saved, on any of the four databases.

The steps are those of a project that adopts the package: tables with plain columns, the migration,
application code over compressed columns, a look at the savings, and the way back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import text

from sqlcompress.alembic.run import downgrade, upgrade
from sqlcompress.demo import application, corpus
from sqlcompress.demo.models import Article, PlainArticle, PlainSymbol, Symbol
from sqlcompress.demo.reporting import ColumnFigures, DemoResult, Reporter, StorageFigures
from sqlcompress.demo.site import Site, removal
from sqlcompress.errors import SqlcompressError
from sqlcompress.jobs.progress import Progress, reporting_to

PLAIN_REVISION: Final = "sqlcompress_demo_0001"
COMPRESSED_REVISION: Final = "sqlcompress_demo_0002"

_COLUMNS: Final = ((Article.__tablename__, "body"), (Symbol.__tablename__, "meta"))


def migrations_folder() -> Path:
    """The example Alembic environment: inside the installed package, or at the root of a checkout.

    Raises:
        SqlcompressError: It is in neither place.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "migrations", here.parent.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise SqlcompressError("The example migrations are not beside the package; install it again.")


def run(site: Site, reporter: Reporter, *, max_bytes: int | None = None, keep: bool = False) -> DemoResult:
    """Play the whole story and leave the database as it was found, whatever happens on the way.

    Args:
        site: The database.
        reporter: Told what happens.
        max_bytes: How much plain data to load; None for all there is, about 24 MB.
        keep: Leave the tables, compressed, instead of going back to plain columns and dropping them.

    Raises:
        SqlcompressError: A row did not come back as it was, or the migration failed.
    """
    try:
        result = _Story(site, reporter, max_bytes).play(keep=keep)
    except BaseException:
        if keep:
            reporter.note(f"stopped half way; to remove what is there: {removal()}")
        else:
            # Its own failure is told, and must not take the place of what stopped the run.
            with suppress(Exception):
                _clean_up(site, reporter)
        raise
    if not keep:
        _clean_up(site, reporter)
    return result


def _clean_up(site: Site, reporter: Reporter) -> None:
    try:
        site.clean_up()
    except BaseException:
        reporter.note(f"the clean-up did not finish; to remove what is left: {removal()}")
        raise


class _Story:
    def __init__(self, site: Site, reporter: Reporter, max_bytes: int | None) -> None:
        self.site = site
        self.engine = site.engine
        self.reporter = reporter
        self.max_bytes = max_bytes
        self.seconds: dict[str, float] = {}

    def play(self, *, keep: bool) -> DemoResult:
        database = self.site.database
        with self._step("collect", "Collect texts from this Python's standard library"):
            rows = corpus.build(self.max_bytes)
            originals = application.Originals(rows)
            self.reporter.note(
                f"{len(rows.articles):,} texts and {len(rows.symbols):,} JSON documents, "
                f"{rows.plain_bytes / 1e6:.1f} MB"
            )
        with self._step("load", "Create plain tables (alembic upgrade) and load them"):
            self._migrate(upgrade, PLAIN_REVISION)
            application.load(self.engine, rows, self.reporter)
            before = [
                self._column_bytes(table, database.plain_bytes.format(column=column))
                for table, column in _COLUMNS
            ]
            storage_before = self._storage_bytes()
        with self._step("compress", "Compress two columns (alembic upgrade)"):
            self._migrate(upgrade, COMPRESSED_REVISION)
            after = [
                self._column_bytes(table, database.stored_bytes.format(column=column))
                for table, column in _COLUMNS
            ]
            storage_after = self._storage_bytes()
        with self._step("use", "Insert, read, update and find rows from application code"):
            application.use(self.engine, originals, self.reporter)
        with self._step("verify", "Compare every row with its original"):
            rows_verified = application.verify(self.engine, originals, self.reporter, Article, Symbol)
        with self._step("compact", f"Give the freed space back ({database.compaction})"):
            storage_compacted = self._storage_bytes() if database.compact(self.engine) else None
        if not keep:
            with self._step("back", "Go back to plain columns (alembic downgrade) and compare again"):
                self._migrate(downgrade, PLAIN_REVISION)
                application.verify(self.engine, originals, self.reporter, PlainArticle, PlainSymbol)
                self._migrate(downgrade, "base")
        return DemoResult(
            database=self.site.title,
            location=self.site.url.render_as_string(hide_password=True),
            columns=tuple(
                ColumnFigures(table, column, rows=count, bytes_before=plain, bytes_after=stored)
                for (table, column), (count, plain), (_, stored) in zip(_COLUMNS, before, after, strict=True)
            ),
            storage=StorageFigures(
                measure=database.measure,
                bytes_before=storage_before,
                bytes_after=storage_after,
                bytes_compacted=storage_compacted,
                compaction=database.compaction,
            ),
            rows_verified=rows_verified,
            seconds=self.seconds,
            is_kept=keep,
        )

    @contextmanager
    def _step(self, name: str, title: str) -> Iterator[None]:
        self.reporter.step(title)
        begin = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begin, 3)

    def _migrate(self, direction: Callable[..., None], revision: str) -> None:
        with reporting_to(self._relay):
            direction(self.site.url, migrations_folder(), revision)

    def _relay(self, progress: Progress) -> None:
        self.reporter.progress(
            # Without the schema that a server's tables are in.
            f"{progress.table.rpartition('.')[2]}.{progress.column}",
            progress.rows_seen,
            progress.rows_total,
            f"{progress.bytes_before / 1e6:.1f} to {progress.bytes_after / 1e6:.1f} MB",
        )

    def _column_bytes(self, table: str, measure: str) -> tuple[int, int]:
        """Rows of the table, and bytes of the column in all of them."""
        with self.engine.connect() as connection:
            rows, size = connection.execute(text(f"SELECT COUNT(*), SUM({measure}) FROM {table}")).one()
        return int(rows), int(size or 0)

    def _storage_bytes(self) -> int:
        with self.engine.connect() as connection:
            return self.site.database.storage_bytes(connection)
