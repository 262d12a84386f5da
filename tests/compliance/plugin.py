"""A pytest plugin beside SQLAlchemy's: our types in its suites, our compiler on its engines, and a report."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.testing import engines

from sqlcompress import install
from tests.compliance.modes import PLAIN, REPORT_VARIABLE, in_place_of, mode, url, written

_SUITES = "sqlalchemy.testing.suite."
_outcomes = {}
_reasons = {}
_framed = Counter()
_unframed = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.option.dburi = [url.render_as_string(hide_password=False)]
    if mode != PLAIN:
        # Where the plugin and the suites get every engine from.
        testing_engine = engines.testing_engine
        engines.testing_engine = lambda *args, **kw: install(testing_engine(*args, **kw))


@pytest.fixture(autouse=True, scope="class")
def _in_place(request):
    """For one class, our types under the names that its module knows SQLAlchemy's by."""
    own = next(base for base in request.cls.__mro__ if base.__module__.startswith(_SUITES))
    with pytest.MonkeyPatch.context() as patch:
        for name in getattr(request.cls, "replaced", ()):
            patch.setattr(sys.modules[own.__module__], name, in_place_of(getattr(sa, name)))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    # Types made when the suite was imported, as values of a parameter.
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    for name, value in parameters.items():
        if type(value) is sa.LargeBinary:
            parameters[name] = in_place_of(sa.LargeBinary)()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    # The class that is run has the names and versions of the database and the driver in its name.
    class_name = getattr(item.cls, "_sa_orig_cls_name", item.cls.__name__)
    name = f"{class_name}::{item.name}"
    if report.when == "call" or not report.passed:  # what fails while a test is taken down has not passed
        _outcomes[name] = report.outcome
        if not report.passed:
            _reasons[name] = str(report.longrepr)
    _framed[class_name] += written[True]
    _unframed[class_name] += written[False]
    written.clear()
    return report


def pytest_sessionfinish():
    told = {"outcomes": _outcomes, "reasons": _reasons, "framed": _framed, "unframed": _unframed}
    Path(os.environ[REPORT_VARIABLE]).write_text(json.dumps(told))
