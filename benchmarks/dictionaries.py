"""What a dictionary saves and costs, on rows held out of its training.

    python benchmarks/dictionaries.py FILE

The file holds one document a line and may be gzipped; made-up events are used without one. Stored bytes are
those of frames as columns store them, with checksum and content size; times are medians over all held-out
values, each timed alone.
"""

from __future__ import annotations

import argparse
import zlib

from documents import documents

from sqlcompress.training import MAX_SIZE, Training, train

LEVELS = (3, 19)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("file", nargs="?", help="one document a line")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16_384, 65_536, 262_144, MAX_SIZE])
    arguments = parser.parse_args()
    values = documents(arguments.rows, arguments.file)
    training = train("bench", values, sizes=arguments.sizes, levels=LEVELS)
    print(
        f"{training.sample_rows:,} values trained from, {training.held_out_rows:,} measured on, mean "
        f"{training.held_out_bytes / max(1, training.held_out_rows):,.0f} bytes"
    )
    if training.dictionary is None:
        print(training.reason)
        return
    by_zlib = zlib_bytes(values, training)
    print("size, bytes  level  ratio  of zlib-6  of zstd without  µs to compress  of without  µs to read  of")
    for candidate in training.candidates:
        c = candidate
        print(
            f"{c.size:>11,}  {c.level:>5}  {c.ratio:>5.2f}  {c.stored_bytes / by_zlib:>9.2f}"
            f"  {c.stored_bytes / c.stored_bytes_without:>15.2f}"
            f"  {c.compress_us:>14.1f}  {c.compress_us / c.compress_us_without:>10.2f}"
            f"  {c.decompress_us:>10.1f}  {c.decompress_us / c.decompress_us_without:>4.2f}"
        )
    print(training.reason)


def zlib_bytes(values: list[bytes], training: Training) -> int:
    """What zlib at level 6 makes of as many values; the sample is shuffled, so the mean stands for all."""
    total = sum(min(len(zlib.compress(value, 6)), len(value)) for value in values)
    return round(total * training.held_out_bytes / sum(map(len, values)))


if __name__ == "__main__":
    main()
