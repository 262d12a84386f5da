"""``--sql`` mode: the type change as SQL, and a marker that cannot be missed for the rows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON
from sqlalchemy.types import LargeBinary, _Binary

from sqlcompress.codec import Zstd
from sqlcompress.compressed import DEFAULT_MIN_SIZE, Compressed
from sqlcompress.dialects.alter import alteration_of
from sqlcompress.dialects.tables import Column, Kind, TableName
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.types import CompressedBinary, CompressedJSON

if TYPE_CHECKING:
    from alembic.operations.base import Operations
    from sqlalchemy.types import TypeEngine

    from sqlcompress.alembic.ops import CompressColumnOp, DecompressColumnOp


def compress_in_script(operations: Operations, op: CompressColumnOp) -> None:
    """Write the type change; rows stay plain, which the compressed types read."""
    dialect = operations.migration_context.dialect
    alteration = alteration_of(dialect)
    if op.dry_run:
        raise _blocked(
            "dry_run=True looks at the database, which a script cannot; take it out, and read the script"
        )
    if op.existing_type is None:
        raise _blocked("--sql mode needs compress_column(existing_type=…): there is no database to ask")
    if op.strategy != "rewrite":
        raise _blocked(
            f'strategy="{op.strategy}" moves rows, which a script cannot; run this revision online'
        )
    if isinstance(op.type_, CompressedBinary):
        raise _blocked(
            "a plain binary value that begins like a frame would be taken for one once the rows are left to "
            "later; run this revision online"
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
        "-- !!! They stay readable as they are. To compress them, run afterwards, at any time:\n"
        f"-- !!!   {_one_line(_command(op, op.type_))}\n"
        + (
            "-- !!! A COMMENT of the column is not known here: add it to MODIFY, or it is lost.\n"
            if alteration.restates
            else ""
        )
    )
    for statement in alteration.offline(name, column):
        text = statement.replace("%%", "%") if dialect.paramstyle in {"format", "pyformat"} else statement
        operations.migration_context.impl.static_output(text + ";\n")


def _command(op: CompressColumnOp, type_: TypeEngine[Any]) -> str:
    """The command that compresses the rows."""
    assert isinstance(type_, Compressed)  # noqa: S101 - the operation has checked it
    codec: Any = type_.codec
    words = ["sqlcompress", "rewrite", "URL", shlex.quote(op.table_name), shlex.quote(op.column_name)]
    if op.schema is not None:
        words += ["--schema", shlex.quote(op.schema)]
    if isinstance(type_, CompressedJSON):
        words += ["--type", "json"]
    if not isinstance(codec, Zstd):
        words += ["--codec", type(codec).__name__.lower()]
    if codec.level != type(codec)().level:
        words += ["--level", str(codec.level)]
    if getattr(codec, "dictionary", None) is not None:
        named = isinstance(codec.dictionary, str)
        words += ["--dictionary-name", shlex.quote(codec.dictionary)] if named else ["--dictionary", "FILE"]
    if type_.min_size != DEFAULT_MIN_SIZE:
        words += ["--min-size", str(type_.min_size)]
    for name in type_.legacy:
        words += ["--legacy", name]
    if op.where is not None:
        words += ["--where", shlex.quote(op.where)]
    return " ".join(words)


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
