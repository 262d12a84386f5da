"""What is due for a database's dictionaries, done within limits, so that a scheduler can call it daily."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlcompress.codec import Zstd
from sqlcompress.dialects.framesql import uses_dictionary_sql
from sqlcompress.errors import DictionaryNotFoundError, DictionaryStoreError
from sqlcompress.jobs.at_hand import store_of, with_dictionaries
from sqlcompress.jobs.conversions import Recompress
from sqlcompress.jobs.drift import FRESH_ROWS, drift, uses
from sqlcompress.jobs.references import drop_dictionary
from sqlcompress.jobs.rewrite import rewrite
from sqlcompress.jobs.train import NO_TABLE
from sqlcompress.store import GRACE_SECONDS, DictionaryStore
from sqlcompress.training import MIN_GAIN
from sqlcompress.types import CompressedBinary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Connection, Engine

    from sqlcompress.entries import StoredDictionary
    from sqlcompress.jobs.drift import Use
    from sqlcompress.jobs.progress import Progress


@dataclass(frozen=True)
class Limits:
    """How much a run may do.

    Attributes:
        max_seconds: Seconds after which no more is begun, and rows are recompressed no further; None for all
            that is due.
        min_gain: The part of the stored bytes that a new dictionary has to save.
        fresh_rows: Newest rows that are looked at for that.
        recompress: Whether rows of replaced dictionaries are recompressed with the active one.
        where: A condition in SQL for those rows, such as that they are cold.
        drop: Whether retired dictionaries are dropped that no value needs.
        batch_rows: Rows in a batch.
        pause_seconds: Seconds of rest after each batch.
        lag_seconds: As for :func:`~sqlcompress.jobs.rewrite.rewrite`.
        max_lag_seconds: As for :func:`~sqlcompress.jobs.rewrite.rewrite`.
    """

    max_seconds: float | None = None
    min_gain: float = MIN_GAIN
    fresh_rows: int = FRESH_ROWS
    recompress: bool = True
    where: str | None = None
    drop: bool = False
    batch_rows: int = 1000
    pause_seconds: float = 0.0
    lag_seconds: Callable[[], float | None] | None = None
    max_lag_seconds: float = 5.0


@dataclass(frozen=True)
class Action:
    """One thing that was done, or would be.

    Attributes:
        kind: ``"keep"``, ``"train"``, ``"retire"``, ``"recompress"``, ``"drop"`` or ``"stop"``.
        subject: The column or dictionary.
        detail: What came of it.
    """

    kind: str
    subject: str
    detail: str


class _OutOfTimeError(Exception):
    """Ends a job after the batch at hand."""


class Maintenance:
    """One run over the dictionaries of a database.

    It trains where the newest rows have drifted away from their dictionary, has what it trained activated
    once every application has it, retires what was replaced, recompresses the rows of replaced dictionaries
    and, where asked to, drops what no value needs. What is not due yet is left to the next run.

    Args:
        engine: The database, with a synchronous driver.
        limits: How much to do.
        schema: The schema of ``sqlcompress_dictionary``; None for the connection's default.
        schemas: Where to look for columns; None for all schemas on PostgreSQL, for the database of the URL
            elsewhere.
        dry_run: Only say what would be done.
        say: Told what is being done, in words.
        progress: Told how far recompressing is.
    """

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        *,
        schema: str | None = None,
        schemas: Sequence[str] | None = None,
        dry_run: bool = False,
        say: Callable[[str], None] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._schema = schema
        self._schemas = schemas
        self._dry_run = dry_run
        self._say = say or (lambda _: None)
        self._progress = progress
        self._end = None if limits.max_seconds is None else time.monotonic() + limits.max_seconds
        self._actions: list[Action] = []

    def run(self) -> list[Action]:
        """Do what is due.

        Raises:
            DictionaryStoreError: The database has no table of dictionaries.
            MigrationFailedError: Rows could not be recompressed; all others were.
        """
        with self._engine.connect() as connection:
            found = list(uses(connection, self._store(connection), self._schemas))
        try:
            self._train(found)
            self._retire()
            if self._limits.recompress:
                for use in found:
                    self._recompress(use)
            if self._limits.drop:
                self._drop()
        except _OutOfTimeError:
            self._did("stop", "", f"{self._limits.max_seconds:g} s are over; the next run goes on from here")
        return self._actions

    def _store(self, connection: Connection) -> DictionaryStore:
        store = store_of(connection, self._schema)
        if store is None:
            raise DictionaryStoreError(NO_TABLE)
        return store

    def _did(self, kind: str, subject: str, detail: str) -> None:
        self._actions.append(Action(kind, subject, detail))

    def _check_time(self) -> None:
        if self._end is not None and time.monotonic() >= self._end:
            raise _OutOfTimeError

    def _lag(self) -> float | None:
        self._check_time()
        return 0.0 if self._limits.lag_seconds is None else self._limits.lag_seconds()

    # ------------------------------------------------------------------------------------------------------

    def _train(self, found: list[Use]) -> None:
        """One new dictionary for a name at most: where several columns share one, for the first that pays."""
        trained: set[str] = set()
        for use in found:
            self._check_time()
            with self._engine.begin() as connection:
                store = self._store(connection)
                waiting = {e.name for e in store.list() if e.state in {"published", "scheduled"}}
                if use.name in waiting | trained:
                    self._did("keep", str(use), f"a new dictionary {use.name!r} is about to be activated")
                    continue
                try:
                    measured = drift(
                        connection,
                        store,
                        use,
                        min_gain=self._limits.min_gain,
                        rows=self._limits.fresh_rows,
                        progress=self._say,
                    )
                except DictionaryNotFoundError as error:
                    self._did("keep", str(use), str(error))
                    continue
                dictionary = measured.training.dictionary
                if not measured.pays or dictionary is None:
                    self._did("keep", str(use), measured.reason)
                    continue
                trained.add(use.name)
                if not self._dry_run:
                    store.publish(dictionary, measured.training)
                    store.activate(dictionary.id, after_seconds=GRACE_SECONDS)
                when = f"{dictionary.id} is written with in {GRACE_SECONDS:g} s"
                self._did("train", str(use), f"{measured.reason}; {when}")

    def _retire(self) -> None:
        with self._engine.begin() as connection:
            store = self._store(connection)
            for entry in store.list():
                if entry.state == "replaced":
                    if not self._dry_run:
                        store.retire(entry.id)
                    self._did("retire", _named(entry), "a later one of its name is written with")

    def _recompress(self, use: Use) -> None:
        self._check_time()
        with self._engine.connect() as connection:
            store = self._store(connection)
            listed = store.list()
            old = [e.id for e in listed if e.name == use.name and e.state in {"replaced", "retired"}]
            # Before another is active, there is nothing to recompress with.
            active = next((e for e in listed if e.name == use.name and e.state == "active"), None)
            if not old or active is None:
                return
            type_ = CompressedBinary(Zstd(active.level or 3, dictionary=use.name))
            known: CompressedBinary = with_dictionaries(connection, type_, use.schema)
            quoted = connection.dialect.identifier_preparer.quote_identifier(use.column)
            if connection.dialect.paramstyle in {"format", "pyformat"}:
                quoted = quoted.replace("%%", "%")  # the job doubles it again, with the rest of the condition
            condition = uses_dictionary_sql(connection.dialect, quoted, old)
        if self._limits.where is not None:
            condition = f"({condition}) AND ({self._limits.where}\n)"
        if self._dry_run:
            self._did("recompress", str(use), f"rows of {len(old)} earlier dictionaries, with {active.id}")
            return
        self._say(f"recompressing {use}")
        settings: dict[str, Any] = {
            "batch_rows": self._limits.batch_rows,
            "pause_seconds": self._limits.pause_seconds,
            "max_lag_seconds": self._limits.max_lag_seconds,
        }
        result = rewrite(
            self._engine,
            use.table,
            use.column,
            schema=use.schema,
            convert=Recompress(known, known),
            where=condition,
            lag_seconds=self._lag,
            progress=self._progress,
            **settings,
        )
        if result.rows_written:
            detail = f"{result.rows_written:,} rows, {result.bytes_before:,} -> {result.bytes_after:,} bytes"
            self._did("recompress", str(use), detail)

    def _drop(self) -> None:
        with self._engine.connect() as connection:
            store = self._store(connection)
            due = [
                entry
                for entry in store.list()
                if entry.state == "retired" and (store.retired_seconds(entry.id) or 0.0) >= GRACE_SECONDS
            ]
        for entry in due:
            self._check_time()
            if self._dry_run:
                self._did("drop", _named(entry), "if no value needs it")
                continue
            self._say(f"looking for values that need {_named(entry)}")
            try:
                drop_dictionary(self._engine, entry.id, schema=self._schema, schemas=self._schemas)
            except DictionaryStoreError as error:
                self._did("keep", _named(entry), str(error))
            else:
                self._did("drop", _named(entry), "no value needs it")


def _named(entry: StoredDictionary) -> str:
    return f"dictionary {entry.id} ({entry.name!r})"
