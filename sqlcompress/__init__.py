"""Transparent column compression on the client, for SQLAlchemy."""

from __future__ import annotations

from sqlcompress.codec import Codec, Gzip, Zlib, Zstd
from sqlcompress.companions import digest_of, extracted
from sqlcompress.dictionaries import Dictionary
from sqlcompress.engine import install
from sqlcompress.errors import (
    CorruptValueError,
    DecodeError,
    DictionaryNotFoundError,
    DictionaryStoreError,
    MigrationBlockedError,
    MigrationFailedError,
    MissingDependencyError,
    SqlcompressError,
    UnknownFormatError,
    ValueTooLargeError,
)
from sqlcompress.sql import decompressed, stored_size, uncompressed_size
from sqlcompress.store import DictionaryStore
from sqlcompress.types import CompressedBinary, CompressedJSON, CompressedText

__all__ = [
    "Codec",
    "CompressedBinary",
    "CompressedJSON",
    "CompressedText",
    "CorruptValueError",
    "DecodeError",
    "Dictionary",
    "DictionaryNotFoundError",
    "DictionaryStore",
    "DictionaryStoreError",
    "Gzip",
    "MigrationBlockedError",
    "MigrationFailedError",
    "MissingDependencyError",
    "SqlcompressError",
    "UnknownFormatError",
    "ValueTooLargeError",
    "Zlib",
    "Zstd",
    "decompressed",
    "digest_of",
    "extracted",
    "install",
    "stored_size",
    "uncompressed_size",
]

__version__ = "0.1.0.dev0"

# Revisions, pickles and tracebacks name these from here, so that they survive a move of the modules.
for _name in __all__:
    globals()[_name].__module__ = __name__
del _name
