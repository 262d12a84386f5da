"""A slower disk and less memory for the server, by a control group of Linux.

The disks of hosted databases are slower than a local one: a general purpose volume begins at 3,000 reads and
writes and 125 MB a second (Amazon EBS User Guide, "General Purpose SSD volumes", gp3). Where reads that miss
the pool come from a fast local disk or the system's page cache, they hardly cost more for larger data.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from sqlcompress.errors import SqlcompressError

_ROOT: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class DiskLimits:
    """What a server may use.

    Attributes:
        iops: Reads a second, and writes a second; None for no limit.
        mb: Megabytes (10^6 bytes) read a second, and written; None for no limit.
        cache_mb: Mebibytes of memory for a database that relies on the system's page cache, its own included;
            None for no limit.
    """

    iops: int | None = None
    mb: int | None = None
    cache_mb: int | None = None

    def __bool__(self) -> bool:
        return any((self.iops, self.mb, self.cache_mb))


def confine(limits: DiskLimits, pids: Sequence[int], folder: Path, running: ExitStack) -> None:
    """Put processes, and all that they start from now on, under the limits until the end of ``running``.

    Args:
        limits: What they may use.
        pids: The processes; their children come along.
        folder: On the disk that is limited.
        running: Takes the limits away.

    Raises:
        SqlcompressError: There are no control groups here, or no right to make one.
    """
    name = f"sqlcompress-{secrets.token_hex(4)}"
    device = _device(folder)
    try:
        if (_ROOT / "cgroup.controllers").exists():
            groups = [_version_2(name, limits, device)]
        else:
            groups = _version_1(name, limits, device)
        running.callback(_remove, groups)
        for group in groups:
            for pid in pids:
                process = psutil.Process(pid)
                for one in (process, *process.children(recursive=True)):
                    with suppress(ProcessLookupError):
                        (group / "cgroup.procs").write_text(str(one.pid))
    except OSError as error:
        raise SqlcompressError(
            f"the server's disk and memory cannot be limited here ({error.strerror}): that needs root and "
            "Linux control groups; leave --disk-iops, --disk-mb and --cache-mb out"
        ) from error


def _version_1(name: str, limits: DiskLimits, device: str) -> list[Path]:
    groups = []
    if limits.iops or limits.mb:
        groups.append(_ROOT / "blkio" / name)
        groups[-1].mkdir()
        for direction in ("read", "write"):
            if limits.iops:
                (groups[-1] / f"blkio.throttle.{direction}_iops_device").write_text(f"{device} {limits.iops}")
            if limits.mb:
                rate = f"{device} {limits.mb * 1_000_000}"
                (groups[-1] / f"blkio.throttle.{direction}_bps_device").write_text(rate)
    if limits.cache_mb:
        groups.append(_ROOT / "memory" / name)
        groups[-1].mkdir()
        (groups[-1] / "memory.limit_in_bytes").write_text(str(limits.cache_mb << 20))
    return groups


def _version_2(name: str, limits: DiskLimits, device: str) -> Path:
    (_ROOT / "cgroup.subtree_control").write_text("+io +memory")
    group = _ROOT / name
    group.mkdir()
    words = [f"{key}iops={limits.iops}" for key in "rw" if limits.iops]
    words += [f"{key}bps={limits.mb * 1_000_000}" for key in "rw" if limits.mb]
    if words:
        (group / "io.max").write_text(f"{device} {' '.join(words)}")
    if limits.cache_mb:
        (group / "memory.max").write_text(str(limits.cache_mb << 20))
    return group


def _device(folder: Path) -> str:
    """``major:minor`` of the whole disk: limits are not for partitions."""
    number = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not place.exists():
        raise SqlcompressError(f"{folder} is on no block device: set TMPDIR to a folder that is on the disk")
    if (place / "partition").exists():
        place = place.parent
    return (place / "dev").read_text().strip()


def _remove(groups: Sequence[Path]) -> None:
    for group in groups:
        for _ in range(50):
            with suppress(OSError):  # a process that is ending cannot be moved
                for pid in (group / "cgroup.procs").read_text().split():
                    (group.parent / "cgroup.procs").write_text(pid)
                group.rmdir()
                break
            time.sleep(0.1)
