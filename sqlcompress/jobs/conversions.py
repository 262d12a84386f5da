"""What becomes of one stored value, checked before it replaces the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlcompress.codec import unframer
from sqlcompress.compressed import Compressed
from sqlcompress.errors import CorruptValueError, DecodeError
from sqlcompress.frames import MAGICS, is_framed
from sqlcompress.many import frames_of_many
from sqlcompress.stored import decoder, dictionaries_of, encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlcompress.dialects.rows import Rows, StoredAs


#: A new value, why there is none, or None for a row that gets none.
Converted = bytes | DecodeError | UnicodeError | None

_NOT_THE_SAME = "the compressed value does not read back as what it was made from"


class Conversion(Protocol):
    """Turns a stored value into the one that replaces it.

    Attributes:
        one_pass: Rows that change behind the pass need not be looked for: they are right as they are, or
            the caller finds them.
    """

    one_pass: bool

    def todo(self, rows: Rows) -> str | None:
        """SQL that leaves out rows which are done, or None where SQL cannot tell."""

    def writes(self, rows: Rows) -> StoredAs:
        """How the new values are kept."""

    def convert(self, stored: bytes) -> bytes:
        """The new value; the same object where nothing is to change.

        Raises:
            DecodeError: The value cannot be converted; the row is left as it was.
        """

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """:meth:`convert` for the values of a batch, each with its new value or what it would raise."""

    def reason(self, error: Exception) -> str:
        """Why a row failed, in words that hold nothing of its value."""
        return type(error).__name__


def one_by_one(convert: Callable[[bytes], bytes | None], values: Sequence[bytes]) -> list[Converted]:
    """What ``convert`` makes of each value, or what it raises."""
    converted: list[Converted] = []
    for value in values:
        try:
            converted.append(convert(value))
        except (DecodeError, UnicodeError) as error:  # noqa: PERF203 - one for each value
            converted.append(error)
    return converted


def _all_utf8(values: Sequence[bytes]) -> bool:
    """Whether each value is UTF-8: no character goes on across a line feed."""
    try:
        b"\n".join(values).decode()
    except UnicodeDecodeError:
        return False
    return True


class Compress(Conversion):
    """Plain values, and legacy formats where the type reads them, into the type's frames.

    Text and JSON tell by their first bytes whether they are done. Binary values do not: with
    ``each_once`` every value is taken for plain, and each must be met exactly once.
    """

    one_pass = False

    def __init__(self, type_: Compressed[Any], *, each_once: bool = False) -> None:
        self.type = type_
        self.each_once = each_once
        self._frames_only = type_.copy()
        self._frames_only.legacy = ()
        self._is_plain_text = type_.is_text and not type_.legacy and not each_once
        self._is_any_text = type(type_).check_plain is Compressed.check_plain
        self._many = frames_of_many(type_.codec) if self._is_plain_text else None
        self._encode = encoder(type_.codec, type_.min_size, type_.max_size, (), is_text=True)
        self._unframe = unframer(type_.max_size, dictionaries_of(type_.codec, type_.known))

    def todo(self, rows: Rows) -> str | None:
        """As for Conversion."""
        if self.each_once:
            return None
        if self.type.legacy:
            # A value from MySQL's COMPRESS() begins with its length, which can look like 78 9C or 1F 8B 08;
            # 28 B5 2F FD as a length would be above the 1 GB a value can have.
            left = f"NOT {rows.framed_sql(MAGICS[:1])}"
        else:
            left = f"({rows.size_sql()} >= {max(self.type.min_size, 1)} AND NOT {rows.framed_sql()})"
        binary = rows.is_binary_sql()
        return left if binary is None else f"(NOT ({binary}) OR {left})"

    def writes(self, rows: Rows) -> StoredAs:
        """As for Conversion."""
        del rows
        return "binary"

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion."""
        if self._is_plain_text and not stored.startswith(MAGICS):
            # The common case, flat: what the rest of this method would do, at half the cost.
            self.type.check_plain(stored)
            new = self._encode(stored)
            if new is stored:
                return stored
            if self._unframe(new) != stored:
                raise CorruptValueError(_NOT_THE_SAME)
            return new
        plain = self._plain_of(stored)
        if plain is None:
            return stored
        new = self.type.to_stored(plain)
        if new == stored:
            return stored
        if self._frames_only.from_stored(new) != plain or (
            self.type.legacy and self.type.from_stored(new) != plain
        ):
            raise CorruptValueError(_NOT_THE_SAME)
        return new

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """As for Conversion."""
        if self._many is None:
            return one_by_one(self.convert, values)
        smallest, largest = max(self.type.min_size, 1), self.type.max_size
        frames = self._many.frames(
            [value for value in values if smallest <= len(value) <= largest and not value.startswith(MAGICS)]
        )
        if frames is None:
            # One by one, to say which it is.
            return one_by_one(self.convert, values)
        if len(frames) == len(values) and self._is_any_text and _all_utf8(values):
            # The common case, flat: a call for each value costs more here than the comparison.
            return [
                frame if len(frame) < len(value) else value
                for frame, value in zip(frames, values, strict=True)
            ]
        framed, check = iter(frames), self.type.check_plain
        converted: list[Converted] = []
        for value in values:
            try:
                if smallest <= len(value) <= largest and not value.startswith(MAGICS):
                    frame = next(framed)
                    check(value)
                    converted.append(frame if len(frame) < len(value) else value)
                else:
                    converted.append(self.convert(value))
            except (DecodeError, UnicodeError) as error:  # noqa: PERF203 - one for each value
                converted.append(error)
        return converted

    def _plain_of(self, stored: bytes) -> bytes | None:
        """The plain value to frame, or None for a frame that reads back: it is done."""
        if self.each_once:
            return stored
        if not is_framed(stored):
            return self.type.from_stored(stored) if self.type.legacy else stored
        try:
            self._frames_only.from_stored(stored)
        except DecodeError:
            if not self.type.legacy:
                raise
            return self.type.from_stored(stored)
        return None


class Decompress(Conversion):
    """The type's frames back into plain values."""

    one_pass = False

    def __init__(self, type_: Compressed[Any], *, each_once: bool = False) -> None:
        self.type = type_
        self.each_once = each_once

    def todo(self, rows: Rows) -> str | None:
        """As for Conversion."""
        if self.each_once:
            return None
        return rows.is_binary_sql() or rows.framed_sql()

    def writes(self, rows: Rows) -> StoredAs:
        """As for Conversion."""
        return rows.plain_stored_as if self.type.is_text else "binary"

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion."""
        # The decoder checks lengths and checksums; a second decoding would run the same code again.
        plain = self.type.from_stored(stored)
        return stored if plain == stored else plain

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """As for Conversion."""
        return one_by_one(self.convert, values)


class Recompress(Conversion):
    """What one type has stored into what another would store: codec, level, dictionary, legacy formats.

    The same settings give the same bytes, so that a value is written only where something changes, and a
    second run writes nothing. A value that an application stores meanwhile is right whichever type it used.
    """

    one_pass = True

    def __init__(self, type_: Compressed[Any], existing_type: Compressed[Any]) -> None:
        self.existing_type = existing_type
        # What an earlier run has written already needs the new dictionary to be read.
        self._read = decoder(
            existing_type.codec,
            max(existing_type.max_size, type_.max_size),
            existing_type.legacy,
            is_text=existing_type.is_text,
            also=type_.codec,
            known=existing_type.known,
        )
        # A text that looks like a legacy format is framed, or a second run would decode it once more.
        self.type = type_.copy()
        self.type.legacy = tuple(dict.fromkeys((*type_.legacy, *existing_type.legacy)))
        self._frames_only = type_.copy()
        self._frames_only.legacy = ()

    def todo(self, rows: Rows) -> str | None:
        """As for Conversion; a frame does not tell its level, so all frames are read."""
        if self.existing_type.legacy:
            return None
        left = f"({rows.size_sql()} >= {max(self.type.min_size, 1)} OR {rows.framed_sql()})"
        binary = rows.is_binary_sql()
        return left if binary is None else f"(NOT ({binary}) OR {left})"

    def writes(self, rows: Rows) -> StoredAs:
        """As for Conversion."""
        del rows
        return "binary"

    def convert(self, stored: bytes) -> bytes:
        """As for Conversion."""
        plain = self._read(stored)
        new = self.type.to_stored(plain)
        if new == stored:
            return stored
        if self._frames_only.from_stored(new) != plain:
            raise CorruptValueError(_NOT_THE_SAME)
        return new

    def convert_all(self, values: Sequence[bytes]) -> list[Converted]:
        """As for Conversion."""
        return one_by_one(self.convert, values)
