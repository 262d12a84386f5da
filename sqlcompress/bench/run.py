"""A run: every arm on the same rows in turn, round after round, on each database and corpus."""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from sqlcompress.bench.arms.base import Arm
from sqlcompress.bench.client import Client
from sqlcompress.bench.connecting import Limits
from sqlcompress.bench.corpora import Corpus, corpus, corpus_of_file
from sqlcompress.bench.databases import DATABASES, Database
from sqlcompress.bench.limits import confine
from sqlcompress.bench.link import SERVER_ADDRESS, Link, LinkUnavailableError, open_link
from sqlcompress.bench.machine import machine, versions
from sqlcompress.bench.options import Options, sample
from sqlcompress.bench.ratios import BASE
from sqlcompress.bench.results import Measured, Results
from sqlcompress.bench.sessions import Sessions
from sqlcompress.bench.work import table
from sqlcompress.bench.work.backup import backup
from sqlcompress.bench.work.convert import convert, converts
from sqlcompress.bench.work.link import over_link
from sqlcompress.bench.work.stage import Stage
from sqlcompress.dictionaries import Dictionary
from sqlcompress.errors import ServerUnavailableError, SqlcompressError
from sqlcompress.training import train


class Reporter(Protocol):
    """Where a run tells what it does."""

    def step(self, title: str) -> None:
        """A database and corpus begin."""

    def note(self, text: str) -> None:
        """Something worth a line."""


def run(options: Options, command: str, reporter: Reporter) -> Results:
    """Measure, and write the results after every turn.

    Args:
        options: What to do.
        command: The command line, for the results.
        reporter: Told what happens.

    Raises:
        SqlcompressError: No database of those asked for could be started, or a value that was read is wrong.
    """
    results = Results(
        command, dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"), machine(), versions()
    )
    results.settings = {
        "rounds": options.rounds,
        "sessions": options.sessions,
        "disk_iops": options.limits.iops,
        "disk_mb": options.limits.mb,
        "cache_mb": options.limits.cache_mb,
        "quick": options.quick,
    }
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="sqlcompress-bench-")))
        link = _link(options, running, results, reporter)
        for one in _corpora(options, reporter):
            _Run(options, results, reporter, one, folder, link).measure()
    if not results.measured:
        raise SqlcompressError(f"nothing was measured: {'; '.join(results.left_out)}")
    return results


def _corpora(options: Options, reporter: Reporter) -> Iterator[Corpus]:
    for name in options.corpora:
        reporter.note(f"corpus {name}")
        yield corpus(name)
    for file in options.files:
        yield corpus_of_file(file)


def _link(options: Options, running: ExitStack, results: Results, reporter: Reporter) -> Link | None:
    if "link" not in options.work:
        return None
    try:
        return open_link(running)
    except LinkUnavailableError as reason:
        results.left_out.append(str(reason))
        reporter.note(str(reason))
        return None


class _Run:
    """One corpus, on each database in turn."""

    def __init__(
        self,
        options: Options,
        results: Results,
        reporter: Reporter,
        one: Corpus,
        folder: Path,
        link: Link | None,
    ) -> None:
        self._options = options
        self._results = results
        self._reporter = reporter
        self._corpus = one
        self._folder = folder
        self._link = link
        self._file = folder / f"{one.name}.json"

    def measure(self) -> None:
        """On each database that can be started."""
        self._corpus.save(self._file)
        rows = self._options.rows_of(self._corpus)
        dictionary = train(self._corpus.name, sample(self._corpus)).dictionary
        self._results.corpora[self._corpus.name] = {
            "rows": rows,
            "reads": self._options.reads_of(self._corpus),
            "documents": len(self._corpus.documents),
            "mean_bytes": round(self._corpus.mean_bytes(), 1),
            "is_json": self._corpus.is_json,
            "source": self._corpus.source,
            "dictionary_bytes": len(dictionary.content) if dictionary else 0,
        }
        for name in self._options.databases:
            kind = DATABASES[name]
            self._reporter.step(f"{kind.title}, {self._corpus.name}: {rows:,} rows")
            with ExitStack() as running:
                addresses = ("127.0.0.1",) if self._link is None else ("127.0.0.1", SERVER_ADDRESS)
                memory = self._options.memory_of(self._corpus)
                try:
                    # Before the sessions: a process is started more safely from one without threads.
                    database = kind(Limits(memory, addresses), running)
                except ServerUnavailableError as reason:
                    self._leave_out(f"{kind.title}: {reason}")
                    continue
                if self._options.limits:
                    confine(self._options.limits, database.pids(), database.folder(), running)
                self._results.versions[kind.title] = database.version
                self._results.settings[f"{name}, {self._corpus.name}"] = list(database.settings)
                sessions = running.enter_context(Sessions(self._options.sessions))
                far = None
                if self._link is not None and database.is_server:
                    far = running.enter_context(Sessions(1, self._link.namespace))
                self._rounds(database, dictionary, sessions, far)

    def _rounds(
        self, database: Database, dictionary: Dictionary | None, sessions: Sessions, far: Sessions | None
    ) -> None:
        arms = list(self._arms(database, dictionary))
        named = {arm.name: {"title": arm.title, "family": arm.family} for arm in arms}
        self._results.arms.setdefault(database.name, {}).update(named)
        done, turns, started = 0, self._options.rounds * len(arms), time.perf_counter()
        for number in range(self._options.rounds):
            # Another arm begins each round, so that none always runs on what the same one has left behind.
            first = number % len(arms)
            for arm in (*arms[first:], *arms[:first]):
                begun = time.perf_counter()
                client = Client(database.reach, arm, self._file, dictionary if arm.needs_dictionary else None)
                stage = Stage(
                    database,
                    sessions,
                    client,
                    self._options.rows_of(self._corpus),
                    self._options.reads_of(self._corpus),
                    number,
                    self._folder,
                )
                figures = self._turn(stage, arms[0], far)
                self._results.measured.append(
                    Measured(database.name, self._corpus.name, arm.name, number, figures)
                )
                self._results.save(self._options.folder)
                done += 1
                seconds = time.perf_counter() - begun
                left = (time.perf_counter() - started) / done * (turns - done) / 60
                self._reporter.note(
                    f"turn {done} of {turns}: {arm.title}, {seconds:.0f} s; about {left:.0f} min left here"
                )
        database.drop()

    def _turn(self, stage: Stage, plain: Arm, far: Sessions | None) -> dict[str, float]:
        work, arm = self._options.work, stage.client.arm
        figures: dict[str, float] = {}
        if not arm.only_convert and not arm.only_link:
            figures |= table.load(stage)
            if "read" in work:
                figures |= table.read(stage)
            if "size" in work:
                figures |= table.size(stage)
                figures |= table.rebuilt(stage)
            if "backup" in work:
                figures |= backup(stage)
            if "change" in work:
                figures |= table.change(stage)
        if "convert" in work and converts(arm):
            figures |= convert(stage, plain)
        if far is not None and self._link is not None and not arm.only_convert:
            near = Stage(
                stage.database, far, stage.client, stage.rows, stage.reads, stage.round, stage.folder
            )
            rows = self._options.link_rows_of(self._corpus)
            figures |= over_link(near, self._link, self._options.rates, rows)
        return figures

    def _arms(self, database: Database, dictionary: Dictionary | None) -> Iterator[Arm]:
        for arm in database.arms:
            if self._options.arms and arm.name not in {BASE, *self._options.arms}:
                continue
            reason = database.is_available(arm)
            if arm.needs_dictionary and dictionary is None:
                reason = "training found no dictionary worth having"
            if (arm.only_link and self._link is None) or (
                arm.only_convert and "convert" not in self._options.work
            ):
                continue
            if reason:
                self._leave_out(f"{database.title}, {self._corpus.name}, {arm.title}: {reason}")
                continue
            yield arm

    def _leave_out(self, text: str) -> None:
        self._results.left_out.append(text)
        self._reporter.note(f"left out: {text}")
