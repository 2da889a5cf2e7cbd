"""Reading GBNF, llama.cpp's notation for grammars, into rules. The automaton over them is in `gbnf.py`.

root ::= "[" (item ("," item)*)? "]"     # literals, groups, alternatives with |
item ::= [a-z0-9_]{1,20} | .             # classes, any character, * + ? {m} {m,} {m,n}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_up
from typing import TypeAlias

from textcall.errors import GrammarError

Ranges: TypeAlias = tuple[tuple[int, int], ...]
LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_MOST_DEEP = 200  # groups inside of each other, or counts behind one element; some places recurse over them


@dataclass(frozen=True, eq=False, slots=True)
class Chars:
    """One character in one of `ranges` (sorted, inclusive, apart from one another; as read without surrogates)."""

    ranges: Ranges


@dataclass(frozen=True, eq=False, slots=True)
class Ref:
    """Another rule. at: where in the text it is named."""

    name: str
    at: int = 0


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

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER = re.compile(r"[0-9]{1,18}")
_BLANK = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_LINE_END = re.compile(r"\r\n?|\n")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}


def read_gbnf(text: str) -> dict[str, Node]:
    """The rules by name. Raises GrammarError with line and column."""
    return _Reader(text).rules()


def error_at(text: str, at: int, what: str) -> GrammarError:
    """The error that says `what` is wrong at the position `at` of `text`."""
    ends = [match.end() for match in _LINE_END.finditer(text, 0, at)]
    return GrammarError(f"line {len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}: {what}")


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


def _without_surrogates(ranges: Ranges) -> Ranges:
    """Surrogates stand in no text: UTF-8 has no bytes for them."""
    first, last = _SURROGATES
    if not any(low <= last and first <= high for low, high in ranges):
        return ranges
    parts = [part for low, high in ranges for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
    return tuple((low, high) for low, high in parts if low <= high)


@lru_cache(maxsize=4096)
def _single(point: int) -> Chars:
    return Chars(_without_surrogates(((point, point),)))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._used: list[Ref] = []

    def rules(self) -> dict[str, Node]:
        found: dict[str, Node] = {}
        if "\0" in self._text:
            raise self._error("a NUL, which ends the text for llama.cpp; write \\x00", self._text.index("\0"))
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
        for ref in self._used:
            if ref.name not in found:
                raise self._error(f"rule {ref.name!r} is not defined", ref.at)
        if "root" not in found:
            raise self._error("there is no rule 'root'", 0)
        return found

    def _alternatives(self, *, nested: bool) -> Node:
        blank = _BLANK_LINES if nested else _BLANK
        options = [self._sequence(blank)]
        while self._text.startswith("|", self._at):
            self._at += 1
            self._skip(_BLANK_LINES)
            options.append(self._sequence(blank))
        if not nested:
            self._refuse_leading_bar()
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def _refuse_leading_bar(self) -> None:
        match = _BLANK_LINES.match(self._text, self._at)
        end = match.end() if match else self._at
        if self._text.startswith("|", end):
            raise self._error("outside of parentheses '|' stands at the end of a line, never at the beginning", end)

    def _sequence(self, blank: re.Pattern[str]) -> Node:
        parts: list[Node] = []
        while True:
            self._skip(blank)
            part = self._item()
            if part is None:
                return parts[0] if len(parts) == 1 else Seq(tuple(parts))
            parts.append(self._repeated(part, blank))

    def _item(self) -> Node | None:
        char = self._text[self._at : self._at + 1]
        if char == '"':
            return self._literal()
        if char == "[":
            return self._class()
        if char == ".":
            self._at += 1
            return Chars(_without_surrogates(((0, LAST),)))
        if char == "(":
            self._depth += 1
            self._deeper(self._depth)
            self._at += 1
            self._skip(_BLANK_LINES)
            group = self._alternatives(nested=True)
            if not self._text.startswith(")", self._at):
                raise self._error("')' expected")
            self._at += 1
            self._depth -= 1
            return group
        if not _NAME.match(self._text, self._at):
            return None
        start = self._at
        self._used.append(Ref(self._name(), start))
        return self._used[-1]

    def _repeated(self, part: Node, blank: re.Pattern[str]) -> Node:
        for count in count_up(1):
            self._skip(blank)
            char = self._text[self._at : self._at + 1]
            if char in ("*", "+", "?") and char:
                self._at += 1
                part = Repeat(part, int(char == "+"), 1 if char == "?" else None)
            elif char == "{":
                part = self._counted(part, blank)
            else:
                break
            self._deeper(count)
        return part

    def _counted(self, part: Node, blank: re.Pattern[str]) -> Repeat:
        start = self._at
        self._at += 1
        least = most = self._number(blank)
        if self._text.startswith(",", self._at):
            self._at += 1
            most = self._number(blank)
        if least is None or not self._text.startswith("}", self._at):
            raise self._error("a count such as {2}, {2,} or {2,5} expected", start)
        self._at += 1
        if most is not None and most < least:
            raise self._error(f"{self._text[start : self._at]} counts backwards", start)
        return Repeat(part, least, most)

    def _number(self, blank: re.Pattern[str]) -> int | None:
        self._skip(blank)
        match = _NUMBER.match(self._text, self._at)
        self._at = match.end() if match else self._at
        self._skip(blank)
        return int(match[0]) if match else None

    def _deeper(self, depth: int) -> None:
        if depth > _MOST_DEEP:
            raise self._error("the grammar nests its groups or counts too deeply")

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
        if not ranges:
            raise self._error("a character class without characters", start)
        self._at += 1
        found = merged(ranges)
        return Chars(_without_surrogates(_inverted(found) if negated else found))

    def _char(self) -> int:
        if self._at >= len(self._text):
            raise self._error("the text ends in a character")
        start = self._at
        char = self._text[start]
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
        raise self._error(f"unknown escape \\{kind}", start)

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
        return error_at(self._text, self._at if at is None else at, what)
