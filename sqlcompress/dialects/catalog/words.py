"""Whether a piece of SQL mentions a name: for what the catalogs keep only as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_TOKEN = re.compile(
    r"""
      '(?:[^']|'')*'              # a string
    | "(?P<double>(?:[^"]|"")*)"
    | `(?P<back>(?:[^`]|``)*)`
    | \[(?P<square>[^\]]*)\]
    | --[^\n]* | /\*.*?\*/        # a comment
    | (?P<word>[^\W\d][\w$]*)
    | (?P<other>[^\s])
    | \s+ | \d[\w.]*
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(sql: str) -> Iterator[tuple[str, bool]]:
    """Names, words and signs of ``sql``, each with whether it was quoted; strings and comments left out."""
    for match in _TOKEN.finditer(sql):
        for group, quote in (("double", '"'), ("back", "`"), ("square", "]")):
            if match[group] is not None:
                yield match[group].replace(quote * 2, quote), True
        if match["word"] is not None or match["other"] is not None:
            yield match["word"] or match["other"], False


def mentions(sql: str | None, *names: str, quoted: Container[str] | None = None) -> bool:
    """Whether ``sql`` holds every one of the names, in any case.

    Args:
        sql: A piece of SQL, or None.
        names: The names.
        quoted: Lower-case names that count only in quotes, such as the reserved words; None for all names,
            where the server prints every name in quotes.
    """
    bare: set[str] = set()
    in_quotes: set[str] = set()
    for piece, is_quoted in tokens(sql or ""):
        (in_quotes if is_quoted else bare).add(piece.casefold())
    return all(
        name.casefold() in in_quotes
        or (quoted is not None and name.lower() not in quoted and name.casefold() in bare)
        for name in names
    )


def groups_after(sql: str, keyword: str) -> Iterator[set[str]]:
    """The names inside each pair of brackets that follows ``keyword``, as in ``CHECK (…)``."""
    seen_keyword = False
    depth = 0
    names: set[str] = set()
    for piece, quoted in tokens(sql):
        if depth:
            if piece == "(" and not quoted:
                depth += 1
            elif piece == ")" and not quoted:
                depth -= 1
                if not depth:
                    yield names
                    names = set()
            else:
                names.add(piece.casefold())
        elif seen_keyword and piece == "(" and not quoted:
            depth = 1
        seen_keyword = not quoted and piece.casefold() == keyword.casefold()


# What may stand before a whole operand of IS; after any other word or sign it would be part of a larger one.
_BEFORE_OPERAND = frozenset({"(", ",", "and", "or", "xor", "not", "when", "then", "else", "where", "if"})


def without_null_tests(sql: str | None, name: str) -> str:
    """``sql`` without each ``name IS NULL`` and ``name IS NOT NULL``: they mean the same on bytes.

    Strings and comments are left out; what remains is for :func:`mentions`, not for a server.
    """
    pieces = list(tokens(sql or ""))
    words = ["" if quoted else piece.casefold() for piece, quoted in pieces]
    kept: list[str] = []
    at = 0
    while at < len(pieces):
        piece, quoted = pieces[at]
        length = 4 if words[at + 2 : at + 3] == ["not"] else 3
        tested = words[at + 1 : at + 2] == ["is"] and words[at + length - 1 : at + length] == ["null"]
        before = at
        while before >= 2 and words[before - 1] == ".":
            before -= 2
        whole = before == 0 or words[before - 1] in _BEFORE_OPERAND
        if piece.casefold() == name.casefold() and tested and whole:
            at += length
            continue
        escaped = piece.replace('"', '""')
        kept.append(f'"{escaped}"' if quoted else piece)
        at += 1
    return " ".join(kept)
