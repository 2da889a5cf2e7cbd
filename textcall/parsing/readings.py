"""Unescaped quotes inside strings: every way to read the text, and the way itself where it is the only one.

`{"text": "log("low")"}` has one reading: only the last quote can end the string. `{"a": "3/8" wide", "b": "x"}` has
two, for all from `3/8` to `x` could be the text of `a`; nothing is guessed then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from textcall.parsing.escapes import TwoReadings, decode

MAX_TEXT = 20_000  # code points; longer texts are refused without trying
MAX_STEPS = 4_000
_BLANKS = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?=[\s,}\]])|true|false|null")
_CLOSE = {'"': '"”', "'": "'", "“": '”"', "‘": "’"}
_MEMBER = re.compile(r',\s*["“][^"\n]{1,60}["”]\s*:')
_QUOTES = re.compile(r'["“”\n]')  # a key that holds one of these is none
_MAX_LEVEL = 30


class _GiveUp(Exception):
    """Too many ways to try."""


def only_reading(src: str, pos: int, end: int) -> tuple[Any, int, bool] | None:
    """The value at `pos` that fills the text up to `end`, where it ends, and whether there is another reading.

    None where there is no reading at all. A text too long or too tangled to try counts as one with two readings.
    """
    if end - pos >= MAX_TEXT:
        return None, end, True
    src = src[pos:end]
    readings = _Readings(src)
    found: list[tuple[Any, int]] = []
    try:
        for value, stop in readings.value(0, 0, "end"):
            if not src[stop:].strip(" \t\r\n;,"):
                found.append((value, pos + stop))
                if len(found) > 1:
                    return (*found[0], True)
    except (_GiveUp, RecursionError):
        return None, end, True
    return (*found[0], _swallowed_a_member(found[0][0])) if found else None


def _swallowed_a_member(value: Any) -> bool:
    """Whether a string holds what looks like a further member: a reading, but hardly the one that was meant."""
    if isinstance(value, str):
        return _MEMBER.search(value) is not None
    if isinstance(value, dict):
        return any(map(_swallowed_a_member, value.values()))
    return isinstance(value, list) and any(map(_swallowed_a_member, value))


class _Readings:
    """Each method yields every (value, position behind it)."""

    def __init__(self, src: str) -> None:
        self.src = src
        self.steps = 0

    def value(self, pos: int, level: int, before: str) -> Iterator[tuple[Any, int]]:
        """before: the characters that may follow a string here, or "end"."""
        self.steps += 1
        if self.steps > MAX_STEPS or level > _MAX_LEVEL:
            raise _GiveUp
        pos = self.blanks(pos)
        char = self.src[pos : pos + 1]
        if char == "{":
            yield from self.members(self.blanks(pos + 1), level, {}, first=True)
        elif char == "[":
            yield from self.items(self.blanks(pos + 1), level, [], first=True)
        elif char and char in _CLOSE:
            yield from self.string(pos, before)
        elif match := _SCALAR.match(self.src, pos):
            yield json.loads(match[0]), match.end()

    def members(self, pos: int, level: int, had: dict[str, Any], *, first: bool = False) -> Iterator[tuple[Any, int]]:
        if first and self.src[pos : pos + 1] == "}":
            yield had, pos + 1
            return
        if self.src[pos : pos + 1] not in _CLOSE or pos >= len(self.src):
            return
        for key, after_key in self.string(pos, ":"):
            if _QUOTES.search(key):
                break
            for value, after in self.value(self.blanks(after_key) + 1, level + 1, ",}"):
                object_ = {**had, key: value}
                if len(object_) == len(had):
                    continue
                at = self.blanks(after)
                if self.src[at : at + 1] == "}":
                    yield object_, at + 1
                elif self.src[at : at + 1] == ",":
                    yield from self.members(self.blanks(at + 1), level, object_)

    def items(self, pos: int, level: int, had: list[Any], *, first: bool = False) -> Iterator[tuple[Any, int]]:
        if first and self.src[pos : pos + 1] == "]":
            yield had, pos + 1
            return
        for value, after in self.value(pos, level + 1, ",]"):
            array = [*had, value]
            at = self.blanks(after)
            if self.src[at : at + 1] == "]":
                yield array, at + 1
            elif self.src[at : at + 1] == ",":
                yield from self.items(self.blanks(at + 1), level, array)

    def string(self, pos: int, before: str) -> Iterator[tuple[str, int]]:
        closers = _CLOSE[self.src[pos]]
        at = pos + 1
        while at < len(self.src):
            char = self.src[at]
            if char == "\\":
                at += 2
                continue
            if char in closers:
                following = self.src[self.blanks(at + 1) :][:1] if before != "end" else ""
                if before == "end" or (following and following in before):
                    self.steps += 1
                    if self.steps > MAX_STEPS:
                        raise _GiveUp
                    try:
                        yield decode(self.src[pos + 1 : at])[0], at + 1
                    except TwoReadings:
                        return
            at += 1

    def blanks(self, pos: int) -> int:
        match = _BLANKS.match(self.src, pos)
        return match.end() if match else pos
