"""Reading GBNF, llama.cpp's notation for grammars, into rules. The automaton over them is in `gbnf.py`.

root ::= "[" (item ("," item)*)? "]"     # literals, groups, alternatives with |
item ::= [a-z0-9_]{1,20} | .             # classes, any character, * + ? {m} {m,} {m,n}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from textcall.errors import GrammarError

Ranges: TypeAlias = tuple[tuple[int, int], ...]
LAST = 0x10FFFF


@dataclass(frozen=True, eq=False, slots=True)
class Chars:
    """One character in one of `ranges` (sorted, inclusive, apart from one another)."""

    ranges: Ranges


@dataclass(frozen=True, eq=False, slots=True)
class Ref:
    """Another rule."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Seq:
    """One element after the other; none is the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Alt:
    """One of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Repeat:
    """`part`, `least` to `most` times (None: without end)."""

    part: Node
    least: int
    most: int | None


Node: TypeAlias = Chars | Ref | Seq | Alt | Repeat

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*|[A-Za-z_][A-Za-z0-9_-]*")
_COUNT = re.compile(r"\{\s*(\d+)\s*(?:(,)\s*(\d*)\s*)?\}")
_BLANK = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "[": "[", "]": "]"}


def read_gbnf(text: str) -> dict[str, Node]:
    """The rules by name. Raises GrammarError with line and column."""
    return _Reader(text).rules()


def merged(ranges: list[tuple[int, int]]) -> Ranges:
    """Ranges sorted, and those that touch made one."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def _inverted(ranges: Ranges) -> Ranges:
    result, start = [], 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        result.append((start, LAST))
    return tuple(result)


@lru_cache(maxsize=4096)
def _single(point: int) -> Chars:
    return Chars(((point, point),))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def rules(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        used: list[tuple[str, int]] = []
        self._used = used
        self._skip(_BLANK_LINES)
        while self._at < len(self._text):
            start = self._at
            name = self._name()
            self._skip(_BLANK)
            if not self._text.startswith("::=", self._at):
                raise self._error("'::=' expected")
            self._at += 3
            self._skip(_BLANK_LINES)
            if name in found:
                raise self._error(f"rule {name!r} is defined twice", start)
            found[name] = self._alternatives(nested=False)
            self._skip(_BLANK_LINES)
        for name, at in used:
            if name not in found:
                raise self._error(f"rule {name!r} is not defined", at)
        if "root" not in found:
            raise self._error("there is no rule 'root'", 0)
        return found

    def _alternatives(self, *, nested: bool) -> Node:
        options = [self._sequence(nested=nested)]
        while True:
            # outside of a group a '|' may begin the next line; a rule name followed by '::=' ends the rule
            here = self._at
            self._skip(_BLANK_LINES)
            if not self._text.startswith("|", self._at):
                self._at = self._at if nested else here
                return options[0] if len(options) == 1 else Alt(tuple(options))
            self._at += 1
            self._skip(_BLANK_LINES)
            options.append(self._sequence(nested=nested))

    def _sequence(self, *, nested: bool) -> Node:
        parts: list[Node] = []
        while True:
            self._skip(_BLANK_LINES if nested else _BLANK)
            part = self._item()
            if part is None:
                return parts[0] if len(parts) == 1 else Seq(tuple(parts))
            parts.append(self._repeated(part))

    def _item(self) -> Node | None:
        char = self._text[self._at : self._at + 1]
        if char == '"':
            return self._literal()
        if char == "[":
            return self._class()
        if char == ".":
            self._at += 1
            return Chars(((0, LAST),))
        if char == "(":
            self._at += 1
            self._skip(_BLANK_LINES)
            group = self._alternatives(nested=True)
            if not self._text.startswith(")", self._at):
                raise self._error("')' expected")
            self._at += 1
            return group
        if not _NAME.match(self._text, self._at):
            return None
        start = self._at
        name = self._name()
        self._used.append((name, start))
        return Ref(name)

    def _repeated(self, part: Node) -> Node:
        while True:
            self._skip(_BLANK)
            char = self._text[self._at : self._at + 1]
            if char in ("*", "+", "?") and char:
                self._at += 1
                part = Repeat(part, int(char == "+"), 1 if char == "?" else None)
            elif char == "{":
                match = _COUNT.match(self._text, self._at)
                if match is None:
                    raise self._error("a count such as {2}, {2,} or {2,5} expected")
                least = int(match[1])
                most = least if not match[2] else int(match[3]) if match[3] else None
                if most is not None and most < least:
                    raise self._error(f"{match[0]} counts backwards")
                self._at = match.end()
                part = Repeat(part, least, most)
            else:
                return part

    def _literal(self) -> Node:
        start = self._at
        self._at += 1
        chars: list[Node] = []
        while not self._text.startswith('"', self._at):
            if self._at >= len(self._text) or self._text[self._at] in "\r\n":
                raise self._error("a literal is not closed", start)
            chars.append(_single(self._char()))
        self._at += 1
        return chars[0] if len(chars) == 1 else Seq(tuple(chars))

    def _class(self) -> Node:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges = []
        while not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise self._error("a character class is not closed", start)
            low = high = self._char()
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._char()
            if high < low:
                raise self._error("a range of a character class runs backwards", start)
            ranges.append((low, high))
        self._at += 1
        found = merged(ranges)
        return Chars(_inverted(found) if negated else found)

    def _char(self) -> int:
        if self._at >= len(self._text):
            raise self._error("the text ends in a character")
        char = self._text[self._at]
        self._at += 1
        if char != "\\":
            return ord(char)
        kind = self._text[self._at : self._at + 1]
        self._at += 1
        if kind in _ESCAPES and kind:
            return ord(_ESCAPES[kind])
        if kind in _HEX and kind:
            digits = self._text[self._at : self._at + _HEX[kind]]
            self._at += len(digits)
            if re.fullmatch(f"[0-9A-Fa-f]{{{_HEX[kind]}}}", digits) and int(digits, 16) <= LAST:
                return int(digits, 16)
        raise self._error(f"unknown escape \\{kind}")

    def _name(self) -> str:
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise self._error("a rule name expected")
        self._at = match.end()
        return match[0]

    def _skip(self, blank: re.Pattern[str]) -> None:
        match = blank.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _error(self, what: str, at: int | None = None) -> GrammarError:
        before = self._text[: self._at if at is None else at]
        line = before.count("\n") + 1
        return GrammarError(f"line {line}, column {len(before) - before.rfind(chr(10))}: {what}")
