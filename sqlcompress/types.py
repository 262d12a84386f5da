"""The column types: CompressedText, CompressedJSON and CompressedBinary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlalchemy import JSON
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.elements import Null

from sqlcompress.codec import BytesFunction, Codec, unframer
from sqlcompress.compressed import (
    DEFAULT_MAX_SIZE,
    DEFAULT_MIN_SIZE,
    Compressed,
    Processor,
    driver_bytes,
)
from sqlcompress.errors import DecodeError, SqlcompressError, UnknownFormatError, raise_alone
from sqlcompress.frames import MAGICS
from sqlcompress.known import known_of
from sqlcompress.placement import Place, raise_on_read, raise_on_write
from sqlcompress.stored import checked_utf8, decoder, dictionaries_of, encoder

#: Compact and not ASCII-escaped: fewer bytes before compression and after. A prebuilt encoder takes 8.5
#: microseconds for 900 bytes where json.dumps() with the same settings takes 9.8. NaN and the infinities are
#: not JSON (RFC 8259, section 6); the databases' own JSON types refuse them too.
_DUMPS: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_LOADS: Final = json.JSONDecoder().decode


class CompressedText(Compressed[str]):
    """Text, compressed into a binary column.

    Any ``str`` that UTF-8 can encode comes back exactly as it was.

    Args:
        codec: ``Zstd(…)``, ``Zlib(…)``, ``Gzip(…)``; ``"zstd"``, ``"zlib"``, ``"gzip"`` for the defaults.
        min_size: Texts of fewer UTF-8 bytes are stored as they are; 64 by default, below which a frame's
            own bytes eat most of what it saves.
        max_size: The most bytes of plain text a value may have, on write and on read. 256 MiB by default; at
            most 4 GiB - 1. It bounds the memory that one stored value can make a reader allocate.
        legacy: Formats of other software to read as well: ``"mysql"`` (COMPRESS()), ``"zlib"`` (a stream
            with any header), ``"base64"`` (text around one of these or a frame).

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: A setting is out of bounds, or a name is unknown.
    """

    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        """``str``."""
        return str

    def _make_bind(self, dialect: Dialect) -> Processor:
        known = known_of(dialect)
        encode = encoder(self.codec, self.min_size, self.max_size, self.legacy, is_text=True, known=known)
        place = self.place

        def bind(value: Any) -> bytes | None:
            if value is None:
                return None
            try:
                if isinstance(value, str):
                    return encode(value.encode())
            except UnicodeEncodeError as error:
                message = (
                    f"the text has a lone surrogate at position {error.start}, which UTF-8 cannot encode"
                )
                raise_on_write(ValueError, message, place)
            except SqlcompressError as error:
                raise_on_write(type(error), str(error), place)
            raise_on_write(TypeError, f"CompressedText takes str, not {type(value).__name__}", place)

        return bind

    def _make_result(self, dialect: Dialect) -> Processor:
        text = self._stored_text(dialect)

        def result(value: Any) -> str | None:
            return None if value is None else text(value)

        return result


class CompressedJSON(Compressed[Any]):
    """JSON documents, compressed into a binary column; used as ``sqlalchemy.JSON`` is.

    ``None``, ``JSON.NULL``, ``null()`` and ``none_as_null`` mean what they mean there, the engine's
    ``json_serializer`` and ``json_deserializer`` are used, and ``MutableDict.as_mutable()`` takes it.

    Args:
        codec: As for :class:`CompressedText`.
        min_size: As for :class:`CompressedText`.
        max_size: As for :class:`CompressedText`.
        legacy: As for :class:`CompressedText`.
        none_as_null: Whether ``None`` is stored as SQL NULL instead of JSON ``null``.
        serializer: Called with one value, gives the JSON text. Without one, the engine's
            ``json_serializer`` is used, else a compact encoder that refuses NaN.
        deserializer: Called with one ``str``, gives the value. Without one, the engine's
            ``json_deserializer`` is used, else :func:`json.loads`.

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: A setting is out of bounds, or a name is unknown.
    """

    cache_ok = True
    kind = "json"
    hashable = False
    NULL: ClassVar[Any] = JSON.NULL

    def __init__(
        self,
        codec: Codec | str = "zstd",
        min_size: int = DEFAULT_MIN_SIZE,
        max_size: int = DEFAULT_MAX_SIZE,
        legacy: tuple[str, ...] = (),
        none_as_null: bool = False,
        serializer: Callable[[Any], str] | None = None,
        deserializer: Callable[[str], Any] | None = None,
    ) -> None:
        super().__init__(codec, min_size, max_size, legacy)
        if not isinstance(none_as_null, bool):
            raise TypeError(f"CompressedJSON(none_as_null=…) takes a bool, not {type(none_as_null).__name__}")
        for setting, function in (("serializer", serializer), ("deserializer", deserializer)):
            if function is not None and not callable(function):
                raise TypeError(
                    f"CompressedJSON({setting}=…) takes a callable, not {type(function).__name__}"
                )
            hash(function)  # part of the cache key: an unhashable one fails here and not in a statement
        self.none_as_null = none_as_null
        self.serializer = serializer
        self.deserializer = deserializer

    def settings(self) -> dict[str, tuple[Any, Any]]:
        """Each setting's value and default, in the order of the constructor's arguments."""
        return {
            **super().settings(),
            "none_as_null": (self.none_as_null, False),
            "serializer": (self.serializer, None),
            "deserializer": (self.deserializer, None),
        }

    @property
    def python_type(self) -> type[Any]:
        """That of ``sqlalchemy.JSON``: ``dict`` in SQLAlchemy 2.0, ``object`` from 2.1 on."""
        return JSON().python_type

    @property
    def should_evaluate_none(self) -> bool:
        """Whether the ORM hands ``None`` to this type instead of leaving the column out."""
        return not self.none_as_null

    @should_evaluate_none.setter
    def should_evaluate_none(self, value: bool) -> None:
        self.none_as_null = not value

    def check_plain(self, plain: bytes) -> None:
        """As for the base; the text must be one that this column can read back as a document.

        Raises:
            UnknownFormatError: Not UTF-8, or not a JSON document.
        """
        text = checked_utf8(plain)
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise_alone(not_json(error))

    def _make_bind(self, dialect: Dialect) -> Processor:  # noqa: C901 - holds one flat function
        known = known_of(dialect)
        encode = encoder(self.codec, self.min_size, self.max_size, self.legacy, is_text=True, known=known)
        serialize: Callable[[Any], str | bytes] = (
            self.serializer or getattr(dialect, "_json_serializer", None) or _DUMPS
        )
        none_as_null = self.none_as_null
        json_null = JSON.NULL
        place = self.place

        def bind(value: Any) -> bytes | None:  # noqa: C901 - flat, since each call between costs time
            if value is None:
                if none_as_null:
                    return None
            elif value is json_null:
                value = None
            elif isinstance(value, Null):
                return None
            text: Any = None
            try:
                text = serialize(value)
                return encode(text.encode() if text.__class__ is str else _json_bytes(text))
            except UnicodeEncodeError as error:
                if text is None:  # the serializer's own
                    raise_on_write(ValueError, f"the serializer failed: {error.reason}", place)
                return _encode_located(encode, _json_bytes(text), place)
            except RecursionError:
                raise_on_write(ValueError, "the document is nested too deeply to be serialized", place)
            except SqlcompressError as error:
                raise_on_write(type(error), str(error), place)
            except (TypeError, ValueError) as error:
                if type(error) not in (TypeError, ValueError):
                    raise  # a serializer's own kind of error is for who wrote it
                raise_on_write(type(error), str(error), place)

        return bind

    def _make_result(self, dialect: Dialect) -> Processor:
        stored_text = self._stored_text(dialect)
        deserialize = self.deserializer or getattr(dialect, "_json_deserializer", None) or _LOADS
        place = self.place

        def result(value: Any) -> Any:
            if value is None:
                return None
            if value.__class__ is int or value.__class__ is float:
                # A column that SQLite knows as JSON has numeric affinity: plain 12 is kept as a number.
                value = json.dumps(value)
            text = stored_text(value)
            try:
                return deserialize(text)
            except (ValueError, RecursionError) as error:
                if type(error) not in _UNREADABLE:
                    raise  # a deserializer's own kind of error is for who wrote it
                raise_on_read(not_json(error), place)

        return result


class CompressedBinary(Compressed[bytes]):
    """Bytes, compressed into a binary column.

    A value that begins like a frame is always framed, even where that makes it longer, so that what is read
    without a frame is plain.

    Args:
        codec: As for :class:`CompressedText`.
        min_size: As for :class:`CompressedText`.
        max_size: As for :class:`CompressedText`.
        legacy: As for :class:`CompressedText`.

    Raises:
        TypeError: A setting is of the wrong type.
        ValueError: A setting is out of bounds, or a name is unknown.
    """

    cache_ok = True
    kind = "binary"
    is_text = False

    @property
    def python_type(self) -> type[bytes]:
        """``bytes``."""
        return bytes

    def _make_bind(self, dialect: Dialect) -> Processor:
        known = known_of(dialect)
        encode = encoder(self.codec, self.min_size, self.max_size, self.legacy, is_text=False, known=known)
        place = self.place

        def bind(value: Any) -> bytes | None:
            if value is None:
                return None
            if isinstance(value, (bytes, bytearray, memoryview)):
                return _encode_located(encode, bytes(value), place)
            raise_on_write(TypeError, f"CompressedBinary takes bytes, not {type(value).__name__}", place)

        return bind

    def _make_result(self, dialect: Dialect) -> Processor:
        known = known_of(dialect)
        unframe = unframer(self.max_size, dictionaries_of(self.codec, known))
        decode = decoder(self.codec, self.max_size, self.legacy, is_text=False, known=known)
        has_legacy = bool(self.legacy)
        place = self.place

        def result(value: Any) -> bytes | None:
            if value is None:
                return None
            try:
                if value.__class__ is not bytes:
                    value = driver_bytes(value)
                if has_legacy:
                    return decode(value)
                return unframe(value) if value.startswith(MAGICS) else value
            except DecodeError as error:
                raise_on_read(error, place)

        return result


#: What json.loads() raises for text it cannot read: a plain ValueError for an int of too many digits.
_UNREADABLE: Final = (json.JSONDecodeError, ValueError, RecursionError)


def not_json(error: ValueError | RecursionError) -> UnknownFormatError:
    """The error for text that is no JSON document; it says where, and leaves the text itself out."""
    if isinstance(error, json.JSONDecodeError):
        return UnknownFormatError(f"the text is not a JSON document: {error.msg} at character {error.pos}")
    if isinstance(error, RecursionError):
        return UnknownFormatError("the JSON document is nested too deeply to be read")
    return UnknownFormatError(
        "the JSON document holds a value that cannot be read, such as an integer of more digits than"
        " sys.set_int_max_str_digits() allows"
    )


def _json_bytes(text: object) -> bytes:
    """The UTF-8 bytes of what a serializer gave; it may give bytes itself, as some libraries do."""
    if isinstance(text, str):
        # A lone surrogate can only stand inside a JSON string, where its escape means the same.
        return text.encode("utf-8", "backslashreplace")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return checked_utf8(bytes(text)).encode()
    raise TypeError(f"the serializer gave {type(text).__name__}, not str")


def _encode_located(encode: BytesFunction, plain: bytes, place: Place) -> bytes:
    try:
        return encode(plain)
    except SqlcompressError as error:
        raise_on_write(type(error), str(error), place)
