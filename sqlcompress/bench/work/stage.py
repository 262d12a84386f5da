"""Where work is done: a database with the table of one arm, sessions, and how much of everything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlcompress.bench.client import Client, Work
from sqlcompress.bench.databases import Database
from sqlcompress.bench.sessions import Sessions, Spent


@dataclass(frozen=True)
class Stage:
    """One arm's turn.

    Attributes:
        database: It runs; its table is the arm's.
        sessions: They connect to it.
        client: What they are told.
        rows: Rows of the table.
        reads: Reads by key, of all sessions together.
        round: Counted from 0; reads of one round are the same in every arm.
        folder: For files that a work needs meanwhile.
    """

    database: Database
    sessions: Sessions
    client: Client
    rows: int
    reads: int
    round: int
    folder: Path

    def create(self) -> None:
        """The arm's table, empty."""
        corpus = self.client.corpus
        self.database.create(self.client.arm, is_json=corpus.is_json, dictionary=self.client.dictionary)

    def run(self, work: Work) -> Spent:
        """The sessions' time and everybody's processor time."""
        return self.sessions.run(self.client, work, self.database.server_cpu_seconds)


def named(prefix: str, spent: Spent) -> dict[str, float]:
    """The figures of one work."""
    return {
        f"{prefix}_seconds": spent.seconds,
        f"{prefix}_client_cpu_seconds": spent.client_cpu_seconds,
        f"{prefix}_server_cpu_seconds": spent.server_cpu_seconds,
    }
