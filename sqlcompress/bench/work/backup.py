"""Backups to a compressed stream: seconds, and bytes before and after."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

import zstandard

from sqlcompress.bench.work.stage import Stage
from sqlcompress.errors import SqlcompressError

#: zstd's own default.
_LEVEL: Final = 3


def backup(stage: Stage) -> dict[str, float]:
    """A logical and a physical backup, each piped to zstd; those whose program is missing are left out.

    A physical backup holds the whole server: its system tables and its log too.
    """
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=stage.folder) as folder:
        commands = {
            "dump": stage.database.dump_command(),
            "physical": stage.database.physical_command(Path(folder)),
        }
        for name, command in commands.items():
            if command is not None:
                figures |= _piped(name, command, Path(folder))
    return figures


def _piped(name: str, command: list[str], folder: Path) -> dict[str, float]:
    begun = time.perf_counter()
    with (
        (folder / "log").open("wb+") as log,
        (folder / "backup.zst").open("wb") as output,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as child,  # noqa: S603 - found by name
    ):
        read, written = zstandard.ZstdCompressor(level=_LEVEL).copy_stream(child.stdout, output)  # type: ignore[arg-type]  # PIPE
        status = child.wait()
        log.seek(0)
        words = " ".join(log.read().decode(errors="replace").split()[-30:])
    if status != 0:
        raise SqlcompressError(f"{Path(command[0]).name} ended with status {status}: {words}")
    return {
        f"{name}_seconds": time.perf_counter() - begun,
        f"{name}_bytes": read,
        f"{name}_zstd_bytes": written,
    }
