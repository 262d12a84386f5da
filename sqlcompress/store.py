"""Dictionaries in the user's own database, so that every dump holds what its values need."""

from __future__ import annotations

import datetime as dt
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from sqlcompress.dialects import database_of
from sqlcompress.dialects.dictionarytable import NAME, NAME_LENGTH, dictionary_table, utc_in
from sqlcompress.dictionaries import Dictionary
from sqlcompress.entries import StoredDictionary, checked, not_there
from sqlcompress.errors import DictionaryNotFoundError, DictionaryStoreError
from sqlcompress.known import Known, known_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlcompress.training import Training

#: Seconds between publishing a dictionary and writing with it, and between retiring and dropping it. Engines
#: ask for news at least every 60 s and write with what they know for 120 s at most.
GRACE_SECONDS: Final = 180.0

_CONTENT = ("content",)


class DictionaryStore:
    """The table ``sqlcompress_dictionary``.

    Each call is a transaction of its own where ``bind`` is an engine. On a connection it is part of whatever
    transaction is open there, and the caller commits. With an ``AsyncEngine``, use
    ``await connection.run_sync(lambda c: DictionaryStore(c).publish(dictionary))``.

    Args:
        bind: An Engine or Connection.
        schema: The schema of the table; None for the connection's default.

    Raises:
        TypeError: ``bind`` is neither.
        DictionaryStoreError: Dictionaries cannot be kept in databases of this kind.
    """

    def __init__(self, bind: Engine | Connection, schema: str | None = None) -> None:
        if not isinstance(bind, (Engine, Connection)):
            raise TypeError(f"DictionaryStore takes an Engine or Connection, not {type(bind).__name__}")
        if not database_of(bind.dialect.name).keeps_dictionaries:
            raise DictionaryStoreError(
                f"dictionaries are kept on SQLite, PostgreSQL, MySQL and MariaDB, not on {bind.dialect.name};"
                " give the column a Dictionary from a file"
            )
        self._bind = bind
        self.schema = schema
        self.table = dictionary_table(schema)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        if isinstance(self._bind, Connection):
            yield self._bind
        else:
            with self._bind.begin() as connection:
                yield connection

    # The table --------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether the table is there."""
        with self._connection() as connection:
            return sa.inspect(connection).has_table(NAME, schema=self.schema)

    def create_table(self) -> None:
        """Make the table, if it is not there."""
        with self._connection() as connection:
            self.table.create(connection, checkfirst=True)

    def drop_table(self) -> None:
        """Drop the table.

        Raises:
            DictionaryStoreError: It still holds dictionaries, without which values cannot be read.
        """
        with self._connection() as connection:
            if not sa.inspect(connection).has_table(NAME, schema=self.schema):
                return
            count = connection.execute(sa.select(sa.func.count()).select_from(self.table)).scalar_one()
            if count:
                raise DictionaryStoreError(
                    f"{NAME} holds {count} dictionaries, without which the values made with them cannot be "
                    "read; drop each one first, which looks for such values"
                )
            self.table.drop(connection)

    # Reading ----------------------------------------------------------------------------------------------

    def list(self) -> list[StoredDictionary]:
        """All dictionaries by name, the latest last."""
        t = self.table
        columns = [column for column in t.c if column.name not in _CONTENT]
        now = utc_in()
        query = sa.select(
            *columns,
            sa.func.length(t.c.content).label("size"),
            (t.c.activated_at <= now).label("is_due"),
        ).order_by(t.c.name, t.c.activated_at.is_not(None), t.c.activated_at, t.c.created_at, t.c.id)
        with self._connection() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
        latest = {row["name"]: row["id"] for row in rows if row["is_due"] and row["retired_at"] is None}
        found = []
        for row in rows:
            is_due = row.pop("is_due")
            if row["retired_at"] is not None:
                state = "retired"
            elif row["activated_at"] is None:
                state = "published"
            elif not is_due:
                state = "scheduled"
            else:
                state = "active" if latest[row["name"]] == row["id"] else "replaced"
            found.append(StoredDictionary(state=state, **row))
        return found

    def info(self, dictionary_id: int) -> StoredDictionary:
        """What the store says of one dictionary.

        Raises:
            DictionaryNotFoundError: It is not there.
        """
        for found in self.list():
            if found.id == dictionary_id:
                return found
        raise not_there(dictionary_id)

    def get(self, dictionary_id: int) -> Dictionary:
        """A dictionary, checked against its SHA-256.

        Raises:
            DictionaryNotFoundError: It is not there, or its row is damaged.
        """
        t = self.table
        query = sa.select(t.c.id, t.c.name, t.c.content, t.c.sha256).where(t.c.id == dictionary_id)
        with self._connection() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise not_there(dictionary_id)
        return checked(*row)

    def active(self, name: str) -> Dictionary | None:
        """The dictionary that values are written with under a name; None before the first and after the last.

        Raises:
            DictionaryNotFoundError: Its row is damaged.
        """
        for found in self.list():
            if found.name == name and found.state == "active":
                return self.get(found.id)
        return None

    def load(self, known: Known) -> None:
        """Tell ``known`` of all dictionaries, and which are active; a damaged one is left out."""
        listed = self.list()
        learnt = []
        for entry in listed:
            if entry.id not in set(known):
                try:
                    learnt.append(self.get(entry.id))
                except DictionaryNotFoundError:
                    continue
        known.learn(learnt)
        at_hand = set(known)
        known.activate({e.name: known[e.id] for e in listed if e.state == "active" and e.id in at_hand})

    def now(self) -> dt.datetime:
        """The moment, UTC, by the server's clock."""
        with self._connection() as connection:
            moment: dt.datetime = connection.execute(sa.select(utc_in())).scalar_one()
            return moment

    # The life of a dictionary -----------------------------------------------------------------------------

    def publish(self, dictionary: Dictionary, training: Training | None = None) -> StoredDictionary:
        """Keep a dictionary, so that every reader can have it; nobody writes with it yet.

        Publishing it again changes nothing, or mends its row where that is damaged.

        Args:
            dictionary: The dictionary.
            training: What was measured when it was trained.

        Raises:
            DictionaryStoreError: The same content is there under another name, or the name is too long.
        """
        if len(dictionary.name) > NAME_LENGTH:
            raise DictionaryStoreError(
                f"a dictionary's name has at most {NAME_LENGTH} characters, this one {len(dictionary.name)}"
            )
        if "\0" in dictionary.name:
            raise DictionaryStoreError("the name of a dictionary cannot hold U+0000")
        t = self.table
        with self._connection() as connection:
            there = connection.execute(
                sa.select(t.c.name).where(t.c.id == dictionary.id)
            ).scalar_one_or_none()
            if there is None:
                connection.execute(
                    t.insert().values(
                        id=dictionary.id,
                        name=dictionary.name,
                        content=dictionary.content,
                        sha256=hashlib.sha256(dictionary.content).hexdigest(),
                        created_at=utc_in(),
                        **_figures(training),
                    )
                )
            elif there != dictionary.name:
                raise DictionaryStoreError(
                    f"the same dictionary is there under the name {there!r}; let the column name that one"
                )
            elif not self._is_whole(connection, dictionary.id):
                connection.execute(
                    t.update()
                    .where(t.c.id == dictionary.id)
                    .values(
                        content=dictionary.content,
                        sha256=hashlib.sha256(dictionary.content).hexdigest(),
                    )
                )
            known_of(connection.dialect).learn([dictionary])
            return DictionaryStore(connection, self.schema).info(dictionary.id)

    def _is_whole(self, connection: Connection, dictionary_id: int) -> bool:
        try:
            DictionaryStore(connection, self.schema).get(dictionary_id)
        except DictionaryNotFoundError:
            return False
        return True

    def activate(self, dictionary_id: int, *, after_seconds: float = GRACE_SECONDS) -> StoredDictionary:
        """Have values of its name written with a dictionary.

        Args:
            dictionary_id: Its id.
            after_seconds: Seconds after it was published, by when all readers have it: 180. With 0 it is used
                as soon as writers hear of it, and readers that meet it ask the database for it once.

        Raises:
            DictionaryNotFoundError: It is not there.
            DictionaryStoreError: It is retired.
        """
        if not 0 <= after_seconds <= 86_400 * 365:
            raise ValueError("after_seconds goes from 0 to a year")
        t = self.table
        with self._connection() as connection:
            own = DictionaryStore(connection, self.schema)
            found = own.info(dictionary_id)
            if found.state == "retired":
                raise DictionaryStoreError(
                    f"dictionary {dictionary_id} ({found.name!r}) is retired, and may be dropped any moment; "
                    "train a new one"
                )
            if found.state in {"published", "scheduled", "replaced"}:
                # Whichever is later: now, or the end of the grace period.
                wait = max(0.0, after_seconds - (own.now() - found.created_at).total_seconds())
                connection.execute(
                    t.update().where(t.c.id == dictionary_id).values(activated_at=utc_in(wait))
                )
            return own.info(dictionary_id)

    def retire(self, dictionary_id: int) -> StoredDictionary:
        """Have nobody write with a dictionary any more; what was written with it stays readable.

        If it was the active one, the one before it is again, or values are compressed without.

        Raises:
            DictionaryNotFoundError: It is not there.
        """
        t = self.table
        with self._connection() as connection:
            own = DictionaryStore(connection, self.schema)
            if own.info(dictionary_id).state != "retired":
                connection.execute(t.update().where(t.c.id == dictionary_id).values(retired_at=utc_in()))
            return own.info(dictionary_id)

    def retired_seconds(self, dictionary_id: int) -> float | None:
        """Seconds since a dictionary was retired, by the server's clock; None for one that is not."""
        with self._connection() as connection:
            own = DictionaryStore(connection, self.schema)
            retired_at = own.info(dictionary_id).retired_at
            return None if retired_at is None else (own.now() - retired_at).total_seconds()

    def remove(self, dictionary_id: int) -> None:
        """Delete a dictionary's row, whatever needs it: ``drop_dictionary()`` looks for values first."""
        with self._connection() as connection:
            connection.execute(self.table.delete().where(self.table.c.id == dictionary_id))


def _figures(training: Training | None) -> dict[str, int]:
    if training is None or training.chosen is None:
        return {}
    return {
        "level": training.chosen.level,
        "sample_rows": training.sample_rows,
        "sample_bytes": training.sample_bytes,
        "held_out_rows": training.held_out_rows,
        "held_out_bytes": training.held_out_bytes,
        "stored_bytes": training.chosen.stored_bytes,
        "stored_bytes_without": training.chosen.stored_bytes_without,
    }
