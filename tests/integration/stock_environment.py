"""What ``alembic init`` writes for one of its templates, run by Alembic's own command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL

ROOT = Path(__file__).parents[2]

MODELS = """
import os

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlcompress import CompressedJSON, CompressedText, Zlib

compressed = "COMPRESSED" in os.environ
long_text = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def model(name):
    metadata = sa.MetaData()
    sa.Table(
        name,
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", CompressedText() if compressed else long_text, nullable=False),
        sa.Column("j", CompressedJSON(Zlib()) if compressed else sa.JSON()),
    )
    return metadata


first, second = model("article"), model("order")
"""


class StockEnvironment:
    """A folder with Alembic's files and ``models.py``; no more of them is edited than must be."""

    def __init__(self, folder: Path, template: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.alembic("init", "-t", template, "migrations")
        (folder / "models.py").write_text(MODELS, encoding="utf-8")
        self.env = folder / "migrations" / "env.py"

    def edit(self, path: Path, old: str, new: str) -> None:
        """Replace what must stand there once."""
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (path, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def point_to(self, url: URL, section: str = "alembic") -> None:
        """Set the URL of a section of alembic.ini."""
        ini = self.folder / "alembic.ini"
        text = url.render_as_string(hide_password=False).replace("%", "%%")
        before, heading, after = ini.read_text(encoding="utf-8").partition(f"[{section}]\n")
        assert heading
        after = re.sub("(?m)^sqlalchemy.url = .*$", lambda _: f"sqlalchemy.url = {text}", after, count=1)
        ini.write_text(before + heading + after, encoding="utf-8")

    def alembic(self, *arguments: str, compressed: bool = False, fails: bool = False) -> str:
        """Run the command line; what it says."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "alembic", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**self.environment, **({"COMPRESSED": "1"} if compressed else {})},
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def _revision(self) -> Path:
        (path,) = (self.folder / "migrations" / "versions").glob("*.py")
        return path

    def script(self) -> str:
        """The text of the one revision."""
        return self._revision.read_text(encoding="utf-8")

    def replace(self, old: str, new: str) -> None:
        """Edit the one revision."""
        self._revision.write_text(self.script().replace(old, new), encoding="utf-8")
