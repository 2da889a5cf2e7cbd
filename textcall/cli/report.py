"""`textcall report`: a trace as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from textcall.errors import UsageError
from textcall.events import RunEvent, RunStarted, TurnRead
from textcall.trace import read_trace


def report_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace: the lines that `textcall run --json` prints.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.html", help="Where to (default: beside the trace; - for stdout)."),
    ] = None,
) -> None:
    """Make one HTML page of a trace, to be shown or sent around: it needs no network and runs no script."""
    from textcall.trace.report import report  # needs a template engine: only where a page is made

    target = out or file.with_suffix(".html")
    if str(target) != "-" and _same(file, target):
        raise UsageError(f"{target} is the trace itself: say with -o where the page shall go")
    events = read_trace(file)
    page = report(events, file.name).encode()
    if str(target) == "-":
        sys.stdout.buffer.write(page)
        sys.stdout.flush()
        return
    try:
        target.write_bytes(page)
    except OSError as error:
        raise UsageError(f"the page cannot be written to {target}: {error.strerror}") from error
    typer.echo(f"{target}: {len(page) / 1000:,.0f} kB, {_told(events)}", err=True)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def _told(events: list[RunEvent]) -> str:
    counts = (
        (sum(isinstance(event, RunStarted) for event in events), "run"),
        (sum(isinstance(event, TurnRead) for event in events), "turn"),
    )
    return ", ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts)
