"""`textcall parse`: what a reply holds, without any model."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypedDict

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from textcall.block import Convention
from textcall.cli.options import ToolsOption, stdin_text, toolset
from textcall.cli.show import call_text, terminal
from textcall.messages import compact_json
from textcall.parsing import Parsed, parse
from textcall.parsing.explain import Reason, explain
from textcall.trace import call_json, problem_json


class Options(TypedDict):
    """How a reply is read."""

    strict: bool
    finish_reason: Literal["stop", "length"]
    convention: Convention


def parse_command(
    tools: ToolsOption = None,
    json_out: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Take canonical calls only.")] = False,
    finish_reason: Annotated[
        Literal["stop", "length"], typer.Option(help="`length` where the reply was cut.")
    ] = "stop",
    why: Annotated[bool, typer.Option("--why", help="Say why each part was a call or was none.")] = False,
) -> None:
    """Read a reply from standard input and print the calls in it. Exit code 1 where something in it was refused."""
    chosen = toolset(tools)
    text = stdin_text()
    options: Options = {"strict": strict, "finish_reason": finish_reason, "convention": Convention()}
    parsed = parse(text, tuple(chosen), **options)
    rows = _as_rows(text, explain(text, tuple(chosen), **options)) if why else None
    console = terminal()
    if json_out:
        sys.stdout.write(compact_json(_as_json(parsed, rows)) + "\n")
    elif rows is not None:
        _print_rows(rows, console)
    else:
        _print(parsed, console)
    if parsed.problems:
        raise typer.Exit(1)


def _as_json(parsed: Parsed, rows: list[dict[str, object]] | None) -> dict[str, object]:
    found: dict[str, object] = {
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": [call_json(call) for call in parsed.calls],
        "problems": [problem_json(problem) for problem in parsed.problems],
    }
    return found if rows is None else {**found, "why": rows}


_SHOWN = 100  # code points of the text that are shown
_COLORS = {"call": "green", "refused": "yellow", "text": "dim"}


def _as_rows(text: str, reasons: list[Reason]) -> list[dict[str, object]]:
    """For every part that might be a call, in the order of the text: its line, what it is, why, and how it begins."""
    rows: list[dict[str, object]] = []
    for reason in reasons:
        start, end = reason.span
        line = text.count("\n", 0, start) + 1
        shown = " ".join(_begun(text, start, end).split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        verdict = reason.verdict
        rows.append({"line": line, "span": [start, end], "verdict": verdict, "why": reason.why, "text": shown})
    return rows


def _begun(text: str, start: int, end: int) -> str:
    """A part, or the rest of the line that it begins, where that is longer."""
    line = text.find("\n", start)
    return text[start : max(end, line if line >= 0 else len(text))]


def _print_rows(rows: list[dict[str, object]], console: Console) -> None:
    for row in rows:
        verdict = str(row["verdict"])
        place = Text(f"line {row['line']:<4} ", "dim")
        console.print(Text.assemble(place, (f"{verdict:8}", _COLORS[verdict]), str(row["text"])), overflow="fold")
        console.print(Padding(Text(str(row["why"])), (0, 0, 0, 18), expand=False))
    if not rows:
        console.print("nothing in it looks like a call")


def _print(parsed: Parsed, console: Console) -> None:
    for call in parsed.calls:
        console.print(Text.assemble(("call     ", "dim"), call_text(call)))
    for problem in parsed.problems:
        console.print(Text.assemble(("problem  ", "dim"), (f"{problem.kind}: {problem.message}", "yellow")))
    if parsed.reasoning:
        console.print(Text.assemble(("thought  ", "dim"), parsed.reasoning))
    if parsed.content:
        console.print(Text.assemble(("content  ", "dim"), parsed.content))
