"""A column's type with the dictionaries of the database that a job is to work on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from sqlcompress.loading import loader_for
from sqlcompress.store import DictionaryStore

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from sqlcompress.compressed import Compressed

_CompressedT = TypeVar("_CompressedT", bound="Compressed[Any]")

_LOG = logging.getLogger("alembic.sqlcompress")


def with_dictionaries(connection: Connection, type_: _CompressedT, schema: str | None = None) -> _CompressedT:
    """The type as a job uses it: a dictionary's name stands for the one that is active now.

    Frames of any dictionary in the database are read, also of one that comes while the job runs.

    Args:
        connection: A connection to the database.
        type_: A type whose codec may name a dictionary.
        schema: The schema of the table; its ``sqlcompress_dictionary`` is used where the connection's default
            schema has none, and that of ``install(engine, schema=…)`` before either.
    """
    store = store_of(connection, schema)
    loader = loader_for(connection.engine, None if store is None else store.schema)
    if store is not None:
        store.load(loader.known)
    known = type_.knowing(loader.known)
    name = getattr(type_.codec, "dictionary", None)
    if isinstance(name, str) and loader.known.active.get(name) is None:
        _LOG.warning("no dictionary %r is active yet: values are compressed without one", name)
    return known


def store_of(connection: Connection, schema: str | None = None) -> DictionaryStore | None:
    """The dictionaries of a database; None where it has no table of them.

    Args:
        connection: A connection to the database.
        schema: As for :func:`with_dictionaries`.
    """
    installed = loader_for(connection.engine, None).schema
    for candidate in dict.fromkeys((installed, None, schema)):
        store = DictionaryStore(connection, candidate)
        if store.exists():
            return store
    return None
