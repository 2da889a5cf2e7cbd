"""`textcall run`: one question, answered with tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer
from rich.text import Text

from textcall.agent import Agent, choices_of
from textcall.cli.approve import approver
from textcall.cli.options import (
    ChoiceOption,
    ContextOption,
    ModelOption,
    NoCacheOption,
    SystemOption,
    ToolsOption,
    TraceOption,
    choice_option,
    stdin_text,
    system_text,
    toolset,
)
from textcall.cli.show import ENDINGS, RunView, Terminal, terminal, visible
from textcall.engines.base import Rendered, Sampling, Written
from textcall.errors import UsageError
from textcall.events import RunEvent, RunListener
from textcall.messages import compact_json
from textcall.resolve import cache_folder, resolve_model
from textcall.trace import TraceWriter, event_json

if TYPE_CHECKING:
    from textcall.engines.llama import LlamaEngine


def run_command(
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="The question; `-` reads it from standard input.")
    ],
    model: ModelOption = None,
    tools: ToolsOption = None,
    tool_choice: ChoiceOption = "auto",
    system: SystemOption = None,
    max_steps: Annotated[int, typer.Option("--max-steps", min=1, help="Turns in which tools may be called.")] = 8,
    max_calls: Annotated[int, typer.Option("--max-calls", min=0, help="Tools run for one question.")] = 32,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", min=0.001, help="Time for one question, without the last answer."),
    ] = None,
    max_run_tokens: Annotated[
        int | None, typer.Option("--max-run-tokens", min=1, help="Tokens written for one question, all turns together.")
    ] = None,
    tool_limit: Annotated[
        int | None, typer.Option("--tool-limit", min=1, help="Show the model only the N tools nearest to the question.")
    ] = None,
    parallel: Annotated[bool, typer.Option("--parallel-tool-calls", help="Let one reply hold several calls.")] = False,
    approve: Annotated[
        Literal["ask", "always", "never"], typer.Option("--approve", help="Whether tools marked dangerous may run.")
    ] = "ask",
    temperature: Annotated[float, typer.Option("--temperature", min=0.0, help="0 takes the likeliest token.")] = 0.0,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Makes a run at temperature > 0 repeatable.")
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of each reply.")] = 1024,
    context: ContextOption = 8192,
    no_grammar: Annotated[bool, typer.Option("--no-grammar", help="Let the model write freely, to compare.")] = False,
    no_cache: NoCacheOption = False,
    json_lines: Annotated[bool, typer.Option("--json", help="One event a line on stdout, as JSON.")] = False,
    trace: TraceOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but what went wrong.")] = False,
) -> None:
    """Answer QUESTION with a local model and tools: the answer on stdout, everything else on stderr."""
    text = stdin_text() if question == ["-"] else " ".join(question)
    if not text.strip():
        raise UsageError("the question is empty")
    chosen = toolset(tools)
    own = system_text(system)
    choice = choice_option(tool_choice)
    choices_of(choice, chosen)  # before the model is loaded: a typing error should not cost the wait
    console = terminal(stderr=True)
    view = RunView(Terminal(stderr=True, quiet=True) if quiet else console)
    try:
        engine = load_engine(model, view, context, cached=not no_cache)
        agent = Agent(
            engine,
            chosen,
            system=own,
            sampling=Sampling(temperature=temperature, seed=seed, max_tokens=max_tokens),
            tool_choice=choice,
            parallel_tool_calls=parallel,
            max_steps=max_steps,
            max_calls=max_calls,
            max_tokens=max_run_tokens,
            max_seconds=max_seconds,
            tool_limit=tool_limit,
            approve=approver(approve, console),
            constrained=not no_grammar,
        )
        listener = json_listener(view, sys.stdout) if json_lines else view
        with redirect_stdout(sys.stderr), traced(listener, trace) as listen:  # tools may print
            run = agent.run(text, listen)
    finally:
        view.close()
    if not json_lines:
        said = run.text or "(the model gave no answer)"
        sys.stdout.write((visible(said) if sys.stdout.isatty() else said) + "\n")
    if run.finish_reason != "stop":
        console.print(Text(ENDINGS[run.finish_reason], style="yellow"))
        raise typer.Exit(1)


def load_engine(model: str | None, view: RunView, context: int, *, cached: bool = True) -> LlamaEngine:
    """Load the model that was asked for, saying which one it is and why."""
    from textcall.engines.llama import LlamaEngine  # loads the native library

    resolved = resolve_model(model)
    view.model(resolved)
    return LlamaEngine(resolved.path, n_ctx=context, cache=cache_folder() if cached else None, listener=view)


@contextmanager
def traced(listener: RunListener, path: Path | None) -> Iterator[RunListener]:
    """The listener, and a trace beside it where there is a file for one."""
    if path is None:
        yield listener
        return
    with TraceWriter(path) as trace:

        def both(event: RunEvent) -> None:
            trace(event)
            listener(event)

        yield both


def json_listener(view: RunView, out: TextIO) -> RunListener:
    """Writes each event as a line on stdout and still shows the run on stderr."""

    def listen(event: RunEvent) -> None:
        view(event)
        written = None if isinstance(event, Written | Rendered) else event_json(event)
        if written is not None:
            out.write(compact_json(written) + "\n")
            out.flush()

    return listen
