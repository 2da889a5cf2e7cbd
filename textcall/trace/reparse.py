"""Today's parser over the raw replies of a trace: what it reads otherwise than was read then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from textcall.block import render_call
from textcall.engines.base import Generation, Rendered
from textcall.errors import UsageError
from textcall.events import RunEvent, RunStarted, TurnRead, TurnStarted
from textcall.messages import Completion, Problem, ToolCall
from textcall.parsing import Parsed
from textcall.turn import read_reply

THINK_OPEN = "<think>"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is read otherwise. what: `call 1`, `content`, …; before, now: as text, "" for nothing."""

    what: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Reparsed:
    """One reply. run, turn: counted from 1."""

    run: int
    turn: int
    text: str
    differences: tuple[Difference, ...]


def reparse(events: Iterable[RunEvent]) -> Iterator[Reparsed]:
    """Every reply of a trace, read again with the tools and the tool_choice of its turn.

    Raises UsageError where a reply stands before the beginning of its run.
    """
    runs, started, turn, thinking = 0, None, None, False
    for event in events:
        match event:
            case RunStarted():
                runs, started = runs + 1, event
            case TurnStarted():
                turn, thinking = event, False
            case Rendered():
                thinking = event.text.rstrip().endswith(THINK_OPEN)
            case TurnRead():
                if started is None or turn is None:
                    raise UsageError("a reply without the beginning of its run: this is not a whole trace")
                then = event.completion
                cut = then.finish_reason == "length"
                generation = Generation(then.text, "length" if cut else "stop", thinking=thinking)
                now = read_reply(generation, started.setup, turn.choice)
                yield Reparsed(runs, event.number, then.text, tuple(_differences(then, now)))


def _differences(then: Completion, now: Parsed) -> Iterator[Difference]:
    for index in range(max(len(then.calls), len(now.calls))):
        yield from _differs(f"call {index + 1}", _call_at(then.calls, index), _call_at(now.calls, index))
    yield from _differs("content", then.content or "", now.content or "")
    yield from _differs("reasoning", then.reasoning or "", now.reasoning or "")
    yield from _differs("problems", _listed(then.problems), _listed(now.problems))


def _differs(what: str, before: str, now: str) -> Iterator[Difference]:
    if before != now:
        yield Difference(what, before, now)


def _call_at(calls: tuple[ToolCall, ...], index: int) -> str:
    if index >= len(calls):
        return ""
    call = calls[index]
    return f"{render_call(call.name, call.arguments)} ({', '.join(call.how)})"


def _listed(problems: tuple[Problem, ...]) -> str:
    return "\n".join(f"{problem.kind}: {problem.message}" for problem in problems)
