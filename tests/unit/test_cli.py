"""The command itself: help, usage errors, missing extras, output on a pipe, and its reference page."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DataError, OperationalError

import sqlcompress as package
from sqlcompress.cli.console import LineReporter, console_of
from sqlcompress.cli.errors import one_line
from sqlcompress.cli.group import COMMANDS, sqlcompress
from sqlcompress.errors import SqlcompressError
from sqlcompress.jobs.figures import byte_size, ratio
from tests.commandline import invoke

REFERENCE = Path(__file__).parents[2] / "docs" / "cli.md"


def command(name: str) -> click.Command:
    found = sqlcompress.get_command(click.Context(sqlcompress), name)
    assert found is not None
    return found


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_version_is_the_packages():
    outcome = invoke("--version")
    assert outcome.exit_code == 0
    assert outcome.stdout == f"sqlcompress, version {package.__version__}\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(flag):
    outcome = invoke(flag)
    assert outcome.exit_code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name}  ", outcome.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["cat", "--no-such-option"],
        ["cat", "--max-size", "0"],
        ["cat", "--legacy", "pickle"],
        ["demo", "--megabytes", "0"],
        ["demo", "--url", "no url"],
        ["demo", "--url", "nosuchdatabase://user:s3cret@host/name"],
        ["demo", "--url", "postgresql://user:s3cret@host:port/name"],
    ],
)
def test_wrong_usage_exits_with_2_and_tells_no_password(arguments):
    outcome = invoke(*arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert "s3cret" not in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_every_command_and_option_is_in_the_reference(name):
    page = REFERENCE.read_text(encoding="utf-8")
    if name is None:
        section = page.split("\n## ")[0]
        parameters = sqlcompress.params
    else:
        sections = re.split(r"^## sqlcompress ", page, flags=re.MULTILINE)
        (section,) = [part for part in sections if part.startswith(f"{name}\n")]
        parameters = list(command(name).params)
        for each in getattr(command(name), "commands", {}).values():
            assert f"`{each.name}" in section or f" {each.name} " in section
            parameters += each.params
    options = [
        name.upper() if isinstance(parameter, click.Argument) else name
        for parameter in parameters
        for name in (parameter.secondary_opts or parameter.opts)
    ]
    missing = [option for option in options if not re.search(rf"[` ]{option}[ `]", section)]
    assert missing == []


def test_the_reference_has_no_option_that_is_gone():
    commands = [command(name) for name in COMMANDS]
    commands += [
        sub for group in commands if isinstance(group, click.Group) for sub in group.commands.values()
    ]
    known = {
        option
        for each in commands
        for parameter in each.params
        for option in [*parameter.opts, *parameter.secondary_opts]
    }
    known |= {option for parameter in sqlcompress.params for option in parameter.opts} | {"--help", "-h"}
    rows = re.findall(r"^\| (`--.*?) \|", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows
    assert {option for row in rows for option in re.findall(r"`(--?[a-z-]+)", row)} <= known | {"-V"}


def test_every_command_has_help_in_a_sentence():
    for name in COMMANDS:
        text = command(name).help
        assert text is not None
        assert text.split("\n")[0].endswith(".")
        for parameter in command(name).params:
            if isinstance(parameter, click.Argument):
                continue
            assert isinstance(parameter, click.Option)
            assert parameter.help


BLOCKED = """
import sys
sys.modules[sys.argv[1]] = None
from sqlcompress.cli import main
main()
"""


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_one_line_says_how_to_get_it(missing):
    program = BLOCKED.replace("main()\n", "sys.argv[1:] = ['demo']; main()\n")
    outcome = run_python(program, missing)
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    assert outcome.stderr == (
        f"Error: The command line needs {missing}, which is not installed: pip install 'sqlcompress[cli]'\n"
    )


def test_demo_without_alembic_names_the_extra():
    program = BLOCKED.replace("main()\n", "sys.argv[1:] = ['demo']; main()\n")
    outcome = run_python(program, "alembic")
    assert outcome.returncode == 1
    assert outcome.stderr.count("\n") == 1
    assert "pip install 'sqlcompress[" in outcome.stderr


def test_cat_and_help_do_not_load_alembic_or_the_demo():
    program = (
        "import sys; from sqlcompress.cli.group import sqlcompress; import sqlcompress.cli.cat;"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] == 'alembic' or 'demo' in name))"
    )
    outcome = run_python(program)
    assert outcome.stderr == ""
    assert outcome.stdout == "[]\n"


def test_the_module_runs_as_the_command():
    outcome = subprocess.run(
        [sys.executable, "-m", "sqlcompress.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert outcome.stdout == f"sqlcompress, version {package.__version__}\n"


class FakeDriverError(Exception):
    pass


def test_a_drivers_error_is_one_line_without_statement_parameters_or_password():
    error = OperationalError(
        "SELECT secret_column", {"x": "a value"}, FakeDriverError("cannot connect\n\tas user:s3cret to host")
    )
    line = one_line(error, make_url("postgresql://user:s3cret@host/name"))
    assert line == "FakeDriverError: cannot connect as user:*** to host"


def test_a_drivers_error_about_a_value_is_not_quoted():
    error = DataError("INSERT", {}, FakeDriverError("Incorrect string value: 'a value'"))
    assert one_line(error) == "the database reported FakeDriverError"


def test_our_own_error_is_joined_to_one_line():
    assert one_line(SqlcompressError("first\n  - second")) == "first - second"
    assert one_line(SqlcompressError()) == "SqlcompressError"


def test_progress_on_a_pipe_is_plain_lines():
    stream = io.StringIO()
    reporter = LineReporter(stream)
    reporter.step("Load")
    for rows in range(1, 1001):
        reporter.progress("t", rows, 1000, "1.0 to 0.5 MB")
    reporter.progress("t", 1000, 1000, "1.0 to 0.5 MB")  # a second pass that found nothing
    reporter.note("loaded")
    assert stream.getvalue() == "Load\n  t: 1,000 of 1,000 rows, 1.0 to 0.5 MB\n  loaded\n"


def test_progress_of_an_unknown_total_says_only_what_is_done():
    stream = io.StringIO()
    reporter = LineReporter(stream)
    reporter._last = float("-inf")
    reporter.progress("t", 5, None)
    assert stream.getvalue() == "  t: 5 rows\n"


def test_a_console_on_a_pipe_has_no_control_characters(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    console_of(stream).print("[bold red]text[/]" + "x" * 100)
    assert stream.getvalue() == "text" + "x" * 100 + "\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (10_626_701, "10.63 MB"),
        (5 * 10**12, "5000.00 GB"),
    ],
)
def test_byte_sizes_have_decimal_units(count, text):
    assert byte_size(count) == text


def test_ratio_of_nothing_is_a_dash():
    assert (ratio(300, 100), ratio(0, 0)) == ("3.00", "-")
