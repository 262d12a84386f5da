"""What can go wrong, as types a caller can catch.

No message carries a stored value or a piece of one: messages end up in logs.
"""

from __future__ import annotations

from typing import NoReturn


class SqlcompressError(Exception):
    """The base of every error this package defines."""


class DecodeError(SqlcompressError, ValueError):
    """A stored value cannot be given back exactly, so nothing is given back."""


class CorruptValueError(DecodeError):
    """A value begins like a frame and is cut, altered or followed by other bytes."""


class UnknownFormatError(DecodeError):
    """A value is neither a frame nor plain text, or of a type no driver hands over for binary columns."""


class ValueTooLargeError(DecodeError):
    """A value is larger than the column's ``max_size``; raised on write and on read."""


class DictionaryNotFoundError(DecodeError):
    """A frame was written with a dictionary that is not at hand.

    Attributes:
        dictionary_id: The id the frame names.
    """

    def __init__(self, message: str, dictionary_id: int | None = None) -> None:
        super().__init__(message)
        self.dictionary_id = dictionary_id

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.dictionary_id)


class DictionaryStoreError(SqlcompressError):
    """What was asked of a database's dictionaries would lose something or makes no sense; nothing changed."""


class MigrationBlockedError(SqlcompressError):
    """A migration would lose something, so it was refused before anything changed.

    Attributes:
        blockers: One sentence for each thing in the way: what it is, and what to do about it.
    """

    def __init__(self, message: str, blockers: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.blockers = blockers

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.blockers)


class MigrationFailedError(SqlcompressError):
    """A migration stopped, or ended with rows it could not convert; running it again resumes it.

    Attributes:
        failed_keys: Keys of rows that were left as they were; bounded in number, never values.
    """

    def __init__(self, message: str, failed_keys: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.failed_keys = failed_keys

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.failed_keys)


class ServerUnavailableError(SqlcompressError):
    """No server program of a kind could be started on this machine; the message says why."""


class MissingDependencyError(SqlcompressError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


def raise_alone(error: Exception) -> NoReturn:
    """Raise ``error`` without the error that is being handled.

    ``raise … from None`` hides that one and keeps it as ``__context__``; an encoding error there holds the
    whole value, and error reporters that walk the chain would show it.
    """
    try:
        raise error
    finally:
        error.__context__ = None
