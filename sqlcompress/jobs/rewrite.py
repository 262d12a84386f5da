"""The rewrite job: every row of a column read once, converted on the client, written back in batches."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy.engine import Connection, Engine

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.rows import rows_of
from sqlcompress.errors import MigrationFailedError
from sqlcompress.jobs.batches import Batches
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.lag import ReplicaLag
from sqlcompress.jobs.pages import PageSize
from sqlcompress.jobs.progress import current_callback
from sqlcompress.jobs.shards import Shard, Span
from sqlcompress.jobs.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlcompress.dialects.rows import Rows
    from sqlcompress.jobs.conversions import Conversion
    from sqlcompress.jobs.progress import Progress

# A pass that only finds what writers left behind it is short; a writer that keeps ahead of this many passes
# writes plain values faster than they can be read.
MAX_PASSES = 20


@dataclass(frozen=True)
class RewriteResult:
    """What a rewrite did.

    Attributes:
        rows_seen: Rows read, each counted once.
        rows_written: Rows that got a new value.
        bytes_before: Bytes of the values read.
        bytes_after: Bytes of the same values afterwards.
        seconds: Wall-clock seconds.
        passes: Passes over the table; the last one wrote nothing.
        rows_failed: Rows that could not be converted; a rewrite that ends with any raises instead.
    """

    rows_seen: int
    rows_written: int
    bytes_before: int
    bytes_after: int
    seconds: float
    passes: int
    rows_failed: int = 0


def rewrite(
    bind: Engine | Connection,
    table: str,
    column: str,
    *,
    convert: Conversion,
    schema: str | None = None,
    target: str | None = None,
    batch_rows: int = 1000,
    batch_bytes: int = 4_194_304,
    pause_seconds: float = 0.0,
    workers: int = 2,
    own_transactions: bool = True,
    progress: Callable[[Progress], None] | None = None,
    lag_seconds: Callable[[], float | None] | None = None,
    max_lag_seconds: float = 5.0,
    where: str | None = None,
    shard: str | None = None,
    passes: int | None = None,
) -> RewriteResult:
    """Convert every value of a column, in batches that can be interrupted anywhere.

    A batch is read by key with its rows locked, converted, written in one round trip and committed. Rows
    that are done are left out in SQL, so a second run goes on where the first stopped. Passes repeat until
    one writes nothing, so that rows written behind the job's back are met too.

    Args:
        bind: An engine, or a connection. On a connection the job runs there, and with
            ``own_transactions=False`` inside the transaction that is open, in one pass.
        table: The table.
        column: The column.
        convert: What to make of a value.
        schema: The table's schema; None for the connection's default.
        target: The column of the same table that the new values go into; None for ``column`` itself.
        batch_rows: Rows in one transaction, 1 to 10,000.
        batch_bytes: Bytes of stored values in one transaction, at least one row; about four times as much
            memory is in use.
        pause_seconds: Seconds to rest between two batches.
        workers: Threads, each with a connection of its own: while one waits for the server the other
            compresses (1.5 times the speed of one on MariaDB, more bring little). Asynchronous drivers,
            SQLite and a job on a given connection use one.
        own_transactions: Commit each batch.
        progress: Called after each batch; None for that of
            :func:`~sqlcompress.jobs.progress.reporting_to`.
        lag_seconds: A function that gives the seconds by which replicas are behind, or None where that is not
            known; asked between batches, at most once a second. What it raises ends the job after the
            batch at hand.
        max_lag_seconds: The job waits while replicas are further behind, or it is not known how far. 5 s: a
            reader of a replica hardly notices, and a batch or two are applied within it.
        where: A condition in SQL, in the database's own words: only these rows are read.
        shard: ``"k/n"``: only the k-th of n parts of the table, which other jobs with the same number rewrite
            the others of. The first one divides the table by its key and writes the ranges into the table
            ``sqlcompress_job``, where the last one takes them out. A part that failed is run again.
        passes: Passes at most, whatever is left then; None for as many as it takes, up to 20.

    Returns:
        What was done.

    Raises:
        MigrationBlockedError: The table or column is not there, or no key can be walked by.
        MigrationFailedError: Rows could not be converted (all others were), or writers kept ahead.
    """
    _check(batch_rows, batch_bytes, where)
    if isinstance(bind, Engine):
        with bind.connect() as connection:
            rows = _rows(connection, table, column, schema, target)
    else:
        began = not bind.in_transaction()
        rows = _rows(bind, table, column, schema, target)
        if own_transactions and began:
            bind.rollback()  # SQLAlchemy's own, that the questions to the catalogs have begun
    rows.todo = _both(convert.todo(rows), where, rows)
    part = None
    span: Span | None = Span(None, None)
    if shard is not None:
        part = Shard(shard, rows, type(convert).__name__, where)
        if not isinstance(bind, Engine) or not own_transactions or getattr(convert, "each_once", False):
            raise ValueError(
                "shard= is for a job on an engine, which commits, and whose rows tell they are done"
            )
        span = part.span(bind)
    tally = Tally(str(rows.table), column, progress or current_callback())
    lag = None if lag_seconds is None else ReplicaLag(lag_seconds, max_lag_seconds, tally.waiting)
    size = PageSize(batch_rows, batch_bytes, rows.statement_bytes)
    batches = [
        Batches(
            bind, rows, convert, tally, size, own_transactions=own_transactions, pause=pause_seconds, lag=lag
        )
        for _ in range(_workers(bind, rows, workers))
    ]
    lent = ExitStack()
    if own_transactions and isinstance(bind, Connection):
        lent.enter_context(rows.lent(bind))
    with lent:
        done = _run(batches, rows, tally, convert, span, passes, own_transactions=own_transactions)
    if part is not None and isinstance(bind, Engine) and not tally.rows_failed:
        part.finish(bind)
    tally.finish()
    if tally.rows_failed:
        raise MigrationFailedError(tally.failure_message(), tuple(tally.failures))
    return RewriteResult(
        tally.rows_seen, tally.rows_written, tally.bytes_before, tally.bytes_after, tally.seconds, done
    )


def _check(batch_rows: int, batch_bytes: int, where: str | None) -> None:
    if not 1 <= batch_rows <= 10_000:
        raise ValueError("batch_rows must be from 1 to 10,000")
    if batch_bytes < 1:
        raise ValueError("batch_bytes must be at least 1")
    if where is not None and not where.strip():
        raise ValueError("where is a condition in SQL, or None for all rows")


def _run(
    batches: list[Batches],
    rows: Rows,
    tally: Tally,
    convert: Conversion,
    span: Span | None,
    passes: int | None,
    *,
    own_transactions: bool,
) -> int:
    try:
        batches[0].open()
        if span is None:
            return 0
        tally.rows_total = batches[0].count()
        if not own_transactions:
            return _inside(batches, rows)
        done = _passes(batches, rows, tally, span, once=convert.one_pass, at_most=passes)
        batches[0].settle()
        return done
    finally:
        for batch in batches:
            batch.close()


def rows_to_read(
    connection: Connection,
    table: str,
    column: str,
    *,
    convert: Conversion,
    schema: str | None = None,
    where: str | None = None,
) -> int:
    """How many rows :func:`rewrite` would read; of more than a million, the server's estimate of all rows."""
    rows = _rows(connection, table, column, schema, None)
    rows.todo = _both(convert.todo(rows), where, rows)
    return rows.total(connection)


def _rows(connection: Connection, table: str, column: str, schema: str | None, target: str | None) -> Rows:
    found, described, key = key_of(connection, table, column, schema=schema, lasting=target is not None)
    into = None if target is None else catalog_of(connection).column(found, target)
    return rows_of(connection, found, described, key, into)


def _both(todo: str | None, where: str | None, rows: Rows) -> str | None:
    """Both conditions; ``where`` as a person writes it, without parameters."""
    if where is None:
        return todo
    if rows.dialect.paramstyle in {"format", "pyformat"}:
        where = where.replace("%", "%%")
    # A comment at its end must not take the bracket along.
    bracketed = f"({where}\n)"
    return bracketed if todo is None else f"({todo}) AND {bracketed}"


def _workers(bind: Engine | Connection, rows: Rows, workers: int) -> int:
    if isinstance(bind, Connection) or bind.dialect.is_async or not rows.writes_side_by_side:
        return 1
    return max(1, workers)


def _inside(batches: list[Batches], rows: Rows) -> int:
    """One pass in the caller's transaction: nobody else can write, so there is no end to chase."""
    with rows.surrounded(batches[0].open()):
        _one_pass(batches, Walk(Span(None, None)))
    return 1


def _passes(
    batches: list[Batches], rows: Rows, tally: Tally, span: Span, *, once: bool, at_most: int | None
) -> int:
    for number in range(1, (at_most or MAX_PASSES) + 1):
        written_before = tally.begin_pass()
        # Without an end a pass would chase whoever appends rows.
        upto = batches[0].largest() if span.upto is None else span.upto
        if upto is not None:
            _one_pass(batches, Walk(Span(span.after, upto)))
        if once or tally.rows_written == written_before:
            return number
    if at_most is not None:
        return at_most
    raise MigrationFailedError(
        f"{rows.table}.{rows.column.name}: after {MAX_PASSES} passes an application still writes values that "
        "are to be converted; deploy the version that writes them as they are to be, then run this again"
    )


class Walk:
    """Where the pass is. The next page is taken under the lock, by whichever worker comes first."""

    def __init__(self, span: Span) -> None:
        self.lock = threading.Lock()
        self.after, self.upto = span
        self.done = False


def _one_pass(batches: list[Batches], walk: Walk) -> None:
    if len(batches) == 1:
        batches[0].run(walk)
        return
    with ThreadPoolExecutor(len(batches), "sqlcompress-rewrite") as pool:
        try:
            futures = [pool.submit(batch.run, walk) for batch in batches]
            for future in futures:
                future.result()
        except BaseException:
            # Ctrl-C arrives here, in the main thread: let the workers end with the batch they are at.
            walk.done = True
            raise
