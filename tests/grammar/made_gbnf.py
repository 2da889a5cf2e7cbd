"""Made-up GBNF grammars of every piece of the notation, each valid for llama.cpp too."""

from __future__ import annotations

import random
from collections.abc import Callable

_NAMES = ["item", "a-b", "x1", "UPPER", "9", "camelCase"]
# Few characters, so that alternatives overlap; of several lengths in UTF-8.
_LETTERS = [*"ab01 ,:{}\"'-\n", "é", "ß", "漢", "字", "😀", "\u0301"]
_WORDS = ["true", "the", '":"', '"},', "  ", "\\", "hello", "日本", "[]", "#no", "x | y"]
_CLASSES = ["a-z", "0-9", "A-F", "à-ÿ", "一-鿿", "😀-🙏", "\\x20-\\x2F", "\\u00e0-\\u00ff", "\\U0001F600-\\U0001F64F"]
_SINGLE = [
    "a",
    "b",
    " ",
    "é",
    "漢",
    "😀",
    "\\n",
    "\\t",
    "\\\\",
    '\\"',
    "\\[",
    "\\]",
    "\\x41",
    "\\u4e00",
    "\\U0001F601",
    "^",
]
_COUNTS = ["*", "+", "?", "{2}", "{0,2}", "{1,}", "{1,3}", "{0,}", "{ 2 , 5 }", "{0}"]
_LONG_COUNTS = [*_COUNTS, "{12,40}"]  # only for one character or text: oracles expand counts
_ESCAPED = {"\n": "\\n", '"': '\\"', "\\": "\\\\"}


def made_gbnf(chance: random.Random) -> str:
    """A grammar of one to five rules. A rule refers to itself or to earlier ones only behind a character."""
    names = ["root", *chance.sample(_NAMES, chance.randint(0, 4))]
    lines = [f"{name} ::= {_rule(chance, names[i + 1 :], names)}" for i, name in enumerate(names)]
    chance.shuffle(lines)
    return chance.choice(["\n", "\r\n", "\n# a comment\n\n"]).join(lines) + "\n"


def _rule(chance: random.Random, later: list[str], names: list[str]) -> str:
    options = [_sequence(chance, chance.randint(0, 2), later) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        options.append(f"{_literal(chance)} {chance.choice(names)} {_sequence(chance, 1, later)}")
    if chance.random() < 0.15:
        options.insert(0, "")  # as the last one it would take the next rule's name for a reference
    return chance.choice([" | ", " |\n  ", "|"]).join(options)


def _sequence(chance: random.Random, depth: int, later: list[str]) -> str:
    return chance.choice([" ", "  ", "\t"]).join(_part(chance, depth, later) for _ in range(chance.randint(1, 3)))


def _part(chance: random.Random, depth: int, later: list[str]) -> str:
    makers: list[Callable[[], str]] = [lambda: _literal(chance), lambda: _class(chance), lambda: "."]
    weights = [6, 6, 1]
    if depth:
        makers.append(lambda: _group(chance, depth - 1, later))
        weights.append(4)
    if later:
        makers.append(lambda: chance.choice(later))
        weights.append(4)
    (maker,) = chance.choices(makers, weights)
    part = maker()
    # what is repeated and may be empty is rare: the oracles need seconds for it
    if chance.random() < (0.9 if '""' in part else 0.65):
        return part
    return part + chance.choice(["", " "]) + chance.choice(_LONG_COUNTS if part[0] in '"[.' else _COUNTS)


def _group(chance: random.Random, depth: int, later: list[str]) -> str:
    options = [_sequence(chance, depth, later) for _ in range(chance.randint(1, 2 + depth))]
    if chance.random() < 0.1:
        options.append('""')
    gap = chance.choice(["", " ", "\n  ", " # why\n"])
    return f"({gap}{f'{gap}|{gap}'.join(options)}{gap})"


def _literal(chance: random.Random) -> str:
    text = chance.choice(_WORDS) if chance.random() < 0.4 else "".join(chance.choices(_LETTERS, k=chance.randint(1, 3)))
    return '"' + "".join(_ESCAPED.get(char, char) for char in text) + '"'


def _class(chance: random.Random) -> str:
    inside = chance.sample(_CLASSES, chance.randint(0, 2)) + chance.sample(_SINGLE, chance.randint(1, 3))
    chance.shuffle(inside)
    if inside[0] == "^":
        inside.append(inside.pop(0))
    if inside == ["^"]:
        inside = ["a", "^"]
    return "[" + chance.choice(["", "", "^"]) + "".join(inside) + chance.choice(["", "", "-"]) + "]"
