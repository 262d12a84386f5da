"""The example programs run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

EXPECTED = {
    "orm.py": [
        r"Rain: 3826 characters, \d\d bytes stored, {'tags': \['weather'\], 'likes': 1099511627776, 'edi"
    ],
    "dictionaries.py": [r"before: 9\d{4} bytes\nafter: [56]\d{4} bytes\nequal: True"],
    "async_orm.py": ["1000 events read, their numbers add up to 499500"],
    "without_sqlcompress.py": [
        rf"{codec}, long: \d\d bytes stored, 1100 characters\n{codec}, short: 2 bytes stored, 2 characters"
        for codec in ("zstd", "zlib", "gzip")
    ],
    "questions.py": [
        "digest: 1 rows\nby the sender: 10 rows\ndecoded: LIKE: 11 rows\ndecoded: another path: 167 rows",
        r"3\d,\d{3} bytes stored of 429,390",
    ],
    "migrate.py": [r"before: 989000 bytes", r"upgrade: \d{5} bytes", r"downgrade: 989000 bytes"],
}


def run(program: Path, folder: Path) -> str:
    outcome = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_every_example_is_run():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name, tmp_path):
    if name.startswith("async"):
        pytest.importorskip("aiosqlite", reason="the example needs it: pip install aiosqlite greenlet")
    program = ROOT / "examples" / name
    assert len(program.read_text(encoding="utf-8").splitlines()) < 60
    output = run(program, tmp_path)
    assert list(tmp_path.iterdir()) == []
    for pattern in EXPECTED[name]:
        assert re.search(pattern, output), output
