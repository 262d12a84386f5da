"""Checked by mypy and pyright, never run: each line has a mistake, which a type checker must see.

mypy reports an ignore that is not needed (warn_unused_ignores, a part of strict), pyright one of its own too
(reportUnnecessaryTypeIgnoreComment): so a mistake that goes unseen fails the check.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Dictionary, Gzip, Zlib, Zstd

Zstd("3")  # type: ignore[arg-type]
Zstd(dictionary=b"content")  # type: ignore[arg-type]
Zlib(level=None)  # type: ignore[arg-type]
Gzip(checksum=True)  # type: ignore[call-arg]
Zstd().level = 5  # type: ignore[misc]
Dictionary("name")  # type: ignore[call-arg]
Dictionary("name", "content")  # type: ignore[arg-type]
CompressedText(5)  # type: ignore[arg-type]
CompressedText(min_size="64")  # type: ignore[arg-type]
CompressedText(none_as_null=True)  # type: ignore[call-arg]
CompressedText(legacy=("mysql", 5))  # type: ignore[arg-type]
CompressedBinary(serializer=str)  # type: ignore[call-arg]
CompressedJSON(serializer=5)  # type: ignore[arg-type]
CompressedText().to_stored("text")  # type: ignore[arg-type]
CompressedText().from_stored("text")  # type: ignore[arg-type]
