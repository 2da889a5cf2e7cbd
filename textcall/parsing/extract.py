"""Where calls may stand in a text: alone on their lines, in a fence meant for them, in a known wrapper.

Inside a sentence, inline code, a quotation, a fence of another language or a think block it is text, whatever it looks
like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from textcall.messages import Span

THINK = re.compile(r"^\s*<(think|thinking)>(.*?)(?:</\1>\s*|\Z)", re.DOTALL)
LATE_THINK = re.compile(r"^(.*?)</(?:think|thinking)>\s*", re.DOTALL)  # where the template opened the block
_FENCE = re.compile(r"^(?P<ticks>`{3,})[ \t]*(?P<language>[\w+-]*)[ \t]*$", re.MULTILINE)
_WRAPPER = re.compile(r"^[ \t]*<(?P<tag>tool_call|function_call)>", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
CALL_FENCES = frozenset({"", "json", "tool", "tool_call"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A JSON value that stands where a call may stand.

    span: in code points, fence or wrapper included. value: None where it is no JSON; then `error` says why.
    place: "line", "fence" or "wrapper".
    """

    span: Span
    source: str
    value: Any
    place: str
    error: str = ""


def split_reasoning(text: str) -> tuple[int, str | None]:
    """Where the reply proper begins, and the think block before it (None where there is none)."""
    match = THINK.match(text)
    if match is not None:
        return match.end(), match[2].strip()
    late = LATE_THINK.match(text)
    if late is not None and "<think" not in late[1]:
        return late.end(), late[1].strip()
    return 0, None


def candidates(text: str, start: int = 0) -> Iterator[Candidate]:
    """The candidates from `start` on, in order; they do not overlap."""
    at = start
    while at < len(text):
        fence, wrapper, line = (pattern.search(text, at) for pattern in (_FENCE, _WRAPPER, _LINE))
        found = min((m for m in (fence, wrapper, line) if m), key=lambda m: m.start(), default=None)
        if found is None:
            return
        if found is fence and fence is not None:
            inside = list(_in_fence(text, fence))
            at = _fence_end(text, fence)[1]
        elif found is wrapper and wrapper is not None:
            inside = [_in_wrapper(text, wrapper)]
            at = inside[0].span[1]
        else:
            inside = [_on_line(text, found.end())]
            at = max(inside[0].span[1], found.end() + 1)
        yield from (candidate for candidate in inside if candidate.source)


def _in_fence(text: str, fence: re.Match[str]) -> Iterator[Candidate]:
    inner_end, outer_end = _fence_end(text, fence)
    inner = text[fence.end() : inner_end].strip()
    if fence["language"].lower() not in CALL_FENCES or not inner.startswith(("{", "[")):
        return
    span = (fence.start(), outer_end)
    values, error = _values(inner)
    if error:
        yield Candidate(span, inner, None, "fence", error)
    for value in values:
        yield Candidate(span, inner, value, "fence")


def _fence_end(text: str, fence: re.Match[str]) -> tuple[int, int]:
    closing = re.compile(rf"^`{{{len(fence['ticks'])},}}[ \t]*$", re.MULTILINE).search(text, fence.end())
    return (closing.start(), closing.end()) if closing else (len(text), len(text))


def _in_wrapper(text: str, wrapper: re.Match[str]) -> Candidate:
    closing = text.find(f"</{wrapper['tag']}>", wrapper.end())
    end = closing if closing >= 0 else len(text)
    inner = text[wrapper.end() : end].strip()
    outer = end + len(wrapper["tag"]) + 3 if closing >= 0 else end
    values, error = _values(inner)
    if not error and len(values) != 1:
        error = f"one JSON object belongs into <{wrapper['tag']}>, not {len(values)}"
    return Candidate(
        (wrapper.start(), outer), inner or " ", values[0] if values and not error else None, "wrapper", error
    )


def _on_line(text: str, at: int) -> Candidate:
    """A JSON value that begins a line and has nothing but white space after it on its last line."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        return Candidate((at, line_end), text[at:line_end], None, "line", str(error))
    rest = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)]
    if rest.strip():
        return Candidate((at, end), text[at:end], None, "line", "text stands behind it on its line")
    return Candidate((at, end), text[at:end], value, "line")


def _values(text: str) -> tuple[list[Any], str]:
    """The JSON values that `text` is made of, white space between them; and an error where it is not."""
    values, at = [], 0
    while at < len(text):
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            return values, str(error)
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return values, ""
