"""`textcall parse`: what a reply holds, without any model."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from textcall.block import Convention
from textcall.cli.options import ToolsOption, stdin_text, toolset
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
    why: Annotated[bool, typer.Option("--why", help="Say why each part was a call or was none.")] = False,
) -> None:
    """Read a reply from standard input and print the calls in it. Exit code 1 where something in it was refused."""
    chosen = toolset(tools)
    text = stdin_text()
    parsed = parse(text, tuple(chosen), strict=strict, finish_reason=finish_reason, convention=Convention())
    reasons = _reasons(text, parsed) if why else None
    if json_out:
        sys.stdout.write(compact_json(_as_json(parsed, reasons)) + "\n")
    else:
        _print(parsed, Console(highlight=False))
        for reason in reasons or ():
            typer.echo(f"line {reason['line']}: {reason['why']}: {reason['text']}")
    if parsed.problems:
        raise typer.Exit(1)


def _as_json(parsed: Parsed, reasons: list[dict[str, object]] | None) -> dict[str, object]:
    found: dict[str, object] = {
        "content": parsed.content,
        "reasoning": parsed.reasoning,
        "calls": [call_json(call) for call in parsed.calls],
        "problems": [problem_json(problem) for problem in parsed.problems],
    }
    return found if reasons is None else {**found, "why": reasons}


_HOW = {
    "strict": "exactly as the prompt asks",
    "extracted": "taken out of a",
    "repaired": "mended:",
    "renamed": "with other words than asked:",
    "coerced": "made to fit the schema at",
}
_SHOWN = 60  # code points of the text that are shown


def _reasons(text: str, parsed: Parsed) -> list[dict[str, object]]:
    """For every call and every refusal, in the order of the text: its line, why, and how it begins."""
    found = [(call.span, f"a call of {call.name}, {_how(call.how)}") for call in parsed.calls]
    found += [(problem.span, f"no call, {problem.kind}: {problem.message}") for problem in parsed.problems]
    reasons: list[dict[str, object]] = []
    for span, why in sorted(found, key=lambda entry: entry[0] or (len(text), len(text))):
        start, end = span or (len(text), len(text))
        shown = " ".join(text[start:end].split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        reasons.append({"line": text.count("\n", 0, start) + 1, "span": [start, end], "why": why, "text": shown})
    return reasons


def _how(how: tuple[str, ...]) -> str:
    return ", ".join(f"{_HOW[word.split('(')[0]]} {word.partition('(')[2][:-1]}".rstrip() for word in how)


def _print(parsed: Parsed, console: Console) -> None:
    for call in parsed.calls:
        console.print(Text.assemble(("call     ", "dim"), call_text(call)))
    for problem in parsed.problems:
        console.print(Text.assemble(("problem  ", "dim"), (f"{problem.kind}: {problem.message}", "yellow")))
    if parsed.reasoning:
        console.print(Text.assemble(("thought  ", "dim"), parsed.reasoning))
    if parsed.content:
        console.print(Text.assemble(("content  ", "dim"), parsed.content))
