"""What a reply brings while it is being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from textcall.messages import Problem, ToolCall


@dataclass(frozen=True, slots=True)
class TextCame:
    """More of the content."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtCame:
    """More of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call of this tool seems to begin. `CallReady` or `CallDropped` says later what became of it."""

    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsCame:
    """More of the arguments of the call that began, as the model wrote them."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDropped:
    """What seemed to be a call was none: a problem or text follows."""


@dataclass(frozen=True, slots=True)
class CallReady:
    """A whole, valid call. Its arguments count; what came of them before was as written, unmended."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """Something was refused."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Restarted:
    """A think block closed that the reply never opened: all that came so far, calls too, was thought.

    reasoning: the whole of it. What came before this event does not count.
    """

    reasoning: str


Event: TypeAlias = (
    TextCame | ThoughtCame | CallStarted | ArgumentsCame | CallDropped | CallReady | ProblemFound | Restarted
)
