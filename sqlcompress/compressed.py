"""What the compressed types have in common: settings, storage, and the way of a value through the driver.

A type holds settings only. What it does to a value is one flat function for each type and dialect, made on
first use and kept, since every call in between costs time on every value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Column, LargeBinary
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.sql.base import SchemaEventTarget
from sqlalchemy.types import TypeDecorator, TypeEngine
from typing_extensions import Self

from sqlcompress.codec import BytesFunction, Codec, codec_of, unframer
from sqlcompress.comparator import CompressedComparator
from sqlcompress.dialects import database_of
from sqlcompress.errors import DecodeError, UnknownFormatError
from sqlcompress.frames import MAGICS
from sqlcompress.known import Known, known_of
from sqlcompress.legacy import checked_names
from sqlcompress.placement import Place, raise_on_read, raise_on_write
from sqlcompress.stored import checked_utf8, decoder, dictionaries_of, encoder, not_utf8

_T = TypeVar("_T")
Processor = Callable[[Any], Any]

#: Below this a zstd frame's own 13 bytes and more leave little to win.
DEFAULT_MIN_SIZE: Final = 64
#: 256 MiB: what one value may make a reading process allocate.
DEFAULT_MAX_SIZE: Final = 268_435_456
#: LONGBLOB ends here (MySQL manual, "Data Type Storage Requirements"); no database of ours takes more.
LARGEST_MAX_SIZE: Final = 2**32 - 1

#: Attributes that belong to one type object and not to its copies or pickles.
_OWN = ("_processors", "_static_cache_key", "_is_placed", "_decode", "_encode")


class Compressed(TypeDecorator[_T]):
    """The base of the three types; not meant to be used by itself.

    Subclasses say whether their plain bytes are text and give the two functions for a dialect.
    """

    impl = LargeBinary
    cache_ok = True
    comparator_factory = CompressedComparator
    is_text: ClassVar[bool] = True
    #: What the plain value is to SQL: text, json or binary.
    kind: ClassVar[str] = "text"

    codec: Codec
    min_size: int
    max_size: int
    legacy: tuple[str, ...]
    place: Place
    #: The dictionaries of a database, for work outside its statements; not part of the settings.
    known: Known | None = None
    _decode: BytesFunction | None = None
    _encode: BytesFunction | None = None

    def __init__(
        self,
        codec: Codec | str = "zstd",
        min_size: int = DEFAULT_MIN_SIZE,
        max_size: int = DEFAULT_MAX_SIZE,
        legacy: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for setting, value in (("min_size", min_size), ("max_size", max_size)):
            if type(value) is not int:
                raise TypeError(f"{name}({setting}=…) takes an int of bytes, not {type(value).__name__}")
        if not 1 <= max_size <= LARGEST_MAX_SIZE:
            raise ValueError(f"{name}(max_size={max_size}): it goes from 1 to {LARGEST_MAX_SIZE} bytes")
        if not 0 <= min_size <= max_size:
            raise ValueError(f"{name}(min_size={min_size}): it goes from 0 to max_size={max_size} bytes")
        self.codec = codec_of(codec)
        self.min_size = min_size
        self.max_size = max_size
        self.legacy = checked_names(legacy)
        self.place = Place()

    def settings(self) -> dict[str, tuple[Any, Any]]:
        """Each setting's value and default, in the order of the constructor's arguments."""
        return {
            "codec": (self.codec, codec_of("zstd")),
            "min_size": (self.min_size, DEFAULT_MIN_SIZE),
            "max_size": (self.max_size, DEFAULT_MAX_SIZE),
            "legacy": (self.legacy, ()),
        }

    def __repr__(self) -> str:
        """The constructor call without the settings that are at their defaults; it evaluates back."""
        shown = (
            f"{name}={_evaluable(value)}"
            for name, (value, default) in self.settings().items()
            if value != default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- plain bytes and stored bytes --------------------------------------------------------------------

    def to_stored(self, plain: bytes) -> bytes:
        """What the column stores for plain bytes: a frame, or the bytes themselves where that is no larger.

        Args:
            plain: UTF-8 text, the text of a JSON document, or the bytes of a binary value.

        Raises:
            ValueTooLargeError: More than ``max_size`` bytes.
            UnknownFormatError: Not UTF-8, or not a JSON document, where the type needs it to be.
        """
        self.check_plain(plain)
        if self._encode is None:
            settings = (self.codec, self.min_size, self.max_size, self.legacy)
            self._encode = encoder(*settings, is_text=self.is_text, known=self.known)
        return self._encode(plain)

    def check_plain(self, plain: bytes) -> None:
        """See that plain bytes are what the column holds.

        Raises:
            UnknownFormatError: Not UTF-8, or not a JSON document, where the type needs it to be.
        """
        if self.is_text:
            checked_utf8(plain)

    def from_stored(self, stored: bytes) -> bytes:
        """The plain bytes of what the column stores.

        Raises:
            DecodeError: They cannot be given back exactly.
        """
        if self._decode is None:
            self._decode = decoder(
                self.codec, self.max_size, self.legacy, is_text=self.is_text, known=self.known
            )
        return self._decode(stored)

    def knowing(self, known: Known) -> Self:
        """A copy for work outside statements, with the dictionaries of a database.

        What a name in the codec stands for is settled here; further ids are asked for when they are met.
        """
        copied = self.copy()
        copied.codec = known.resolved(self.codec)
        copied.known = known
        return copied

    # -- SQLAlchemy's hooks ------------------------------------------------------------------------------

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's type for large binary values."""
        return dialect.type_descriptor(database_of(dialect.name).binary_type())

    def bind_processor(self, dialect: Dialect) -> Processor:
        """The function from a Python value to what the driver binds.

        Raises:
            InvalidRequestError: The column has companions, and the engine nothing that writes them.
        """
        if getattr(self.place, "has_companions", False) and not hasattr(
            dialect.statement_compiler, "keeps_companions"
        ):
            message = (
                "a companion column follows this one, and sqlcompress.install(engine) has to see to it:"
                " without it a value is not written"
            )
            raise_on_write(InvalidRequestError, message, self.place)
        bind = self._kept(dialect, "bind", self._make_bind)
        if dialect.driver in database_of(dialect.name).drivers_taking_bytes:
            return bind
        wrap = self.impl_instance.bind_processor(dialect)
        if wrap is None:
            return bind

        def bind_wrapped(value: Any, wrap: Processor = wrap) -> Any:
            stored = bind(value)
            return None if stored is None else wrap(stored)

        return bind_wrapped

    def result_processor(self, dialect: Dialect, coltype: Any) -> Processor:
        """The function from what the driver hands over to the Python value."""
        result = self._kept(dialect, "result", self._make_result)
        if dialect.driver in database_of(dialect.name).drivers_taking_bytes:
            return result
        unwrap = self.impl_instance.result_processor(dialect, coltype)
        if unwrap is None:
            return result

        def result_unwrapped(value: Any, unwrap: Processor = unwrap) -> Any:
            # A driver's processor takes what the driver calls binary; text comes past it as it is.
            return result(value if isinstance(value, str) else unwrap(value))

        return result_unwrapped

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        """The function from a Python value to an SQL literal."""
        bind = self._kept(dialect, "bind", self._make_bind)
        binary_literal = database_of(dialect.name).binary_literal

        def literal(value: Any) -> str:
            stored = bind(value)
            return "NULL" if stored is None else binary_literal(stored)

        return literal

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """The stored bytes of a Python value."""
        return cast("bytes | None", self._kept(dialect, "bind", self._make_bind)(value))

    def process_literal_param(self, value: Any, dialect: Dialect) -> str:
        """The SQL literal of a Python value."""
        return self.literal_processor(dialect)(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> _T | None:
        """The Python value of what the driver handed over."""
        return cast("_T | None", self._kept(dialect, "result", self._make_result)(value))

    def copy(self, **kw: Any) -> Self:
        """A type of the same settings, for another column."""
        copied = super().copy(**kw)
        for name in _OWN:
            copied.__dict__.pop(name, None)
        return copied

    def _set_parent(self, parent: SchemaEventTarget, outer: bool = False, **kw: Any) -> None:
        super()._set_parent(parent, outer=outer, **kw)
        if isinstance(parent, Column):
            if "_is_placed" not in self.__dict__:
                # A copy made for another column (a mixin's, another MetaData's) starts with the place of the
                # original; one made for a dialect is never attached and goes on sharing it.
                self.place = Place()
                self._is_placed = True
            self.place.follow(parent)

    def __getstate__(self) -> dict[str, Any]:
        left_out = (*_OWN, "known")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    # -- the flat functions ------------------------------------------------------------------------------

    @abstractmethod
    def _make_bind(self, dialect: Dialect) -> Processor:
        """The function from a Python value to stored bytes, or None for NULL."""

    @abstractmethod
    def _make_result(self, dialect: Dialect) -> Processor:
        """The function from a driver's value to the Python value, or None for NULL."""

    def _kept(self, dialect: Dialect, kind: str, make: Callable[[Dialect], Processor]) -> Processor:
        """``make(dialect)``, made once: what it takes from the dialect at first use stays as it was then."""
        processors = self.__dict__.setdefault("_processors", WeakKeyDictionary())
        made: dict[str, Processor] = processors.setdefault(dialect, {})
        if kind not in made:
            made[kind] = make(dialect)
        return made[kind]

    def _stored_text(self, dialect: Dialect) -> Callable[[Any], str]:
        """The function from what a driver hands over, None excepted, to the plain text."""
        is_turned = database_of(dialect.name).is_bytes_turned_to_text
        known = known_of(dialect)
        unframe = unframer(self.max_size, dictionaries_of(self.codec, known))
        decode = decoder(self.codec, self.max_size, self.legacy, is_text=True, known=known)
        has_legacy = bool(self.legacy)
        place = self.place

        def text(value: Any) -> str:
            try:
                if value.__class__ is not bytes or has_legacy:
                    if isinstance(value, str):
                        if is_turned(value):
                            raise UnknownFormatError(_TURNED_TO_TEXT)
                        if not has_legacy:
                            # SQLite keeps what it was given, and text written by hand stays readable.
                            return str(value)
                    return decode(driver_bytes(value)).decode()
                return (unframe(value) if value.startswith(MAGICS) else value).decode()
            except UnicodeDecodeError as error:
                raise_on_read(not_utf8(error), place)
            except DecodeError as error:
                raise_on_read(error, place)

        return text


_TURNED_TO_TEXT = (
    "the column is not binary yet and the value is bytes turned into text, as the database does with what a "
    "compressed type writes into a TEXT column. Migrate the column before the application writes to it with "
    "a compressed type; decode such rows by hand first. A text of your own that looks so is read once the "
    "column is migrated"
)


def _evaluable(value: object) -> str:
    # A function is shown by its import path: its own repr could not be evaluated.
    path = getattr(value, "__qualname__", None)
    return f"{value.__module__}.{path}" if path else repr(value)


def driver_bytes(value: object) -> bytes:
    """The bytes of what a driver handed over for a binary column.

    Raises:
        UnknownFormatError: It is neither bytes of some kind nor text.
    """
    if isinstance(value, str):
        # A text that SQLite took from a statement; surrogates in it are left for the caller to refuse.
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise UnknownFormatError(
        f"the driver handed over {type(value).__name__}, neither bytes nor text; the column holds a value"
        " that was not written by this type"
    )
