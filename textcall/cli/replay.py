"""`textcall replay` and `textcall reparse`: what a trace tells, without any model."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from textcall.cli.demo import Frames
from textcall.cli.show import RunView, labelled, terminal, visible
from textcall.engines.base import Written
from textcall.events import Finished, RunEvent, RunStarted
from textcall.messages import compact_json
from textcall.trace import read_trace
from textcall.trace.reparse import Reparsed, reparse

TraceFile = Annotated[Path, typer.Argument(metavar="FILE", help="A trace, as `textcall run --trace FILE` writes it.")]


def replay_command(
    file: TraceFile,
    plain: Annotated[bool, typer.Option("--plain", help="Short lines instead of frames.")] = False,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter before each frame.")] = False,
    delay: Annotated[float, typer.Option("--delay", min=0.0, help="Seconds before each frame.")] = 0.0,
) -> None:
    """Show a run again, frame by frame, as it was: no model is needed."""
    events = read_trace(file)
    console = terminal()
    view: RunView | Frames = RunView(console) if plain else Frames(console)
    step = step and sys.stdin is not None and sys.stdin.isatty()
    try:
        for event in events:
            if _is_frame(event):
                _pause(step, delay)
            if isinstance(event, RunStarted):
                console.rule(Text(visible(f"{event.model}: {event.messages[-1].content}"), "bold"))
            view(event)
    finally:
        view.close()
    if not isinstance(events[-1], Finished):
        console.print(Text("here the trace ends: the run broke off", "yellow"))


def reparse_command(
    file: TraceFile,
    json_out: Annotated[bool, typer.Option("--json", help="One JSON object a reply.")] = False,
) -> None:
    """Read the replies of a trace with today's parser. Exit code 1 where anything is read otherwise than then."""
    found = list(reparse(read_trace(file)))
    if json_out:
        for one in found:
            sys.stdout.write(compact_json(_as_json(one)) + "\n")
    else:
        _print(found)
    if any(one.differences for one in found):
        raise typer.Exit(1)


def _is_frame(event: RunEvent) -> bool:
    return not isinstance(event, Written | RunStarted)


def _pause(step: bool, delay: float) -> None:
    if step:
        sys.stdin.readline()
    if delay:
        time.sleep(delay)


def _as_json(one: Reparsed) -> dict[str, object]:
    differences = [{"what": d.what, "before": d.before, "now": d.now} for d in one.differences]
    return {"run": one.run, "turn": one.turn, "differences": differences}


def _print(found: list[Reparsed]) -> None:
    console = terminal()
    for one in found:
        for difference in one.differences:
            place = f"run {one.run}, turn {one.turn}" if found[-1].run > 1 else f"turn {one.turn}"
            console.print(Text(f"{place}: {difference.what}", "bold"))
            for label, text, colour in (("then", difference.before, "red"), ("now", difference.now, "green")):
                shown = Text(visible(text) or "nothing", colour if text else "dim")
                console.print(labelled(label, shown, wrap=console.is_terminal), soft_wrap=True)
    changed = sum(bool(one.differences) for one in found)
    replies = f"{len(found)} repl{'y' if len(found) == 1 else 'ies'}"
    console.print(f"{replies}, {changed} read otherwise than then")
