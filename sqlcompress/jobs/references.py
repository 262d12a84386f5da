"""Whether any value of a database needs a dictionary, and dropping one that none does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.dialects.dictionarytable import NAME
from sqlcompress.dialects.framesql import uses_dictionary_sql
from sqlcompress.dialects.places import Place, see_all_writers
from sqlcompress.dialects.places import places as places_of
from sqlcompress.dialects.rows import rows_of
from sqlcompress.errors import DictionaryStoreError, MigrationBlockedError
from sqlcompress.jobs.at_hand import store_of
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.train import NO_TABLE
from sqlcompress.store import GRACE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlcompress.dialects.rows import Rows

#: Rows that one statement looks at: a tenth of a second or so.
_STEP = 50_000
#: A transaction that has written and is still open is waited for so long.
_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Reference:
    """A column with values that need a dictionary.

    Attributes:
        table: The table, with its schema.
        column: The column.
        rows: How many values.
    """

    table: str
    column: str
    rows: int


@dataclass(frozen=True)
class Scanned:
    """How far a scan is.

    Attributes:
        table: The table being looked at.
        rows_seen: Rows of it looked at.
        rows_total: Its rows, counted or by the server's estimate; None if unknown.
        tables_seen: Tables done.
        tables_total: Tables to look at.
    """

    table: str
    rows_seen: int
    rows_total: int | None
    tables_seen: int
    tables_total: int


def find_references(
    bind: Engine | Connection,
    ids: Iterable[int],
    *,
    schemas: Sequence[str] | None = None,
    progress: Callable[[Scanned], None] | None = None,
) -> list[Reference]:
    """Look through every binary column for frames of some dictionaries.

    Each table is waited for until the transactions that have written to it are over, since their rows cannot
    be seen yet; then its rows are looked at, without locks, so many at a time.

    Args:
        bind: The database, with a synchronous driver; a connection outside a transaction where there can be
            only one.
        ids: Ids of dictionaries.
        schemas: Where to look; None for all schemas on PostgreSQL, and for the database of the URL elsewhere.
        progress: Called after each statement.

    Raises:
        DictionaryStoreError: A transaction has held a table for longer than a minute.
    """
    wanted = sorted(set(ids))
    found: list[Reference] = []
    if not wanted:
        return found
    with nullcontext(bind) if isinstance(bind, Connection) else bind.connect() as connection:
        places = [place for place in places_of(connection, schemas) if place.table != NAME]
        connection.rollback()
        for number, place in enumerate(places):
            _wait_for_writers(connection, place)
            counts = dict.fromkeys(place.columns, 0)
            for counted, seen, total in _counts(connection, place, wanted):
                for column, count in counted.items():
                    counts[column] += count
                if progress is not None:
                    progress(Scanned(str(place), seen, total, number, len(places)))
            connection.rollback()
            found += [Reference(str(place), column, count) for column, count in counts.items() if count]
    return found


def drop_dictionary(
    engine: Engine,
    dictionary_id: int,
    *,
    schema: str | None = None,
    schemas: Sequence[str] | None = None,
    wait: bool = False,
    progress: Callable[[Scanned], None] | None = None,
) -> None:
    """Delete a retired dictionary, once it is proved that no value needs it.

    Args:
        engine: The database, with a synchronous driver.
        dictionary_id: Its id.
        schema: The schema of ``sqlcompress_dictionary``; None for the connection's default.
        schemas: As for :func:`find_references`.
        wait: Wait for the end of the 180 s after it was retired, instead of refusing.
        progress: As for :func:`find_references`.

    Raises:
        DictionaryNotFoundError: It is not there.
        DictionaryStoreError: It is not retired, not for long enough, or values need it; nothing was changed.
    """
    while True:
        with engine.connect() as connection:
            store = store_of(connection, schema)
            if store is None:
                raise DictionaryStoreError(NO_TABLE)
            entry = store.info(dictionary_id)
            since = store.retired_seconds(dictionary_id)
        if since is None:
            raise DictionaryStoreError(
                f"dictionary {dictionary_id} ({entry.name!r}) is {entry.state}: retire it first, so that "
                "nobody writes with it any more"
            )
        left = GRACE_SECONDS - since
        if left <= 0:
            break
        if not wait:
            raise DictionaryStoreError(
                f"dictionary {dictionary_id} ({entry.name!r}) was retired {since:.0f} s ago, and writers may "
                f"use it for {left:.0f} s more; drop it after that"
            )
        time.sleep(min(left, 5.0))
    references = find_references(engine, [dictionary_id], schemas=schemas, progress=progress)
    if references:
        listed = ", ".join(f"{r.table}.{r.column} ({r.rows:,})" for r in references)
        raise DictionaryStoreError(
            f"dictionary {dictionary_id} ({entry.name!r}) is needed by values of {listed}; it was not "
            "dropped. Rewrite those with `sqlcompress rewrite --recompress` first"
        )
    with engine.begin() as connection:
        store = store_of(connection, schema)
        if store is not None:
            store.remove(dictionary_id)


def _wait_for_writers(connection: Connection, place: Place) -> None:
    """Return once no transaction is open that has written to the table before."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    table = quote(place.table) if place.schema is None else f"{quote(place.schema)}.{quote(place.table)}"
    begun = time.monotonic()
    while True:
        try:
            see_all_writers(connection, table)
        except DBAPIError as error:  # noqa: PERF203 - the loop is for the exception
            connection.rollback()
            if time.monotonic() - begun > _WAIT_SECONDS:
                raise DictionaryStoreError(
                    f"a transaction that may have written to {place} has been open for more than "
                    f"{_WAIT_SECONDS:.0f} s; its rows cannot be seen. End it, or try again later"
                ) from error
            time.sleep(0.3)
        else:
            return


# Looking --------------------------------------------------------------------------------------------------


def _counts(
    connection: Connection, place: Place, ids: list[int]
) -> Iterator[tuple[dict[str, int], int, int | None]]:
    """Values that need one of the dictionaries, by column; rows seen, rows in all."""
    walked = _walked(connection, place)
    if walked is None:
        found = catalog_of(connection).table(place.table, place.schema)
        counted = _count(connection, found.quoted(connection.dialect), place.columns, ids, "", ())
        yield counted, 0, None
        return
    rows, total = walked
    after: tuple[Any, ...] | None = None
    seen = 0
    bounds = rows.every(connection, _STEP)
    while True:
        upto = next(bounds, None)
        conditions: list[str] = []
        values: list[Any] = []
        binds = rows.binds()
        for operator, key in ((">", after), ("<=", upto)):
            if key is not None:
                sql, bound = rows.compare_sql(operator, key, binds)  # type: ignore[arg-type]
                conditions.append(sql)
                values += bound
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        counted = _count(connection, rows.from_sql(), place.columns, ids, where, tuple(values))
        seen += _STEP
        if upto is None:
            yield counted, total, total
            return
        yield counted, min(seen, total), total
        after = upto
        connection.rollback()  # no long snapshot


def _walked(connection: Connection, place: Place) -> tuple[Rows, int] | None:
    """The rows of a table with a key; None where one statement has to look at all of it."""
    for column in place.columns:
        try:
            found, described, key = key_of(connection, place.table, column, schema=place.schema)
        except MigrationBlockedError:
            continue
        rows = rows_of(connection, found, described, key)
        return rows, max(1, rows.total(connection))
    return None


def _count(
    connection: Connection,
    from_sql: str,
    columns: Sequence[str],
    ids: list[int],
    where: str,
    values: tuple[Any, ...],
) -> dict[str, int]:
    dialect = connection.dialect
    quote = dialect.identifier_preparer.quote_identifier
    sums = ", ".join(
        f"SUM(CASE WHEN {uses_dictionary_sql(dialect, quote(column), ids)} THEN 1 ELSE 0 END)"
        for column in columns
    )
    row = connection.exec_driver_sql(f"SELECT {sums} FROM {from_sql}{where}", values).one()
    return {column: int(count or 0) for column, count in zip(columns, row, strict=True)}
