"""What a migration of a column would do, told before it does it; nothing is changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlcompress.dialects.alter import TargetType, alteration_of
from sqlcompress.dialects.catalog import catalog_of
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.jobs.conversions import Compress, Conversion, Decompress, Recompress
from sqlcompress.jobs.figures import byte_size
from sqlcompress.jobs.preflight import check_compress, check_decompress
from sqlcompress.jobs.recompress import check_recompress
from sqlcompress.jobs.rewrite import rows_to_read
from sqlcompress.jobs.shadow import plan_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection
    from sqlalchemy.types import TypeEngine

    from sqlcompress.compressed import Compressed
    from sqlcompress.dialects.rows import StoredAs
    from sqlcompress.dialects.tables import Column, TableName
    from sqlcompress.jobs.column import Batching
    from sqlcompress.jobs.conversions import Converted


@dataclass(frozen=True)
class Plan:
    """What an operation would do.

    Attributes:
        operation: ``"compress"``, ``"decompress"``, ``"recompress"`` or ``"rewrite"``.
        table: The table, with its schema.
        column: The column.
        strategy: As given to the operation.
        statements: The statements that change the table, in order; comments stand for the rows.
        rows: Rows to be read: counted, or the server's estimate above a million.
        batches: Batches of ``batch_rows``; more where rows are large.
        locks: What is locked and for how long, one sentence for each step.
        table_bytes: What the table takes now, with its indexes, by the server's count; 0 where it keeps none.
        disk: What is needed on disk meanwhile, in words.
        carried: What hangs on the column and comes along exactly.
        blockers: What stands in the way; with any, the operation would change nothing.
        space_command: What gives the space back afterwards.
    """

    operation: str
    table: str
    column: str
    strategy: str
    statements: tuple[str, ...]
    rows: int
    batches: int
    locks: tuple[str, ...]
    table_bytes: int
    disk: str
    carried: tuple[str, ...]
    blockers: tuple[str, ...]
    space_command: str

    def lines(self) -> list[str]:
        """The plan for a person to read."""
        lines = [f"Plan: {self.operation} {self.table}.{self.column}, strategy {self.strategy!r}"]
        if self.blockers:
            lines.append("Blocked; nothing would be changed:")
            return [*lines, *(f"  - {blocker}" for blocker in self.blockers)]
        lines.append("Statements:")
        lines += [f"  {statement}" for statement in self.statements] or ["  none"]
        lines.append(f"Rows: about {self.rows:,}, in {self.batches:,} batches or more")
        lines.append("Locks:")
        lines += [f"  - {lock}" for lock in self.locks]
        if self.carried:
            lines.append(f"Carried over: {'; '.join(self.carried)}")
        size = byte_size(self.table_bytes) if self.table_bytes else "an unknown size"
        lines.append(f"Disk: the table takes {size} now; {self.disk}")
        lines.append(f"The files do not shrink by themselves: {self.space_command} gives the space back.")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        return asdict(self)


def plan_compress(
    connection: Connection,
    table: str,
    column: str,
    type_: Compressed[Any],
    *,
    schema: str | None,
    strategy: str,
    batching: Batching,
    drop_original: bool = False,
    existing_type: TypeEngine[Any] | None = None,
) -> Plan:
    """What ``op.compress_column`` would do; its blockers are part of the plan.

    Raises:
        MigrationBlockedError: There is no such table or column.
    """
    found, described = _described(connection, table, column, schema)
    try:
        check_compress(
            connection, table, column, type_, schema=schema, strategy=strategy, existing_type=existing_type
        )
    except MigrationBlockedError as error:
        return _blocked("compress", found, column, strategy, connection, error)
    if strategy == "shadow":
        change = plan_statements(
            connection, found, column, type_, to_compressed=True, drop_original=drop_original
        )
    else:
        change = alteration_of(connection.dialect).to_binary(connection, found, described)
        change.append(_rows_step(found, described, strategy))
    return _plan("compress", connection, found, described, strategy, change, Compress(type_), batching)


def plan_decompress(
    connection: Connection,
    table: str,
    column: str,
    type_: TypeEngine[Any],
    existing_type: Compressed[Any],
    *,
    schema: str | None,
    strategy: str,
    batching: Batching,
    drop_original: bool = False,
) -> Plan:
    """What ``op.decompress_column`` would do; every row is decoded and measured for it.

    Raises:
        MigrationBlockedError: There is no such table or column.
    """
    found, described = _described(connection, table, column, schema)
    try:
        check_decompress(connection, table, column, type_, existing_type, schema=schema, strategy=strategy)
    except MigrationBlockedError as error:
        return _blocked("decompress", found, column, strategy, connection, error)
    if strategy == "shadow":
        change = plan_statements(
            connection, found, column, type_, to_compressed=False, drop_original=drop_original
        )
    else:
        target = TargetType(type_, connection.dialect)
        change = [
            _rows_step(found, described, strategy),
            *alteration_of(connection.dialect).to_plain(connection, found, described, target),
        ]
    convert = Decompress(existing_type)
    return _plan("decompress", connection, found, described, strategy, change, convert, batching)


def plan_recompress(
    connection: Connection,
    table: str,
    column: str,
    type_: Compressed[Any],
    existing_type: Compressed[Any],
    *,
    schema: str | None,
    strategy: str,
    batching: Batching,
) -> Plan:
    """What ``op.recompress_column`` would do.

    Raises:
        MigrationBlockedError: There is no such table or column.
    """
    found, described = _described(connection, table, column, schema)
    try:
        check_recompress(connection, table, column, type_, existing_type, schema=schema)
    except MigrationBlockedError as error:
        return _blocked("recompress", found, column, strategy, connection, error)
    change = [_rows_step(found, described, strategy)]
    convert = Recompress(type_, existing_type)
    return _plan("recompress", connection, found, described, strategy, change, convert, batching)


def plan_rewrite(
    connection: Connection,
    table: str,
    column: str,
    type_: Compressed[Any],
    *,
    schema: str | None,
    recompress: bool,
    batching: Batching,
) -> Plan:
    """What the rewrite job would do to a column that is binary already; ``recompress``: to its frames, too.

    Raises:
        MigrationBlockedError: There is no such table or column, or it cannot be rewritten.
    """
    check_recompress(connection, table, column, type_, type_, schema=schema)
    found, described = _described(connection, table, column, schema)
    convert = Recompress(type_, type_) if recompress else Compress(type_)
    change = [_rows_step(found, described, "rewrite")]
    return _plan("rewrite", connection, found, described, "rewrite", change, convert, batching)


def _described(
    connection: Connection, table: str, column: str, schema: str | None
) -> tuple[TableName, Column]:
    catalog = catalog_of(connection)
    found = catalog.table(table, schema)
    return found, catalog.column(found, column)


def _rows_step(table: TableName, column: Column, strategy: str) -> str:
    how = "in the migration's transaction" if strategy == "atomic" else "by key, in committed batches"
    return f"-- rows of {table}.{column.name}, {how}"


def _plan(
    operation: str,
    connection: Connection,
    table: TableName,
    column: Column,
    strategy: str,
    statements: list[str],
    convert: Conversion,
    batching: Batching,
) -> Plan:
    alteration, catalog = alteration_of(connection.dialect), catalog_of(connection)
    if strategy != "shadow" and (column.kind == "binary" or not alteration.changes_type):
        rows = rows_to_read(
            connection, table.name, column.name, convert=convert, schema=table.schema, where=batching.where
        )
    else:
        # Comparing text with frames is what some servers refuse before the type has changed.
        rows = rows_to_read(connection, table.name, column.name, convert=_Every(), schema=table.schema)
    if connection.dialect.paramstyle in {"format", "pyformat"}:
        # As the server will see them.
        statements = [statement.replace("%%", "%") for statement in statements]
    return Plan(
        operation=operation,
        table=str(table),
        column=column.name,
        strategy=strategy,
        statements=tuple(statements),
        rows=rows,
        batches=-(-rows // batching.batch_rows),
        locks=tuple(_locks(connection, table, column, strategy, statements)),
        table_bytes=catalog.table_bytes(table),
        disk=_disk(strategy, statements),
        carried=tuple(catalog.carried(table, column)),
        blockers=(),
        space_command=alteration.space_command(table).replace("%%", "%"),
    )


class _Every(Conversion):
    """Stands for a conversion that reads every row."""

    one_pass = True

    def todo(self, rows: object) -> str | None:
        """As for Conversion."""
        del rows
        return None

    def writes(self, rows: object) -> StoredAs:
        """As for Conversion."""
        del rows
        return "binary"

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion."""
        return stored

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """As for Conversion."""
        return list(values)


def _locks(
    connection: Connection, table: TableName, column: Column, strategy: str, statements: list[str]
) -> list[str]:
    if strategy == "shadow":
        return [
            f"{table} for a moment, to add the new column and the triggers",
            "the rows of one batch, until it is committed",
            f"{table} for some milliseconds, for the swap; a long transaction makes it try again",
        ]
    alteration = alteration_of(connection.dialect)
    locks = [
        alteration.change_lock(connection, table, column, statement)
        for statement in statements
        if not statement.startswith("--")
    ]
    rows = (
        "all rows, until the migration's transaction ends"
        if strategy == "atomic"
        else "the rows of one batch, until it is committed; on SQLite, which has one writer, the database"
    )
    return [*locks, rows]


def _disk(strategy: str, statements: list[str]) -> str:
    if strategy == "shadow":
        return (
            "both columns stand side by side until the old one is dropped, and the log grows by the new one"
        )
    if any(not statement.startswith("--") for statement in statements):
        return (
            "a type change that copies the table needs as much again, and the log grows by the rewritten rows"
        )
    return "the log grows by the rewritten rows"


def _blocked(
    operation: str,
    table: TableName,
    column: str,
    strategy: str,
    connection: Connection,
    error: MigrationBlockedError,
) -> Plan:
    alteration = alteration_of(connection.dialect)
    return Plan(
        operation=operation,
        table=str(table),
        column=column,
        strategy=strategy,
        statements=(),
        rows=0,
        batches=0,
        locks=(),
        table_bytes=catalog_of(connection).table_bytes(table),
        disk="",
        carried=(),
        blockers=error.blockers,
        space_command=alteration.space_command(table).replace("%%", "%"),
    )
