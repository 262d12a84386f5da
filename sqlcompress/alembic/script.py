"""``--sql`` mode: the type change as SQL, and a marker that cannot be missed for the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import JSON
from sqlalchemy.types import LargeBinary, _Binary

from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.tables import Column, Kind, TableName
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from alembic.operations.base import Operations

    from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp


def compress_in_script(operations: Operations, op: CompressColumnOp) -> None:
    """Write the type change; rows stay plain, which the compressed types read."""
    dialect = operations.migration_context.dialect
    alteration = alteration_of(dialect)
    if op.existing_type is None:
        raise _blocked("--sql mode needs compress_column(existing_type=…): there is no database to ask")
    if op.strategy == "atomic":
        raise _blocked(
            'strategy="atomic" rewrites rows in the migration\'s transaction, which a script cannot'
        )
    if alteration.restates and op.existing_nullable is None:
        raise _blocked(
            "--sql mode needs compress_column(existing_nullable=…): MODIFY drops what is not restated"
        )
    plain = op.existing_type.dialect_impl(dialect)
    kind: Kind = "json" if isinstance(plain, JSON) else "text"
    if isinstance(plain, (LargeBinary, _Binary)):
        kind = "binary"
    column = Column(op.column_name, kind, "", nullable=op.existing_nullable is not False)
    name = TableName(op.table_name, op.schema)
    operations.migration_context.impl.static_output(
        f"-- !!! sqlcompress: the rows of {_one_line(str(name))}.{_one_line(op.column_name)} are NOT "
        "compressed by this script.\n"
        "-- !!! They stay readable as they are. To compress them, run this revision online instead, or call\n"
        "-- !!! sqlcompress.jobs.rewrite.rewrite(engine, table, column, convert=Compress(type)) afterwards.\n"
        + (
            "-- !!! A COMMENT of the column is not known here: add it to MODIFY, or it is lost.\n"
            if alteration.restates
            else ""
        )
    )
    for statement in alteration.offline(name, column):
        text = statement.replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else statement
        operations.migration_context.impl.static_output(text + ";\n")


def refuse_in_script(op: DecompressColumnOp) -> None:
    """Decompressing needs the rows.

    Raises:
        MigrationBlockedError: Always.
    """
    raise _blocked(
        f"{op.table_name}.{op.column_name}: a script cannot decompress rows, and the type change would fail "
        "or mangle them; run this downgrade online"
    )


def _blocked(sentence: str) -> MigrationBlockedError:
    return MigrationBlockedError(sentence, (sentence,))


def _one_line(name: str) -> str:
    """A name inside a comment of a script must not end the comment."""
    return " ".join(name.split())
