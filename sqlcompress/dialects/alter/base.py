"""Changing a column's type between plain and binary, with the bytes carried over as UTF-8."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Connection
    from sqlalchemy.engine.interfaces import Dialect
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.types import TypeEngine

    from sqlcompress.dialects.tables import Column, TableName


_TYPE = re.compile(
    r"^\s*(?P<base>[A-Za-z]\w*)\s*(?:\((?P<length>\d+)[^)]*\))?"
    r"(?:.*?CHARACTER SET\s+(?P<charset>\w+))?(?:.*?COLLATE\s+\"?(?P<collation>\w+))?",
    re.IGNORECASE | re.DOTALL,
)


class TargetType:
    """The plain type a column goes back to, as the database will be told."""

    def __init__(self, type_: TypeEngine[Any], dialect: Dialect) -> None:
        self.sql: str = dialect.type_compiler_instance.process(type_)
        match = _TYPE.match(self.sql)
        self.base = (match["base"] if match else self.sql).upper()
        self.length = int(match["length"]) if match and match["length"] else None
        self.charset = match["charset"].lower() if match and match["charset"] else None
        self.collation = match["collation"].lower() if match and match["collation"] else None


class Alteration:
    """The type changes of one database; where nothing is declared, as on SQLite, nothing changes."""

    #: Whether the declared type is changed at all.
    changes_type: ClassVar[bool] = False
    #: Whether DDL commits the transaction it stands in.
    commits_by_itself: ClassVar[bool] = False
    #: Whether a type change drops what it does not restate.
    restates: ClassVar[bool] = False

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    # Compress ---------------------------------------------------------------------------------------------

    def to_binary(self, connection: Connection, table: TableName, column: Column) -> list[str]:
        """Statements that make the column binary, from the state it is in; each is safe to be the last."""
        del connection, table, column
        return []

    def offline(self, table: TableName, column: Column) -> list[str]:
        """The same without looking at the database."""
        del table, column
        return []

    # Defaults ---------------------------------------------------------------------------------------------

    def default_for(self, column: Column, target: TargetType | None) -> str | None:
        """The column's default as SQL for its other type, or None where it has none or it is not carried.

        Args:
            column: The column as it is.
            target: The plain type that it is to have; None for bytes.
        """
        del column, target
        return None

    # Decompress -------------------------------------------------------------------------------------------

    def to_plain(
        self, connection: Connection, table: TableName, column: Column, target: TargetType
    ) -> list[str]:
        """Statements that give the column its plain type, once its rows are plain."""
        del connection, table, column, target
        return []

    def fits(self, target: TargetType, default_charset: str | None) -> list[Callable[[bytes], str | None]]:
        """Checks that say why a plain value does not fit into the target, or give None."""
        del default_charset
        return [valid_json] if "JSON" in target.base else []

    def target_blockers(self, target: TargetType) -> list[str]:
        """What is wrong with the target type itself."""
        if target.base in {"CHAR", "CHARACTER", "NCHAR"}:
            return [f"{target.sql} pads or cuts blanks; use VARCHAR or TEXT"]
        return []

    def default_charset(self, connection: Connection, table: TableName) -> str | None:
        """The character set of a new text column of the table, where there is such a thing."""
        del connection, table
        return None

    @contextmanager
    def strictly(self, connection: Connection) -> Iterator[None]:
        """Inside the block the server refuses a value that does not fit, and never cuts it."""
        del connection
        yield

    @contextmanager
    def exclusively(self, connection: Connection, table: TableName) -> Iterator[None]:
        """One transaction, or what comes nearest to it, in which nobody else reads or writes the table."""
        del table
        with connection.begin():
            yield

    def needs_same_connection(self, connection: Connection, schema: str | None) -> bool:
        """Whether another connection of the engine would lead to another database."""
        del connection, schema
        return False

    def refuses_the_values(self, error: DBAPIError) -> bool:
        """Whether the type change failed for a value, and not for something else."""
        del error
        return False

    def change_lock(self, connection: Connection, table: TableName, column: Column, statement: str) -> str:
        """What a type change locks and for how long, in a sentence."""
        del connection, table, column, statement
        return "the table is locked while its type changes"

    def space_command(self, table: TableName) -> str:
        """What gives the space back to the file system."""
        del table
        return "VACUUM"


def valid_json(plain: bytes) -> str | None:
    """Whether the servers' JSON types would take the text: RFC 8259, so no NaN and no infinities."""
    try:
        json.loads(plain.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return "is not valid JSON"
    return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def at_most_characters(length: int) -> Callable[[bytes], str | None]:
    """A check that the text has no more characters than ``length``."""

    def check(plain: bytes) -> str | None:
        if len(plain) <= length or len(plain.decode()) <= length:
            return None
        return f"has more than {length:,} characters"

    return check


def at_most_bytes(length: int, encoding: str) -> Callable[[bytes], str | None]:
    """A check that the text in its target encoding has no more bytes than ``length``."""

    def check(plain: bytes) -> str | None:
        if encoding != "utf-8":
            try:
                plain = plain.decode().encode(encoding)
            except UnicodeError:
                return None  # the check of the character set says so
        return f"has more than {length:,} bytes" if len(plain) > length else None

    return check
