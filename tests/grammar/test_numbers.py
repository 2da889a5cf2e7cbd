"""Bounds and steps of numbers: what is within is taken in every spelling, what is called exact lets no more in."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from textcall.grammar import Grammar
from textcall.grammar.library import json_rules
from textcall.grammar.numbers import Bounds, numbers, whole_multiple, whole_numbers
from textcall.grammar.schema import schema_to_gbnf

_RULES = "".join(f"{name} ::= {body}\n" for name, body in json_rules().items())
_EDGES = [Decimal(text) for text in ("0", "1", "-1", "0.5", "9", "10", "99", "100", "101", "-0.05")]
_EXPONENTS = [1e-05, -1e-05, 5e-324, 1e16, -2.5e17, 1.5e300]


def grammar_of(body: str) -> Grammar | None:
    return Grammar(f"root ::= {body}\n{_RULES}") if body else None


def some_bound(chance: random.Random) -> Decimal | None:
    if chance.random() < 0.25:
        return None
    return Decimal(chance.randint(-300, 300) * chance.choice([1, 1, 100])) / Decimal(10) ** chance.choice(
        [0, 0, 1, 2, 3]
    )


def around(chance: random.Random, *bounds: Decimal | None) -> set[Decimal]:
    """Numbers close to the bounds, and others."""
    close = {
        bound + Decimal(step) / Decimal(10) ** digits
        for bound in bounds
        if bound is not None
        for step in (-1, 0, 1)
        for digits in range(5)
    }
    far = {Decimal(chance.randint(-40000, 40000)) / Decimal(10) ** chance.randint(0, 4) for _ in range(30)}
    return close | far | set(_EDGES) | {Decimal(repr(number)) for number in _EXPONENTS}


def spellings(number: Decimal) -> set[str]:
    plain = f"{number:f}"
    both = {json.dumps(float(number))} | ({plain} if len(plain) < 16 else set())
    return {text for text in both if Decimal(text) == number and text not in ("-0", "-0.0")}


def is_within(number: Decimal, bounds: Bounds) -> bool:
    above = bounds.low is None or (number > bounds.low if bounds.low_open else number >= bounds.low)
    below = bounds.high is None or (number < bounds.high if bounds.high_open else number <= bounds.high)
    return above and below


@pytest.mark.parametrize("seed", range(6))
def test_numbers_between_any_bounds(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        bounds = Bounds(some_bound(chance), some_bound(chance), chance.random() < 0.4, chance.random() < 0.4)
        body, exact = numbers(bounds)
        grammar = grammar_of(body)
        for number in around(chance, bounds.low, bounds.high):
            for text in spellings(number):
                taken = grammar is not None and grammar.accepts(text)
                assert taken or not is_within(number, bounds), f"{bounds}: {text} is refused by {body}"
                assert not (taken and exact) or is_within(number, bounds), f"{bounds}: {text} is taken by {body}"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [None, 1, 2, 3, 4, 5, 10, 12, 25, 125])
def test_integers_between_any_bounds(seed: int, step: int | None) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        low, high = (None if b is None else int(b) for b in (some_bound(chance), some_bound(chance)))
        body, exact = whole_numbers(low, high, step)
        grammar = grammar_of(body)
        for number in {int(n) for n in around(chance, *(None if b is None else Decimal(b) for b in (low, high)))}:
            within = (low is None or number >= low) and (high is None or number <= high) and number % (step or 1) == 0
            taken = grammar is not None and grammar.accepts(str(number))
            assert taken or not within, f"{low}..{high} by {step}: {number} is refused by {body}"
            assert not (taken and exact) or within, f"{low}..{high} by {step}: {number} is taken by {body}"


def test_every_small_range_of_integers() -> None:
    for low in range(-12, 112, 7):
        for high in range(low, 125, 11):
            grammar = grammar_of(whole_numbers(low, high)[0])
            assert grammar is not None
            assert [n for n in range(-130, 1300) if grammar.accepts(str(n))] == list(range(low, high + 1))
            assert not grammar.accepts("007")


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 65535}, ["1", "9", "65535"], ["0", "-1", "65536", "99999", "01"]),
        ({"type": "integer", "minimum": -90, "maximum": 90}, ["-90", "0", "90"], ["-91", "91", "900"]),
        ({"type": "integer", "exclusiveMinimum": 5}, ["6", "10", "99999999999"], ["5", "0", "-6"]),
        ({"type": "integer", "minimum": 0.5, "maximum": 2.5}, ["1", "2"], ["0", "3"]),
        ({"type": "integer", "minimum": 3, "maximum": 2}, [], ["2", "3"]),
        ({"type": "integer", "multipleOf": 5}, ["0", "5", "-10", "1005"], ["1", "7", "05"]),
        ({"type": "integer", "multipleOf": 4}, ["0", "4", "100", "112"], ["2", "6", "101", "114"]),
        ({"type": "integer", "multipleOf": 100, "minimum": 0}, ["0", "100", "12300"], ["10", "150", "-100"]),
        ({"type": "integer", "minimum": 10, "maximum": 40, "multipleOf": 15}, ["15", "30"], ["10", "45", "0"]),
        (
            {"type": "number", "minimum": 0, "maximum": 1},
            ["0", "1", "1.0", "0.25", "1e-07"],
            ["1.01", "-0.1", "2", "1e16"],
        ),
        ({"type": "number", "exclusiveMinimum": 0}, ["0.001", "5", "1e+20", "1e-09"], ["0", "0.00", "-1"]),
        ({"type": "number", "minimum": 0.25, "maximum": 0.75}, ["0.25", "0.5", "0.7500"], ["0.2", "0.751", "0", "1"]),
        ({"type": "number", "maximum": -1.5}, ["-1.5", "-2", "-1e+16"], ["-1.4", "0", "1"]),
        ({"type": "number", "multipleOf": 0.01}, ["1", "1.5", "1.25"], ["1.255"]),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "type": "number",
                "minimum": 1,
                "exclusiveMinimum": True,
            },
            ["1.1", "2"],
            ["1", "1.0", "0"],
        ),
    ],
    ids=str,
)
def test_keywords(schema: dict[str, Any], taken: list[str], refused: list[str], oracle: Any) -> None:
    gbnf = schema_to_gbnf(schema).gbnf
    grammar = Grammar(gbnf)
    if taken:
        assert [text for text in taken if not grammar.accepts(text)] == []
        assert [text for text in refused if grammar.accepts(text)] == []
    assert oracle.loads(gbnf)


def test_a_bound_of_many_digits_is_left_to_validation() -> None:
    compiled = schema_to_gbnf({"type": "number", "maximum": 1e300})
    assert Grammar(compiled.gbnf).accepts("1e+299")
    assert len(compiled.gbnf) < 1000
    assert {entry.keyword: entry.status for entry in compiled.report}["maximum"] != "enforced"


def test_the_text_grows_with_the_digits_of_a_bound() -> None:
    lengths = [len(whole_numbers(0, 10**digits + 7)[0]) for digits in (4, 8, 16)]
    assert lengths[2] < 6 * lengths[0]


def test_bounds_of_64_bits_and_beyond() -> None:
    """More numbers than `len` of a range can say."""
    body, exact = whole_numbers(-(2**63), 2**63 - 1)
    grammar = grammar_of(body)
    assert grammar is not None
    assert exact
    assert all(grammar.accepts(str(n)) for n in (-(2**63), -1, 0, 2**63 - 1))
    assert not any(grammar.accepts(str(n)) for n in (-(2**63) - 1, 2**63, 10**30))
    assert whole_numbers(0, 10**100, 7) == whole_numbers(0, 10**100, 11)
    assert schema_to_gbnf({"type": "integer", "maximum": 10**400}).report[1].status != "enforced"


@pytest.mark.parametrize(
    ("multiples", "whole"), [((), 1), (("2", "5"), 10), (("1.5", "2"), 6), (("2.5",), 5), (("0.5", "0.1"), 1)]
)
def test_several_multiples_are_one(multiples: tuple[str, ...], whole: int) -> None:
    found = whole_multiple(map(Decimal, multiples))
    assert found == whole
    for n in range(-60, 60):
        assert (n % found == 0) is all(n % Decimal(step) == 0 for step in multiples)
