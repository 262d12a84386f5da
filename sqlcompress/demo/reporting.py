"""How the demonstration tells what it does, and what it gives back at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Reporter(Protocol):
    """Where the story reports to; the command line prints it, a test may keep it."""

    def step(self, title: str) -> None:
        """A part of the story begins."""

    def note(self, text: str) -> None:
        """Something worth a line within the part."""

    def progress(self, label: str, rows: int, total: int | None, detail: str = "") -> None:
        """``rows`` of about ``total`` are done; ``total`` is None where it is not known."""


@dataclass(frozen=True)
class ColumnFigures:
    """One column before and after the migration.

    Attributes:
        table: The table's name.
        column: The column's name.
        rows: Rows in the table when it was migrated.
        bytes_before: Bytes of all plain values, as the database counted them.
        bytes_after: Bytes of all stored values, as the database counted them.
    """

    table: str
    column: str
    rows: int
    bytes_before: int
    bytes_after: int

    @property
    def ratio(self) -> float:
        """Plain bytes for each stored byte."""
        return self.bytes_before / self.bytes_after if self.bytes_after else 1.0


@dataclass(frozen=True)
class StorageFigures:
    """Space on disk.

    Attributes:
        measure: What was measured, in words.
        bytes_before: Before the migration.
        bytes_after: After it; it rarely shrinks by itself.
        bytes_compacted: After ``compaction``; None where that was not run.
        compaction: The command that gives freed space back.
    """

    measure: str
    bytes_before: int
    bytes_after: int
    bytes_compacted: int | None
    compaction: str


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration found.

    Attributes:
        database: The database's name and version.
        location: The URL without its password.
        columns: Figures for each compressed column.
        storage: Space on disk.
        rows_verified: Rows compared with their originals, compressed and again after the way back.
        seconds: Time of each step by its name.
        is_kept: Whether the tables were left in place.
    """

    database: str
    location: str
    columns: tuple[ColumnFigures, ...]
    storage: StorageFigures
    rows_verified: int
    seconds: dict[str, float]
    is_kept: bool
