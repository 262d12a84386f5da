"""``op.create_dictionary_table``, ``op.drop_dictionary_table`` and ``op.train_dictionary``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from alembic.operations.ops import CreateTableOp, MigrateOperation
from sqlalchemy.types import to_instance

from sqlcompress.alembic.places import bind_of, places, read_only
from sqlcompress.compressed import Compressed
from sqlcompress.dialects.dictionarytable import NAME, dictionary_table
from sqlcompress.errors import DictionaryStoreError, MigrationBlockedError
from sqlcompress.jobs.references import find_references
from sqlcompress.jobs.train import train_from
from sqlcompress.store import DictionaryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alembic.operations.base import Operations
    from sqlalchemy.types import TypeEngine

_LOG = logging.getLogger("alembic.sqlcompress")


class CreateDictionaryTableOp(MigrateOperation):
    """Make the table of dictionaries."""

    name: ClassVar[str] = "create_dictionary_table"

    def __init__(self, *, schema: str | None = None) -> None:
        self.schema = schema

    @classmethod
    def create_dictionary_table(cls, operations: Operations, *, schema: str | None = None) -> None:
        """Make the table ``sqlcompress_dictionary``, where it is not there yet.

        Args:
            operations: Given by Alembic.
            schema: Its schema; None for the connection's default.
        """
        operations.invoke(cls(schema=schema))

    def reverse(self) -> DropDictionaryTableOp:
        """The operation that undoes this one."""
        return DropDictionaryTableOp(schema=self.schema)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema)


class DropDictionaryTableOp(MigrateOperation):
    """Drop the table of dictionaries, and those in it."""

    name: ClassVar[str] = "drop_dictionary_table"

    def __init__(self, *, schema: str | None = None) -> None:
        self.schema = schema

    @classmethod
    def drop_dictionary_table(cls, operations: Operations, *, schema: str | None = None) -> None:
        """Drop the table ``sqlcompress_dictionary``, once no value of the database needs what is in it.

        Every binary column is looked through for frames with one of its dictionaries.

        Args:
            operations: Given by Alembic.
            schema: Its schema; None for the connection's default.

        Raises:
            MigrationBlockedError: Values need a dictionary; nothing was changed. Or in ``--sql`` mode.
        """
        operations.invoke(cls(schema=schema))

    def reverse(self) -> CreateDictionaryTableOp:
        """The operation that undoes this one."""
        return CreateDictionaryTableOp(schema=self.schema)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema)


class TrainDictionaryOp(MigrateOperation):
    """Train a dictionary from a table."""

    name: ClassVar[str] = "train_dictionary"

    def __init__(
        self,
        dictionary_name: str,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        schema: str | None = None,
        dictionary_schema: str | None = None,
        settings: dict[str, Any],
    ) -> None:
        self.dictionary_name = dictionary_name
        self.table_name = table_name
        self.column_name = column_name
        self.type_: TypeEngine[Any] = to_instance(type_)
        self.schema = schema
        self.dictionary_schema = dictionary_schema
        self.settings = settings
        if not isinstance(self.type_, Compressed):
            raise TypeError(
                "train_dictionary(type_=…) takes CompressedText, CompressedJSON or CompressedBinary: the "
                "type that the column has, or is to have"
            )

    @classmethod
    def train_dictionary(
        cls,
        operations: Operations,
        dictionary_name: str,
        table_name: str,
        column_name: str,
        *,
        type_: TypeEngine[Any],
        schema: str | None = None,
        dictionary_schema: str | None = None,
        sizes: Sequence[int] = (16_384, 65_536, 262_144),
        min_gain: float = 0.05,
        sample_rows: int = 20_000,
        where: str | None = None,
        activate_after: float = 0.0,
    ) -> None:
        """Train a dictionary from a table as it is, plain or compressed, and keep it in the database.

        A later operation of the same revision can compress with it, where ``type_`` names it. Where none pays
        the log says why, and columns that name it compress without. One of this name that is there already
        is left as it is, so that a revision can be run again.

        Args:
            operations: Given by Alembic.
            dictionary_name: What columns call it, as in ``Zstd(dictionary="events")``.
            table_name: The table.
            column_name: The column.
            type_: The compressed type that the column has, or is to have; its level is measured.
            schema: The table's schema.
            dictionary_schema: The schema of ``sqlcompress_dictionary``; None for the connection's default.
            sizes: Bytes of the dictionaries to try, each from 256 to 1 MiB. The smallest is taken that stores
                no more than 2 % more than the best.
            min_gain: The part of the stored bytes that has to be saved: 0.05, on rows held out of training.
            sample_rows: Values to train from and measure on, from all over the table.
            where: A condition in SQL: only these rows.
            activate_after: Seconds after which it is written with. 0: the version of the application that
                names it comes after the migration; where one runs already, 180 is the time by which all of
                its processes have it. With less, those that meet it ask the database for it.

        Raises:
            MigrationBlockedError: There is no such table or column, no key to walk by, or no table of
                dictionaries; or in ``--sql`` mode.
            ValueError: A setting is out of bounds.
        """
        settings = {
            "sizes": tuple(sizes),
            "min_gain": min_gain,
            "sample_rows": sample_rows,
            "where": where,
            "activate_after": activate_after,
        }
        operations.invoke(
            cls(
                dictionary_name,
                table_name,
                column_name,
                type_=type_,
                schema=schema,
                dictionary_schema=dictionary_schema,
                settings=settings,
            )
        )

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """As ``alembic.autogenerate.compare_metadata`` lists it."""
        return (self.name, self.schema, self.table_name, self.column_name, self.dictionary_name)


def create_table(operations: Operations, op: CreateDictionaryTableOp) -> None:
    """Make the table of ``op``."""
    if operations.migration_context.as_sql:
        operations.invoke(CreateTableOp.from_table(dictionary_table(op.schema)))
        return
    connection = bind_of(operations)
    DictionaryStore(connection, op.schema).create_table()


def drop_table(operations: Operations, op: DropDictionaryTableOp) -> None:
    """Drop the table of ``op``."""
    if operations.migration_context.as_sql:
        _refuse_in_script("drop_dictionary_table() looks through the database for values that need it")
    # Outside the migration's transaction: what it has not committed, others cannot look at.
    with places(operations, op.schema, atomic=False) as (ddl, rows):
        store = DictionaryStore(ddl, op.schema)
        if not store.exists():
            _LOG.info("there is no table %s; nothing to drop", NAME)
            return
        listed = store.list()
        references = find_references(rows, [entry.id for entry in listed])
        if references:
            sentences = tuple(
                f"{reference.rows:,} values of {reference.table}.{reference.column} need a dictionary; "
                "decompress the column, or recompress it without one, first"
                for reference in references
            )
            raise MigrationBlockedError(
                f"{NAME} cannot be dropped; nothing has been changed:"
                + "".join(f"\n  - {sentence}" for sentence in sentences),
                sentences,
            )
        for entry in listed:
            store.remove(entry.id)
        store.drop_table()
        _LOG.info("dropped %s with %d dictionaries", NAME, len(listed))


def train_dictionary(operations: Operations, op: TrainDictionaryOp) -> None:
    """Train the dictionary of ``op``."""
    if operations.migration_context.as_sql:
        _refuse_in_script("train_dictionary() reads the table")
    connection = bind_of(operations)
    type_: Compressed[Any] = op.type_  # type: ignore[assignment]  # the operation has checked it
    store = DictionaryStore(connection, op.dictionary_schema)
    name = op.dictionary_name
    with read_only(connection):
        is_there = store.exists() and any(
            entry.name == name and entry.state != "retired" for entry in store.list()
        )
    if is_there:
        _LOG.info("a dictionary %r is there already; none is trained", name)
        return
    settings = dict(op.settings)
    try:
        trained = train_from(
            connection,
            name,
            op.table_name,
            op.column_name,
            type_=type_,
            store=store,
            schema=op.schema,
            **settings,
        )
    except DictionaryStoreError as error:
        raise MigrationBlockedError(str(error), (str(error),)) from error
    training = trained.training
    if trained.stored is None:
        _LOG.warning("no dictionary %r: %s", name, training.reason)
        return
    _LOG.info("dictionary %r (%d): %s", name, trained.stored.id, training.reason)


def _refuse_in_script(reason: str) -> None:
    sentence = f"{reason}, so it cannot go into a script; run this revision online"
    raise MigrationBlockedError(sentence, (sentence,))
