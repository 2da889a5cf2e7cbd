"""The quick proof against jsonschema: what it proves is valid; and it proves what it should."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from textcall.parsing import parse
from textcall.parsing.quick import proof_of

SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 5, 5.0, 0.5, -0.0, 10**400, 1e300, "", "a", "up", "naïve 🌊", "5", "true"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
TYPE = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
NUMBER = st.sampled_from([0, 1, 2, 0.5, -3, 10**400])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPE | st.lists(TYPE, min_size=1, max_size=3, unique=True),
            "enum": st.lists(st.sampled_from(["a", "up", "", "5"]), min_size=1, unique=True)
            | st.lists(SCALARS, min_size=1, max_size=3),
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "minimum": NUMBER,
            "maximum": NUMBER,
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 3),
            "pattern": st.just("^a"),
            "const": SCALARS,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "description": st.just("x"),
            "default": SCALARS,
        },
    )


SCHEMAS = st.recursive(st.booleans() | keywords(st.just({})), keywords, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, VALUES)
def test_what_is_proven_is_valid(schema: Any, value: Any) -> None:
    proof = proof_of(schema)
    if proof is not None and proof(value):
        assert Draft202012Validator(schema).is_valid(value)


SIMPLE = {
    "type": "object",
    "properties": {
        "port": {"type": "string", "minLength": 1, "description": "Where"},
        "seats": {"type": "integer", "minimum": 1},
        "deck": {"enum": ["upper", "lower"]},
        "names": {"type": "array", "items": {"type": ["string", "null"]}, "maxItems": 2},
        "fare": {"type": "number"},
    },
    "required": ["port"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "proven"),
    [
        ({"port": "Oban"}, True),
        ({"port": "Oban", "seats": 2, "deck": "upper", "names": ["a", None], "fare": 1.5}, True),
        ({"port": "Oban", "fare": 3}, True),
        ({}, False),
        ({"port": ""}, False),
        ({"port": "Oban", "seats": 2.0}, False),
        ({"port": "Oban", "seats": True}, False),
        ({"port": "Oban", "names": ["a", "b", "c"]}, False),
        ({"port": "Oban", "deck": "roof"}, False),
        ({"port": "Oban", "more": 1}, False),
    ],
)
def test_usual_schemas_have_a_proof(arguments: dict[str, Any], proven: bool) -> None:
    proof = proof_of(SIMPLE)
    assert proof is not None
    assert proof(arguments) is proven


@pytest.mark.parametrize("keyword", ["$ref", "$schema", "oneOf", "pattern", "format", "patternProperties", "made-up"])
def test_other_keywords_have_none(keyword: str) -> None:
    assert proof_of({"type": "object", keyword: "x"}) is None


def test_one_property_that_is_not_simple_leaves_the_others_provable() -> None:
    proof = proof_of({"properties": {"a": {"format": "date"}, "b": {"type": "string"}}})
    assert proof is not None
    assert (proof({"b": "x"}), proof({"a": "x"})) == (True, False)


def test_schemas_without_end_have_no_proof() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    assert proof_of(schema) is None


def test_a_whole_number_written_as_a_fraction_is_still_made_whole() -> None:
    (call,) = parse('{"tool":"a","args":{"port":"x","seats":2.0}}', [{"name": "a", "parameters": SIMPLE}]).calls
    assert (repr(call.arguments["seats"]), call.how) == ("2", ("coerced(/seats)",))
