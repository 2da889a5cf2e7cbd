"""A reply, read: what is meant for the user, what the model thought, which calls it holds, what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from textcall.block import ARGS_KEY, NAME_KEY, Convention
from textcall.messages import Problem, ToolCall
from textcall.parsing.cursor import MAX_FAILURES, REFUSED_COUNTS, Segment
from textcall.parsing.escapes import without_surrogates
from textcall.parsing.events import CallReady, Event, ProblemFound, Restarted, TextCame, ThoughtCame
from textcall.parsing.forms import Shaped
from textcall.parsing.judge import Answer, Judge, new_id
from textcall.parsing.scan import Scanner
from textcall.parsing.strict import NotStrict, read_strict
from textcall.parsing.validate import Described

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"]
_CANONICAL = f'{{"{NAME_KEY}":"'
_BETWEEN = "\n\n"  # between the pieces of text that calls stood between


@dataclass(frozen=True, slots=True)
class Parsed:
    """content: text for the user, None where there is none. calls: valid ones only, in order."""

    content: str | None
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    problems: tuple[Problem, ...]


def parse(
    text: str,
    tools: Iterable[Described | Mapping[str, Any]],
    *,
    finish_reason: FinishReason = "stop",
    strict: bool = False,
    convention: Convention | None = None,
    thinking: bool = False,
    ids: Callable[[], str] = new_id,
) -> Parsed:
    """Read a reply.

    tools: Tools, OpenAI's descriptions, or `{"name", "parameters"}`. finish_reason: "length" where the reply was cut;
    what is unfinished then is never run. strict: only canonical calls on lines of their own count, unmended.
    convention: makes the reserved names of its shape count; without it they mean nothing. thinking: the reply begins
    inside a think block, which the prompt opened. ids: makes the ids of calls.
    """
    judge = Judge(tools, strict=strict, convention=convention, ids=ids)
    text = without_surrogates(text)
    quick = None if thinking or finish_reason == "length" else _canonical(text, judge)
    if quick is not None:
        return quick
    reading = Reading(judge, thinking=thinking)
    for _ in reading.feed(text):
        pass
    for _ in reading.close(finish_reason):
        pass
    return reading.parsed()


def _canonical(text: str, judge: Judge) -> Parsed | None:
    """The quick way for a reply that is one canonical call of a tool and nothing else."""
    if not text.startswith(_CANONICAL):
        return None
    try:
        read = read_strict(text)
    except NotStrict:
        return None
    value = read.value
    rest = text[read.end :]
    if (
        read.repairs
        or read.duplicates
        or rest.strip()
        or rest[:1] not in ("", "\n", "\r")
        or value.keys() != {NAME_KEY, ARGS_KEY}
    ):
        return None
    name, arguments = value[NAME_KEY], value[ARGS_KEY]
    if name not in judge.tools or not isinstance(arguments, dict) or name == judge.none_name:
        return None
    if "properties" in arguments:  # it may be the description of a tool
        return None
    verdict = judge.verdict(Shaped(name, arguments), (), (), (0, read.end))
    if isinstance(verdict, ToolCall):
        return Parsed(None, None, (verdict,), ())
    return Parsed(None, None, (), (verdict,)) if isinstance(verdict, Problem) else None


class Prose:
    """Pieces of text, put together as they come: no blanks at either end, a blank line where something was cut out."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.held = ""  # white space that counts only if text follows
        self.fresh = False  # something was cut out since the last text

    def add(self, text: str) -> str:
        """What is new for certain."""
        if self.fresh or not self.parts:
            text = text.lstrip()
            if not text:
                return ""
            self.held = _BETWEEN if self.parts else ""
            self.fresh = False
        text = self.held + text
        kept = text.rstrip()
        self.held = text[len(kept) :]
        if kept:
            self.parts.append(kept)
        return kept

    def cut(self) -> None:
        """Something that is no text stood here."""
        self.fresh = True

    def text(self) -> str | None:
        """The whole; None where there is nothing."""
        return "".join(self.parts) or None


@dataclass(slots=True)
class _Stretch:
    """Text without a gap."""

    start: int
    end: int
    parts: list[str] = field(default_factory=list)


class Reading:
    """Segments become content, reasoning, calls and problems; every step gives the events that it brings."""

    def __init__(self, judge: Judge, *, thinking: bool = False) -> None:
        self.judge = judge
        self.scanner = Scanner(judge, thinking=thinking)
        self.content = Prose()
        self.reasoning = Prose()
        self.calls: list[ToolCall] = []
        self.problems: list[Problem] = []
        self.texts: list[_Stretch] = []
        self.raw: list[str] = []

    def feed(self, text: str) -> Iterator[Event]:
        """More of the reply."""
        for segment in self.scanner.feed(text):
            yield from self._segment(segment)

    def close(self, finish_reason: FinishReason) -> Iterator[Event]:
        """The end of the reply."""
        length = finish_reason == "length"
        for segment in self.scanner.close(length=length):
            yield from self._segment(segment)
        for problem in self._last_problems(length):
            self.problems.append(problem)
            yield ProblemFound(problem)

    def parsed(self) -> Parsed:
        """The whole."""
        return Parsed(self.content.text(), self.reasoning.text(), tuple(self.calls), tuple(self.problems))

    def _segment(self, segment: Segment) -> Iterator[Event]:
        self.raw.append(segment.text)
        if segment.kind == "text":
            yield from self._said(segment)
        elif segment.kind == "reply":
            yield from self._added(TextCame, self.content, segment.text)
        elif segment.kind == "thought":
            yield from self._added(ThoughtCame, self.reasoning, segment.text)
        elif segment.kind == "restart":
            yield self._restarted()
        elif segment.kind == "calls":
            self.content.cut()
            for found in segment.calls:
                yield from self._judged(segment, found)
        elif segment.kind == "refused" and segment.problem is not None:
            self.content.cut()
            self.problems.append(segment.problem)
            yield ProblemFound(segment.problem)
        else:
            (self.reasoning if self.scanner.closer else self.content).cut()

    def _said(self, segment: Segment) -> Iterator[Event]:
        if not self.texts or self.texts[-1].end != segment.span[0]:
            self.texts.append(_Stretch(segment.span[0], segment.span[0]))
        self.texts[-1].parts.append(segment.text)
        self.texts[-1].end = segment.span[1]
        yield from self._added(TextCame, self.content, segment.text)

    @staticmethod
    def _added(event: type[TextCame] | type[ThoughtCame], prose: Prose, text: str) -> Iterator[Event]:
        new = prose.add(text)
        if new:
            yield event(new)

    def _judged(self, segment: Segment, found: Shaped) -> Iterator[Event]:
        verdict = self.judge.verdict(found, segment.how, segment.duplicates, segment.span)
        if isinstance(verdict, ToolCall):
            self.calls.append(verdict)
            yield CallReady(verdict)
        elif isinstance(verdict, Problem):
            self.scanner.cursor.failures += REFUSED_COUNTS
            self.problems.append(verdict)
            yield ProblemFound(verdict)
        elif isinstance(verdict, Answer):
            yield from self._added(TextCame, self.content, verdict.text)
            self.content.cut()

    def _restarted(self) -> Restarted:
        thought = Prose()
        thought.add("".join(self.raw).strip().removesuffix(_closing(self.raw)))
        self.content, self.reasoning = Prose(), thought
        self.calls, self.problems, self.texts = [], [], []
        return Restarted(thought.text() or "")

    def _last_problems(self, length: bool) -> Iterator[Problem]:
        yield from self._role_problem()
        for stretch in self.texts:
            yield from self.judge.mentions("".join(stretch.parts), stretch.start)
        if self.scanner.closer:
            yield Problem(
                "truncated",
                "The reply ended inside the thinking block. Write the call or the answer after it.",
                "",
                None,
            )
        elif self.scanner.cursor.failures >= MAX_FAILURES:
            yield Problem(
                "bad_json", "Too much of the reply looks like calls and is none; not all of it was read.", "", None
            )
        elif length and not any(problem.kind == "truncated" for problem in self.problems):
            yield Problem("truncated", "The reply was cut before its end.", "", None)

    def _role_problem(self) -> Iterator[Problem]:
        scanner = self.scanner
        if scanner.ended == "role" or (scanner.ended and scanner.went_on):
            message = (
                "The reply went on with a turn or a tool result that you made up; that was ignored. Stop after a call."
            )
            yield Problem("role_confusion", message, "", (scanner.ended_at, scanner.cursor.base))


def _closing(raw: list[str]) -> str:
    return raw[-1].strip() if raw else ""
