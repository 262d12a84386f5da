"""Texts that are easily lost, and the table they are kept in."""

from __future__ import annotations

import random

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeEngine

TABLE, COLUMN = 'Order %s "Ü"', "select: Größe%"
PLAIN = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")

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


def table_of(type_: TypeEngine[str]) -> sa.Table:
    """The table, its column of that type."""
    return sa.Table(
        TABLE,
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("Part", sa.String(40), primary_key=True),
        sa.Column(COLUMN, type_, comment="50% of 'it'"),
        sa.Column("n", sa.Integer),
    )


def text(dice: random.Random, *, nul: bool) -> str | None:
    """A text out of those that are easily lost, or one made for the occasion."""
    kind = dice.random()
    if kind < 0.05:
        return None
    if kind < 0.35:
        return dice.choice([*_NASTY, "\0", "a\0b" * 40] if nul else _NASTY)
    if kind < 0.45:
        # Does not get smaller.
        return "".join(chr(dice.randrange(0x20, 0xD7FF)) for _ in range(dice.randrange(1, 300)))
    if kind < 0.46:
        return dice.choice("abc") * 300_000
    words = dice.sample(["alpha", "Größe", "\U0001f600", "order", "select", "x^", "  "], 4)
    return " ".join(words) * dice.randrange(1, 120)
