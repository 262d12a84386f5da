"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlcompress.bench.corpora import Corpus, encoded
from sqlcompress.bench.limits import DiskLimits

#: What can be left out, in the order it is done.
WORK: Final = ("load", "size", "read", "backup", "change", "convert", "link")
#: Bytes of plain values by default: several times the pool, and little enough for all arms in an hour or two.
_PLAIN_BYTES: Final = 200_000_000
_QUICK_BYTES: Final = 1_500_000
#: The pool is this part of the plain values by default, so that most reads miss it.
_POOL_PART: Final = 8
_MIN_POOL_MB: Final = 8


@dataclass(frozen=True)
class Options:
    """What a run is asked to do.

    Attributes:
        databases: Names of `sqlcompress.bench.databases.DATABASES`.
        corpora: Names of `sqlcompress.bench.corpora.NAMES`.
        files: Files with corpora of the user's own.
        arms: Names of arms, or none for all; the plain arm always runs.
        work: Names of `WORK`.
        rows: Rows of a table; None for 200 MB of plain values.
        reads: Reads by key of each arm and round; None for as many as rows, at most 40,000.
        rounds: How often every arm has its turn.
        sessions: Processes that load and read.
        memory_mb: Mebibytes of the pool: buffer pool, shared buffers, SQLite's cache; None for an eighth of
            the plain values.
        limits: Of the server's disk and memory.
        rates: Megabits a second of the slow link.
        link_rows: Rows that pass it, at each rate.
        quick: To see that all of it runs: little data, one round.
        folder: For the results.
    """

    databases: tuple[str, ...]
    corpora: tuple[str, ...]
    folder: Path
    files: tuple[Path, ...] = ()
    arms: tuple[str, ...] = ()
    work: tuple[str, ...] = WORK
    rows: int | None = None
    reads: int | None = None
    rounds: int = 3
    sessions: int = 8
    memory_mb: int | None = None
    limits: DiskLimits = field(default_factory=DiskLimits)
    rates: tuple[int, ...] = (10, 100, 1000)
    link_rows: int | None = None
    quick: bool = False

    def rows_of(self, corpus: Corpus) -> int:
        """Rows of a table."""
        if self.rows is not None:
            return self.rows
        return max(100, int((_QUICK_BYTES if self.quick else _PLAIN_BYTES) / corpus.mean_bytes()))

    def reads_of(self, corpus: Corpus) -> int:
        """Reads by key."""
        if self.reads is not None:
            return self.reads
        return min(self.rows_of(corpus), 500 if self.quick else 40_000)

    def link_rows_of(self, corpus: Corpus) -> int:
        """Rows over the link: 5 MB at least, a few seconds at 10 Mbit/s, and at most 2,000."""
        if self.link_rows is not None:
            return self.link_rows
        if self.quick:
            return 50
        return min(2000, self.rows_of(corpus), max(200, int(5_000_000 / corpus.mean_bytes())))

    def memory_of(self, corpus: Corpus) -> int:
        """Mebibytes of the pool."""
        if self.memory_mb is not None:
            return self.memory_mb
        plain = self.rows_of(corpus) * corpus.mean_bytes() / (1 << 20)
        return max(_MIN_POOL_MB, int(plain / _POOL_PART))


def sample(corpus: Corpus) -> list[bytes]:
    """What a dictionary is trained from."""
    return [encoded(value) for value in corpus.held_out]
