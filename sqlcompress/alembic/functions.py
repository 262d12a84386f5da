"""``op.create_decompress_function`` and ``op.drop_decompress_function``: for PostgreSQL to decode in SQL."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations.ops import MigrateOperation
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from sqlcompress.alembic.places import bind_of
from sqlcompress.codec import Zstd
from sqlcompress.dialects import plpython
from sqlcompress.dialects.dictionarytable import NAME
from sqlcompress.errors import MigrationBlockedError

if TYPE_CHECKING:
    from alembic.operations.base import Operations

_LOG = logging.getLogger("alembic.sqlcompress")
_EXTENSION = f"CREATE EXTENSION IF NOT EXISTS {plpython.LANGUAGE}"
_ADVICE = (
    "PL/Python is not to be had on this server: it needs the package postgresql-plpython3, and a superuser"
    f" for {_EXTENSION!r}, which hosted databases seldom allow. Without it decompressed() does not work on"
    " PostgreSQL; columns are read and written as before"
)


class CreateDecompressFunctionOp(MigrateOperation):
    """Make the functions."""

    name: ClassVar[str] = "create_decompress_function"

    def __init__(self, *, schema: str | None = None, dictionary_schema: str | None = None) -> None:
        self.schema = schema
        self.dictionary_schema = dictionary_schema

    @classmethod
    def create_decompress_function(
        cls, operations: Operations, *, schema: str | None = None, dictionary_schema: str | None = None
    ) -> None:
        """Make ``sqlcompress_text(bytea)`` and ``sqlcompress_binary(bytea)``, or make them anew.

        They are written in PL/Python, whose extension is created where it is missing. zstd frames need the
        package zstandard in the server's own Python; where it is missing the log says so.

        Args:
            operations: Given by Alembic.
            schema: Where they are made: one of the search path, since statements name them without it. None
                for the connection's default.
            dictionary_schema: The schema of ``sqlcompress_dictionary``; None for the connection's default.

        Raises:
            MigrationBlockedError: The database is not PostgreSQL, or does not allow PL/Python.
        """
        operations.invoke(cls(schema=schema, dictionary_schema=dictionary_schema))

    def reverse(self) -> DropDecompressFunctionOp:
        """The operation that undoes this one."""
        return DropDecompressFunctionOp(schema=self.schema)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema)


class DropDecompressFunctionOp(MigrateOperation):
    """Drop the functions."""

    name: ClassVar[str] = "drop_decompress_function"

    def __init__(self, *, schema: str | None = None) -> None:
        self.schema = schema

    @classmethod
    def drop_decompress_function(cls, operations: Operations, *, schema: str | None = None) -> None:
        """Drop them; the extension stays. The server refuses where an index or a view needs one.

        Args:
            operations: Given by Alembic.
            schema: As for ``create_decompress_function``.

        Raises:
            MigrationBlockedError: The database is not PostgreSQL.
        """
        operations.invoke(cls(schema=schema))

    def reverse(self) -> CreateDecompressFunctionOp:
        """The operation that undoes this one."""
        return CreateDecompressFunctionOp(schema=self.schema)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema)


def create_function(operations: Operations, op: CreateDecompressFunctionOp) -> None:
    """Make the functions of ``op``."""
    context = operations.migration_context
    _only_postgresql(operations)
    quote = context.dialect.identifier_preparer.quote
    dictionary_schema = op.dictionary_schema
    if not context.as_sql:
        connection = bind_of(operations)
        # Named in full: whose search path it is asked under is not known.
        dictionary_schema = dictionary_schema or connection.dialect.default_schema_name
        try:
            with connection.begin_nested():
                connection.execute(text(_EXTENSION))
        except DBAPIError as error:
            raise MigrationBlockedError(_ADVICE, (_ADVICE,)) from error
    else:
        operations.execute(_EXTENSION)
    table = quote(NAME) if dictionary_schema is None else f"{quote(dictionary_schema)}.{quote(NAME)}"
    for statement in plpython.create_functions_sql(_prefix(operations, op.schema), table):
        operations.execute(text(statement.replace(":", r"\:")))
    if not context.as_sql:
        _look_for_zstd(operations, op)


def drop_function(operations: Operations, op: DropDecompressFunctionOp) -> None:
    """Drop the functions of ``op``."""
    _only_postgresql(operations)
    for statement in plpython.drop_functions_sql(_prefix(operations, op.schema)):
        operations.execute(statement)


def _prefix(operations: Operations, schema: str | None) -> str:
    quote = operations.migration_context.dialect.identifier_preparer.quote
    return "" if schema is None else f"{quote(schema)}."


def _look_for_zstd(operations: Operations, op: CreateDecompressFunctionOp) -> None:
    connection = bind_of(operations)
    frame = Zstd().compressor()(b"x")
    call = f"SELECT {_prefix(operations, op.schema)}{plpython.TEXT}(decode('{frame.hex()}', 'hex'))"
    try:
        with connection.begin_nested():
            connection.execute(text(call)).scalar_one()
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        _LOG.warning("zstd frames cannot be read in SQL (%s); zlib and gzip frames can", reason)


def _only_postgresql(operations: Operations) -> None:
    name = operations.migration_context.dialect.name
    if name != "postgresql":
        sentence = f"only PostgreSQL has functions to make; on {name} decompressed() needs none"
        raise MigrationBlockedError(sentence, (sentence,))
