"""The grammar, its report and the check after it mean the same where jsonschema alone does not decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from textcall.grammar import Grammar, schema_to_gbnf
from textcall.messages import compact_json
from textcall.parsing.validate import is_valid


class Described(NamedTuple):
    name: str
    parameters: dict[str, Any]


TEXT = {"$ref": "#/$defs/text"}
# OpenAPI's `nullable`: null, whatever stands beside it.
NULLABLE: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"type": "string", "nullable": True}, ["x", None], [1]),
    ({"enum": ["x"], "nullable": True}, ["x", None], ["y"]),
    ({"enum": ["x"], "type": ["string", "null"], "nullable": True}, ["x", None], ["y"]),
    ({"const": "x", "nullable": True}, ["x", None], ["y"]),
    ({**TEXT, "nullable": True}, ["x", None], [1]),
    ({"allOf": [{"type": "string"}], "nullable": True}, ["x", None], [1]),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True}, ["x", 1, None], [1.5]),
    ({"allOf": [{"type": "string", "nullable": True}, {"minLength": 1}]}, ["x", None], [1, ""]),
    ({"allOf": [{"type": "string", "nullable": True}, {"type": "string"}]}, ["x"], [1, None]),
    ({"allOf": [{"type": "string", "nullable": True}, {"enum": ["x", "y"], "nullable": True}]}, ["x", None], ["z"]),
    ({"type": "string", "nullable": False}, ["x"], [None]),
    ({"propertyNames": {"minLength": 1, "nullable": True}, "type": "object"}, [{"a": None}], [{"": 1}]),
]


def assert_agreement(schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    whole = {
        "type": "object",
        "properties": {"a": schema},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"text": {"type": "string"}},
    }
    tool, compiled = Described("t", whole), schema_to_gbnf(whole)
    grammar = Grammar(compiled.gbnf)
    assert [value for value in valid if not is_valid(tool, {"a": value})] == []
    assert [value for value in invalid if is_valid(tool, {"a": value})] == []
    assert [value for value in valid if not grammar.accepts(compact_json({"a": value}))] == []
    if all(entry.status == "enforced" for entry in compiled.report):
        assert [value for value in invalid if grammar.accepts(compact_json({"a": value}))] == []


@pytest.mark.parametrize(("schema", "valid", "invalid"), NULLABLE, ids=str)
def test_null_where_openapi_allows_it(schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    assert_agreement(schema, valid, invalid)


def test_a_name_is_never_null() -> None:
    grammar = Grammar(schema_to_gbnf({"propertyNames": {"nullable": True, "minLength": 1}}).gbnf)
    assert not grammar.accepts("{null:1}")
