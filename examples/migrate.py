"""Compressing a column that is in use, by running Alembic from a program.

Run it: python examples/migrate.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

REVISION = """
import sqlalchemy as sa
from alembic import op
from sqlcompress import CompressedText

revision = "compress_note_body"
down_revision = None


def upgrade():
    op.compress_column("note", "body", type_=CompressedText(), existing_type=sa.Text())


def downgrade():
    op.decompress_column("note", "body", type_=sa.Text(), existing_type=CompressedText())
"""

with TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/notes.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT)"))
        rows = [{"body": f"Note {number}. " * 100} for number in range(1000)]
        connection.execute(text("INSERT INTO note (body) VALUES (:body)"), rows)

    # A stock environment, as "alembic init" makes it; nothing is added to its env.py.
    config = Config(f"{folder}/alembic.ini")
    command.init(config, f"{folder}/migrations")
    config.set_main_option("sqlalchemy.url", url)
    Path(folder, "migrations/versions/compress_note_body.py").write_text(REVISION)

    size = text("SELECT sum(length(CAST(body AS BLOB))) FROM note")
    for step, revision in ((None, ""), (command.upgrade, "head"), (command.downgrade, "base")):
        if step is not None:
            step(config, revision)
        with engine.connect() as connection:
            name = "before" if step is None else step.__name__
            print(f"{name}: {connection.execute(size).scalar_one()} bytes")
    engine.dispose()
