"""`textcall prompt` and `textcall grammar`: exactly what the model is told, and exactly what it is held to."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.table import Table

from textcall.block import Convention
from textcall.cli.options import (
    ChoiceOption,
    ModelOption,
    SystemOption,
    ToolsOption,
    model_at_hand,
    system_text,
    toolset,
)
from textcall.cli.show import terminal
from textcall.prompting.render import system_prompt, tool_text
from textcall.tools import ToolChoice, Toolset
from textcall.turn import Setup, grammar_of


def prompt_command(
    tools: ToolsOption = None,
    system: SystemOption = None,
    model: ModelOption = None,
    count: Annotated[bool, typer.Option("--count/--no-count", help="Count tokens, where a model is at hand.")] = True,
) -> None:
    """Print the system prompt for the given tools; on stderr how many tokens each tool costs."""
    chosen, convention = toolset(tools), Convention()
    text = system_prompt(chosen, convention, system_text(system))
    sys.stdout.write(text + "\n")
    if count:
        _print_costs(text, chosen, convention, model)


def grammar_command(tools: ToolsOption = None, tool_choice: ChoiceOption = "auto") -> None:
    """Print the GBNF grammar of a reply for the given tools, as llama.cpp's own tools take it too."""
    chosen = toolset(tools)
    rules = grammar_of(Setup(tools=chosen), ToolChoice.parse(tool_choice, chosen))
    if rules is None:
        return
    sys.stdout.write(rules.gbnf.rstrip("\n") + "\n")
    for problem in rules.problems:
        typer.echo(problem, err=True)


def _print_costs(text: str, tools: Toolset, convention: Convention, model: str | None) -> None:
    console = terminal(stderr=True)
    resolved = model_at_hand(model)
    if resolved is None:
        console.print("no model at hand, so no token counts", style="dim")
        return
    from textcall.engines.context import Context  # loads the native library

    vocab = Context(resolved.path, vocab_only=True).vocab
    table = Table("tool", "tokens", box=None, pad_edge=False, header_style="dim")
    table.columns[1].justify = "right"
    whole, costs = len(vocab.tokenize(text)), [len(vocab.tokenize(tool_text(tool, convention))) for tool in tools]
    for tool, cost in zip(tools, costs, strict=True):
        table.add_row(tool.name, str(cost))
    table.add_row("how to call them, and your own text", str(whole - sum(costs)))
    table.add_row("the whole system prompt", str(whole), style="bold")
    console.print(table)
    console.print(f"counted with {resolved.path.name}", style="dim")
