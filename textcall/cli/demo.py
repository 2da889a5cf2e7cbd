"""`textcall demo`: three questions, frame by frame: what the model is told, what it writes, what the code does with it.

Nothing is scripted: the model answers for itself, and where it fails the demo says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from textcall.agent import Agent
from textcall.catalogue import CATALOGUE
from textcall.cli.options import ContextOption, ModelOption, NoCacheOption, TraceOption
from textcall.cli.run import load_engine, traced
from textcall.cli.show import (
    ENDINGS,
    RunView,
    Waiting,
    call_text,
    result_text,
    shortened,
    terminal,
    total_text,
    turn_text,
    visible,
)
from textcall.engines.base import Loading, Noticed, Prompting, Sampling, Written
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
from textcall.messages import Completion, Message
from textcall.toolbox import BUILTIN


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question, and how a right run is known: the tools in order, and what the answer must hold (one of each)."""

    title: str
    question: str
    tools: tuple[str, ...]
    answer: tuple[tuple[str, ...], ...]


RAIN = ("rain", "Rain", "雨")
SCENARIOS: dict[str, tuple[Scenario, ...]] = {
    "zh": (
        Scenario(
            "a condition: weather, then arithmetic, then the answer",
            "明天上海天气怎么样？如果有雨，则计算一年有多少个小时",
            ("get_weather", "calculator"),
            (RAIN, ("8760",)),
        ),
        Scenario("one look-up", "青岛啤酒的收盘价是多少？", ("stock_price",), (("67.92",),)),
        Scenario("no tool needed", "李白是谁？请用一句话回答。", (), (("诗",),)),
    ),
    "en": (
        Scenario(
            "a condition: weather, then arithmetic, then the answer",
            "What will the weather be like in Shanghai tomorrow? If it rains, calculate how many hours a year has.",
            ("get_weather", "calculator"),
            (RAIN, ("8760",)),
        ),
        Scenario("one look-up", "What is the closing price of Tsingtao Brewery?", ("stock_price",), (("67.92",),)),
        Scenario("no tool needed", "Who wrote Romeo and Juliet?", (), (("Shakespeare",),)),
    ),
}


def demo_command(
    model: ModelOption = None,
    lang: Annotated[
        Literal["zh", "en", "both"], typer.Option("--lang", help="The language of the questions.")
    ] = "both",
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of each reply.")] = 256,
    context: ContextOption = 4096,
    no_cache: NoCacheOption = False,
    plain: Annotated[bool, typer.Option("--plain", help="Short lines instead of frames.")] = False,
    trace: TraceOption = None,
) -> None:
    """Three questions in English and in Chinese, frame by frame, at temperature 0, nothing scripted."""
    console = terminal()
    view, frames = RunView(console), Frames(console)
    try:
        engine = load_engine(model, view, context, cached=not no_cache)
        agent = Agent(engine, BUILTIN, sampling=Sampling(max_tokens=max_tokens))
        console.print(Text(f"{engine.description}: it gets text and writes text. Everything else is code.", "dim"))
        rows: list[tuple[Scenario, Run]] = []
        with traced(view if plain else frames, trace) as listener:
            for scenario in (s for language in _languages(lang) for s in SCENARIOS[language]):
                console.rule(Text.assemble((scenario.title, "bold")))
                run = agent.run(scenario.question, listener)
                rows.append((scenario, run))
                console.print(verdict(scenario, run))
        console.print(summary(rows))
        if hint := advice(rows, engine.path):
            console.print(hint)
    finally:
        view.close()
        frames.close()


def _languages(lang: Literal["zh", "en", "both"]) -> tuple[str, ...]:
    return ("en", "zh") if lang == "both" else (lang,)


def faults(scenario: Scenario, run: Run) -> tuple[str, ...]:
    """What is wrong with a run, in words; empty where it is right."""
    called = tuple(result.name for step in run.steps for result in step.results)
    found = []
    if called != scenario.tools:
        found.append(f"called {_listed(called)} where {_listed(scenario.tools)} was needed")
    answer = run.text.replace(",", "")
    found += [
        f"the answer does not hold {words[0]!r}" for words in scenario.answer if not any(w in answer for w in words)
    ]
    if run.finish_reason != "stop":
        found.append(ENDINGS[run.finish_reason])
    return tuple(found)


def verdict(scenario: Scenario, run: Run) -> Text:
    """One line: right, or what went wrong."""
    wrong = faults(scenario, run)
    if wrong:
        return Text.assemble(("✗ the model failed here: ", "bold red"), "; ".join(wrong))
    return Text.assemble(
        ("✓ ", "bold green"), f"{_listed(scenario.tools)}, then the answer" if scenario.tools else "answered"
    )


def summary(rows: Sequence[tuple[Scenario, Run]]) -> Table:
    """All questions in one table."""
    table = Table("", "question", "turns", "calls", "tokens read", "written", "seconds", box=None, header_style="dim")
    for scenario, run in rows:
        calls = sum(len(step.results) for step in run.steps)
        numbers = [
            len(run.steps),
            calls,
            run.usage.prompt_tokens - run.usage.cached_tokens,
            run.usage.completion_tokens,
        ]
        mark = Text("✗", "bold red") if faults(scenario, run) else Text("✓", "bold green")
        table.add_row(mark, scenario.question, *map(str, numbers), f"{run.seconds:.1f}")
    right = sum(not faults(scenario, run) for scenario, run in rows)
    table.caption = f"{right} of {len(rows)} right, at temperature 0, nothing scripted"
    return table


def advice(rows: Sequence[tuple[Scenario, Run]], path: Path) -> str:
    """What somebody can do whose model fails at most of it; "" where there is nothing better to have."""
    right, best = sum(not faults(scenario, run) for scenario, run in rows), CATALOGUE[0]
    if right * 2 >= len(rows) or path.name == best.file:
        return ""
    return f"{path.stem} is not up to this. {best.name} is: textcall models get {best.aliases[0]}, or `make demo`."


class Frames:
    """Listens to a run and draws a frame for each thing that happens."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting = Waiting(console)
        self._seen: tuple[Message, ...] = ()
        self._written: list[Written] = []
        self._frame = 0

    def __call__(self, event: RunEvent) -> None:
        """Draw one event."""
        match event:
            case Loading() | Prompting():
                self._waiting.show(event)
            case Written():
                self._waiting.stop()
                self._written.append(event)
            case Noticed():
                self._waiting.stop()
                self._console.print(Text(visible(event.text), "yellow"))
            case TurnStarted():
                self._request(event)
            case TurnRead():
                self._reply(event.completion)
            case CallStarted():
                self._panel("the code runs the tool", call_text(event.call), "green")
            case CallRunning():
                self._waiting.tool(event.call.name)
            case ResultCame():
                self._panel("the tool's result: the next request carries it", result_text(event.result), "green")
            case FedBack():
                self._panel("not usable: this goes back to the model", Text(event.message.content or ""), "yellow")
            case Finished():
                self._answer(event.run)

    def close(self) -> None:
        """Take the bar away, wherever the run stopped."""
        self._waiting.stop()

    def _request(self, event: TurnStarted) -> None:
        """The request; messages that an earlier frame has shown are only counted."""
        known = _common(self._seen, event.request)
        body: list[Text] = []
        if known:
            what = "system prompt" if known == 1 else f"{known} messages"
            body.append(Text(f"… the {what} shown before, unchanged", "dim"))
        body += [message_text(message) for message in event.request[known:]]
        self._seen = event.request
        if event.number == 1:
            self._frame = 0
        self._panel(f"turn {event.number}: what the model is told", Group(*body), "blue")

    def _reply(self, completion: Completion) -> None:
        body = [reply_text(self._written, completion.text)]
        if any(piece.forced for piece in self._written):
            body.append(Text("dim: given by the grammar, without asking the model", "dim"))
        overruled = [piece.overruled for piece in self._written if piece.overruled]
        if overruled:
            tokens = ", ".join(repr(text) for text in overruled)
            body.append(Text(f"the grammar overruled the model's likeliest token: {tokens}", "yellow"))
        self._written = []
        body += [Text(f"{problem.kind}: {problem.message}", "yellow") for problem in completion.problems]
        body.append(Text(turn_text(completion), "dim"))
        meaning = "a call" if completion.calls else "an answer" if completion.content else "nothing usable"
        self._panel(f"what the model wrote: only text. The code reads {meaning} in it", Group(*body), "cyan")

    def _answer(self, run: Run) -> None:
        answer = Text(visible(shortened(run.text, 300)), "bold")  # all of it stands in the frame before
        self._panel("the answer", Group(answer, Text(total_text(run), "dim")), "magenta")

    def _panel(self, title: str, body: Text | Group, colour: str) -> None:
        self._waiting.stop()
        self._frame += 1
        heading = Text.assemble((f"{self._frame} ", "bold"), title)
        self._console.print(Panel(body, title=heading, title_align="left", border_style=colour))


def reply_text(pieces: Sequence[Written], text: str) -> Text:
    """A reply as it was written: what the grammar gave is dim. Without the pieces of all of it, it is told as one."""
    if "".join(piece.text for piece in pieces) != text:
        return Text(visible(text), "bold cyan")
    return Text.assemble(*((visible(p.text), "dim cyan" if p.forced else "bold cyan") for p in pieces))


def message_text(message: Message) -> Text:
    """A message as the engine gets it."""
    return Text.assemble((f"{message.role}: ", "bold blue"), visible(message.content or ""))


def _common(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages both begin with."""
    return next((i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "no tool"
