"""`textcall parse`: what a reply holds, without any model."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from textcall.block import Convention
from textcall.cli.options import ToolsOption, toolset
from textcall.cli.show import call_text
from textcall.messages import compact_json
from textcall.parsing import Parsed, parse
from textcall.trace import call_json, problem_json


def parse_command(
    tools: ToolsOption = None,
    json_out: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Take canonical calls only.")] = False,
    finish_reason: Annotated[
        Literal["stop", "length"], typer.Option(help="`length` where the reply was cut.")
    ] = "stop",
) -> None:
    """Read a reply from standard input and print the calls in it. Exit code 1 where something in it was refused."""
    chosen = toolset(tools)
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    parsed = parse(text, tuple(chosen), strict=strict, finish_reason=finish_reason, convention=Convention())
    if json_out:
        sys.stdout.write(compact_json(_as_json(parsed)) + "\n")
    else:
        _print(parsed, Console(highlight=False))
    if parsed.problems:
        raise typer.Exit(1)


def _as_json(parsed: Parsed) -> dict[str, object]:
    return {
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": [call_json(call) for call in parsed.calls],
        "problems": [problem_json(problem) for problem in parsed.problems],
    }


def _print(parsed: Parsed, console: Console) -> None:
    for call in parsed.calls:
        console.print(Text.assemble(("call     ", "dim"), call_text(call)))
    for problem in parsed.problems:
        console.print(Text.assemble(("problem  ", "dim"), (f"{problem.kind}: {problem.message}", "yellow")))
    if parsed.reasoning:
        console.print(Text.assemble(("thought  ", "dim"), parsed.reasoning))
    if parsed.content:
        console.print(Text.assemble(("content  ", "dim"), parsed.content))
