"""A run as a person sees it, on stderr: bars for the long waits, the model's text as it is written, calls, results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from textcall.engines.base import Loading, Noticed, Prompting, Written
from textcall.events import (
    CallRunning,
    CallStarted,
    FedBack,
    Finished,
    ResultCame,
    Run,
    RunEvent,
    TurnRead,
    TurnStarted,
)
from textcall.messages import Completion, ToolCall, ToolResult, Usage, compact_json
from textcall.resolve import ResolvedModel

LABEL = 9  # columns of the words on the left

ENDINGS = {
    "length": "a reply was cut: the limit of tokens was reached (--max-tokens, --context)",
    "max_steps": "the limit of turns was reached; the answer comes from what was known by then",
    "max_calls": "the limit of calls was reached; the answer comes from what was known by then",
    "max_tokens": "the limit of tokens for one question was reached; the answer comes from what was known by then",
    "max_seconds": "the time for one question was used up; the answer comes from what was known by then",
    "repetition": "the model wrote the same text again and again; what stands before that is shown",
    "repeated_calls": "the model repeated the same call; the answer comes from what was known by then",
    "unusable_reply": "the model's replies could not be used; it was asked for an answer without tools",
}


class Terminal(Console):
    """A console that leaves a reader who went away to `textcall.cli.Commands`, as a plain write does."""

    def on_broken_pipe(self) -> None:
        """Raise what is being handled."""
        raise BrokenPipeError


def terminal(*, stderr: bool = False) -> Terminal:
    """The console of a command."""
    return Terminal(stderr=stderr, highlight=False)


class Waiting:
    """A bar for loading and for prompt evaluation; nothing where stderr is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: Progress | None = None
        self._task = TaskID(0)

    def show(self, event: Loading | Prompting) -> None:
        """Draw or move the bar; it goes when it is full."""
        if isinstance(event, Loading):
            self._move("loading the model", round(event.fraction * 100), 100)
        else:
            self._move("reading the prompt", event.done, event.total)

    def tool(self, name: str) -> None:
        """Say that a tool is running, where it takes longer than a moment."""
        if self._console.is_terminal and self._progress is None:
            columns = (TextColumn(f"{name} is running"), SpinnerColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.add_task("", total=None)
            self._progress.start()

    def stop(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _move(self, what: str, done: int, total: int) -> None:
        if not self._console.is_terminal or done >= total:
            self.stop()
            return
        if self._progress is None:
            columns = (TextColumn(f"{what:18}"), BarColumn(40), MofNCompleteColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task(what, total=total)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total)


class RunView:
    """Listens to a run and shows it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting = Waiting(console)
        self._writing = False

    def __call__(self, event: RunEvent) -> None:
        """Show one event."""
        match event:
            case Loading() | Prompting():
                self._waiting.show(event)
            case Written():
                self._write(event)
            case Noticed():
                self._line("note", Text(visible(event.text), style="yellow"))
            case TurnStarted():
                self._line("turn", Text(f"{event.number}", style="bold"))
            case TurnRead():
                self._end_writing()
                self._read(event.completion)
            case CallStarted():
                self._line("call", call_text(event.call))
            case CallRunning():
                self._waiting.tool(event.call.name)
            case ResultCame():
                self._line("result", result_text(event.result))
            case FedBack():
                self._line("told", Text(visible(event.message.content or ""), style="yellow"))
            case Finished():
                self._line("total", Text(total_text(event.run), style="dim"))

    def model(self, resolved: ResolvedModel) -> None:
        """Say which model is loaded, and why this one."""
        self._line("model", Text.assemble((resolved.path.name, "bold"), f"  {resolved.why}"))

    def close(self) -> None:
        """Leave the terminal in order, wherever the run stopped."""
        self._waiting.stop()
        self._end_writing()

    def _write(self, event: Written) -> None:
        self._waiting.stop()
        if not self._writing:
            self._console.print(Text("wrote".ljust(LABEL), style="dim"), end="")
            self._writing = True
        style = "dim cyan" if event.forced else "cyan"
        self._console.print(Text(visible(event.text), style=style), end="", soft_wrap=True)

    def _end_writing(self) -> None:
        if self._writing:
            self._console.print()
            self._writing = False

    def _read(self, completion: Completion) -> None:
        for problem in completion.problems:
            self._line("problem", Text(f"{problem.kind}: {problem.message}", style="yellow"))
        self._line("", Text(turn_text(completion), style="dim"))

    def _line(self, label: str, text: Text) -> None:
        self._waiting.stop()
        self._console.print(labelled(label, text, wrap=self._console.is_terminal), soft_wrap=True)


def labelled(label: str, text: Text, *, wrap: bool) -> Text | Table:
    """A word on the left and text beside it. wrap: into lines of the terminal; a file's lines stay whole."""
    word = Text(label.ljust(LABEL), "dim")
    if not wrap:
        return Text.assemble(word, text)
    grid = Table.grid()
    grid.add_column(width=LABEL)
    grid.add_column(overflow="fold")
    grid.add_row(word, text)
    return grid


def visible(text: str) -> str:
    """`text` without anything that a terminal would obey: control characters as `\\x1b`."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def call_text(call: ToolCall) -> Text:
    """`name(key=value, …)`, and how the call was read where it was not written canonically."""
    arguments = ", ".join(f"{key}={compact_json(value)}" for key, value in call.arguments.items())
    how = "" if call.how == ("strict",) else f"   read by: {', '.join(call.how)}"
    return Text.assemble((call.name, "bold green"), visible(f"({arguments})"), (how, "yellow"))


def result_text(result: ToolResult) -> Text:
    """The result's content, in red where the tool failed."""
    return Text(visible(shortened(result.content)), style="" if result.ok else "red")


def usage_text(usage: Usage, seconds: float) -> str:
    """The tokens and seconds of one turn."""
    read = f"{usage.prompt_tokens - usage.cached_tokens} tokens read"
    known = f" (and {usage.cached_tokens} known from before)" if usage.cached_tokens else ""
    parts: Mapping[str, Any] = {"given by the grammar": usage.forced_tokens, "thinking": usage.reasoning_tokens}
    inner = ", ".join(f"{count} {what}" for what, count in parts.items() if count)
    written = f"{usage.completion_tokens} written" + (f" ({inner})" if inner else "")
    return " · ".join([read + known, written, f"{seconds:.1f} s"])


def turn_text(completion: Completion) -> str:
    """The tokens and seconds of one turn, and how likely the answer was where it was one or a call."""
    probability = completion.answer_probability
    decided = "" if probability is None else f" · P(answer) {probability:.2%}"
    return usage_text(completion.usage, completion.seconds) + decided


def total_text(run: Run) -> str:
    """The sums of a run."""
    turns = f"{len(run.steps)} turn{'s' if len(run.steps) != 1 else ''}"
    calls = sum(len(step.results) for step in run.steps)
    tools = max((step.completion.usage.tool_tokens for step in run.steps), default=0)
    called = f"{calls} call{'s' if calls != 1 else ''}"
    cost = f" · the tools and how to call them: {tools} tokens of each prompt" if tools else ""
    return f"{turns} · {called} · {usage_text(run.usage, run.seconds)}{cost}"


def shortened(text: str, limit: int = 1500) -> str:
    """`text`, its middle left out where it is long."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters) … {text[-half:]}"
