"""The events of a trace put together: runs, their turns, and what each call gave. What a page about it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from textcall.engines.base import Noticed, Rendered, Written
from textcall.events import (
    CallStarted,
    FedBack,
    Finished,
    ResultCame,
    Run,
    RunEvent,
    RunStarted,
    TurnRead,
    TurnStarted,
)
from textcall.messages import Completion, Message, ToolCall, ToolResult, Usage

ENDINGS = {
    "stop": "The model answered.",
    "length": "Cut: the reply reached the limit of its tokens.",
    "max_steps": "The limit of turns was reached; the answer comes from what was known by then.",
    "max_calls": "The limit of calls was reached; the answer comes from what was known by then.",
    "max_tokens": "The limit of tokens was reached; the answer comes from what was known by then.",
    "max_seconds": "The limit of time was reached; the answer comes from what was known by then.",
    "repeated_calls": "The model repeated the same call; the answer comes from what was known by then.",
    "repetition": "The model repeated the same text without end; it was cut there.",
    "unusable_reply": "The model's replies could not be used; it was asked for an answer without tools.",
}
BROKEN_OFF = "Broken off: the trace ends before the run does."


@dataclass(slots=True)
class Exchange:
    """A call and what it gave; result None where the trace ends before it came."""

    call: ToolCall
    result: ToolResult | None = None


# What happened after a reply, or between two turns, in order.
Item: TypeAlias = Exchange | FedBack | Noticed


@dataclass(slots=True)
class Turn:
    """One turn. started, prompt, completion: None where the trace does not hold them. written: piece by piece."""

    number: int
    started: TurnStarted | None = None
    prompt: Rendered | None = None
    written: list[Written] = field(default_factory=list)
    completion: Completion | None = None
    items: list[Item] = field(default_factory=list)
    seen: frozenset[tuple[str, str]] = frozenset()

    @property
    def request(self) -> tuple[Message, ...]:
        """The messages that were sent."""
        return self.started.request if self.started else ()

    @property
    def known(self) -> list[Message]:
        """Those of them that an earlier turn of the run has sent."""
        return [message for message in self.request if _key(message) in self.seen]

    @property
    def new(self) -> list[Message]:
        """The others."""
        return [message for message in self.request if _key(message) not in self.seen]

    @property
    def text(self) -> str:
        """The raw reply, as far as it came."""
        return self.completion.text if self.completion else "".join(piece.text for piece in self.written)

    @property
    def exchanges(self) -> list[Exchange]:
        """The calls that were taken up, in order."""
        return [item for item in self.items if isinstance(item, Exchange)]

    @property
    def tokens(self) -> Tokens:
        """How many tokens it took."""
        return Tokens.of(self.completion.usage if self.completion else Usage())


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by where they come from. forced and chosen are written, known and read are the prompt's."""

    known: int = 0
    read: int = 0
    forced: int = 0
    chosen: int = 0

    @classmethod
    def of(cls, usage: Usage) -> Tokens:
        """From the counts of a turn or of a run."""
        return cls(
            usage.cached_tokens,
            usage.prompt_tokens - usage.cached_tokens,
            usage.forced_tokens,
            usage.completion_tokens - usage.forced_tokens,
        )

    @property
    def total(self) -> int:
        """All of them."""
        return self.known + self.read + self.forced + self.chosen


@dataclass(slots=True)
class Story:
    """One run. started, run: None where the trace lacks its beginning or end. before: notices of no turn."""

    number: int
    started: RunStarted | None = None
    turns: list[Turn] = field(default_factory=list)
    before: list[Item] = field(default_factory=list)
    run: Run | None = None

    @property
    def question(self) -> str:
        """What was asked: the last message of the conversation that the run began with."""
        messages = self.started.messages if self.started else ()
        return (messages[-1].content or "") if messages else ""

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        return ENDINGS.get(self.run.finish_reason, self.run.finish_reason) if self.run else BROKEN_OFF

    @property
    def went_well(self) -> bool:
        """Whether the model ended it by itself, with an answer."""
        return self.run is not None and self.run.finish_reason == "stop"

    @property
    def usage(self) -> Usage:
        """The sum over its turns."""
        return sum((turn.completion.usage for turn in self.turns if turn.completion), Usage())

    @property
    def tokens(self) -> Tokens:
        """The sum over its turns."""
        return Tokens.of(self.usage)

    @property
    def tool_tokens(self) -> int:
        """What the tools cost in each prompt."""
        return max((turn.completion.usage.tool_tokens for turn in self.turns if turn.completion), default=0)

    @property
    def seconds(self) -> float:
        """Wall clock; where the run has no end, what its replies and tools took."""
        if self.run:
            return self.run.seconds
        results = [exchange.result.seconds for turn in self.turns for exchange in turn.exchanges if exchange.result]
        return sum((turn.completion.seconds for turn in self.turns if turn.completion), 0.0) + sum(results)

    @property
    def calls(self) -> int:
        """How many calls were taken up."""
        return sum(len(turn.exchanges) for turn in self.turns)

    @property
    def longest(self) -> int:
        """The tokens of the turn that has most of them."""
        return max((turn.tokens.total for turn in self.turns), default=0)


def stories(events: Iterable[RunEvent]) -> list[Story]:
    """The runs that `events` tell of. Events that stand before the beginning of any run make one without beginning."""
    told: list[Story] = []
    for event in events:
        if isinstance(event, RunStarted) or not told:
            told.append(Story(len(told) + 1))
        _add(told[-1], event)
    return told


def _add(story: Story, event: RunEvent) -> None:
    match event:
        case RunStarted():
            story.started = event
        case Finished():
            story.run = event.run
        case TurnStarted():
            story.turns.append(Turn(event.number, event, seen=_sent(story.turns)))
        case Rendered():
            _last(story).prompt = event
        case Written():
            _last(story).written.append(event)
        case TurnRead():
            _last(story).completion = event.completion
        case CallStarted():
            _last(story).items.append(Exchange(event.call))
        case ResultCame():
            _give(_last(story), event.result)
        case FedBack():
            _last(story).items.append(event)
        case Noticed():
            (story.turns[-1].items if story.turns else story.before).append(event)
        case _:
            pass  # progress


def _last(story: Story) -> Turn:
    if not story.turns:
        story.turns.append(Turn(1))
    return story.turns[-1]


def _give(turn: Turn, result: ToolResult) -> None:
    """The result to its call; the first one that waits for one of that id."""
    for exchange in turn.exchanges:
        if exchange.result is None and exchange.call.id == result.call_id:
            exchange.result = result
            return
    turn.items.append(Exchange(ToolCall(result.call_id, result.name, {}), result))


def _sent(turns: Sequence[Turn]) -> frozenset[tuple[str, str]]:
    return frozenset(_key(message) for turn in turns for message in turn.request)


def _key(message: Message) -> tuple[str, str]:
    return message.role, message.content or ""
