"""Regular expressions as `pattern` has them, read into the nodes of a grammar.

The dialect is ECMA-262's, with the spellings of Python's `re` that do not clash with it. What no grammar can say is
left out, which makes the expression match more, never less, and `Regex.exact` false: look-arounds, word boundaries, an
anchor in the middle, back-references. `\\d` is ASCII and `$` the very end, as in ECMA-262; `\\w` takes letters of any
script, as in `re`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from textcall.grammar.gbnf_text import LAST, Alt, Chars, Node, Ranges, Ref, Repeat, Seq, merged

EMPTY = Seq(())
ANY = Repeat(Chars(((0, LAST),)), 0, None)
# Anchors on their way through the reader; none is left in what `read_regex` returns.
_ANCHORS = {"start": Ref("^"), "end": Ref("$")}
_DEEPEST = 60
_MOST_PLACES = 256
Side: TypeAlias = Literal["start", "end"]


def _ranges(text: str) -> Ranges:
    """From hexadecimal code points: "30-39 5f"."""
    pairs = (part.partition("-")[::2] for part in text.split())
    return merged([(int(low, 16), int(high or low, 16)) for low, high in pairs])


_DIGIT = _ranges("30-39")
_SPACE = _ranges("9-d 20 a0 1680 2000-200a 2028 2029 202f 205f 3000 feff")
_WORD_ASCII = _ranges("30-39 41-5a 5f 61-7a")
# Beyond ASCII everything but the blocks that hold signs only: a little more than all letters and digits.
_WORD = _ranges(
    "30-39 41-5a 5f 61-7a aa b2-b3 b5 b9-ba bc-be c0-d6 d8-f6 f8-1fff 2070-209f 2100-218f 2460-24ff 2776-2793 2c00-2e2f"
    " 3005-3007 3021-3029 3031-3035 3038-303c 3041-d7ff f900-fdff fe70-fefe ff10-ff19 ff21-ff3a ff41-ff5a ff66-ffdc"
    " 10000-1efff 1f100-1f1ff 1fbf0-10ffff"
)
_DOT: Ranges = ((0, 9), (11, LAST))

_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})[?+]?")
_COUNT = re.compile(r"\{(?:\d+(?:,\d*)?|,\d+)\}")
_GROUP = re.compile(r"\(\?(?:(:)|(=|!|<=|<!)|P?<([A-Za-z_$][\w$]*)>|(#[^)]*)|P=(\w+))|\(")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|c([A-Za-z])|(0)(?!\d)")
_PROPERTY = re.compile(r"[pP]\{[^}]*\}")
_BACK_REFERENCE = re.compile(r"[1-9]\d*|k<\w+>")
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_SETS = {"d": _DIGIT, "s": _SPACE, "w": _WORD}


@dataclass(frozen=True, slots=True)
class Regex:
    """The texts in which a pattern is found somewhere. exact: whether `node` matches these only, or more."""

    node: Node
    exact: bool


def read_regex(pattern: str) -> Regex | None:
    """What `pattern` searches for, as a node over the whole text; None where it cannot be read."""
    reader = _Reader(pattern)
    try:
        tree = reader.whole()
    except _UnreadableError:
        return None
    whole = _widened(_widened(tree, "start"), "end")
    node, dropped = _without_anchors(whole)
    tame, loosened = _tamed(node)
    return Regex(tame, reader.exact and not dropped and not loosened)


def inverted(ranges: Ranges) -> Ranges:
    """The code points that are in none of `ranges` (sorted, apart from one another)."""
    result, start = [], 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    return (*result, (start, LAST)) if start <= LAST else tuple(result)


def widths(node: Node) -> tuple[int, int | None]:
    """The length in characters of the shortest and of the longest match (None: no end)."""
    if isinstance(node, Seq | Alt):
        parts = [widths(part) for part in (node.parts if isinstance(node, Seq) else node.options)]
        lows, highs = [low for low, _ in parts], [high for _, high in parts]
        open_end = None in highs
        known = [high for high in highs if high is not None]
        if isinstance(node, Seq):
            return sum(lows), None if open_end else sum(known)
        return min(lows), None if open_end else max(known)
    if isinstance(node, Repeat):
        low, high = widths(node.part)
        if high == 0 or node.most == 0:
            return 0, 0
        return low * node.least, None if node.most is None or high is None else high * node.most
    return 1, 1


def _widened(node: Node, side: Side) -> Node:
    """`node` with anything in front (or behind), but where an anchor stands; the anchors of that edge are used up."""
    if node is _ANCHORS[side]:
        return EMPTY
    if isinstance(node, Alt):
        return Alt(tuple(_widened(option, side) for option in node.options))
    if isinstance(node, Seq) and node.parts:
        edge = node.parts[0 if side == "start" else -1]
        if _has(_ANCHORS[side], edge) and not isinstance(edge, Repeat):
            inner = _widened(edge, side)
            return Seq((inner, *node.parts[1:]) if side == "start" else (*node.parts[:-1], inner))
    inside = node.parts if isinstance(node, Seq) else (node,)
    return Seq((ANY, *inside) if side == "start" else (*inside, ANY))


def _has(anchor: Node, node: Node) -> bool:
    if isinstance(node, Repeat):
        return _has(anchor, node.part)
    inside = node.parts if isinstance(node, Seq) else node.options if isinstance(node, Alt) else ()
    return node is anchor or any(_has(anchor, part) for part in inside)


def _without_anchors(node: Node) -> tuple[Node, bool]:
    """`node` without the anchors that are left, sequences flat, and whether there were any."""
    if isinstance(node, Ref):
        return EMPTY, True
    if isinstance(node, Repeat):
        part, dropped = _without_anchors(node.part)
        return Repeat(part, node.least, node.most), dropped
    if isinstance(node, Alt):
        found = [_without_anchors(option) for option in node.options]
        return Alt(tuple(one for one, _ in found)), any(dropped for _, dropped in found)
    if isinstance(node, Seq):
        found = [_without_anchors(part) for part in node.parts]
        flat = [p for one, _ in found for p in (one.parts if isinstance(one, Seq) else (one,))]
        return flat[0] if len(flat) == 1 else Seq(tuple(flat)), any(dropped for _, dropped in found)
    return node, False


def _tamed(node: Node) -> tuple[Node, bool]:
    """`node` without counts of what may have any length, where these multiply, and whether there were any.

    In `([a-z]{1,99}x?){1,99}` every letter may be in any of thousands of places: an automaton would follow them all.
    """
    if isinstance(node, Repeat):
        part, loosened = _tamed(node.part)
        low, high = widths(part)
        if low != high and node.most not in (None, 0, 1) and _places(node) > _MOST_PLACES:
            return Repeat(part, min(node.least, 1), None), True
        return Repeat(part, node.least, node.most), loosened
    if isinstance(node, Alt):
        found = [_tamed(option) for option in node.options]
        return Alt(tuple(one for one, _ in found)), any(loosened for _, loosened in found)
    if isinstance(node, Seq):
        found = [_tamed(part) for part in node.parts]
        return Seq(tuple(one for one, _ in found)), any(loosened for _, loosened in found)
    return node, False


def _places(node: Node) -> int:
    """How many places in the pattern, counts written out, a character may be in."""
    if isinstance(node, Seq | Alt):
        return sum(map(_places, node.parts if isinstance(node, Seq) else node.options))
    if isinstance(node, Repeat):
        return _places(node.part) * max(node.most or node.least, 1)
    return 1


class _UnreadableError(Exception):
    """The pattern is none, or of a dialect that is not known here."""


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._depth = 0
        self.exact = True

    def whole(self) -> Node:
        tree = self._alternatives()
        if self._at < len(self._text):
            raise _UnreadableError
        return tree

    def _alternatives(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnreadableError
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            term = self._term()
            match = _QUANTIFIER.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
                term = self._repeated(term, match)
            if not (isinstance(term, Seq) and not term.parts):
                parts.append(term)
        return parts[0] if len(parts) == 1 else Seq(tuple(parts))

    def _repeated(self, term: Node, match: re.Match[str]) -> Node:
        sign, least, comma, most = match.groups()
        if sign:
            low, high = int(sign == "+"), 1 if sign == "?" else None
        else:
            low = int(least)
            high = low if not comma else int(most) if most else None
        if _QUANTIFIER.match(self._text, self._at) or (high is not None and high < low):
            raise _UnreadableError
        if isinstance(term, Ref):
            self.exact = False
            return EMPTY
        return Repeat(term, low, high)

    def _term(self) -> Node:
        char = self._peek()
        if char == "(":
            return self._group()
        self._at += 1
        if char == "^":
            return _ANCHORS["start"]
        if char == "$":
            return _ANCHORS["end"]
        if char == ".":
            return Chars(_DOT)
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "*+?" or (char == "{" and _COUNT.match(self._text, self._at - 1)):
            raise _UnreadableError  # nothing to repeat; or {,n}: a count in `re`, plain text in ECMA-262
        return Chars(((ord(char), ord(char)),))

    def _group(self) -> Node:
        match = _GROUP.match(self._text, self._at)
        if match is None or (match[0] == "(" and self._text.startswith("(?", self._at)):
            raise _UnreadableError  # flags and other extensions change what the rest means
        self._at = match.end()
        inner = EMPTY if match[5] or match[4] else self._alternatives()
        if self._peek() != ")":
            raise _UnreadableError
        self._at += 1
        if match[2]:  # a look-around
            self.exact = False
            return EMPTY
        if match[5]:
            self.exact = False
            return ANY
        return inner

    def _escape(self) -> Node:
        char = self._peek()
        if char in ("b", "B"):
            self._at += 1
            self.exact = False
            return EMPTY
        if char in ("A", "Z", "z"):
            self._at += 1
            return _ANCHORS["start" if char == "A" else "end"]
        back = _BACK_REFERENCE.match(self._text, self._at)
        if back is not None:
            self._at = back.end()
            self.exact = False
            return ANY
        return Chars(self._escaped(within_negation=False))

    def _escaped(self, *, within_negation: bool) -> Ranges:
        """The code points of what follows a backslash."""
        char = self._peek()
        if not char:
            raise _UnreadableError
        code = _CODE.match(self._text, self._at)
        if code is not None:
            self._at = code.end()
            point = ord(code[4]) % 32 if code[4] else int(code[1] or code[2] or code[3] or code[5], 16)
            if point > LAST:
                raise _UnreadableError
            return ((point, point),)
        known = _PROPERTY.match(self._text, self._at)
        if known is not None:  # by Unicode property: anything
            if within_negation:
                raise _UnreadableError
            self._at, self.exact = known.end(), False
            return ((0, LAST),)
        self._at += 1
        if char.lower() in _SETS:
            return self._named_set(char, within_negation)
        point = _CONTROLS.get(char, ord(char))
        return ((point, point),)

    def _named_set(self, char: str, within_negation: bool) -> Ranges:
        """Of a set that is read in two ways the larger is taken; turned into its opposite, the smaller."""
        if char.lower() != "w":
            return _SETS[char] if char.islower() else inverted(_SETS[char.lower()])
        self.exact = False
        if char == "w":
            return _WORD_ASCII if within_negation else _WORD
        return inverted(_WORD if within_negation else _WORD_ASCII)

    def _class(self) -> Chars:
        negated = self._peek() == "^"
        self._at += negated
        if self._peek() == "]":
            raise _UnreadableError  # nothing in ECMA-262, a bracket in `re`
        found: list[tuple[int, int]] = []
        while self._peek() != "]":
            low = self._class_atom(negated)
            dash = self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at)
            if dash and len(low) == 1 and low[0][0] == low[0][1]:
                self._at += 1
                high = self._class_atom(negated)
                if len(high) != 1 or high[0][0] != high[0][1]:  # `a-\d` is three things
                    found += [*low, (0x2D, 0x2D), *high]
                elif high[0][0] < low[0][0]:
                    raise _UnreadableError
                else:
                    found.append((low[0][0], high[0][0]))
            else:
                found += low
        self._at += 1
        ranges = merged(found)
        return Chars(inverted(ranges) if negated else ranges)

    def _class_atom(self, negated: bool) -> Ranges:
        char = self._peek()
        if not char:
            raise _UnreadableError
        self._at += 1
        if char != "\\":
            return ((ord(char), ord(char)),)
        if self._peek() == "b":
            self._at += 1
            return ((8, 8),)
        return self._escaped(within_negation=negated)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]
