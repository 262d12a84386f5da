"""Numbers as people read them."""

from __future__ import annotations


def byte_size(count: int) -> str:
    """``count`` bytes with a decimal unit, as disks are sold: ``"10.63 MB"``."""
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if abs(size) < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{size:.2f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


def ratio(before: int, after: int) -> str:
    """How many times smaller: ``"3.85"``; a dash where nothing is left to divide by."""
    return f"{before / after:.2f}" if after else "-"
