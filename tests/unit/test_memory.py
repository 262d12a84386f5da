"""What reading a hostile value takes: never more than ``max_size`` and 64 MB beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_SIZE = 128 * 2**20
ALLOWED = MAX_SIZE + 64 * 2**20

#: Runs in a process of its own, whose memory is limited, for each value anew, to what it has before the value
#: is read and what reading may take. The peak is asked of the kernel: a limit alone tells less.
CHILD = """
import base64, functools, gc, resource, sys, zlib
import zstandard
from sqlcompress import CompressedBinary, DecodeError, Zstd

MAX_SIZE, ALLOWED = int(sys.argv[1]), int(sys.argv[2])
OVER = 2 * MAX_SIZE
CHUNK = bytes(2**20)


def zstd_frame(*, window, size=None, blocks=(), last=b"\\x01\\0\\0"):
    # A header with a window, and a size of eight bytes where one is given.
    descriptor = 0 if size is None else 0xC0
    return (b"\\x28\\xb5\\x2f\\xfd" + bytes([descriptor, window])
        + (b"" if size is None else size.to_bytes(8, "little")) + b"".join(blocks) + last)


def block(kind, size, content, last=0):
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content


@functools.cache
def deflated(wbits, size):
    stream = zlib.compressobj(1, zlib.DEFLATED, wbits)
    frame = b"".join(stream.compress(CHUNK) for _ in range(size >> 20)) + stream.flush()
    return frame if wbits == 31 else b"\\x78\\x9c" + frame[2:]


@functools.cache
def streamed(size, level=1, window_log=None):
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, write_checksum=True, **({} if window_log is None else {"window_log": window_log}))
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return b"".join(stream.compress(CHUNK) for _ in range(size >> 20)) + stream.flush()


RLE = [block(1, 2**17, b"A")]
RAW = [block(0, 2**17, bytes(2**17))]
MIB, GIB, TIB = 10 << 3, 20 << 3, 30 << 3
frames = {
    "zlib bomb": lambda: deflated(15, OVER),
    "gzip bomb": lambda: deflated(31, OVER),
    "zlib one byte over": lambda: deflated(15, MAX_SIZE + 2**20),
    "zlib cut at the end": lambda: deflated(15, MAX_SIZE)[:-1],
    "gzip with a wrong sum": lambda: deflated(31, MAX_SIZE)[:-8] + bytes(8),
    "zlib joined": lambda: deflated(15, MAX_SIZE) * 2,
    "zstd bomb that declares": lambda: Zstd(1).compressor()(bytes(OVER)),
    "zstd bomb that does not": lambda: streamed(OVER),
    "zstd declares a tebibyte": lambda: zstd_frame(window=MIB, size=2**40, blocks=RLE),
    "zstd declares less": lambda: zstd_frame(window=MIB, size=1000, blocks=RLE * 5000),
    "zstd declares nothing at all": lambda: zstd_frame(window=MIB, size=0, blocks=RLE * 5000),
    "zstd declares as much as is allowed": lambda: zstd_frame(window=MIB, size=MAX_SIZE, blocks=RLE),
    "zstd declares it over a huge window": lambda: zstd_frame(window=TIB, size=MAX_SIZE, blocks=RLE),
    "zstd run-length bomb": lambda: zstd_frame(window=MIB, blocks=RLE * 20000),
    "zstd blocks of a large window": lambda: zstd_frame(window=15 << 3, blocks=RLE * 900),
    "zstd window of a gibibyte": lambda: zstd_frame(window=GIB, blocks=RLE),
    "zstd window of a tebibyte": lambda: zstd_frame(window=TIB, blocks=RLE),
    "zstd cut": lambda: streamed(MAX_SIZE)[:-1],
    "zstd cut that declares": lambda: Zstd(1).compressor()(bytes(MAX_SIZE))[:-1],
    "zstd joined": lambda: Zstd(1).compressor()(bytes(MAX_SIZE)) * 2,
    "zstd of long distances": lambda: streamed(2**20, window_log=27),
    "mysql bomb": lambda: (OVER & 0x3FFFFFFF).to_bytes(4, "little") + deflated(15, OVER),
    "base64 bomb": lambda: base64.b64encode(deflated(15, OVER)),
    "base64 zstd bomb": lambda: base64.b64encode(streamed(OVER)),
}
def status(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))


limits = resource.getrlimit(resource.RLIMIT_AS)
for name, make in frames.items():
    frame = make()
    legacy = ("mysql", "zlib", "base64") if "mysql" in name or "base64" in name else ()
    column = CompressedBinary(max_size=MAX_SIZE, legacy=legacy)
    column.from_stored(column.to_stored(b"made once " * 100))
    gc.collect()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # from here on: the peak of what making the frame took is not meant
    before = status("VmRSS")
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + ALLOWED, limits[1]))
    try:
        column.from_stored(frame)
    except DecodeError as error:
        outcome = type(error).__name__
    else:
        outcome = "read"
    taken = status("VmHWM") - before
    resource.setrlimit(resource.RLIMIT_AS, limits)
    print(f"{name}: {outcome} {taken}")
"""

LARGE, CORRUPT, READ = "ValueTooLargeError", "CorruptValueError", "read"
OUTCOMES = {
    "zlib bomb": LARGE,
    "gzip bomb": LARGE,
    "zlib one byte over": LARGE,
    "zlib cut at the end": CORRUPT,
    "gzip with a wrong sum": CORRUPT,
    "zlib joined": CORRUPT,
    "zstd bomb that declares": LARGE,
    "zstd bomb that does not": LARGE,
    "zstd declares a tebibyte": LARGE,
    "zstd declares less": CORRUPT,
    "zstd declares nothing at all": CORRUPT,
    "zstd declares as much as is allowed": CORRUPT,
    "zstd declares it over a huge window": CORRUPT,
    "zstd run-length bomb": LARGE,
    "zstd blocks of a large window": READ,
    "zstd window of a gibibyte": LARGE,
    "zstd window of a tebibyte": CORRUPT,
    "zstd cut": CORRUPT,
    "zstd cut that declares": CORRUPT,
    "zstd joined": CORRUPT,
    "zstd of long distances": LARGE,
    "mysql bomb": LARGE,
    "base64 bomb": LARGE,
    "base64 zstd bomb": LARGE,
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads its peak from Linux's /proc")
def test_reading_takes_no_more_than_max_size_and_64_mb():
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(MAX_SIZE), str(ALLOWED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.rpartition(": ") for line in done.stdout.splitlines()]
    outcomes = {name: rest.split()[0] for name, _, rest in lines}
    peaks = {name: int(rest.split()[1]) for name, _, rest in lines}
    assert outcomes == OUTCOMES
    assert {name: peak for name, peak in peaks.items() if peak >= ALLOWED} == {}
