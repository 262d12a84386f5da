"""Column types of the arms that are not ours."""

from __future__ import annotations

import json
import zlib
from typing import Any

from sqlalchemy import JSON, LargeBinary, Text, func
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.elements import BindParameter, ColumnElement
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType


def plain(is_json: bool, _dictionary: object = None) -> TypeEngine[Any]:
    """What a model has that keeps such values as they are."""
    if is_json:
        return JSON()
    return Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


class _Serialized(TypeDecorator[Any]):
    """Values as the application hands them over; JSON is serialized as ``sqlalchemy.JSON`` does it."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, is_json: bool) -> None:
        super().__init__()
        self.is_json = is_json

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """LONGBLOB where a BLOB ends at 64 KB."""
        blob = LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
        return dialect.type_descriptor(blob)

    def _pack(self, value: Any) -> str:
        return json.dumps(value) if self.is_json else value

    def _unpack(self, text: str) -> Any:
        return json.loads(text) if self.is_json else text


class HandWritten(_Serialized):
    """zlib in a BLOB, as applications do it by hand: serialize, encode, ``zlib.compress``, and back."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes:
        """The compressed value."""
        return zlib.compress(self._pack(value).encode())

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The plain value."""
        return self._unpack(zlib.decompress(value).decode())


class _Attribute(UserDefinedType[Any]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "LONGTEXT COMPRESSED"


class ColumnAttribute(_Serialized):
    """MariaDB's ``COMPRESSED`` attribute of a column."""

    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The attribute stands behind the type."""
        return dialect.type_descriptor(_Attribute())

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """The plain text."""
        return self._pack(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The plain value."""
        return self._unpack(value)


class SerializedText(_Serialized):
    """A text, for JSON too: what ``JSON`` calls its column in SQLite has numeric affinity."""

    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """TEXT."""
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """The plain text."""
        return self._pack(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The plain value."""
        return self._unpack(value)


class ServerCompressed(_Serialized):
    """``COMPRESS()`` on the way in, ``UNCOMPRESS()`` on the way out."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes:
        """The plain bytes."""
        return self._pack(value).encode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The plain value."""
        return self._unpack(value.decode())

    def bind_expression(self, bindparam: BindParameter[Any]) -> ColumnElement[Any]:
        """Compressed by the server."""
        return func.COMPRESS(bindparam)

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        """Decompressed by the server."""
        return func.UNCOMPRESS(column, type_=self)
