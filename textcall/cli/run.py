"""`textcall run`: one question, answered with tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.text import Text

from textcall.agent import Agent, choices_of
from textcall.cli.approve import approver
from textcall.cli.options import (
    ApproveOption,
    CallsOption,
    ChoiceOption,
    ContextOption,
    ModelOption,
    NoCacheOption,
    ParallelOption,
    RunTokensOption,
    SecondsOption,
    SeedOption,
    StepsOption,
    SystemOption,
    TemperatureOption,
    TokensOption,
    ToolLimitOption,
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
    max_steps: StepsOption = 8,
    max_calls: CallsOption = 32,
    max_seconds: SecondsOption = None,
    max_run_tokens: RunTokensOption = None,
    tool_limit: ToolLimitOption = None,
    parallel: ParallelOption = False,
    approve: ApproveOption = "ask",
    temperature: TemperatureOption = 0.0,
    seed: SeedOption = None,
    max_tokens: TokensOption = 1024,
    context: ContextOption = 8192,
    no_grammar: Annotated[bool, typer.Option("--no-grammar", help="Let the model write freely, to compare.")] = False,
    no_cache: NoCacheOption = False,
    json_lines: Annotated[bool, typer.Option("--json", help="One event a line on stdout, as JSON.")] = False,
    trace: TraceOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but what went wrong.")] = False,
) -> None:
    """Answer QUESTION with a local model and tools: the answer on stdout, everything else on stderr."""
    text = _asked(question)
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
        _print_answer(run.text)
    if run.finish_reason != "stop":
        console.print(Text(ENDINGS[run.finish_reason], style="yellow"))
        raise typer.Exit(1)


def _asked(words: list[str]) -> str:
    """The question: what was typed, or standard input for `-`."""
    text = stdin_text() if words == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError("the question is empty")
    return text


def _print_answer(text: str) -> None:
    said = text or "(the model gave no answer)"
    sys.stdout.write((visible(said) if sys.stdout.isatty() else said) + "\n")


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
