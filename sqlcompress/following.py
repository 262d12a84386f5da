"""What a companion column holds: computed from a value of the compressed one, where that is bound."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import JSON
from sqlalchemy.sql.elements import Null
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine, to_instance

from sqlcompress.errors import raise_alone

Path = tuple["str | int", ...]

#: Types of a column that can hold what stands at a path, by what Python makes of them, and the types of the
#: values that it takes.
TAKEN: Final[dict[type, tuple[type, ...]]] = {
    int: (int,),
    float: (int, float),
    Decimal: (int, float, Decimal),
    str: (str,),
    bool: (bool,),
}


class Writer(TypeDecorator[Any]):
    """Binds a value of the compressed column as the companion's value.

    Args:
        own: The companion's type.
    """

    impl = NullType
    cache_ok = True

    def __init__(self, own: TypeEngine[Any]) -> None:
        super().__init__()
        self.own = own
        self.impl = to_instance(own)  # type: ignore[assignment]  # an instance, which is what it is used as

    def process_literal_param(self, value: Any, dialect: Any) -> str:
        """The SQL literal of a value."""
        processor = self.impl_instance.dialect_impl(dialect).literal_processor(dialect)
        made = self.process_bind_param(value, dialect)
        if made is None or processor is None:
            return "NULL"
        return str(processor(made))


class DigestWriter(Writer):
    """Of a digest."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> bytes | None:
        """The digest of a text or of bytes."""
        del dialect
        return None if value is None or isinstance(value, Null) else digest(value)


class PathWriter(Writer):
    """Of what stands at a path.

    Args:
        own: The companion's type.
        path: Keys and indexes.
        none_as_null: As of the compressed column.
    """

    cache_ok = True

    def __init__(self, own: TypeEngine[Any], path: Path, none_as_null: bool) -> None:
        super().__init__(own)
        self.path = path
        self.none_as_null = none_as_null

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """What stands at the path; None where nothing does, or JSON null."""
        del dialect
        if value is None or value is JSON.NULL or isinstance(value, Null):
            return None
        return at_path(value, self.path, self.own.python_type)


def digest(value: Any) -> bytes:
    """The SHA-256 of a text's UTF-8, or of the bytes.

    Raises:
        TypeError: It is neither.
        ValueError: The text cannot be encoded.
    """
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError as error:
            raise_alone(ValueError(f"the text has a lone surrogate at position {error.start}"))
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"a digest is of str or bytes, not of {type(value).__name__}")
    return hashlib.sha256(value).digest()


def at_path(document: Any, path: Path, wanted: type) -> Any:
    """What stands at a path of a document, as a value of the wanted type.

    Raises:
        TypeError: There stands something else, or the document holds what is not JSON's on the way.
    """
    found: Any = document
    for step in path:
        if found is None:
            return None
        if isinstance(found, dict):
            if not all(isinstance(key, str) for key in found):
                raise TypeError(f"{_shown(path)}: an object there has keys that are no texts")
            found = found.get(step) if isinstance(step, str) else None
        elif isinstance(found, (list, tuple)):
            is_there = isinstance(step, int) and -len(found) <= step < len(found)
            found = found[step] if is_there else None  # type: ignore[index]  # an int then
        elif isinstance(found, (str, int, float)):
            return None  # a scalar, in which nothing stands
        else:
            raise TypeError(
                f"{_shown(path)}: a value on the way is {type(found).__name__}, which JSON has not"
            )
    if found is None:
        return None
    taken = TAKEN[wanted]
    number: Any = found
    if not isinstance(found, taken) or (isinstance(found, bool) and wanted is not bool):
        raise TypeError(
            f"{_shown(path)}: the value there is {type(found).__name__}, and the extracted column takes"
            f" {wanted.__name__}"
        )
    if wanted is float:
        return float(number)
    return Decimal(str(found)) if wanted is Decimal else found


def _shown(path: Path) -> str:
    return "path " + "".join(f"[{step!r}]" for step in path)
