"""Companion columns of rows from before: computed from each stored value, in the batches of a rewrite."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.catalog import FOR_EACH_ROW, catalog_of
from sqlcompress.errors import MigrationBlockedError, UnknownFormatError
from sqlcompress.following import at_path
from sqlcompress.jobs.conversions import Conversion, one_by_one
from sqlcompress.jobs.keys import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Connection

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.rows import Rows, StoredAs
    from sqlcompress.dialects.tables import TableName
    from sqlcompress.following import Path
    from sqlcompress.jobs.conversions import Converted


def digest_bytes(plain: bytes) -> bytes:
    """The digest of a plain value."""
    return hashlib.sha256(plain).digest()


def path_bytes(path: Path, wanted: type) -> Callable[[bytes], bytes | None]:
    """The function from a document's text to the text of what stands at a path.

    Args:
        path: Keys and indexes.
        wanted: What Python makes of the column's values.
    """

    def compute(plain: bytes) -> bytes | None:
        try:
            found = at_path(json.loads(plain.decode()), path, wanted)
        except (TypeError, RecursionError, ValueError) as error:
            reason = str(error) if isinstance(error, TypeError) else "the text is not a JSON document"
            raise UnknownFormatError(reason) from None
        if found is None:
            return None
        # Every database reads 1 and 0 as a boolean, and a number from its shortest text.
        return (str(int(found)) if isinstance(found, bool) else str(found)).encode()

    return compute


class Fill(Conversion):
    """Stored values into what a companion column holds; rows that have it are left out.

    For `rewrite_column` with the companion as its target. A row that an application writes meanwhile has its
    companion from there: a batch holds locks on what it reads.
    """

    one_pass = False

    def __init__(
        self, type_: Compressed[Any], compute: Callable[[bytes], bytes | None], *, is_binary: bool
    ) -> None:
        self.type = type_
        self._compute = compute
        self._is_binary = is_binary

    def todo(self, rows: Rows) -> str | None:
        """As for Conversion."""
        return f"{rows.target_sql} IS NULL"

    def writes(self, rows: Rows) -> StoredAs:
        """As for Conversion."""
        return "binary" if self._is_binary else rows.plain_stored_as

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion; empty where the companion is to be NULL."""
        return self._computed(stored) or b""

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """As for Conversion."""
        return one_by_one(self._computed, values)

    def reason(self, error: Exception) -> str:
        """As for Conversion; these messages name paths and types."""
        return str(error)

    def _computed(self, stored: bytes) -> bytes | None:
        return self._compute(self.type.from_stored(stored))


def check_fill(
    connection: Connection, table: str, column: str, name: str, *, schema: str | None = None
) -> tuple[TableName, bool]:
    """The table whose companion column is to be filled, and whether that column is there.

    Raises:
        MigrationBlockedError: The compressed column is not there, the table has no key to walk by, or
            something would happen for each row that is written.
    """
    catalog = catalog_of(connection)
    found = catalog.table(table, schema)
    described = catalog.column(found, column)
    try:
        catalog.column(found, name)
        is_there = True
    except MigrationBlockedError:
        is_there = False
    everything = catalog.blockers(found, described, compress=False)
    blockers = [sentence for sentence in everything if FOR_EACH_ROW in sentence]
    try:
        key_of(connection, table, column, schema=schema, lasting=True)
    except MigrationBlockedError as error:
        blockers += error.blockers
    if blockers:
        listed = "".join(f"\n  - {blocker}" for blocker in blockers)
        raise MigrationBlockedError(
            f"{found}.{name} cannot be filled as the table stands; nothing has been changed:{listed}",
            tuple(blockers),
        )
    return found, is_there
