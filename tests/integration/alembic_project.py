"""A stock Alembic environment in a temporary folder, with revisions as a test writes them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine, inspect, text

from sqlcompress.alembic.run import downgrade, upgrade

if TYPE_CHECKING:
    from sqlalchemy import URL

STOCK = Path(__file__).parents[2] / "migrations"

_REVISION = """
import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql, postgresql
from sqlcompress import CompressedBinary, CompressedJSON, CompressedText, Gzip, Zlib, Zstd

revision = "{number}"
down_revision = {previous!r}


def upgrade():
    {up}


def downgrade():
    {down}
"""


class Project:
    """Revisions 1, 2, … over an unmodified env.py."""

    def __init__(self, folder: Path, url: URL) -> None:
        self.folder = folder / "environment"
        self.url = url
        (self.folder / "versions").mkdir(parents=True)
        for name in ("env.py", "script.py.mako"):
            shutil.copy(STOCK / name, self.folder / name)
        self._count = 0

    def revision(self, up: str, down: str = "pass") -> None:
        """Add a revision with these statements."""
        self._count += 1
        previous = str(self._count - 1) if self._count > 1 else None
        script = _REVISION.format(number=self._count, previous=previous, up=up, down=down)
        (self.folder / "versions" / f"{self._count}_.py").write_text(script, encoding="utf-8")

    def upgrade(self, revision: str = "head") -> None:
        upgrade(self.url, self.folder, revision)

    def downgrade(self, revision: str = "base") -> None:
        downgrade(self.url, self.folder, revision)


def version(engine: Engine) -> str | None:
    """The revision the database is stamped with."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
