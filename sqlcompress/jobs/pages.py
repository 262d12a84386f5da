"""Reading rows in key order, a bounded number of bytes at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlcompress.errors import MigrationFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.rows import KeyValue, Row, Rows


class PageSize:
    """How many rows to ask for, learnt from the rows seen so far."""

    def __init__(self, rows: int, bytes_: int, statement_bytes: int | None) -> None:
        self.rows = rows
        # Drivers that write values into the text of the statement need up to two bytes for one.
        self.bytes = bytes_ if statement_bytes is None else max(1, min(bytes_, statement_bytes // 3))
        self.value_bytes = statement_bytes
        self._mean = 0.0

    @property
    def limit(self) -> int:
        """Rows of the next page."""
        if not self._mean:
            return self.rows
        return max(1, min(self.rows, int(self.bytes / self._mean)))

    @property
    def inline_bytes(self) -> int:
        """Longest value that comes along with its page: a page takes four times the budget at most."""
        return min(2**31 - 1, max(1024, 4 * self.bytes // self.limit))

    def learn(self, sizes: Sequence[int]) -> None:
        """Take the sizes of a page into account, as they come: newer pages weigh more."""
        if sizes:
            mean = max(1.0, sum(sizes) / len(sizes))
            self._mean = mean if not self._mean else 0.5 * self._mean + 0.5 * mean


def read_page(
    connection: Connection,
    rows: Rows,
    size: PageSize,
    after: KeyValue | None,
    upto: KeyValue | None,
    limit: int | None = None,
    *,
    lock: bool,
) -> list[Row]:
    """The next rows within the budget, with their values; at least one where there is one.

    A value that the server could not hand over stays None. Unlocked, a row may be changed or deleted between
    the two statements that read a long value: it is marked as NULL then.
    """
    found = rows.page(connection, after, upto, limit or size.limit, size.inline_bytes, lock=lock)
    size.learn([row.size for row in found])
    page: list[Row] = []
    total = 0
    for row in found:
        if any(part is None for part in row.key):
            raise MigrationFailedError(
                f"{rows.table}: the driver gave no value for a part of the key "
                "(a date such as 0000-00-00); correct that key first"
            )
        if page and total + row.size > size.bytes:
            break
        page.append(row)
        total += row.size
    at_most = size.value_bytes
    long = [row for row in page if row.value is None and (at_most is None or row.size < at_most)]
    if long:
        values = {row.key: row for row in rows.values(connection, long)}
        if not lock:
            values = {row.key: row._replace(is_null=True) for row in long} | values
        page = [values.get(row.key, row) for row in page]
    return page


def pages(connection: Connection, rows: Rows, size: PageSize) -> Iterator[Row]:
    """Every row that is to be read and still there, in key order, unlocked."""
    after: KeyValue | None = None
    while page := read_page(connection, rows, size, after, None, lock=False):
        yield from (row for row in page if not row.is_null)
        after = page[-1].key
