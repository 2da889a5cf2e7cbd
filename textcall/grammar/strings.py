"""The bodies of JSON strings: by length, by `pattern`, by `format`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textcall.grammar.gbnf_text import LAST, Alt, Chars, Node, Ranges, Repeat, Seq, merged
from textcall.grammar.library import format_rules
from textcall.grammar.regex import inverted, read_regex, widths
from textcall.grammar.terms import counted, fits, literal
from textcall.messages import compact_json

Kept = Literal["enforced", "approximated", "checked after"]

# What a format's rule lets through beyond its definition is said in grammars/formats.gbnf.
EXACT_FORMATS = frozenset({"uuid", "ipv4", "ipv6"})
_MUST_ESCAPE: Ranges = ((0, 31), (0x22, 0x22), (0x5C, 0x5C))
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r"}
_ANY_CHAR = "char"


@dataclass(frozen=True, slots=True)
class StringRule:
    """The body of a string with its quotes, None where no string fits, and what is kept of each keyword."""

    body: str | None
    kept: dict[str, Kept]


def string_rule(least: int, most: int | None, patterns: Sequence[str], formats: Sequence[str]) -> StringRule:
    """Strings of `least` to `most` characters (None: no end) that match the first usable pattern, else format."""
    kept: dict[str, Kept] = {"pattern": "checked after"} if patterns else {}
    known = [name for name in formats if format_name(name) in format_rules()]
    if formats:
        kept["format"] = "checked after"
    if most is not None and least > most:
        return StringRule(None, kept)
    for pattern in patterns:
        found = read_regex(pattern)
        if found is not None and _is_possible(found.node):
            kept["pattern"] = "enforced" if found.exact and len(patterns) == 1 else "approximated"
            node = _with_length(found.node, least, most)
            kept |= _lengths_kept(node, least, most)
            return StringRule(quoted(element(node)), kept)
    if known:
        kept["format"] = "enforced" if known[0] in EXACT_FORMATS and len(formats) == 1 else "approximated"
        kept |= dict.fromkeys(("minLength", "maxLength"), "checked after")
        return StringRule(quoted(format_name(known[0])), kept)
    kept |= {"minLength": _fitting(least), "maxLength": _fitting(most or 0)}
    if least == 0 and (most is None or not fits(most)):
        return StringRule("string", kept)
    return StringRule(quoted(counted(_ANY_CHAR, least, most)), kept)


def key_rule(pattern: str) -> str | None:
    """A property name that matches `pattern`, with its quotes; None where the pattern cannot be read."""
    found = read_regex(pattern)
    return quoted(element(found.node)) if found is not None and _is_possible(found.node) else None


def format_name(name: str) -> str:
    """The rule in grammars/formats.gbnf of a format."""
    return f"format-{name}"


def quoted(body: str) -> str:
    """A JSON string of this body."""
    return f'"\\"" {body} "\\""'


def element(node: Node) -> str:
    """One element of GBNF for the texts of `node`, as they stand inside a JSON string."""
    if isinstance(node, Chars):
        return _char(node.ranges)
    if isinstance(node, Repeat):
        if isinstance(node.part, Seq) and not node.part.parts:
            return '""'
        return counted(_single(node.part), node.least, node.most)
    if isinstance(node, Alt):
        return f"({' | '.join(dict.fromkeys(element(option) for option in node.options))})"
    if isinstance(node, Seq):
        return _sequence(node.parts)
    raise AssertionError(node)  # a reference: `read_regex` leaves none


def _single(node: Node) -> str:
    """`element`, in parentheses where it would not be one thing to a quantifier."""
    text = element(node)
    return text if isinstance(node, Chars | Alt) else f"({text})"


def _sequence(parts: Sequence[Node]) -> str:
    """Neighbouring single characters are written as one literal."""
    texts: list[str] = []
    plain = ""
    for part in parts:
        point = _one_point(part)
        if point is not None:
            plain += compact_json(chr(point))[1:-1]
            continue
        if plain:
            texts.append(literal(plain))
            plain = ""
        texts.append(element(part))
    if plain:
        texts.append(literal(plain))
    return " ".join(text for text in texts if text != '""') or '""'


def _one_point(node: Node) -> int | None:
    one = isinstance(node, Chars) and len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]
    return node.ranges[0][0] if one and isinstance(node, Chars) else None


def _char(ranges: Ranges) -> str:
    """One character of `ranges`, as JSON writes it. What must be escaped is, the rest stands as it is."""
    if ranges == ((0, LAST),):
        return _ANY_CHAR
    direct = inverted(merged([*inverted(ranges), *_MUST_ESCAPE]))
    options = [_class(direct)] if direct else []
    special = [point for low, high in ranges for point in range(low, min(high, 0x5C) + 1) if point in _ESCAPED]
    options += [literal(compact_json(chr(point))[1:-1]) for point in special if point >= 32]
    controls = [point for point in special if point < 32]
    short = "".join(_SHORT[point] for point in controls if point in _SHORT)
    if short:
        options.append(f'"\\\\" [{short}]')
    long = [f"{point:02X}" for point in controls if point not in _SHORT]
    if len(long) == 32 - len(_SHORT):
        options.append('"\\\\u00" [01] [0-9a-fA-F]')
    else:
        options += [f'"\\\\u00{code[0]}" {_either_case(code[1])}' for code in long]
    if len(options) == 1 and options[0].count(" ") == 0:
        return options[0]
    return f"({' | '.join(options)})"


_ESCAPED = frozenset(point for low, high in _MUST_ESCAPE for point in range(low, high + 1))


def _either_case(digit: str) -> str:
    return f'"{digit}"' if digit.isdigit() else f"[{digit}{digit.lower()}]"


def _class(ranges: Ranges) -> str:
    parts = (_in_class(low) + ("" if low == high else "-" + _in_class(high)) for low, high in ranges)
    return f"[{''.join(parts)}]"


def _in_class(point: int) -> str:
    char = chr(point)
    if char in "\\[]":
        return "\\" + char
    if 32 < point < 127 and char not in "^-":
        return char
    return f"\\x{point:02X}" if point < 256 else f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"


def _is_possible(node: Node) -> bool:
    if isinstance(node, Chars):
        return bool(node.ranges)
    if isinstance(node, Repeat):
        return node.least == 0 or _is_possible(node.part)
    if isinstance(node, Alt):
        return any(map(_is_possible, node.options))
    return not isinstance(node, Seq) or all(map(_is_possible, node.parts))


def _with_length(node: Node, least: int, most: int | None) -> Node:
    """`node`, with the bounds of its length in it where one repeated character is all that varies."""
    parts = node.parts if isinstance(node, Seq) else (node,)
    if all(widths(part)[0] == 0 for part in parts) and any(_is_anything(part) for part in parts):
        parts = (Repeat(Chars(((0, LAST),)), 0, None),)  # matches everything
    varying = [i for i, part in enumerate(parts) if (w := widths(part))[0] != w[1]]
    if len(varying) != 1:
        return node
    place = varying[0]
    repeat = parts[place]
    if not isinstance(repeat, Repeat) or widths(repeat.part) != (1, 1):
        return node
    fixed = sum(widths(part)[0] for i, part in enumerate(parts) if i != place)
    low = max(repeat.least, least - fixed)
    high = repeat.most if most is None else most - fixed if repeat.most is None else min(repeat.most, most - fixed)
    if high is not None and high < low:
        return node  # nothing fits: validation says so
    return Seq((*parts[:place], Repeat(repeat.part, low, high), *parts[place + 1 :]))


def _is_anything(node: Node) -> bool:
    return isinstance(node, Repeat) and node.most is None and node.least == 0 and _is_full(node.part)


def _is_full(node: Node) -> bool:
    return isinstance(node, Chars) and node.ranges == ((0, LAST),)


def _lengths_kept(node: Node, least: int, most: int | None) -> dict[str, Kept]:
    low, high = widths(node)
    enough: Kept = _fitting(least) if low >= least else "checked after"
    short: Kept = _fitting(most or 0) if most is None or (high is not None and high <= most) else "checked after"
    return {"minLength": enough, "maxLength": short}


def _fitting(bound: int) -> Kept:
    return "enforced" if fits(bound) else "approximated"
