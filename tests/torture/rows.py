"""Values that are easily lost, and the table they are kept in."""

from __future__ import annotations

import base64
import gzip
import random
import zlib
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
import zstandard
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText
from sqlcompress.frames import is_framed

TABLE, COLUMN = 'Order %s "Ü"', "select: Größe%"


@dataclass(frozen=True)
class Kind:
    """A kind of column: its types, as objects and as a revision writes them."""

    plain: TypeEngine[Any]
    compressed: TypeEngine[Any]
    plain_source: str
    compressed_source: str


KINDS = {
    "text": Kind(
        sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
        CompressedText(),
        'sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")',
        "CompressedText()",
    ),
    "json": Kind(sa.JSON(), CompressedJSON(), "sa.JSON()", "CompressedJSON()"),
    "binary": Kind(
        sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"),
        CompressedBinary(),
        'sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")',
        "CompressedBinary()",
    ),
}

_NASTY = [
    "",
    " ",
    "a",
    "A",
    "Á",
    "á ",
    "a\u0301",
    "x^",
    "(\u00b5/\u00fd",
    "\u0078\u009c",
    "\\x28b52ffd",
    "%s %(x)s %% ? :x $1",
    "'\"`\\",
    "NULL",
    "null",
    '{"a": [1.10, 18446744073709551616]}',
    "line\r\nline\n\ttab",
    "\ufeffbyte order mark",
    "\U0001f600" * 200,
    "trailing blanks" + " " * 100,
    "\u200b\u202e\uffff",
]


def table_of(type_: TypeEngine[Any]) -> sa.Table:
    """The table, its column of that type."""
    return sa.Table(
        TABLE,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("Part", sa.String(40), primary_key=True),
        sa.Column(COLUMN, type_, comment="50% of 'it'"),
        sa.Column("n", sa.Integer),
    )


def value_of(kind: str, dice: random.Random, *, nul: bool, ambiguous: bool = True) -> Any:
    """A value out of those that are easily lost, or one made for the occasion; None now and then.

    Args:
        kind: Of :data:`KINDS`.
        dice: What decides.
        nul: Whether the database takes U+0000 in a text.
        ambiguous: Whether a binary value may begin like a frame.
    """
    if dice.random() < 0.05:
        return None
    if kind == "text":
        return _text(dice, nul=nul)
    if kind == "json":
        return _document(dice)
    while True:
        value = _bytes(dice)
        if ambiguous or not is_framed(value):
            return value


def to_journal(value: Any) -> Any:
    """A value as JSON keeps it."""
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def from_journal(value: Any) -> Any:
    """The value that :func:`to_journal` was given."""
    if isinstance(value, dict) and value.keys() == {"bytes"}:
        return base64.b64decode(value["bytes"])
    return value


def _document(dice: random.Random) -> Any:
    """A JSON document: every kind at the top, and numbers that lose digits when printed anew."""
    leaf = [1.1, 0.1 + 0.2, 2**63, -(2**63), True, "", "x^", "\\x28b5", 5e-324, [], {}]
    if dice.random() < 0.2:
        return dice.choice(leaf)
    names = dice.sample(["a", "Größe", "\U0001f600", "%s", "'", '"', "\\", "NULL"], 4)
    document = {name: dice.choice(leaf) for name in names}
    document["text"] = (_text(dice, nul=False) or "").replace("\uffff", "")
    return [document, names] * dice.randrange(1, 3)


def _bytes(dice: random.Random) -> bytes:
    """Bytes, a third of them the beginning of a frame or a whole one, made by somebody else."""
    plain = (_text(dice, nul=True) or "").encode()[:100_000]
    kind = dice.randrange(9)
    if kind == 0:
        return zstandard.compress(plain)
    if kind == 1:
        return dice.choice([zlib.compress(plain), gzip.compress(plain)])
    if kind == 2:
        return dice.choice([b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"\x1f\x8b\x08"]) + plain[:40]
    if kind < 5:
        return dice.randbytes(dice.randrange(600))
    return plain


def _text(dice: random.Random, *, nul: bool) -> str:
    kind = dice.random()
    if kind < 0.35:
        return dice.choice([*_NASTY, "\0", "a\0b" * 40] if nul else _NASTY)
    if kind < 0.45:
        # Does not get smaller.
        return "".join(chr(dice.randrange(0x20, 0xD7FF)) for _ in range(dice.randrange(1, 300)))
    if kind < 0.46:
        return dice.choice("abc") * 300_000
    words = dice.sample(["alpha", "Größe", "\U0001f600", "order", "select", "x^", "  "], 4)
    return " ".join(words) * dice.randrange(1, 120)
