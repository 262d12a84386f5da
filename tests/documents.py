"""Finds and runs the code blocks of a Markdown page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it begins on."""

    language: str
    code: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1) for match in _FENCE.finditer(text)
    ]


def run(page: Path, blocks: list[Block], namespace: dict[str, Any]) -> None:
    """Execute Python blocks one after the other; a traceback names the page and the line in it."""
    try:
        for block in blocks:
            code = compile("\n" * (block.line - 1) + block.code, str(page), "exec", dont_inherit=True)
            exec(code, namespace)
    finally:
        # A page may leave its engines open, as a program does that ends there.
        for value in namespace.values():
            if isinstance(value, Engine):
                value.dispose()
