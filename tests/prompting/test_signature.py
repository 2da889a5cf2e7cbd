from __future__ import annotations

from typing import Any

import pytest

from textcall.prompting.signature import signature, type_of

TYPES: list[tuple[Any, str]] = [
    ({"type": "string"}, "string"),
    ({"type": ["string", "null"]}, "string | null"),
    ({"enum": ["a", "b"]}, '"a" | "b"'),
    ({"enum": [1, None, "ü"]}, '1 | null | "ü"'),
    ({"const": 5}, "5"),
    ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
    ({"type": "array", "items": {"enum": ["x", "y"]}}, '("x" | "y")[]'),
    ({"type": "array"}, "any[]"),
    ({"items": {"type": "number"}}, "number[]"),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
    ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "integer"),
    ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, "{a: string, b?: any}"),
    ({"type": "object"}, "object"),
    ({"properties": {"odd key": {"type": "null"}}}, '{"odd key"?: null}'),
    ({"$ref": "#/$defs/P"}, "{x: number}"),
    ({"$ref": "#/$defs/a~1b"}, "boolean"),
    ({"$ref": "#/$defs/missing"}, "object"),
    ({"$ref": "https://example.org/x"}, "object"),
    (True, "any"),
    ({}, "any"),
]
ROOT = {
    "$defs": {
        "P": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "a/b": {"type": "boolean"},
        "R": {"type": "object", "properties": {"next": {"$ref": "#/$defs/R"}}},
    }
}


@pytest.mark.parametrize(("schema", "written"), TYPES)
def test_type(schema: Any, written: str) -> None:
    assert type_of(schema, ROOT) == written


def test_recursion_ends() -> None:
    assert type_of({"$ref": "#/$defs/R"}, ROOT).count("next") <= 4


def test_a_long_enum_is_cut() -> None:
    assert type_of({"enum": list(range(100))}, {}).endswith("23 | …")


def test_signature_with_notes() -> None:
    parameters = {
        "properties": {
            "city": {"type": "string", "description": "Name of\n  the city."},
            "days": {"type": "integer", "default": 1},
            "unit": {"type": "string", "default": "C", "description": "C or F"},
        },
        "required": ["city"],
    }
    assert signature("get_weather", "Weather\nin a city.", parameters).splitlines() == [
        "get_weather(city: string, days?: integer, unit?: string) // Weather in a city.",
        "  city: Name of the city.",
        "  days: (default 1)",
        "  unit: C or F",
    ]


def test_a_tool_without_parameters_or_description() -> None:
    assert signature("now", "", {"type": "object"}) == "now()"
