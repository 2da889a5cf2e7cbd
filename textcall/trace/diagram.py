"""A run as a sequence diagram: who tells whom what, from top to bottom. Only where everything stands; no markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from textcall.engines.base import Noticed
from textcall.events import FedBack
from textcall.messages import Completion, ToolCall, ToolResult, compact_json
from textcall.repeats import NOT_RUN
from textcall.trace.story import Exchange, Item, Story, Turn

USER, LOOP, MODEL, TOOLS = 92, 462, 832, 1148  # where the lifelines stand, in units of the drawing
WIDTH = 1240
LIFELINES = ((USER, "User"), (LOOP, "textcall"), (MODEL, "Model"), (TOOLS, "Tools"))
_BOLD, _GAP, _WIDE = 27, 31, 57  # columns that fit: bold ones and others between neighbours, from the loop to the tools
_LINE, _NOTE, _SPACE = 27, 24, 26  # heights
_TITLE = 500  # characters of the text that a pointer shows


@dataclass(frozen=True, slots=True)
class Arrow:
    """Something that is told. start, end: places of lifelines, equal where the loop tells itself. top: the first line.

    label: in large letters, one line after another. note: in small ones below. title: the label uncut.
    """

    kind: str
    start: int
    end: int
    label: tuple[str, ...]
    note: str = ""
    title: str = ""
    href: str = ""
    top: int = 0

    @property
    def y(self) -> int:
        """Where the line is drawn, below its label."""
        return self.top + _LINE * len(self.label) + (_NOTE if self.note else 0) + 6

    @property
    def lines(self) -> list[tuple[int, str]]:
        """The lines of the label with their base lines."""
        return [(self.top + _LINE * (index + 1) - 6, line) for index, line in enumerate(self.label)]

    @property
    def left(self) -> int:
        """Where its texts begin."""
        return min(self.start, self.end) + 16

    @property
    def to_itself(self) -> bool:
        """Whether it goes out from the loop and back."""
        return self.start == self.end


@dataclass(frozen=True, slots=True)
class Diagram:
    """The arrows from top to bottom, and how high it all is."""

    arrows: tuple[Arrow, ...]
    height: int


def diagram(story: Story) -> Diagram:
    """The diagram of a run."""
    placed: list[Arrow] = []
    top = 8
    for arrow in _arrows(story):
        placed.append(replace(arrow, top=top))
        top = placed[-1].y + _SPACE + (22 if arrow.to_itself else 0)
    return Diagram(tuple(placed), top)


def _arrows(story: Story) -> Iterator[Arrow]:
    if story.question:
        yield _arrow("question", USER, LOOP, story.question, lines=3, href=f"#run-{story.number}")
    for item in story.before:
        yield from _item(item, "")
    for turn in story.turns:
        yield from _turn(turn, f"#run-{story.number}-turn-{turn.number}")
    if story.run is None:
        yield _arrow("broken", LOOP, USER, "broken off: no end in this trace", lines=2)
    elif story.run.text:
        yield _arrow("answer", LOOP, USER, story.run.text, lines=5, href=f"#run-{story.number}-answer")
    else:
        yield _arrow("broken", LOOP, USER, "no answer", lines=1)


def _turn(turn: Turn, href: str) -> Iterator[Arrow]:
    said = f"Turn {turn.number}"
    if turn.prompt:
        said += f" · {turn.prompt.tokens:,} tokens"
    choice = turn.started.choice if turn.started else None
    asked = choice.name or (choice.mode if choice.mode != "auto" else "") if choice else ""
    yield _arrow("request", LOOP, MODEL, said, note=f"tool_choice: {asked}" if asked else "", href=href)
    if turn.completion is None:
        yield _arrow("broken", MODEL, LOOP, "no whole reply", href=href)
    else:
        yield _arrow("reply", MODEL, LOOP, read_as(turn.completion), note=_written(turn.completion), lines=2, href=href)
    for item in turn.items:
        yield from _item(item, href)


def read_as(completion: Completion) -> str:
    """What a reply was read as, in a few words."""
    named = ", ".join(call.name for call in completion.calls)
    kinds = ", ".join(dict.fromkeys(problem.kind for problem in completion.problems))
    parts = [f"call: {named}" if len(completion.calls) == 1 else f"{len(completion.calls)} calls: {named}"]
    if not completion.calls:
        parts = ["answer"] if completion.content else ["nothing to use"]
    if completion.problems:
        parts.append(f"problem: {kinds}")
    return " · ".join(parts)


def _written(completion: Completion) -> str:
    usage = completion.usage
    forced = f" ({usage.forced_tokens:,} forced)" if usage.forced_tokens else ""
    return f"{usage.completion_tokens:,} tokens{forced} · {seconds_text(completion.seconds)}"


def _item(item: Item, href: str) -> Iterator[Arrow]:
    match item:
        case Exchange():
            yield from _exchange(item, href)
        case FedBack():
            yield _arrow("feedback", LOOP, LOOP, f"fed back: {item.message.content}", lines=2, href=href)
        case Noticed():
            yield _arrow("notice", LOOP, LOOP, f"note: {item.text}", lines=2, href=href)


def _exchange(exchange: Exchange, href: str) -> Iterator[Arrow]:
    call, result = exchange.call, exchange.result
    if result is not None and result.error in NOT_RUN:
        yield _arrow("failed", LOOP, LOOP, f"{result.error}: {call_line(call)}", lines=2, href=href)
        return
    yield _arrow("call", LOOP, TOOLS, call_line(call), lines=2, href=href)
    if result is None:
        yield _arrow("broken", TOOLS, LOOP, "no result in this trace", href=href)
        return
    kind = "result" if result.ok else "failed"
    yield _arrow(kind, TOOLS, LOOP, result.content, note=_took(result), lines=2, href=href)


def _took(result: ToolResult) -> str:
    return " · ".join(filter(None, [result.name, result.error, seconds_text(result.seconds)]))


def call_line(call: ToolCall) -> str:
    """A call in one line: `name(key=value, …)`."""
    return f"{call.name}({', '.join(f'{key}={compact_json(value)}' for key, value in call.arguments.items())})"


def seconds_text(seconds: float) -> str:
    """A time as a person says it."""
    if seconds and seconds < 0.1:
        return f"{max(1, round(seconds * 1000))} ms" if seconds >= 0.001 else "< 1 ms"
    return f"{seconds:,.1f} s"


def _arrow(kind: str, start: int, end: int, text: str, *, note: str = "", lines: int = 1, href: str = "") -> Arrow:
    columns = _BOLD if USER in (start, end) else _GAP if MODEL in (start, end) else _WIDE
    label = wrapped(text, columns, lines)
    title = text if len(text) <= _TITLE else f"{text[:_TITLE]}…"
    return Arrow(kind, start, end, label, clipped(note, columns + 6), title, href)


def wrapped(text: str, columns: int, lines: int) -> tuple[str, ...]:
    """`text` as so many lines at most; one that is cut ends in `…`. Wide letters take two columns."""
    rest = " ".join(text[: columns * lines * 2].split())
    cut = len(text) > columns * lines * 2
    found: list[str] = []
    while rest and len(found) < lines:
        line = _fitting(rest, columns)
        found.append(line.rstrip())
        rest = rest[len(line) :].lstrip()
    if (rest or cut) and found:
        found[-1] = f"{_fitting(found[-1], columns - 1, words=False).rstrip()}…"
    return tuple(found) or ("",)


def clipped(text: str, columns: int) -> str:
    """`text` as one line, cut where it is longer."""
    return wrapped(text, columns, 1)[0]


def _fitting(text: str, columns: int, *, words: bool = True) -> str:
    """The beginning of `text` that fits, up to the end of a word where it has one in its second half."""
    used = 0
    for index, letter in enumerate(text):
        used += _columns(letter)
        if used > columns:
            space = text.rfind(" ", 0, index + 1) if words else -1
            return text[:space] if space > index // 2 else text[:index]
    return text


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
