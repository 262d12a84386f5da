"""SQLAlchemy's own tests of its types pass with ours in their place, on every database that passes them.

They run under SQLAlchemy's pytest plugin, in a process of their own (tests/compliance): with the types they
were written for, with ours as they store values, and with ours and each value in a frame, however short.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.integration.test_decompressed import make_functions
from tests.servers import lease

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "tests" / "compliance"

#: What passes with SQLAlchemy 2.0.0 on SQLite, the fewest of all; with fewer the run is not what it seems.
AT_LEAST = {
    "BinaryTest": 2,
    "DifficultParametersTest": 63,
    "ExpandingBoundInTest": 29,
    "JSONLegacyStringCastIndexTest": 5,
    "JSONTest": 96,
    "LikeFunctionsTest": 22,
    "OrderByLabelTest": 6,
    "StringTest": 7,
    "TextTest": 8,
    "UnicodeTextTest": 6,
    "UnicodeVarcharTest": 6,
}

#: Classes and tests that SQLAlchemy skips by itself where the database or driver lacks this; nothing else is
#: skipped.
LEFT_OUT = {
    "InsertBehaviorTest::test_autoclose_on_insert_implicit_returning": "INSERT … RETURNING",
    "ReturningTest": "INSERT … RETURNING",
    "RowCountTest::test_update_delete_rowcount_return_defaults": "UPDATE or DELETE … RETURNING",
    "ServerSideCursorsTest": "cursors on the server",
    "SimpleUpdateDeleteTest::test_delete_returning": "DELETE … RETURNING",
    "SimpleUpdateDeleteTest::test_update_returning": "UPDATE … RETURNING",
    "SimpleUpdateDeleteTest::test_update_returning_unchanged_rows": "UPDATE … RETURNING",
}

RAW_SQL = "compares the column in raw SQL"
#: What passes with SQLAlchemy's types and not with ours, and why. Each fails, or it has to go from here.
EXCEPTIONS = {
    "ExpandingBoundInTest::test_bound_in_heterogeneous_two_tuple_text_bindparam": RAW_SQL,
    "ExpandingBoundInTest::test_bound_in_heterogeneous_two_tuple_text_bindparam_non_tuple": RAW_SQL,
    "ExpandingBoundInTest::test_untyped_str_in": RAW_SQL,
    "RowCountTest::test_raw_sql_rowcount": RAW_SQL,
    "RowCountTest::test_text_rowcount": RAW_SQL,
    "PostCompileParamsTest::test_execute_tuple_expanding_plus_literal_heterogeneous_execute": (
        "asserts the exact SQL, in which the column is not decoded"
    ),
}


def is_excepted(name, database, mode):
    reason = EXCEPTIONS.get(name, "")
    if reason == RAW_SQL:
        # Elsewhere the bytes of a value without a frame equal its text.
        return mode == "framed" or database == "sqlite"
    return bool(reason)


@pytest.fixture
def run(database, database_url, tmp_path):
    """A function that runs the suites in one mode and gives their report."""
    # SQLAlchemy's plugin makes names of its own of SQLite's, in the folder it is run in.
    url = "sqlite:///compliance.db" if database == "sqlite" else database_url

    def run_suites(mode):
        folder = tmp_path / mode
        folder.mkdir()
        report = folder / "report.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "--quiet", "--tb=short", "--disable-asyncio"),
                # Neither the project's configuration nor its conftest.py.
                *("-c", str(SUITES / "setup.cfg"), "--rootdir", str(SUITES), "--confcutdir", str(SUITES)),
                *("-p", "sqlalchemy.testing.plugin.pytestplugin", "-p", "tests.compliance.plugin"),
                *("-p", "no:cacheprovider", str(SUITES / "suites.py")),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=600,
            env={
                # Those of this run (of a worker, of options) are not for that one.
                **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": str(ROOT),
                "PYTHONIOENCODING": "utf-8",
                "SQLCOMPRESS_COMPLIANCE_MODE": mode,
                "SQLCOMPRESS_COMPLIANCE_REPORT": str(report),
                "SQLCOMPRESS_COMPLIANCE_URL": make_url(url).render_as_string(hide_password=False),
            },
        )
        # 1 says that tests failed; a run that did not come to its end gives another.
        assert done.returncode in {0, 1}, done.stdout + done.stderr
        return json.loads(report.read_text(encoding="utf-8"))

    return run_suites


@pytest.fixture
def plain(run, database, tmp_path):
    """The report with SQLAlchemy's types; a worker that comes later takes what an earlier one has kept."""
    kept = lease.open_run() / f"compliance-{database}.json"
    if not kept.exists():
        whole = tmp_path / "plain.json"
        whole.write_text(json.dumps(run("plain")), encoding="utf-8")
        shutil.move(whole, kept)
    return json.loads(kept.read_text(encoding="utf-8"))


def with_result(report, result):
    return {name for name, found in report["outcomes"].items() if found == result}


def class_of(name):
    return name.partition("::")[0]


def test_the_run_with_plain_types_is_worth_a_comparison(plain):
    passed = with_result(plain, "passed")
    count = Counter(map(class_of, passed))
    assert {name: count[name] for name, least in AT_LEAST.items() if count[name] < least} == {}
    assert set(EXCEPTIONS) - passed == set()
    skipped = {name.partition("[")[0] for name in with_result(plain, "skipped")}
    assert {name for name in skipped if not {name, class_of(name)} & set(LEFT_OUT)} == set()
    classes = set(
        re.findall(r"^class (\w+)", (SUITES / "suites.py").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert classes - set(map(class_of, plain["outcomes"])) - set(LEFT_OUT) == set()
    assert sum(plain["framed"].values()) + sum(plain["unframed"].values()) == 0


@pytest.mark.parametrize("mode", ["stored", "framed"])
def test_what_passes_with_plain_types_passes_with_ours(request, database, mode, run, plain):
    if database == "postgresql":
        make_functions(request.getfixturevalue("engine"))
    ours = run(mode)
    assert set(ours["outcomes"]) == set(plain["outcomes"])
    passed = with_result(ours, "passed")
    missing = with_result(plain, "passed") - passed
    excepted = {name for name in EXCEPTIONS if is_excepted(name, database, mode)}
    assert not missing - excepted, "\n\n".join(
        f"{name}: {ours['reasons'][name]}" for name in sorted(missing - excepted)
    )
    assert excepted - missing == set(), "they pass and are no exceptions"

    # Our types had a part in it, in every class of tests.
    framed, unframed = Counter(ours["framed"]), Counter(ours["unframed"])
    assert {name for name in map(class_of, passed) if not framed[name] + unframed[name]} == set()
    if mode == "framed":
        assert framed.total() > 900
        assert unframed.total() == 0
    else:
        assert framed.total() > 20
        assert unframed.total() > 900
