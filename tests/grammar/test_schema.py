from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for

from textcall.errors import SchemaError
from textcall.grammar import Grammar
from textcall.grammar.schema import schema_to_gbnf
from textcall.messages import compact_json

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
Walk = Callable[[Grammar, random.Random], str | None]
# One schema a line: its name, the schema, texts that its grammar takes, texts that it refuses.
TABLE = Path(__file__).parents[1] / "data/grammar/schemas.jsonl"
CASES = [tuple(json.loads(line).values()) for line in TABLE.read_text(encoding="utf-8").splitlines()]
# jsonschema itself can follow the references of these
CHECKED = [case for case in CASES if not {"elsewhere", "nowhere", "circle"} & set(case[0].split())]


@pytest.mark.parametrize(("schema", "good", "bad"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_texts(schema: Any, good: list[str], bad: list[str], oracle: Any) -> None:
    compiled = schema_to_gbnf(schema)
    grammar = Grammar(compiled.gbnf)
    assert [text for text in good if not grammar.accepts(text)] == []
    assert [text for text in bad if grammar.accepts(text)] == []
    assert oracle.loads(compiled.gbnf), compiled.gbnf
    for text in good[:2] + bad[:2]:
        assert oracle.accepts(compiled.gbnf, text) == (text in good), text


@pytest.mark.parametrize("schema", [case[1] for case in CHECKED], ids=[case[0] for case in CHECKED])
def test_nothing_valid_is_refused(schema: Any) -> None:
    """Every small value that the schema allows has a text, in some order of its properties."""
    grammar, validator = Grammar(schema_to_gbnf(schema).gbnf), validator_for(schema)(schema)
    refused = [
        value
        for value in VALUES
        if validator.is_valid(value) and not any(grammar.accepts(text) for text in _orders(value))
    ]
    assert refused == []


def _orders(value: Any) -> list[str]:
    value = _whole(value)
    if isinstance(value, dict):
        return [compact_json(dict(items)) for items in itertools.permutations(value.items())]
    return [compact_json(value)]


def _whole(value: Any) -> Any:
    """The canonical form of whole numbers: 1 for 1.0."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_SIMPLE: list[Any] = [
    0,
    1,
    -1,
    2,
    5,
    1.0,
    1.5,
    1e30,
    True,
    False,
    None,
    "",
    "a",
    "ab",
    "abc",
    'q"',
    "é😀",
    [],
    [1],
    ["a"],
    [1, "a"],
    {},
]
VALUES: list[Any] = [*_SIMPLE, [1, "a", "b"], [1, "a", 2], [None, None], [1, "x"], {"b": 1, "a": "x"}]
VALUES += [{key: value} for key in ("a", "b", "k", "v", "z", "s_x", "next", 'q"\\', "other") for value in _SIMPLE]
VALUES += [{"a": x, "b": y} for x in _SIMPLE for y in _SIMPLE]
VALUES += [{"k": "x", "a": 1, "b": y} for y in (1, "x")] + [{"v": 1, "sub": [{"v": 2}]}, {"v": 1, "sub": [{}]}]


@pytest.mark.parametrize("optional", range(5))
@pytest.mark.parametrize("needed", [(), (0,), (1,), (4,), (0, 3)])
@pytest.mark.parametrize("others", [False, True])
def test_every_choice_of_optional_properties(optional: int, needed: tuple[int, ...], others: bool) -> None:
    names = [f"p{i}" for i in range(optional + len(needed))]
    required = [names[i] for i in needed if i < len(names)]
    schema = {
        "type": "object",
        "properties": dict.fromkeys(names, INTEGER),
        "required": required,
        "additionalProperties": STRING if others else False,
    }
    grammar = Grammar(schema_to_gbnf(schema).gbnf)
    for count in range(len(names) + 1):
        for chosen in itertools.permutations(names, count) if len(names) < 5 else itertools.combinations(names, count):
            values: dict[str, Any] = dict.fromkeys(chosen, 1)
            expected = list(chosen) == sorted(chosen) and set(required) <= set(chosen)
            assert grammar.accepts(compact_json(values)) is expected, values
            assert grammar.accepts(compact_json({**values, "q": "x"})) is (expected and others), values


def test_unlisted_properties_may_be_shut_out() -> None:
    schema = {"type": "object", "properties": {"a": INTEGER}}
    opened, closed = Grammar(schema_to_gbnf(schema).gbnf), Grammar(schema_to_gbnf(schema, open_objects=False).gbnf)
    assert opened.accepts('{"a":1,"b":2}')
    assert not closed.accepts('{"a":1,"b":2}')
    allowed = {**schema, "additionalProperties": True}
    assert Grammar(schema_to_gbnf(allowed, open_objects=False).gbnf).accepts('{"a":1,"b":2}')
    # what `then` needs is not listed, and must stay possible
    needed = {**schema, "if": {"required": ["a"]}, "then": {"required": ["b"]}}
    assert Grammar(schema_to_gbnf(needed, open_objects=False).gbnf).accepts('{"a":1,"b":2}')
    patterned = {**schema, "patternProperties": {"^x-": STRING}}
    assert Grammar(schema_to_gbnf(patterned, open_objects=False).gbnf).accepts('{"a":1,"x-b":"c"}')


def test_the_report_names_every_keyword_once() -> None:
    schema = {
        "title": "said for people",
        "type": "object",
        "properties": {
            "a": {"type": "string", "maxLength": 5, "x-more": 1},
            "n": {"type": "number", "minimum": 0},
            "i": {"type": "integer", "minimum": 5},
            "l": {"type": "array", "items": {"$ref": "#/$defs/d"}, "uniqueItems": True, "maxItems": 99999},
            "o": {"oneOf": [STRING, INTEGER]},
            "r": {"$ref": "http://example.org/elsewhere"},
        },
        "required": ["a"],
        "x-vendor": 1,
        "$defs": {"d": {"type": "string", "contentLanguage": "en"}},
    }
    report = {(entry.path, entry.keyword): entry.status for entry in schema_to_gbnf(schema).report}
    assert report == {
        ("", "type"): "enforced",
        ("", "properties"): "enforced",
        ("", "required"): "enforced",
        ("", "x-vendor"): "checked after",
        ("/properties/a", "type"): "enforced",
        ("/properties/a", "x-more"): "checked after",
        ("/properties/a", "maxLength"): "enforced",
        ("/properties/n", "type"): "enforced",
        ("/properties/n", "minimum"): "enforced",
        ("/properties/i", "type"): "enforced",
        ("/properties/i", "minimum"): "enforced",
        ("/properties/l", "type"): "enforced",
        ("/properties/l", "items"): "enforced",
        ("/properties/l", "uniqueItems"): "checked after",
        ("/properties/l", "maxItems"): "enforced",
        ("/properties/l/items", "$ref"): "enforced",
        ("/$defs/d", "type"): "enforced",
        ("/$defs/d", "contentLanguage"): "checked after",
        ("/properties/o", "oneOf"): "approximated",
        ("/properties/o/oneOf/0", "type"): "enforced",
        ("/properties/o/oneOf/1", "type"): "enforced",
        ("/properties/r", "$ref"): "checked after",
    }


def test_the_report_is_of_the_loosest_use() -> None:
    report = schema_to_gbnf(False).report
    assert [(entry.path, entry.keyword, entry.status) for entry in report] == [("", "false", "checked after")]


INVALID = [
    ({"type": "strnig"}, "/type"),
    ({"type": "object", "properties": {"a": {"type": 5}}}, "/properties/a/type"),
    ({"required": "a"}, "/required"),
    ({"minLength": -1}, "/minLength"),
    ({"$schema": 5}, "/$schema"),
    ({"$schema": []}, "/$schema"),
    ({"anyOf": []}, "/anyOf"),
    ({"items": 3}, "/items"),
    ("string", "an object or a boolean"),
    (None, "an object or a boolean"),
    ([], "an object or a boolean"),
]


@pytest.mark.parametrize(("schema", "said"), INVALID)
def test_what_is_no_schema_is_refused_with_its_path(schema: Any, said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_to_gbnf(schema)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"d": schema}}
    return schema


def test_deep_schemas_are_loosened_or_refused_by_name() -> None:
    compiled = schema_to_gbnf(nested(60))
    assert Grammar(compiled.gbnf).accepts('{"d":' * 60 + "1" + "}" * 60)
    assert ("checked after") in {entry.status for entry in compiled.report}
    with pytest.raises(SchemaError, match="too deeply"):
        schema_to_gbnf(nested(2000))


def test_many_alternatives_stay_few_rules() -> None:
    choices = [{"anyOf": [{"properties": {f"k{i}": {"const": n}}} for n in range(4)]} for i in range(12)]
    schema = {"type": "object", "properties": {f"k{i}": INTEGER for i in range(12)}, "allOf": choices}
    compiled = schema_to_gbnf(schema)
    assert len(compiled.gbnf) < 1_000_000
    assert Grammar(compiled.gbnf).accepts(compact_json({f"k{i}": 1 for i in range(12)}))
    assert {entry.status for entry in compiled.report if entry.keyword == "allOf"} == {"checked after"}


def test_schemas_from_pydantic_with_recursion(oracle: Any) -> None:
    schema = {
        "$defs": {
            "Leaf": {
                "properties": {"kind": {"const": "leaf", "type": "string"}, "n": INTEGER},
                "required": ["kind", "n"],
                "type": "object",
            },
            "Both": {
                "properties": {
                    "kind": {"const": "both", "type": "string"},
                    "left": {"oneOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Both"}]},
                    "right": {"anyOf": [{"$ref": "#/$defs/Both"}, {"type": "null"}], "default": None},
                },
                "required": ["kind", "left"],
                "type": "object",
            },
        },
        "$ref": "#/$defs/Both",
    }
    compiled = schema_to_gbnf(schema, open_objects=False)
    grammar, leaf = Grammar(compiled.gbnf), '{"kind":"leaf","n":1}'
    assert grammar.accepts(f'{{"kind":"both","left":{leaf},"right":{{"kind":"both","left":{leaf},"right":null}}}}')
    assert not grammar.accepts(f'{{"kind":"both","left":{leaf},"right":{leaf}}}')
    assert oracle.loads(compiled.gbnf)
    assert len(compiled.gbnf.splitlines()) < 25


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_walks_are_json_and_llama_cpp_takes_them(
    case: tuple[str, Any, list[str], list[str]], oracle: Any, walked: Walk
) -> None:
    gbnf = schema_to_gbnf(case[1], open_objects=False).gbnf
    grammar, chance = Grammar(gbnf), random.Random(case[0])
    found = 0
    for _ in range(12):
        text = walked(grammar, chance)
        if text is not None:
            found += 1
            json.loads(text)
            assert oracle.accepts(gbnf, text), text
    assert found


CLOSED = [
    ({"propertyNames": {"pattern": "^a"}}, ['{"a":1}', "{}"], ['{"b":1}']),
    ({"minProperties": 1}, ['{"a":1}'], ["{}"]),
    ({"properties": {"a": {}}, "minProperties": 1}, ['{"a":1}'], ["{}", '{"b":1}']),
    ({"properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}, ['{"a":1,"b":2}'], []),
    ({"properties": {"a": {}}, "unevaluatedProperties": INTEGER}, ['{"a":"x","b":2}'], []),
    ({"properties": {"a": {}}, "unevaluatedProperties": False}, ['{"a":1}', "{}"], ['{"b":1}']),
]


@pytest.mark.parametrize(("schema", "good", "bad"), CLOSED, ids=str)
def test_a_keyword_may_mean_properties_that_are_not_listed(
    schema: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    grammar = Grammar(schema_to_gbnf({"type": "object", **schema}, open_objects=False).gbnf)
    assert [text for text in good if not grammar.accepts(text)] == []
    assert [text for text in bad if grammar.accepts(text)] == []


def statuses(schema: dict[str, Any]) -> dict[str, str]:
    return {entry.keyword: entry.status for entry in schema_to_gbnf(schema).report if entry.path == ""}


LOOSER = [
    ({"type": "string", "format": "regex"}, "format", "checked after"),
    ({"type": "string", "format": "uuid", "allOf": [{"format": "regex"}]}, "format", "approximated"),
    ({"enum": ["é"], "pattern": r"^\p{L}$"}, "pattern", "checked after"),  # no pattern that jsonschema can try
    ({"enum": ["é"], "pattern": r"^\p{L}$"}, "enum", "enforced"),
    ({"properties": {'"': INTEGER}}, "properties", "approximated"),  # as another name it could have any value
    ({"properties": {"x" * 2001: INTEGER}}, "properties", "approximated"),
    ({"properties": {'"': INTEGER}, "additionalProperties": False}, "properties", "enforced"),
    ({"type": "integer", "multipleOf": 2, "allOf": [{"multipleOf": 3}]}, "multipleOf", "checked after"),
    ({"type": "integer", "multipleOf": 2, "allOf": [{"multipleOf": 5}]}, "multipleOf", "enforced"),
    ({"type": "integer", "multipleOf": 2.5}, "multipleOf", "enforced"),
]


@pytest.mark.parametrize(("schema", "keyword", "status"), LOOSER)
def test_the_report_says_what_is_looser(schema: dict[str, Any], keyword: str, status: str) -> None:
    assert statuses(schema)[keyword] == status


def test_two_long_lists_of_alternatives_leave_what_fits_both() -> None:
    """Too many to multiply out: the second is left to validation, and the property stays possible."""
    lists = ([{"const": n} for n in range(10)], [{"const": n} for n in range(9, 19)])
    schema = {"allOf": [{"properties": {"a": {"anyOf": options}}} for options in lists], "required": ["a"]}
    compiled = schema_to_gbnf(schema)
    assert Grammar(compiled.gbnf).accepts('{"a":9}')
    found = {(entry.path, entry.keyword): entry.status for entry in compiled.report}
    assert found["/allOf/1/properties/a", "anyOf"] == "checked after"


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["\ud800"]},
        {"properties": {"\udfff": {}}, "additionalProperties": INTEGER},
        {"required": ["\ud800"]},
        {"pattern": "\ud800x"},
        {"patternProperties": {"^\\ud800": {}}, "additionalProperties": False},
    ],
    ids=ascii,
)
def test_half_a_pair_of_surrogates_is_written_as_its_code(schema: dict[str, Any], oracle: Any) -> None:
    gbnf = schema_to_gbnf(schema).gbnf
    Grammar(gbnf)
    assert gbnf.encode()
    assert oracle.loads(gbnf)
