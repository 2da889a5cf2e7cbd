"""Made-up schemas: whatever their keywords mean together, nothing valid is refused and nothing raises."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema.validators import validator_for

from textcall.grammar import Grammar
from textcall.grammar.schema import schema_to_gbnf
from textcall.messages import compact_json

_SCALARS: list[Any] = [0, 1, 2, -1, 1.5, True, False, None, "", "a", "ab"]
_LISTS: list[Any] = [[], *([x] for x in _SCALARS), [1, "a"], ["a", 1], [1, 1, 1], [[1]], [{"a": 1}]]
_SINGLE: list[Any] = [{key: x} for key in "abc" for x in [*_SCALARS, [], [1], {}, {"a": 1}]]
_PAIRS: list[Any] = [{"a": x, "b": y} for x in (1, "a", None) for y in (1, "a", None, {"a": 1})]
VALUES = [*_SCALARS, *_LISTS, {}, *_SINGLE, *_PAIRS, {"a": 1, "b": 1, "c": 1}, {"b": "a", "c": 1}]

_TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
_REFERENCES = ["#", "#/$defs/x", "#/$defs/y", "#/$defs/z~1z", "#named"]


_MAKERS: dict[str, Callable[[random.Random, int], Any]] = {
    "type": lambda r, _: r.choice([r.choice(_TYPES), r.sample(_TYPES, r.randint(1, 3))]),
    "enum": lambda r, _: r.sample(VALUES, r.randint(1, 4)),
    "const": lambda r, _: r.choice(VALUES),
    "properties": lambda r, depth: {name: made(r, depth) for name in r.sample("abc", r.randint(0, 3))},
    "required": lambda r, _: r.sample("abc", r.randint(0, 2)),
    "additionalProperties": lambda r, depth: made(r, depth),
    "patternProperties": lambda r, depth: {r.choice(["a", "^b", "."]): made(r, depth)},
    "items": lambda r, depth: made(r, depth),
    "prefixItems": lambda r, depth: [made(r, depth) for _ in range(r.randint(1, 2))],
    "minItems": lambda r, _: r.randint(0, 2),
    "maxItems": lambda r, _: r.randint(0, 2),
    "minLength": lambda r, _: r.randint(0, 2),
    "maxLength": lambda r, _: r.randint(0, 2),
    "pattern": lambda r, _: r.choice(["a", "^a", "b$", "^a?b*$", "^.{0,1}$"]),
    "minimum": lambda r, _: r.choice([-1, 0, 0.5, 1]),
    "exclusiveMaximum": lambda r, _: r.choice([1, 1.5, 2]),
    "allOf": lambda r, depth: [made(r, depth) for _ in range(r.randint(1, 2))],
    "anyOf": lambda r, depth: [made(r, depth) for _ in range(r.randint(1, 3))],
    "oneOf": lambda r, depth: [made(r, depth) for _ in range(r.randint(1, 2))],
    "not": lambda r, depth: made(r, depth),
    "if": lambda r, depth: made(r, depth),
    "then": lambda r, depth: made(r, depth),
    "nullable": lambda _r, _d: True,
}


def made(chance: random.Random, depth: int = 3) -> Any:
    """A schema of a few keywords, `depth` deep at most."""
    if depth == 0 or chance.random() < 0.1:
        return chance.choice([True, False, {}, {"type": "integer"}, {"type": "string"}])
    return some_keywords(chance, depth)


def some_keywords(chance: random.Random, depth: int) -> dict[str, Any]:
    keywords = chance.sample(sorted(_MAKERS), chance.randint(1, 4))
    return {keyword: _MAKERS[keyword](chance, depth - 1) for keyword in keywords}


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [compact_json(dict(items)) for items in itertools.permutations(value.items())]
    return [compact_json(value)]


def _narrower(schema: Any, gbnf: str) -> list[Any]:
    grammar, validator = Grammar(gbnf), validator_for(schema)(schema)
    valid = (value for value in VALUES if validator.is_valid(value))
    return [value for value in valid if not any(map(grammar.accepts, _texts(value)))]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_valid_is_refused(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        schema = made(chance)
        assert _narrower(schema, schema_to_gbnf(schema).gbnf) == [], schema


@pytest.mark.parametrize("seed", range(10))
def test_nor_with_references(seed: int) -> None:
    chance = random.Random(f"references {seed}")
    for _ in range(8):
        # each step down goes through a property or an item, so that jsonschema comes to an end
        referring = [{"$ref": reference} for reference in _REFERENCES]
        referring += [{**some_keywords(chance, 1), "$ref": chance.choice(_REFERENCES)} for _ in range(3)]
        inside = {"properties": {"a": chance.choice(referring)}, "items": chance.choice(referring)}
        named = {"$anchor": "named", "properties": {"b": {"$ref": "#/$defs/x"}}}
        schema = {
            "properties": {"a": made(chance, 2), "b": chance.choice(referring), "c": chance.choice(referring)},
            "$defs": {"x": inside, "y": made(chance, 2), "z/z": made(chance, 2), "n": named},
        }
        assert _narrower(schema, schema_to_gbnf(schema).gbnf) == [], schema


@pytest.mark.parametrize("seed", range(10))
def test_llama_cpp_loads_it(seed: int, oracle: Any) -> None:
    chance = random.Random(f"llama.cpp {seed}")
    for _ in range(8):
        schema = made(chance)
        for open_objects in (True, False):
            gbnf = schema_to_gbnf(schema, open_objects=open_objects).gbnf
            assert oracle.loads(gbnf), (schema, gbnf)
