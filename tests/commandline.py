"""Runs the ``sqlcompress`` command in this process."""

from __future__ import annotations

import inspect

from click.testing import CliRunner, Result

from sqlcompress.cli.group import sqlcompress


def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
    """The outcome of ``sqlcompress ARGUMENTS``, with its two output streams kept apart."""
    # click 8.2 keeps them apart without being told, and has no such argument any more.
    mixing = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    return CliRunner(**mixing).invoke(sqlcompress, arguments, input=stdin)
