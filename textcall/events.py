"""What a run is made of and what it tells while it is on its way: frozen values, without the loop that makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from textcall.engines.base import EngineEvent
from textcall.messages import Completion, Message, ToolCall, ToolResult, Usage
from textcall.tools import ToolChoice
from textcall.turn import Setup

RunReason = Literal[
    "stop",
    "length",
    "max_steps",
    "max_calls",
    "max_tokens",
    "max_seconds",
    "repeated_calls",
    "repetition",
    "unusable_reply",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of a run and what its calls gave, in order."""

    number: int
    completion: Completion
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    text: the answer ("" where the model gave none). messages: the whole conversation, system message excluded.
    finish_reason: "stop" where the model answered by itself; "length" where a reply was cut by the limit of one reply;
    otherwise what ended the run: a limit of the `Agent`, the same call again and again, a text that repeats itself
    without end, replies that could not be used. But for "stop" and a cut answer, the answer was asked for with the
    tools switched off. seconds: wall clock, tools included.
    """

    text: str
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    finish_reason: RunReason
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins. model: what a person calls it. messages: the conversation so far, the question last."""

    model: str
    n_ctx: int
    setup: Setup
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins. choice: its tool_choice. request: the messages of text that the engine is given."""

    number: int
    choice: ToolChoice
    request: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TurnRead:
    """A reply was written and read."""

    number: int
    completion: Completion


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call is taken up: it runs, or it is answered without running (see its result)."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallRunning:
    """A tool is still running, since so many seconds. Told a few times a second: a listener may cancel here."""

    call: ToolCall
    seconds: float


@dataclass(frozen=True, slots=True)
class ResultCame:
    """A call has its result."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class FedBack:
    """The reply could not be used; this is what the model is told."""

    message: Message


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over."""

    run: Run


RunEvent: TypeAlias = (
    EngineEvent | RunStarted | TurnStarted | TurnRead | CallStarted | CallRunning | ResultCame | FedBack | Finished
)
# What it raises (KeyboardInterrupt, Cancelled) ends the run and reaches the caller.
RunListener: TypeAlias = Callable[[RunEvent], None]


def unheard(_event: RunEvent) -> None:
    """A listener that does nothing."""
