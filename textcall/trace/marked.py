"""Texts of a trace cut into pieces: what is the template's in a prompt, what the grammar gave in a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from textcall.engines.base import Written
from textcall.messages import Message


@dataclass(frozen=True, slots=True)
class Marked:
    """A piece of a text. overruled: the token that the model found likeliest in front of it and could not have."""

    text: str
    kind: str
    overruled: str = ""


# How templates write control tokens. In the template's own text they are some; in content they are read as plain text.
_CONTROL = re.compile(
    r"<[|｜][^<>\s]{1,40}[|｜]>|<\|[a-z_]{1,30}>|<[a-z_]{1,30}\|>|</?s>|\[/?(?:INST|SYSTEM_PROMPT)\]"
    r"|<</?SYS>>|<(?:bos|eos|pad|start_of_turn|end_of_turn|start_of_role|end_of_role|end_of_text)>"
)


def marked_prompt(text: str, request: Sequence[Message]) -> list[Marked]:
    """The rendered prompt: `control` tokens and other `template` text, `content`, and `alike`: what looks like a
    control token in content, where it is none.
    """
    pieces: list[Marked] = []
    at = 0
    for start, end in _places(text, request):
        pieces += _cut(text[at:start], "template", "control")
        pieces += _cut(text[start:end], "content", "alike")
        at = end
    return [*pieces, *_cut(text[at:], "template", "control")]


def _places(text: str, request: Sequence[Message]) -> list[tuple[int, int]]:
    """Where the contents stand. Most templates keep their order; a system text may stand further back."""
    taken: list[tuple[int, int]] = []
    at = 0
    for message in request:
        content = next((c for c in _written(message.content or "") if c and c in text), None)
        if content is None:
            continue
        place = _place(text, content, at, taken)
        if place is not None:
            taken.append((place, place + len(content)))
            at = max(at, place + len(content))
    return sorted(taken)


def _written(content: str) -> Iterator[str]:
    """How a template may have written it: as it is, or without the white space around it."""
    yield content
    yield content.strip()


def _place(text: str, content: str, start: int, taken: Sequence[tuple[int, int]]) -> int | None:
    """Where `content` stands: behind `start` in front of a control token, else the first free place."""
    free = [
        place
        for place in _found(text, content)
        if all(place >= end or place + len(content) <= begin for begin, end in taken)
    ]
    behind = [place for place in free if place >= start]
    closed = (place for place in behind if _CONTROL.match(text[place + len(content) :].lstrip()[:50]))
    return next(closed, next(iter(behind), next(iter(free), None)))


_MOST = 50  # places that are looked at: content such as "a" stands everywhere


def _found(text: str, content: str) -> Iterator[int]:
    place = text.find(content)
    for _ in range(_MOST):
        if place < 0:
            return
        yield place
        place = text.find(content, place + 1)


def _cut(text: str, kind: str, control: str) -> Iterator[Marked]:
    at = 0
    for match in _CONTROL.finditer(text):
        if match.start() > at:
            yield Marked(text[at : match.start()], kind)
        yield Marked(match.group(), control)
        at = match.end()
    if at < len(text):
        yield Marked(text[at:], kind)


def marked_reply(pieces: Iterable[Written], text: str) -> list[Marked]:
    """The raw reply: what the grammar `forced`, what the model has `chosen`; `plain` where the pieces are not known.

    Neighbours of one kind are joined, but not over an overruled token.
    """
    joined: list[Marked] = []
    for piece in pieces:
        kind = "forced" if piece.forced else "chosen"
        if joined and joined[-1].kind == kind and not piece.overruled:
            joined[-1] = replace(joined[-1], text=joined[-1].text + piece.text)
        elif piece.text or piece.overruled:
            joined.append(Marked(piece.text, kind, piece.overruled))
    if "".join(piece.text for piece in joined) == text:
        return joined
    return [Marked(text, "plain")] if text else []
