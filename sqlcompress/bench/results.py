"""What a run has measured, as a file: figures of every arm in every round, and how they came about."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlcompress.errors import SqlcompressError

#: Raised when a field changes its meaning.
SCHEMA: Final = 1
FILE: Final = "results.json"


@dataclass(frozen=True)
class Measured:
    """One arm in one round.

    Attributes:
        database: The database's name.
        corpus: The corpus's name.
        arm: The arm's name.
        round: Counted from 0; ratios are taken within one round.
        figures: By their names, seconds, bytes or counts; see ``docs/benchmark.md``.
    """

    database: str
    corpus: str
    arm: str
    round: int
    figures: dict[str, float]


@dataclass
class Results:
    """A run, complete or not.

    Attributes:
        command: What was called.
        started: When, ISO 8601.
        machine: Processor, cores, memory, system, disk.
        versions: Of databases, drivers and packages.
        settings: Of the run and of each server.
        corpora: Name, rows, documents, mean bytes and source of each.
        arms: Name, title and family of each, by database.
        left_out: What did not run, and why.
        measured: The figures.
    """

    command: str
    started: str
    machine: dict[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    corpora: dict[str, dict[str, Any]] = field(default_factory=dict)
    arms: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Write the file anew; one that is there is replaced whole."""
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{FILE}.new"
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False)
        new.write_text(f"{text}\n", encoding="utf-8")
        new.replace(folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> Results:
        """What a run has written.

        Raises:
            SqlcompressError: There is no such file, or it is of another version.
        """
        file = folder / FILE
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise SqlcompressError(f"{file} cannot be read: {error.strerror}") from error
        except ValueError:
            raise SqlcompressError(f"{file} is no JSON") from None
        if not isinstance(found, dict) or found.pop("schema", None) != SCHEMA:
            raise SqlcompressError(f"{file} holds no results of schema {SCHEMA}")
        found["measured"] = [Measured(**one) for one in found["measured"]]
        return cls(**found)
