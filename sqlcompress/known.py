"""The dictionaries that one engine knows: by id for reading, by name for writing.

A column's type is one object for all engines, and each engine's database has dictionaries of its own. What an
engine knows hangs on its dialect, which is what a type is given when it is asked for its functions.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlcompress.codec import Zstd

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlcompress.codec import BytesFunction, Codec
    from sqlcompress.dictionaries import Dictionary


class _Named:
    """What frames the values of a codec that names its dictionary: exchanged while others call it."""

    def __init__(self, compress: BytesFunction) -> None:
        self.compress = compress


class Known(Mapping[int, "Dictionary"]):
    """Dictionaries by id, and which of them is written with under which name. Safe in any thread.

    Attributes:
        ask: Asked for an id that is not known; None, or a DictionaryNotFoundError that says why not.
        writes_until: Seconds of ``time.monotonic()`` after which what is known is too old to write with:
            values are compressed without a dictionary then, and ``overdue`` is called.
        overdue: Called, from any thread and for each value, by whoever writes too late.
    """

    def __init__(self) -> None:
        self.ask: Callable[[int], Dictionary | None] | None = None
        self.overdue: Callable[[], None] | None = None
        self.writes_until = math.inf
        self._by_id: dict[int, Dictionary] = {}
        self._active: dict[str, Dictionary] = {}
        self._named: dict[Zstd, _Named] = {}
        self._lock = threading.Lock()

    # Reading ----------------------------------------------------------------------------------------------

    def __getitem__(self, dictionary_id: int) -> Dictionary:
        found = self._by_id.get(dictionary_id)
        if found is None and self.ask is not None:
            found = self.ask(dictionary_id)
            if found is not None:
                self.learn([found])
        if found is None:
            raise KeyError(dictionary_id)
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._by_id))

    def __len__(self) -> int:
        return len(self._by_id)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def loaded(self) -> Mapping[int, Dictionary]:
        """What is known now; an id that is not is not asked for."""
        return self._by_id

    def learn(self, dictionaries: Iterable[Dictionary]) -> None:
        """Have these at hand for reading."""
        self._by_id.update({dictionary.id: dictionary for dictionary in dictionaries})

    def forget_others(self, ids: Iterable[int]) -> None:
        """Keep only these ids."""
        kept = set(ids)
        for dictionary_id in list(self._by_id):
            if dictionary_id not in kept:
                self._by_id.pop(dictionary_id, None)

    # Writing ----------------------------------------------------------------------------------------------

    @property
    def active(self) -> Mapping[str, Dictionary]:
        """The dictionaries that are written with, by name."""
        return self._active

    def activate(self, active: Mapping[str, Dictionary]) -> None:
        """Write with these from now on, and without where a name is not among them."""
        with self._lock:
            self._active = dict(active)
            for codec, named in self._named.items():
                named.compress = self.resolved(codec).compressor()

    def resolved(self, codec: Codec) -> Codec:
        """The codec with the dictionary that its name stands for now, or without one."""
        if isinstance(codec, Zstd) and isinstance(codec.dictionary, str):
            return replace(codec, dictionary=self._active.get(codec.dictionary))
        return codec

    def compressor(self, codec: Codec) -> BytesFunction:
        """As ``codec.compressor()``; a name stands for whatever dictionary is active at each call."""
        if not isinstance(codec, Zstd) or not isinstance(codec.dictionary, str):
            return codec.compressor()
        with self._lock:
            named = self._named.get(codec)
            if named is None:
                named = self._named[codec] = _Named(self.resolved(codec).compressor())
        without = replace(codec, dictionary=None).compressor()
        now = time.monotonic

        def compress(plain: bytes) -> bytes:
            if now() > self.writes_until:
                if self.overdue is not None:
                    self.overdue()
                return without(plain)
            return named.compress(plain)

        return compress


_of_dialects: WeakKeyDictionary[Any, Known] = WeakKeyDictionary()
_lock = threading.Lock()


def known_of(dialect: object) -> Known:
    """What the engine of a dialect knows; empty until it is told."""
    with _lock:
        found = _of_dialects.get(dialect)
        if found is None:
            found = _of_dialects[dialect] = Known()
        return found


def _renew_locks() -> None:
    # Another thread may have held one at the moment of the fork.
    global _lock  # noqa: PLW0603 - there is one for the process
    _lock = threading.Lock()
    for known in list(_of_dialects.values()):
        known._lock = threading.Lock()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
