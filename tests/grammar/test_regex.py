"""`pattern` as a grammar, against Python's `re` as the oracle."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from textcall.errors import SchemaError
from textcall.grammar import Grammar
from textcall.grammar.regex import read_regex, widths
from textcall.grammar.schema import schema_to_gbnf
from textcall.grammar.strings import string_rule
from textcall.messages import compact_json

# Patterns that mean the same in ECMA-262 and in Python's `re` with ASCII sets, and that a grammar can say exactly.
EXACT = [
    "",
    "a",
    "^a",
    "a$",
    "^a$",
    "^a*$",
    "^(a|b)+$",
    "^a|b$",
    "^(?:a|bc){2,3}$",
    "(^a|b)c",
    "a(b|c$)",
    "^$",
    "^a?b{2}c{1,}$",
    "^[a-c]+$",
    "^[^a-c]*$",
    "^[-a]$",
    "^[a-]$",
    r"^[\]\[^]+$",
    r"^\d{2,3}$",
    r"^[\d.]+$",
    r"^\S\s\S$",
    r"^\D+$",
    r"\.",
    r"^\$\{a\}$",
    "^{a}$",
    "^a.c$",
    "^.{2,4}$",
    r"^a\nb|\t$",
    r'^["\\/]+$',
    r"^\x41\u0042$",
    "^(a+)+b$",
    "^(a*)*$",
    "^((a|b)*c?){0,3}$",
    "^(?P<year>1|2)(?P<x>a)$",
    "^a*?b+?$",
    r"^[\x00-\x1f]$",
    "^é|ü$",
    "a(?#a note)b",
    r"\Aab?\Z",
]
# Patterns of which the grammar says less: it takes all that they match, and more.
LOOSE = [
    r"\ba\b",
    "(?=a)b",
    "^(?!a).*$",
    "(?<=a)b",
    r"^(a|b)\1$",
    "a^b",
    "a$b",
    "(^a)*b",
    "^(a|^b)$",
    r"^\w+$",
    r"^[\w-]+$",
    r"^\W$",
    r"^[^\w]+$",
    r"^[^\W]+$",
    "^(?P<q>a|b)c(?P=q)$",
]
UNREADABLE = [
    "(",
    ")",
    "a)",
    "[a",
    "a**",
    "*a",
    "(?i)a",
    "a{2,1}",
    "^a{,2}$",
    "[z-a]",
    "[]",
    "[^]",
    "\\",
    "(?<a",
    r"[^\p{L}]",
]


def grammar_of(pattern: str) -> Grammar:
    return Grammar(schema_to_gbnf({"type": "string", "pattern": pattern}).gbnf)


def samples(pattern: str) -> list[str]:
    """Texts of the pattern's own characters, some of others."""
    chance = random.Random(pattern)
    letters = [*re.sub(r"[^\w.\-\[\]/]", "", pattern), *'abc019 -.$"\\\n\té_A×']
    return ["", *("".join(chance.choices(letters, k=chance.randint(1, 5))) for _ in range(250))]


def in_python(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """For `re`, `$` also stands before a line break at the end; in ECMA-262 it does not."""
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), flags)


@pytest.mark.parametrize("pattern", EXACT)
def test_exactly_what_python_finds(pattern: str) -> None:
    grammar, wanted, found = grammar_of(pattern), in_python(pattern, re.ASCII), read_regex(pattern)
    assert found is not None and found.exact
    for text in samples(pattern):
        assert grammar.accepts(compact_json(text)) is bool(wanted.search(text)), text


@pytest.mark.parametrize("pattern", LOOSE)
def test_never_less_than_python_finds(pattern: str) -> None:
    grammar, found = grammar_of(pattern), read_regex(pattern)
    assert found is not None and not found.exact
    for text in samples(pattern):
        if in_python(pattern).search(text) or in_python(pattern, re.ASCII).search(text):
            assert grammar.accepts(compact_json(text)), text


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_what_cannot_be_read_is_left_to_validation(pattern: str) -> None:
    assert read_regex(pattern) is None
    rule = string_rule(0, 3, [pattern], [])
    assert rule.kept["pattern"] == "checked after" and rule.kept["maxLength"] == "enforced"


@pytest.mark.parametrize("pattern", [r"^\p{L}+$", r"^(?<year>\d{4})$", r"^\cA$", r"^\u{e9}$"])
def test_what_only_ecma_262_knows_is_valid(pattern: str) -> None:
    with pytest.raises(re.error):
        re.compile(pattern)
    assert read_regex(pattern) is not None
    grammar = grammar_of(pattern)
    assert any(grammar.accepts(compact_json(text)) for text in ("é", "2024", "\x01"))
    assert not grammar.accepts('""')


def test_a_pattern_that_nobody_can_read_is_named() -> None:
    with pytest.raises(SchemaError, match="/properties/a/pattern"):
        schema_to_gbnf({"type": "object", "properties": {"a": {"pattern": "("}}})


def test_word_characters_of_every_script() -> None:
    grammar = Grammar(schema_to_gbnf({"type": "string", "pattern": r"^\w$"}).gbnf)
    letters = (chr(point) for point in range(0x20000) if not 0xD800 <= point < 0xE000)
    words = [char for char in letters if re.match(r"\w", char)]
    assert [char for char in words if not grammar.accepts(f'"{char}"')] == []
    signs = "×÷–“、。！\u00a0\u3000→■"
    assert not [char for char in signs if grammar.accepts(f'"{char}"')]


@pytest.mark.parametrize("pattern", [*EXACT, *LOOSE])
def test_llama_cpp_loads_it(pattern: str, oracle: Any) -> None:
    assert oracle.loads(schema_to_gbnf({"type": "string", "pattern": pattern}).gbnf)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("^ab?c{2,5}$", (3, 7)), ("^(a|bcd)$", (1, 3)), ("^a+$", (1, None)), ("a", (1, None)), ("^(){5}$", (0, 0))],
)
def test_widths(pattern: str, expected: tuple[int, int | None]) -> None:
    found = read_regex(pattern)
    assert found is not None
    assert widths(found.node) == expected


@pytest.mark.parametrize(
    "pattern", ["^(([a-z]{1,100}){1,100}){1,100}$", "^(.{0,64}@?){1,64}$", "^([a-z]{0,1000}){0,1000}$"]
)
def test_counts_of_counts_stay_cheap(pattern: str) -> None:
    found = read_regex(pattern)
    assert found is not None and not found.exact
    grammar = grammar_of(pattern)
    assert grammar.accepts('"' + "abc" * 20 + '"')
    state = grammar.advance(grammar.start(), '"' + "abc" * 20)
    assert state is not None and len(state.stacks) < 400


def test_counts_of_what_has_one_length_are_kept() -> None:
    found = read_regex("^([a-f]{2}:){300}$")
    assert found is not None and found.exact


def test_deep_nesting_is_no_fault() -> None:
    assert read_regex("(" * 5000 + "a" + ")" * 5000) is None
