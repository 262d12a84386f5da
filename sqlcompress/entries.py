"""What a row of the table ``sqlcompress_dictionary`` says, and whether it is whole."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from typing import Any

from sqlcompress.dialects.dictionarytable import NAME
from sqlcompress.dictionaries import Dictionary
from sqlcompress.errors import DictionaryNotFoundError


@dataclass(frozen=True)
class StoredDictionary:
    """What the store says of a dictionary, without its content.

    Attributes:
        id: Its id.
        name: What columns call it.
        size: Bytes of its content.
        sha256: Of its content, in hexadecimal digits.
        state: ``"published"`` (readers have it), ``"scheduled"`` (its moment is to come), ``"active"`` (it is
            written with), ``"replaced"`` (a later one of its name is active) or ``"retired"``.
        created_at: When it was published; this and the other moments are UTC by the server's clock.
        activated_at: From when on it is, or was, written with.
        retired_at: From when on it is not any more.
        level: The compression level it was measured at; this and what follows is None where it was not
            trained here.
        sample_rows: Rows it was trained from.
        sample_bytes: Their plain bytes.
        held_out_rows: Rows it was measured on.
        held_out_bytes: Their plain bytes.
        stored_bytes: What they take with the dictionary.
        stored_bytes_without: What they take without.
    """

    id: int
    name: str
    size: int
    sha256: str
    state: str
    created_at: dt.datetime
    activated_at: dt.datetime | None
    retired_at: dt.datetime | None
    level: int | None
    sample_rows: int | None
    sample_bytes: int | None
    held_out_rows: int | None
    held_out_bytes: int | None
    stored_bytes: int | None
    stored_bytes_without: int | None


def checked(dictionary_id: int, name: str, content: Any, sha256: str) -> Dictionary:
    """The dictionary that a row holds.

    Raises:
        DictionaryNotFoundError: The row is not what was written.
    """
    content = bytes(content)
    if hashlib.sha256(content).hexdigest() == sha256:
        try:
            found = Dictionary(name, content)
        except ValueError:
            found = None
        if found is not None and found.id == dictionary_id:
            return found
    raise DictionaryNotFoundError(
        f"dictionary {dictionary_id} is damaged where it is kept: its content is not what its SHA-256 says. "
        "Put its row back from a backup, or from a file with `sqlcompress dictionaries import`",
        dictionary_id,
    )


def not_there(dictionary_id: int) -> DictionaryNotFoundError:
    """The error for a dictionary that the table does not hold."""
    return DictionaryNotFoundError(
        f"there is no dictionary {dictionary_id} in {NAME}: it was dropped, or never came along with a dump. "
        "Put it back from a backup, or from a file with `sqlcompress dictionaries import`",
        dictionary_id,
    )
