"""A dictionary trained from a table as it is, and kept in the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlcompress.compressed import Compressed
from sqlcompress.entries import StoredDictionary
from sqlcompress.errors import DictionaryStoreError
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.sample import SAMPLE_BYTES, SAMPLE_ROWS, sample
from sqlcompress.store import GRACE_SECONDS, DictionaryStore
from sqlcompress.training import MIN_GAIN, SIZES, Training, train

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Connection


@dataclass(frozen=True)
class Trained:
    """What came of it.

    Attributes:
        training: What was measured, and why a dictionary was taken or none.
        stored: The dictionary as the database keeps it; None where there is none.
    """

    training: Training
    stored: StoredDictionary | None


def train_from(
    connection: Connection,
    name: str,
    table: str,
    column: str,
    *,
    type_: Compressed[Any],
    store: DictionaryStore,
    schema: str | None = None,
    where: str | None = None,
    sizes: Sequence[int] = SIZES,
    levels: Sequence[int] | None = None,
    min_gain: float = MIN_GAIN,
    sample_rows: int = SAMPLE_ROWS,
    sample_bytes: int = SAMPLE_BYTES,
    activate_after: float = GRACE_SECONDS,
    keep: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Trained:
    """Train a dictionary from a column's values, plain or compressed, publish it and have it activated.

    Args:
        connection: A connection to the database; the caller commits.
        name: What columns call the dictionary.
        table: The table.
        column: The column.
        type_: The compressed type that the column has, or is to have.
        store: Where dictionaries are kept.
        schema: The table's schema.
        where: A condition in SQL: only these rows.
        sizes: As for :func:`~sqlcompress.training.train`.
        levels: As for :func:`~sqlcompress.training.train`; None for that of the type's codec.
        min_gain: As for :func:`~sqlcompress.training.train`.
        sample_rows: Values to train from and measure on, at most.
        sample_bytes: Their plain bytes, at most.
        activate_after: Seconds after publishing from which on it is written with.
        keep: False only measures.
        progress: Told what is being done, in words.

    Raises:
        DictionaryStoreError: The database has no table of dictionaries.
        MigrationBlockedError: The table or column is not there, or there is no key to walk by.
        ValueError: A setting is out of bounds.
    """
    if keep and not store.exists():
        raise DictionaryStoreError(NO_TABLE)
    reading = with_dictionaries(connection, type_, schema)
    if progress is not None:
        progress(f"reading a sample of {table}.{column}")
    values = sample(
        connection,
        table,
        column,
        type_=reading,
        schema=schema,
        where=where,
        max_rows=sample_rows,
        max_bytes=sample_bytes,
    )
    # Shorter values are stored as they are, with or without a dictionary.
    values = [value for value in values if len(value) >= type_.min_size]
    if levels is None:
        levels = (getattr(type_.codec, "level", 3),) if type_.codec.name == "zstd" else (3,)
    training = train(name, values, sizes=sizes, levels=levels, min_gain=min_gain, progress=progress)
    if training.dictionary is None or not keep:
        return Trained(training, None)
    store.publish(training.dictionary, training)
    return Trained(training, store.activate(training.dictionary.id, after_seconds=activate_after))


#: What to say where the table is missing.
NO_TABLE = (
    "the database has no table sqlcompress_dictionary: create it with op.create_dictionary_table() in a "
    "revision, or DictionaryStore(engine).create_table()"
)
