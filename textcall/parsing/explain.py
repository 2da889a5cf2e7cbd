"""Why each part of a reply that might be a call was one, was refused, or is text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from textcall.block import ARGS_KEY, NAME_KEY, Convention
from textcall.messages import Span
from textcall.parsing import markers, wrappers
from textcall.parsing.judge import Judge
from textcall.parsing.reply import FinishReason, parse
from textcall.parsing.scan import Scanner
from textcall.parsing.validate import Described

_HOW = {
    "strict": "exactly as the prompt asks",
    "extracted": "taken out of a {}",
    "repaired": "mended: {}",
    "renamed": "written with {}",
    "coerced": "made to fit the schema at {}",
}
_VALUE = re.compile(r"^[ \t]*([{\[｛][^\n]*)", re.MULTILINE)
_BEGINNING = re.compile(r"[^\n]{1,80}")
_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Reason:
    """span: the part, in code points of the reply. verdict: what became of it. why: in words."""

    span: Span
    verdict: Literal["call", "refused", "text"]
    why: str


def explain(
    text: str,
    tools: Iterable[Described | Mapping[str, Any]],
    *,
    finish_reason: FinishReason = "stop",
    strict: bool = False,
    convention: Convention | None = None,
) -> list[Reason]:
    """The reasons, in the order of the text."""
    tools = tuple(tools)
    parsed = parse(text, tools, finish_reason=finish_reason, strict=strict, convention=convention)
    everything = (len(text), len(text))
    found = [Reason(call.span or everything, "call", f"{call.name}, {_read(call.how)}") for call in parsed.calls]
    judge = Judge(tools, strict=strict, convention=convention)
    hidden = list(_hidden(text, judge, length=finish_reason == "length"))
    mentions = {reason.span for reason in hidden}
    found += [
        Reason(problem.span or everything, "refused", f"{problem.kind}: {problem.message}")
        for problem in parsed.problems
        if problem.kind != "not_a_call" or problem.span not in mentions
    ]
    for reason in hidden:
        if len(found) < _MAX and not any(_overlaps(reason.span, other.span) for other in found):
            found.append(reason)
    return sorted(found, key=lambda reason: reason.span)


def _read(how: tuple[str, ...]) -> str:
    """`how` in words, those of a kind together."""
    by_kind: dict[str, list[str]] = {}
    for word in how:
        kind, _, detail = word.partition("(")
        by_kind.setdefault(kind, []).append(detail.removesuffix(")").replace("_", " "))
    return ", ".join(_HOW.get(kind, kind).format(", ".join(details)) for kind, details in by_kind.items())


def _overlaps(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _hidden(text: str, judge: Judge, *, length: bool) -> Iterator[Reason]:
    """What looks like a call in thoughts, in the text, and behind the end."""
    scanner = Scanner(judge)
    segments = [*scanner.feed(text), *scanner.close(length=length)]
    start = 0
    while start < len(segments):  # stretches of one kind: a mention may reach over several segments
        end = start + 1
        while end < len(segments) and segments[end].kind == segments[start].kind:
            end += 1
        low, high, kind = segments[start].span[0], segments[end - 1].span[1], segments[start].kind
        start = end
        if kind in ("thought", "dropped", "reply"):
            where = {"thought": "in a think block", "reply": "in the text of an answer"}.get(kind, "behind the end")
            yield from (
                Reason(mention.span, "text", f"a call of {mention.name} stands {where}")
                for mention in judge.mentioned(text[low:high], low)
            )
        elif kind == "text":
            yield from _in_text(text[low:high], low, judge)


def _in_text(text: str, start: int, judge: Judge) -> Iterator[Reason]:
    for mention in judge.mentioned(text, start):
        yield Reason(mention.span, "text", f"a call of {mention.name} stands {mention.place}")
    for mark in markers.ANYWHERE.finditer(text):
        if wrappers.is_wrapper(mark[0]):
            behind = _BEGINNING.match(text, mark.start())
            end = behind.end() if behind else mark.end()
            yield Reason((start + mark.start(), start + end), "text", f"what stands behind {mark[0]} is no call")
    for value in _VALUE.finditer(text):
        span = (start + value.start(1), start + value.end(1))
        yield Reason(span, "text", f"is no object with a tool's name and its arguments ({NAME_KEY}, {ARGS_KEY})")
