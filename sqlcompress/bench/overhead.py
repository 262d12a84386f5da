"""What the codec benchmark has found: each type over the bare codec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyperf


@dataclass(frozen=True)
class Overhead:
    """One value, codec and direction.

    Attributes:
        value: What was bound or read.
        codec: The codec, in words.
        direction: ``"bind"`` or ``"result"``.
        bare_us: Microseconds of the bare codec and serializer: the median of pyperf's values.
        type_us: Microseconds of the type's processor.
        spread: The larger of both standard deviations over their means.
    """

    value: str
    codec: str
    direction: str
    bare_us: float
    type_us: float
    spread: float

    @property
    def ratio(self) -> float:
        """The type over the bare codec."""
        return self.type_us / self.bare_us


def overheads(path: str | Path) -> list[Overhead]:
    """The figures of a file that ``python -m sqlcompress.bench.codec -o FILE`` has written."""
    found = {bench.get_name(): bench for bench in pyperf.BenchmarkSuite.load(str(path)).get_benchmarks()}
    listed = []
    for name, bare in found.items():
        prefix, _, kind = name.rpartition("/")
        if kind != "bare":
            continue
        value, codec, direction = prefix.split("/")
        type_ = found[f"{prefix}/type"]
        listed.append(
            Overhead(
                value,
                codec,
                direction,
                bare.median() * 1e6,
                type_.median() * 1e6,
                max(_spread(bare), _spread(type_)),
            )
        )
    return listed


def _spread(bench: pyperf.Benchmark) -> float:
    return float(bench.stdev() / bench.mean()) if bench.get_nvalue() > 1 else 0.0
