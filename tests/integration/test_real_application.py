"""Upgrade, downgrade, upgrade under an application that was not written for this project."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from sqlcompress.frames import MAGICS

pytest.importorskip("optuna", reason="needs optuna: pip install --group test")

ROOT = Path(__file__).parents[2]
COLUMNS = {
    "study_system_attributes": "value_json",
    "study_user_attributes": "value_json",
    "trial_params": "distribution_json",
    "trial_system_attributes": "value_json",
    "trial_user_attributes": "value_json",
}


@pytest.fixture
def step(database_url, tmp_path):
    """Runs one step of the application in a process of its own; what it printed."""

    def run(name):
        url = database_url.render_as_string(hide_password=False)
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "error",
                "-m",
                "tests.integration.optuna_application",
                name,
                url,
                str(tmp_path),
            ],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def schema(engine):
    """All tables, columns, keys and indexes, and the text of every document as the server gives it."""
    inspector = sa.inspect(engine)
    return {
        name: (
            [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(name)],
            inspector.get_pk_constraint(name),
            sorted(inspector.get_unique_constraints(name), key=repr),
            sorted(inspector.get_indexes(name), key=repr),
            sorted(inspector.get_foreign_keys(name), key=repr),
            sorted(inspector.get_check_constraints(name), key=repr),
        )
        for name in inspector.get_table_names()
        if name != "compression_version"
    }


def stored(engine):
    """The documents as they are stored, of all five columns."""
    found = []
    with engine.connect() as connection:
        for table, column in COLUMNS.items():
            values = connection.execute(sa.select(sa.column(column)).select_from(sa.table(table))).scalars()
            found += [value if isinstance(value, str) else bytes(value) for value in values]
    return found


def test_optuna_goes_up_down_and_up(engine, step):
    recorded = step("fill")
    assert len(recorded["trials"]) == 60
    assert len(recorded["trials"][7]["user"]["plan"]["layers"]) == 8
    tables = schema(engine)
    documents = sorted(stored(engine))
    assert len(documents) > 400

    compressed = step("compress")
    script = compressed["script"]
    for table, column in COLUMNS.items():
        assert f"op.compress_column('{table}', '{column}', type_=CompressedText(), existing_type=" in script
        assert f"op.decompress_column('{table}', '{column}', type_=" in script
    assert script.count("op.") == 2 * len(COLUMNS)
    assert compressed["before"] == recorded
    assert len(compressed["after"]["trials"]) == 70
    assert compressed["after"]["trials"][:60] == recorded["trials"]
    values = stored(engine)
    assert not [value for value in values if isinstance(value, str)]
    assert sum(value.startswith(MAGICS[0]) for value in values) > len(values) // 2

    step("go_down")
    assert step("read") == compressed["after"]
    assert schema(engine) == tables
    plain = stored(engine)
    assert not [value for value in plain if isinstance(value, bytes)]
    assert [text for text in documents if text not in set(plain)] == documents_replaced(documents)

    assert step("go_up") == compressed["after"]
    assert sorted(stored(engine)) == sorted(values)


def documents_replaced(documents):
    """The one that the application overwrote while its column was compressed."""
    return [text for text in documents if text.startswith("{") and f'"exact": {2**53 - 2}' in text]
