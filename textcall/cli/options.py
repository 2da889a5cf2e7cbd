"""The options that several commands share, and what they turn into."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Literal

import typer

from textcall.errors import UsageError
from textcall.load import load_tools
from textcall.resolve import ResolvedModel, resolve_model
from textcall.toolbox import BUILTIN, GROUPS
from textcall.tools import Tool, Toolset

ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="FILE|NAME", help="A GGUF file or a name of `textcall models ls`."),
]
ToolsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tools",
        "-t",
        metavar="MODULE|FILE.py|FILE.json|files|sheets|search",
        help="Your own tools, instead of the built-in ones (repeatable; `builtin` adds those). `files`, `sheets` and "
        "`search` are groups of tools; `files:FOLDER` gives them another folder than this one.",
    ),
]
ChoiceOption = Annotated[
    str,
    typer.Option(
        "--tool-choice",
        metavar="auto|required|none|NAME[,…]",
        help="Whether the first step must call; several, one a step, of which the last one stays.",
    ),
]
SystemOption = Annotated[
    str | None, typer.Option("--system", metavar="TEXT|@FILE", help="Your own system text, in front of the tools.")
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Evaluate the whole prompt, and keep nothing of it for the next run.")
]
StepsOption = Annotated[int, typer.Option("--max-steps", min=1, help="Turns in which tools may be called.")]
CallsOption = Annotated[int, typer.Option("--max-calls", min=0, help="Tools run for one question.")]
SecondsOption = Annotated[
    float | None, typer.Option("--max-seconds", min=0.001, help="Time for one question, without the last answer.")
]
RunTokensOption = Annotated[
    int | None, typer.Option("--max-run-tokens", min=1, help="Tokens written for one question, all turns together.")
]
ToolLimitOption = Annotated[
    int | None, typer.Option("--tool-limit", min=1, help="Show the model only the N tools nearest to the question.")
]
ParallelOption = Annotated[bool, typer.Option("--parallel-tool-calls", help="Let one reply hold several calls.")]
ApproveOption = Annotated[
    Literal["ask", "always", "never"], typer.Option("--approve", help="Whether tools marked dangerous may run.")
]
TemperatureOption = Annotated[float, typer.Option("--temperature", min=0.0, help="0 takes the likeliest token.")]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, help="Makes a run at temperature > 0 repeatable.")]
TokensOption = Annotated[int, typer.Option("--max-tokens", min=1, help="Of each reply.")]
TraceOption = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Keep the run, for replay, reparse and report.")
]
ContextOption = Annotated[int, typer.Option("--context", min=256, help="Tokens of context.")]


def toolset(specs: list[str] | None) -> Toolset:
    """The built-in tools, or those of the groups, modules and files in `specs`."""
    tools: list[Tool] = []
    with redirect_stdout(sys.stderr):  # a user's module may print; stdout is for what the command gives
        for spec in specs or ["builtin"]:
            tools.extend(_tools_of(spec))
    return Toolset.of(tools)


def choice_option(value: str) -> str | list[str]:
    """--tool-choice: one for the run, or with commas one a step."""
    return [part.strip() for part in value.split(",")] if "," in value else value


def _tools_of(spec: str) -> Iterable[Tool]:
    """`builtin`, a group with or without `:FOLDER`, or what `load_tools` takes."""
    if spec == "builtin":
        return BUILTIN
    group, colon, folder = spec.partition(":")
    if group not in GROUPS:
        return load_tools(spec)
    if colon and not folder:
        raise UsageError(f"--tools {spec}: a folder must stand behind the colon")
    return GROUPS[group](Path(folder).expanduser() if folder else None)


def stdin_text() -> str:
    """All of standard input; bytes that are no UTF-8 are replaced."""
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    if sys.stdin.isatty():
        typer.echo("reading standard input; Ctrl-D ends it", err=True)
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")


def system_text(value: str | None) -> str | None:
    """The text of --system; `@FILE` reads it from a file."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--system {value}: cannot be read: {error}") from error


def model_at_hand(name: str | None) -> ResolvedModel | None:
    """The model that a run would take, or None where there is none and none was asked for."""
    from textcall.errors import ModelError

    try:
        return resolve_model(name)
    except ModelError:
        if name is not None:
            raise
        return None
