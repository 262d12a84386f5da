"""Training a dictionary from sample values, and measuring on others whether it pays."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import zstandard

from sqlcompress.codec import Zstd
from sqlcompress.dictionaries import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Sizes tried by default, in bytes. zstd's own default is 110 KiB; above 1 MiB nothing was won on any sample.
SIZES: Final = (16_384, 65_536, 262_144)
MAX_SIZE: Final = 1_048_576
MIN_SIZE: Final = 256

#: Fewer values than this train a dictionary of what they have in common by chance.
MIN_ROWS: Final = 100
#: Bytes that are trained from: zstd advises a hundred times the size of the dictionary (zstd.h, zdict.h).
MAX_SAMPLE_BYTES: Final = 104_857_600
#: What is in a long value beyond this is not looked at in training: a dictionary serves the beginning.
_MAX_VALUE_BYTES: Final = 131_072

#: Values that are measured on, and their bytes, at most.
_MAX_HELD_OUT_ROWS: Final = 2000
_MAX_HELD_OUT_BYTES: Final = 16_777_216
_HELD_OUT_PART: Final = 0.2
#: A larger dictionary has to store this much less than a smaller one: it takes memory in every process.
_WORTH_A_SIZE: Final = 0.98
#: Stored bytes have to shrink by this part for a dictionary to be worth having at all: on texts of 24 KB one
#: saves 6 to 10 %.
MIN_GAIN: Final = 0.05
#: zstd's own search tries pieces of the values of up to 2,000 bytes and settles on short ones. From 950-byte
#: JSON documents it made half a megabyte of the one it was asked for, which stored 40 % more than pieces of
#: 1,024 bytes did; up to 256 KiB the two are alike.
_LARGE: Final = 262_144
_PIECES: Final[tuple[dict[str, int], ...]] = ({}, {"k": 1024, "d": 8})


@dataclass(frozen=True)
class Candidate:
    """One size and level, measured on the values held out.

    Attributes:
        size: Bytes of the dictionary as it was trained, which can be fewer than were asked for.
        level: The zstd level.
        stored_bytes: What the values take; a value that does not get smaller counts with its plain bytes.
        stored_bytes_without: What they take without a dictionary, at the same level.
        compress_us: Microseconds a value.
        decompress_us: Microseconds a value.
        compress_us_without: Microseconds a value, without a dictionary.
        decompress_us_without: Microseconds a value, without a dictionary.
        plain_bytes: The values themselves.
    """

    size: int
    level: int
    stored_bytes: int
    stored_bytes_without: int
    compress_us: float
    decompress_us: float
    compress_us_without: float
    decompress_us_without: float
    plain_bytes: int

    @property
    def ratio(self) -> float:
        """Plain bytes over stored bytes."""
        return self.plain_bytes / self.stored_bytes if self.stored_bytes else 1.0

    @property
    def ratio_without(self) -> float:
        """Plain bytes over stored bytes, without a dictionary."""
        return self.plain_bytes / self.stored_bytes_without if self.stored_bytes_without else 1.0

    @property
    def gain(self) -> float:
        """The part of the stored bytes that the dictionary saves, from 0 to 1; below 0 where it costs."""
        return 1 - self.stored_bytes / self.stored_bytes_without if self.stored_bytes_without else 0.0


@dataclass(frozen=True)
class Training:
    """What came out of a training.

    Attributes:
        dictionary: The dictionary; None where none pays.
        reason: Why this one, or why none.
        chosen: What was measured of the dictionary; None where there is none.
        candidates: All that was measured.
        sample_rows: Values trained from.
        sample_bytes: Their plain bytes.
        held_out_rows: Values measured on; none of them, and none equal to one, was trained from.
        held_out_bytes: Their plain bytes.
        rival: What was measured of the dictionary that was given to compare with.
    """

    dictionary: Dictionary | None
    reason: str
    chosen: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    sample_rows: int = 0
    sample_bytes: int = 0
    held_out_rows: int = 0
    held_out_bytes: int = 0
    rival: Candidate | None = None


def train(
    name: str,
    values: Sequence[bytes],
    *,
    sizes: Sequence[int] = SIZES,
    levels: Sequence[int] = (3,),
    min_gain: float = MIN_GAIN,
    seed: int = 0,
    rival: Dictionary | None = None,
    also: Sequence[bytes] = (),
    progress: Callable[[str], None] | None = None,
) -> Training:
    """Train dictionaries of some sizes and keep the best, if any pays.

    A fifth of the values, at most 2,000 and 16 MiB, is held out and measured on. Of the sizes and levels, the
    one is taken that stores fewest bytes without taking longer to compress than the lowest of the levels
    without a dictionary; a larger dictionary has to store 2 % less than a smaller one.

    Args:
        name: What columns call the dictionary.
        values: Plain values, as they are before compression; 1,000 to 100,000 are a good sample.
        sizes: Bytes of the dictionaries to try, each from 256 to 1 MiB.
        levels: zstd levels to measure each at. A column uses the level of its own codec.
        min_gain: The part of the stored bytes that has to be saved, from 0 to 1.
        seed: Which values are held out.
        rival: A dictionary that is at work now, measured on the same values at the lowest level.
        also: Further values that are trained from and not measured on.
        progress: Told what is being done, in words.

    Returns:
        The dictionary, or the reason why there is none: too few values, all alike, or nothing gained.

    Raises:
        ValueError: A setting is out of bounds.
    """
    _check(name, sizes, levels, min_gain)
    sample, held_out = _divided(values, seed)
    sample = _bounded([*sample, *also], held_out)
    training = Training(
        None,
        "",
        sample_rows=len(sample),
        sample_bytes=sum(map(len, sample)),
        held_out_rows=len(held_out),
        held_out_bytes=sum(map(len, held_out)),
    )
    if len(sample) + len(held_out) < MIN_ROWS:
        return replace(
            training,
            reason=f"{len(sample) + len(held_out):,} different values are too few to train from: at least "
            f"{MIN_ROWS} are needed",
        )
    say = progress or (lambda _: None)
    without = {level: _measure(held_out, level, None) for level in levels}
    if rival is not None:
        measured = _candidate(rival, min(levels), held_out, without[min(levels)])
        training = replace(training, rival=measured)
    candidates: list[Candidate] = []
    trained: dict[int, Dictionary] = {}
    refused = ""
    for size in sorted(set(sizes)):
        say(f"training {size:,} bytes")
        dictionary = _trained(name, size, sample, held_out)
        if dictionary is None:
            refused = "zstd finds nothing in the values to make a dictionary of"
            continue
        if any(known.id == dictionary.id for known in trained.values()):
            continue  # there is no more to be found in the sample
        trained[len(dictionary.content)] = dictionary
        for level in levels:
            say(f"measuring {size:,} bytes at level {level}")
            candidates.append(_candidate(dictionary, level, held_out, without[level]))
    if not candidates:
        return replace(training, reason=refused)
    training = replace(training, candidates=tuple(candidates))
    chosen, reason = _choice(candidates, min(levels), without, min_gain)
    if chosen is None:
        return replace(training, reason=reason)
    return replace(training, dictionary=trained[chosen.size], chosen=chosen, reason=reason)


def _check(name: str, sizes: Sequence[int], levels: Sequence[int], min_gain: float) -> None:
    if not name:
        raise ValueError("a dictionary's name cannot be empty")
    if not sizes or not levels:
        raise ValueError("at least one size and one level are needed")
    for size in sizes:
        if not MIN_SIZE <= size <= MAX_SIZE:
            raise ValueError(f"a dictionary has from {MIN_SIZE} to {MAX_SIZE:,} bytes, not {size:,}")
    for level in levels:
        Zstd(level=level)
    if not 0 <= min_gain < 1:
        raise ValueError("min_gain is a part, from 0 to 1")


def _divided(values: Sequence[bytes], seed: int) -> tuple[list[bytes], list[bytes]]:
    """What is trained from and what is measured on; equal values are on one side, and there once."""
    different = list(dict.fromkeys(value for value in values if value))
    random.Random(seed).shuffle(different)  # noqa: S311 - a sample
    held_out: list[bytes] = []
    total = 0
    for value in different[: min(_MAX_HELD_OUT_ROWS, int(len(different) * _HELD_OUT_PART))]:
        if held_out and total + len(value) > _MAX_HELD_OUT_BYTES:
            break
        held_out.append(value)
        total += len(value)
    return different[len(held_out) :], held_out


def _bounded(values: Sequence[bytes], held_out: Sequence[bytes]) -> list[bytes]:
    """What is trained from: different values, none of them measured on, cut, and no more than serves."""
    left_out = {b"", *held_out}
    sample: list[bytes] = []
    total = 0
    for value in dict.fromkeys(values):
        if value not in left_out:
            sample.append(value[:_MAX_VALUE_BYTES])
            total += len(sample[-1])
        if total > MAX_SAMPLE_BYTES:
            break
    return sample


def _trained(name: str, size: int, sample: Sequence[bytes], held_out: Sequence[bytes]) -> Dictionary | None:
    """A dictionary of a size; where pieces of more than one length are tried, the one that stores less."""
    found = []
    for pieces in _PIECES if size >= _LARGE else _PIECES[:1]:
        try:
            raw = zstandard.train_dictionary(size, list(sample), **pieces)
        except zstandard.ZstdError:
            continue
        found.append(Dictionary(name, raw.as_bytes()))
    if len(found) < 2:
        return found[0] if found else None
    part = held_out[:500]
    return min(found, key=lambda dictionary: _measure(part, 3, dictionary).stored_bytes)


@dataclass(frozen=True)
class _Measured:
    stored_bytes: int
    compress_us: float
    decompress_us: float


def _measure(values: Sequence[bytes], level: int, dictionary: Dictionary | None) -> _Measured:
    """Stored bytes of all values; times of as many as fit into some tenths of a second."""
    codec = Zstd(level=level, dictionary=dictionary)
    raw = None if dictionary is None else dictionary.raw()
    if raw is not None:
        raw.precompute_compress(level=level)
    compress = zstandard.ZstdCompressor(
        level=level, dict_data=raw, write_checksum=codec.checksum, write_content_size=True
    ).compress
    decompress = zstandard.ZstdDecompressor(dict_data=raw).decompress
    for value in values[:20]:  # tables are made on first use
        decompress(compress(value))
    stored, compressing, decompressing = 0, [], []
    clock = time.perf_counter_ns
    for value in values:
        begun = clock()
        frame = compress(value)
        compressed = clock()
        decompress(frame)
        decompressing.append(clock() - compressed)
        compressing.append(compressed - begun)
        stored += min(len(frame), len(value))
    # Medians: a value that waited for the processor says nothing about the codec.
    return _Measured(stored, statistics.median(compressing) / 1000, statistics.median(decompressing) / 1000)


def _candidate(
    dictionary: Dictionary, level: int, held_out: Sequence[bytes], without: _Measured
) -> Candidate:
    measured = _measure(held_out, level, dictionary)
    return Candidate(
        size=len(dictionary.content),
        level=level,
        stored_bytes=measured.stored_bytes,
        stored_bytes_without=without.stored_bytes,
        compress_us=measured.compress_us,
        decompress_us=measured.decompress_us,
        compress_us_without=without.compress_us,
        decompress_us_without=without.decompress_us,
        plain_bytes=sum(map(len, held_out)),
    )


def _choice(
    candidates: Sequence[Candidate],
    lowest_level: int,
    without: dict[int, _Measured],
    min_gain: float,
) -> tuple[Candidate | None, str]:
    """The candidate to take, if any, and why."""
    best_of_all = max(candidates, key=lambda candidate: candidate.gain)
    if best_of_all.gain < min_gain:
        return None, (
            f"no gain: the best stores {best_of_all.gain:.1%} less than level {best_of_all.level} without a "
            f"dictionary, and {min_gain:.0%} is asked for"
        )
    at_most = without[lowest_level].compress_us
    quick = [c for c in candidates if c.compress_us <= at_most and c.gain >= min_gain]
    # At the lowest level one is taken even where a dictionary makes compressing slower.
    pool = quick or [c for c in candidates if c.level == lowest_level and c.gain >= min_gain] or [best_of_all]
    best = min(pool, key=lambda candidate: candidate.stored_bytes)
    small = [c for c in pool if c.level == best.level and c.stored_bytes * _WORTH_A_SIZE <= best.stored_bytes]
    chosen = min(small, key=lambda candidate: candidate.size)
    speed = (
        f"compressing takes no longer than level {lowest_level} without a dictionary"
        if quick
        else "every one takes longer to compress than without"
    )
    larger = "" if chosen is best else "; larger ones store less than 2 % less"
    return chosen, (
        f"{chosen.size:,} bytes at level {chosen.level}: ratio {chosen.ratio:.2f}, without a dictionary "
        f"{chosen.ratio_without:.2f}; {speed}{larger}"
    )
