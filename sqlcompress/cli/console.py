"""Where output goes: results to standard output, progress to standard error.

On a terminal progress is a bar. Elsewhere (a pipe, a log of a CI run) it is plain lines, a few for each step
and without control characters.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

#: Wide enough for every table of ours; a pipe has no width of its own.
_PIPE_WIDTH: Final = 120
_SECONDS_BETWEEN_LINES: Final = 2.0


def console_of(stream: TextIO) -> Console:
    """A console that writes control characters to a terminal only, whatever the environment says."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, force_terminal=False, color_system=None, width=_PIPE_WIDTH)


class LineReporter:
    """Progress as plain lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()
        self._finished: set[str] = set()

    def step(self, title: str) -> None:
        """A heading."""
        self._write(title)
        self._last = time.monotonic()
        self._finished.clear()

    def note(self, text: str) -> None:
        """An indented line."""
        self._write(f"  {text}")

    def progress(self, label: str, rows: int, total: int | None, detail: str = "") -> None:
        """A line every two seconds, and one when all is done, however often that is reported."""
        now = time.monotonic()
        if rows == total:
            if label in self._finished:
                return
            self._finished.add(label)
        elif now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        of_total = "" if total is None else f" of {total:,}"
        self._write(f"  {label}: {rows:,}{of_total} rows{detail and f', {detail}'}")

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class BarReporter:
    """Progress as a bar for each table of a step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def step(self, title: str) -> None:
        """A heading above the bars; those of the step before go."""
        for task in self._tasks.values():
            self._progress.remove_task(task)
        self._tasks.clear()
        self._progress.console.print(title, style="bold", markup=False)

    def note(self, text: str) -> None:
        """An indented line above the bars."""
        self._progress.console.print(f"  {text}", markup=False)

    def progress(self, label: str, rows: int, total: int | None, detail: str = "") -> None:
        """Move the label's bar."""
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total, detail="")
        self._progress.update(self._tasks[label], completed=rows, total=total, detail=detail)


@contextmanager
def reporter() -> Iterator[BarReporter | LineReporter]:
    """Progress on standard error, in the form that suits where it goes."""
    if not sys.stderr.isatty():
        yield LineReporter(sys.stderr)
        return
    with Progress(
        TextColumn("  {task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
        console=console_of(sys.stderr),
        expand=True,
    ) as bars:
        yield BarReporter(bars)
