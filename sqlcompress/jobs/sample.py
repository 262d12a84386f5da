"""A bounded sample of a column's plain values, spread over the table or from its newest rows."""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any

from sqlcompress.compressed import Compressed
from sqlcompress.dialects.rows import rows_of
from sqlcompress.errors import DecodeError
from sqlcompress.jobs.keys import key_of
from sqlcompress.jobs.pages import PageSize, read_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.rows import KeyValue, Rows

#: Places in the table that rows are taken from: neighbours are often alike.
_PLACES = 200
#: Rows and bytes of a sample: enough for the largest dictionary worth having, and bounded in memory.
SAMPLE_ROWS = 20_000
SAMPLE_BYTES = 67_108_864


def sample(
    connection: Connection,
    table: str,
    column: str,
    *,
    type_: Compressed[Any],
    schema: str | None = None,
    where: str | None = None,
    max_rows: int = SAMPLE_ROWS,
    max_bytes: int = SAMPLE_BYTES,
    seed: int = 0,
) -> list[bytes]:
    """Plain values of a column, compressed or not, from places all over the table.

    Nothing is locked. By an integer key the places are chosen at random, by any other they are found in one
    walk through its index.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column.
        type_: The compressed type that reads it, from
            :func:`~sqlcompress.jobs.at_hand.with_dictionaries`.
        schema: The table's schema.
        where: A condition in SQL: only these rows.
        max_rows: Values at most.
        max_bytes: Plain bytes at most, but for the last value.
        seed: Which rows by chance.

    Raises:
        MigrationBlockedError: The table or column is not there, or there is no key to walk by.
        ValueError: A number is out of bounds.
    """
    if max_rows < 1 or max_bytes < 1:
        raise ValueError("a sample has at least one row and one byte")
    values: list[bytes] = []
    total = 0
    for stored in spread(
        connection,
        table,
        column,
        schema=schema,
        where=where,
        max_rows=max_rows,
        max_bytes=max_bytes,
        seed=seed,
    ):
        plain = _decoded(stored, type_)
        if plain is not None:
            values.append(plain)
            total += len(plain)
        if total > max_bytes:
            break
    return values


def spread(
    connection: Connection,
    table: str,
    column: str,
    *,
    schema: str | None = None,
    where: str | None = None,
    max_rows: int = SAMPLE_ROWS,
    max_bytes: int = SAMPLE_BYTES,
    seed: int = 0,
) -> Iterator[bytes]:
    """The stored bytes that :func:`sample` decodes; arguments and errors as there."""
    found, described, key = key_of(connection, table, column, schema=schema)
    # As if for a copy: a column of text is read as UTF-8 then, whatever its character set.
    rows = rows_of(connection, found, described, key, described)
    if where is not None:
        percent = rows.dialect.paramstyle in {"format", "pyformat"}
        rows.todo = f"({where.replace('%', '%%') if percent else where}\n)"
    places = _places(connection, rows, max_rows, random.Random(seed))  # noqa: S311 - a sample
    each_rows = max(1, -(-max_rows // len(places)))
    each_bytes = max(1, max_bytes // len(places))
    seen: set[KeyValue] = set()
    for after in places:
        size = PageSize(min(each_rows, 1000), each_bytes, rows.statement_bytes)
        last, left, read = after, each_rows, 0
        while left > 0 and read < each_bytes and len(seen) < max_rows:
            page = read_page(connection, rows, size, last, None, min(left, 1000), lock=False)
            if not page:
                break
            last, left = page[-1].key, left - len(page)
            for row in page:
                if row.value is not None and not row.is_null and row.key not in seen:
                    seen.add(row.key)
                    read += len(row.value)
                    yield row.value


def newest(
    connection: Connection,
    table: str,
    column: str,
    *,
    schema: str | None = None,
    max_rows: int = SAMPLE_ROWS,
    max_bytes: int = SAMPLE_BYTES,
) -> list[bytes]:
    """The stored bytes of the rows with the highest keys, of the highest first.

    Args:
        connection: A connection to the database.
        table: The table.
        column: The column.
        schema: The table's schema.
        max_rows: Values at most.
        max_bytes: Stored bytes at most, but for the last value.

    Raises:
        MigrationBlockedError: The table or column is not there, or there is no key to walk by.
    """
    found, described, key = key_of(connection, table, column, schema=schema)
    rows = rows_of(connection, found, described, key, described)
    order = ", ".join(f"{part} DESC" for part in rows.key_sql)
    before = connection.exec_driver_sql(
        f"SELECT {', '.join(rows.key_read_sql())} FROM {rows.from_sql()} WHERE {rows.column_sql} IS NOT NULL"
        f" ORDER BY {order} LIMIT 1 OFFSET {int(max_rows)}"
    ).first()
    last = None if before is None else tuple(before)
    size = PageSize(1000, 4_194_304, rows.statement_bytes)
    kept: deque[bytes] = deque()
    total = 0
    while page := read_page(connection, rows, size, last, None, lock=False):
        last = page[-1].key
        for row in page:
            if row.value is not None and not row.is_null:
                kept.append(row.value)
                total += len(row.value)
            while len(kept) > 1 and total > max_bytes:
                total -= len(kept.popleft())
    return list(reversed(kept))[:max_rows]


def plain_values(stored: Iterable[bytes], type_: Compressed[Any]) -> list[bytes]:
    """The plain bytes of stored values; those that cannot be read are left out."""
    return [plain for value in stored if (plain := _decoded(value, type_)) is not None]


def _decoded(stored: bytes, type_: Compressed[Any]) -> bytes | None:
    try:
        return type_.from_stored(stored)
    except DecodeError:
        return None


def _places(connection: Connection, rows: Rows, max_rows: int, dice: random.Random) -> list[KeyValue | None]:
    """Keys to read on from, in order; None for the beginning of the table."""
    total = _total(connection, rows)
    if total <= max_rows:
        return [None]
    first, last = next(rows.every(connection, 1), None), rows.largest(connection)
    if first is not None and last is not None and len(first) == 1 and type(first[0]) is type(last[0]) is int:
        low, high = first[0], last[0]
        return [(number,) for number in sorted(dice.sample(range(low - 1, high), min(_PLACES, high - low)))]
    return [None, *rows.every(connection, max(1, total // _PLACES))]


def _total(connection: Connection, rows: Rows) -> int:
    todo, rows.todo = rows.todo, None
    try:
        return rows.total(connection)
    finally:
        rows.todo = todo
