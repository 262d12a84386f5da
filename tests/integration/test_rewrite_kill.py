"""Killed with SIGKILL in the middle of a table and run again, up and down, on each database."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from sqlcompress import CompressedText
from sqlcompress.frames import is_framed
from tests.integration.alembic_project import Project, version

ROOT = Path(__file__).parents[2]
ROWS = 600

CHILD = """
import sys
from sqlcompress.alembic.run import downgrade, upgrade
from sqlcompress.jobs.progress import reporting_to

def tell(progress):
    print(progress.rows_seen, flush=True)

url, folder, direction = sys.stdin.read().splitlines()
with reporting_to(tell):
    upgrade(url, folder) if direction == "up" else downgrade(url, folder, "1")
print("end", flush=True)
"""


def text(i):
    # Every tenth cannot shrink and stays plain.
    return os.urandom(30).hex()[:50] if i % 10 == 0 else f"row {i} \U0001f600 " * 30


def run_and_kill(project, direction, batches):
    """Start the migration, kill it after this many batches; whether it was killed before its end."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    url = project.url.render_as_string(hide_password=False)
    child.stdin.write(f"{url}\n{project.folder}\n{direction}\n")
    child.stdin.close()
    lines = []
    for line in child.stdout:
        lines.append(line.strip())
        if len(lines) == batches:
            child.send_signal(signal.SIGKILL)
            break
    child.stdout.read()
    child.stdout.close()
    child.wait()
    return child.returncode == -signal.SIGKILL and "end" not in lines


@pytest.mark.parametrize("strategy", ["rewrite", "atomic"])
def test_killed_and_run_again(engine, database_url, tmp_path, strategy):
    plain = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
    t = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("d", plain),
    )
    t.create(engine)
    texts = {i: text(i) for i in range(ROWS)}
    with engine.begin() as connection:
        connection.execute(t.insert(), [{"id": i, "d": value} for i, value in texts.items()])
    project = Project(tmp_path, database_url)
    project.revision("pass")
    settings = f'strategy="{strategy}", batch_rows=20, pause_seconds=0.01'
    project.revision(
        f'op.compress_column("t", "d", type_=CompressedText(), {settings})',
        'op.decompress_column("t", "d", type_=sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),'
        f" existing_type=CompressedText(), {settings})",
    )
    project.upgrade("1")
    dice = random.Random(os.getpid())
    type_ = CompressedText()
    for _ in range(3 if strategy == "rewrite" else 1):
        assert run_and_kill(project, "up", dice.randrange(1, 9))
        assert version(engine) == "1"
    project.upgrade()
    assert version(engine) == "2"
    stored = raw(engine)
    decoded = {key: type_.from_stored(value) for key, value in stored.items()}
    assert not any(is_framed(value) for value in decoded.values())
    assert {key: value.decode() for key, value in decoded.items()} == texts
    assert sum(map(is_framed, stored.values())) == ROWS * 9 // 10
    for _ in range(3 if strategy == "rewrite" else 1):
        assert run_and_kill(project, "down", dice.randrange(1, 9))
        assert version(engine) == "2"
    project.downgrade("1")
    with engine.connect() as connection:
        assert dict(iter(connection.execute(sa.select(t)))) == texts


def raw(engine):
    t = sa.table("t", sa.column("id"), sa.column("d", sa.LargeBinary))
    with engine.connect() as connection:
        return {
            key: value.encode() if isinstance(value, str) else bytes(value)
            for key, value in connection.execute(sa.select(t))
        }
