"""Whether a dictionary still fits the rows that are written now."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import zstandard

from sqlcompress.dialects.dictionarytable import NAME
from sqlcompress.dialects.places import places
from sqlcompress.errors import MigrationBlockedError
from sqlcompress.frames import ZSTD_MAGIC
from sqlcompress.jobs.at_hand import with_dictionaries
from sqlcompress.jobs.sample import newest, plain_values, spread
from sqlcompress.training import MIN_GAIN, Training, train
from sqlcompress.types import CompressedBinary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine import Connection

    from sqlcompress.dialects.places import Place
    from sqlcompress.entries import StoredDictionary
from sqlcompress.store import DictionaryStore

#: As many newest rows, and as many from all over the table, tell which dictionaries a column is written with.
_LOOKED_AT, _LOOKED_AT_BYTES = 500, 16_777_216
#: Fresh rows that a new dictionary is trained from and both are measured on.
FRESH_ROWS = 5000


_BEFORE_BYTES = 33_554_432


@dataclass(frozen=True)
class Use:
    """A column that is written with a dictionary.

    Attributes:
        schema: The table's schema; None for the connection's default.
        table: The table.
        column: The column.
        name: The dictionary's name.
        dictionary_id: The active dictionary of that name.
    """

    schema: str | None
    table: str
    column: str
    name: str
    dictionary_id: int

    def __str__(self) -> str:
        table = self.table if self.schema is None else f"{self.schema}.{self.table}"
        return f"{table}.{self.column}"


@dataclass(frozen=True)
class Drift:
    """What a column's dictionary achieves on its newest rows, and what a new one would.

    Attributes:
        use: The column and its dictionary.
        training: The new one, trained and measured; its ``rival`` is the one at work.
        pays: Whether the new one stores less by the margin asked for.
        reason: Why, in words.
    """

    use: Use
    training: Training
    pays: bool
    reason: str

    @property
    def gain(self) -> float:
        """The part of the stored bytes that the new one would save; 0 where there is none."""
        chosen, rival = self.training.chosen, self.training.rival
        if chosen is None or rival is None or not rival.stored_bytes:
            return 0.0
        return 1 - chosen.stored_bytes / rival.stored_bytes


def uses(
    connection: Connection, store: DictionaryStore, schemas: Sequence[str] | None = None
) -> Iterator[Use]:
    """The columns with frames of dictionaries that the database keeps, by a look at some hundred rows each.

    Args:
        connection: A connection to the database.
        store: Where dictionaries are kept.
        schemas: Where to look; None for all schemas on PostgreSQL, for the connection's database elsewhere.
    """
    listed = store.list()
    name_of = {entry.id: entry.name for entry in listed}
    active = {entry.name: entry.id for entry in listed if entry.state == "active"}
    for place in places(connection, schemas):
        if place.table == NAME:
            continue
        for column in place.columns:
            try:
                stored = _looked_at(connection, place, column)
            except MigrationBlockedError:
                continue  # no key to walk by
            names = {name_of[i] for value in stored if (i := dictionary_of(value)) in name_of}
            for name in sorted(names):
                if name in active:
                    yield Use(place.schema, place.table, column, name, active[name])


def _looked_at(connection: Connection, place: Place, column: str) -> Iterator[bytes]:
    """The newest rows, and some from all over the table: a dictionary that fits no more leaves rows plain."""
    where = (connection, place.table, column)
    return chain(
        newest(*where, schema=place.schema, max_rows=_LOOKED_AT, max_bytes=_LOOKED_AT_BYTES),
        spread(*where, schema=place.schema, max_rows=_LOOKED_AT, max_bytes=_LOOKED_AT_BYTES),
    )


def dictionary_of(stored: bytes) -> int:
    """The id of the dictionary that a stored value needs; 0 for none."""
    if not stored.startswith(ZSTD_MAGIC):
        return 0
    try:
        return zstandard.get_frame_parameters(stored).dict_id
    except zstandard.ZstdError:
        return 0


def drift(
    connection: Connection,
    store: DictionaryStore,
    use: Use,
    *,
    min_gain: float = MIN_GAIN,
    rows: int = FRESH_ROWS,
    progress: Callable[[str], None] | None = None,
) -> Drift:
    """Compare the active dictionary on a column's newest rows with one trained from them and from others.

    Both are measured on rows that neither was trained from, as far as the newest rows are newer than the
    training of the active one.

    Args:
        connection: A connection to the database.
        store: Where dictionaries are kept.
        use: The column.
        min_gain: The part of the stored bytes that a new one has to save to pay.
        rows: Newest rows that are looked at.
        progress: Told what is being done, in words.

    Raises:
        DictionaryNotFoundError: The active dictionary is damaged.
    """
    active = store.get(use.dictionary_id)
    entry: StoredDictionary = store.info(use.dictionary_id)
    type_ = with_dictionaries(connection, CompressedBinary(), use.schema)
    if progress is not None:
        progress(f"reading the newest rows of {use}")
    stored = newest(connection, use.table, use.column, schema=use.schema, max_rows=rows)
    values = plain_values(stored, type_)
    values = [value for value in values if len(value) >= type_.min_size]
    # Rows of before are to be recompressed with it, too.
    before = plain_values(
        spread(connection, use.table, use.column, schema=use.schema, max_rows=rows, max_bytes=_BEFORE_BYTES),
        type_,
    )
    training = train(
        use.name,
        values,
        sizes=_sizes(len(active.content)),
        levels=(entry.level or 3,),
        min_gain=0.0,
        rival=active,
        also=[value for value in before if len(value) >= type_.min_size],
        progress=progress,
    )
    found = Drift(use, training, pays=False, reason="")
    if training.chosen is None or training.rival is None:
        return Drift(use, training, pays=False, reason=training.reason)
    numbers = (
        f"on {training.held_out_rows:,} fresh values the active one reaches ratio {training.rival.ratio:.2f},"
        f" a new one {training.chosen.ratio:.2f}"
    )
    if found.gain >= min_gain:
        return Drift(use, training, pays=True, reason=f"{numbers}: it would store {found.gain:.1%} less")
    return Drift(use, training, pays=False, reason=f"{numbers}: less than {min_gain:.0%} would be saved")


def _sizes(current: int) -> tuple[int, ...]:
    """Sizes to try: about that of the dictionary at work, so that like is compared with like."""
    return (max(256, min(current, 1_048_576)),)
