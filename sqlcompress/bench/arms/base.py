"""One way of keeping the same values, and the table it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table
from sqlalchemy.types import TypeEngine

from sqlcompress.bench.arms.types import HandWritten
from sqlcompress.codec import Zstd
from sqlcompress.dictionaries import Dictionary
from sqlcompress.types import CompressedJSON, CompressedText

TABLE: Final = "bench"

#: Families, in the order of every table of results.
PLAIN: Final = "plain"
ENGINE: Final = "engine"
HAND_WRITTEN: Final = "hand-written"
OURS: Final = "sqlcompress"

#: Makes a column's type: for JSON or text, with the dictionary that was trained, if any.
MakeType = Callable[[bool, "Dictionary | None"], "TypeEngine[Any]"]


@dataclass(frozen=True)
class Arm:
    """One way of keeping values.

    Attributes:
        name: As on the command line and in the results.
        title: In tables and plots.
        family: ``"plain"``, ``"engine"``, ``"hand-written"`` or ``"sqlcompress"``.
        make_type: The type of the column.
        table_options: Of the table, as ``sqlalchemy.Table`` takes them.
        created: SQL after the table was made.
        loaded: SQL after rows were loaded, which counts into the time of the load.
        connect_args: Of the driver.
        needs_dictionary: Left out where training found none worth having.
        needs_extension: Left out where SQLite cannot load sqlite-zstd.
        only_link: It takes part in the work over a slow link alone.
        only_convert: It takes part in the conversion of an existing table alone.
        convert: SQL that turns the table of the plain arm into this one; empty where there is none.
        job: Our own way to do so: ``"rewrite"`` or ``"shadow"``.
    """

    name: str
    title: str
    family: str
    make_type: MakeType
    table_options: Mapping[str, Any] = field(default_factory=dict)
    created: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    connect_args: Mapping[str, Any] = field(default_factory=dict)
    needs_dictionary: bool = False
    needs_extension: bool = False
    only_link: bool = False
    only_convert: bool = False
    convert: tuple[str, ...] = ()
    job: str = ""

    def table(self, *, is_json: bool, dictionary: Dictionary | None, name: str = TABLE) -> Table:
        """The table: a key, a column beside, and the one that is kept this way."""
        key = BigInteger().with_variant(Integer(), "sqlite")
        return Table(
            name,
            MetaData(),
            Column("id", key, primary_key=True, autoincrement=False),
            Column("n", Integer, nullable=False),
            Column("d", self.make_type(is_json, dictionary), nullable=False),
            **self.table_options,
        )


def _compressed(codec: Any, *, is_json: bool) -> TypeEngine[Any]:
    return CompressedJSON(codec) if is_json else CompressedText(codec)


def hand_written(is_json: bool, _dictionary: Dictionary | None) -> TypeEngine[Any]:
    """The zlib column type that applications write for themselves."""
    return HandWritten(is_json)


def with_zlib(is_json: bool, _dictionary: Dictionary | None) -> TypeEngine[Any]:
    """Ours, zlib at its default level."""
    return _compressed("zlib", is_json=is_json)


def with_zstd(is_json: bool, _dictionary: Dictionary | None) -> TypeEngine[Any]:
    """Ours, zstd at its default level."""
    return _compressed("zstd", is_json=is_json)


def with_dictionary(is_json: bool, dictionary: Dictionary | None) -> TypeEngine[Any]:
    """Ours, zstd with the dictionary that was trained from documents held out."""
    return _compressed(Zstd(dictionary=dictionary), is_json=is_json)


def with_dictionary_level_5(is_json: bool, dictionary: Dictionary | None) -> TypeEngine[Any]:
    """The same at level 5: on JSON documents of 750 bytes 7 % smaller for 3 microseconds more."""
    return _compressed(Zstd(level=5, dictionary=dictionary), is_json=is_json)


def with_dictionary_level_19(is_json: bool, dictionary: Dictionary | None) -> TypeEngine[Any]:
    """The same at the level that sqlite-zstd is given."""
    return _compressed(Zstd(level=19, dictionary=dictionary), is_json=is_json)


#: Those that every database has.
HAND_WRITTEN_ARM: Final = Arm("zlib-decorator", "zlib TypeDecorator", HAND_WRITTEN, hand_written)
OUR_ARMS: Final = (
    Arm("zlib", "sqlcompress zlib", OURS, with_zlib),
    Arm("zstd", "sqlcompress zstd", OURS, with_zstd, job="rewrite"),
    Arm(
        "zstd-dictionary",
        "sqlcompress zstd, dictionary",
        OURS,
        with_dictionary,
        needs_dictionary=True,
        job="rewrite",
    ),
    Arm(
        "zstd-5-dictionary",
        "sqlcompress zstd level 5, dictionary",
        OURS,
        with_dictionary_level_5,
        needs_dictionary=True,
    ),
)
#: Takes part in conversions alone: what it makes is what the rewrite makes.
SHADOW_ARM: Final = replace(
    OUR_ARMS[1], name="zstd-shadow", title="sqlcompress zstd, shadow", only_convert=True, job="shadow"
)
