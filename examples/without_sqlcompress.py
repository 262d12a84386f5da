"""Reading stored values with nothing but their codecs' own libraries: no lock-in.

Run it: python examples/without_sqlcompress.py
"""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert

from sqlcompress import CompressedText

TEXT = "Anyone can read this. " * 50


def write(path: Path) -> None:
    """What an application does: one row for each codec, and a text too short to get smaller."""
    engine = create_engine(f"sqlite:///{path}")
    for codec in ("zstd", "zlib", "gzip"):
        notes = Table(
            codec,
            MetaData(),
            Column("id", Integer, primary_key=True),
            Column("name", String),
            Column("body", CompressedText(codec)),
        )
        notes.create(engine)
        with engine.begin() as connection:
            connection.execute(
                insert(notes), [{"name": "long", "body": TEXT}, {"name": "short", "body": "Hi"}]
            )
    engine.dispose()


def decode(stored: bytes) -> str:
    """What any other program does: look at the first bytes."""
    if stored.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.decompress(stored).decode()
    if stored.startswith(b"\x78\x9c"):
        return zlib.decompress(stored).decode()
    if stored.startswith(b"\x1f\x8b\x08"):
        return gzip.decompress(stored).decode()
    return stored.decode()


with TemporaryDirectory() as folder:
    write(Path(folder, "notes.db"))
    database = sqlite3.connect(Path(folder, "notes.db"))
    for table in ("zstd", "zlib", "gzip"):
        for name, body in database.execute(f"SELECT name, body FROM {table}"):
            print(f"{table}, {name}: {len(body)} bytes stored, {len(decode(body))} characters")
    database.close()
