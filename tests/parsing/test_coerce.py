"""Arguments and their schema: what is made to fit, what is left alone, and what is said where neither is possible."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.block import render_call
from textcall.errors import SchemaError
from textcall.parsing import parse


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


def tool(schema: Any, *, required: bool = True) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": {"v": schema}, "additionalProperties": False}
    return {"name": "put", "parameters": {**parameters, "required": ["v"]} if required else parameters}


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
STRING, NULL, ARRAY, OBJECT = {"type": "string"}, {"type": "null"}, {"type": "array"}, {"type": "object"}
WORDS = {"type": "array", "items": STRING}

FITTED = [
    row("digits", INTEGER, "5", 5),
    row("a negative", INTEGER, "-12", -12),
    row("more digits than a float holds", INTEGER, "9007199254740993", 9007199254740993),
    row("a fraction", NUMBER, "1.5", 1.5),
    row("an integer for a number", NUMBER, "3", 3),
    row("an exponent", NUMBER, "2e3", 2000.0),
    row("true", BOOLEAN, "true", True),
    row("False", BOOLEAN, "False", False),
    row("null", {"type": ["integer", "null"]}, "null", None),
    row("a list in a string", ARRAY, "[1, 2]", [1, 2]),
    row("an object in a string", OBJECT, '{"a": 1}', {"a": 1}),
    row("digits for a string", STRING, 2662, "2662"),
    row("a whole float", INTEGER, 5.0, 5),
    row("one for a list", WORDS, "rope", ["rope"]),
    row("one number for a list", {"type": "array", "items": INTEGER}, 7, [7]),
    row("a number of an enum", {"enum": [1, 2, 3]}, "2", 2),
    row("either", {"anyOf": [INTEGER, NULL]}, "7", 7),
]


@pytest.mark.parametrize(("schema", "written", "wanted"), FITTED)
def test_one_lossless_reading_is_taken_and_said(schema: Any, written: Any, wanted: Any) -> None:
    parsed = parse(render_call("put", {"v": written}), [tool(schema)])
    assert [dict(call.arguments) for call in parsed.calls] == [{"v": wanted}]
    assert type(parsed.calls[0].arguments["v"]) is type(wanted)
    assert parsed.calls[0].how == ("coerced(/v)",)


@pytest.mark.parametrize(("schema", "written", "wanted"), FITTED)
def test_strict_fits_nothing(schema: Any, written: Any, wanted: Any) -> None:
    parsed = parse(render_call("put", {"v": written}), [tool(schema)], strict=True)
    given_whole = isinstance(written, float)  # valid as it is
    assert [call.arguments["v"] for call in parsed.calls] == ([written] if given_whole else [])


LEFT = [
    row("a string that may be one", {"type": ["integer", "string"]}, "42"),
    row("JSON in a string", STRING, '{"a": [1, 2]}'),
    row("the word true", STRING, "true"),
    row("null where it is allowed", {"type": ["string", "null"]}, None),
    row("anything", {}, "5"),
]


@pytest.mark.parametrize(("schema", "value"), LEFT)
def test_what_is_valid_is_left_alone(schema: Any, value: Any) -> None:
    (call,) = parse(render_call("put", {"v": value}), [tool(schema)]).calls
    assert (call.arguments["v"], call.how) == (value, ("strict",))


NEVER = [
    row("a fraction for an integer", INTEGER, "3.7"),
    row("a word", INTEGER, "five"),
    row("nothing", INTEGER, ""),
    row("a blank", INTEGER, " "),
    row("hexadecimal", INTEGER, "0x10"),
    row("blanks around", INTEGER, " 5 "),
    row("yes", BOOLEAN, "yes"),
    row("one", BOOLEAN, 1),
    row("a float for a string", STRING, 1.5),
    row("true for a string", STRING, True),
    row("null for a string", STRING, None),
    row("a list of one", INTEGER, [5]),
    row("a list of nothing", WORDS, None),
    row("words with commas", {"type": "array", "items": INTEGER}, "1,2"),
    row("a broken list", ARRAY, "[1, 2"),
    row("contradiction in a string", OBJECT, '{"a": 1, "a": 2}'),
    row("NaN", NUMBER, "NaN"),
    row("overflow", NUMBER, "1e999"),
    row("an object for a number", {"anyOf": [INTEGER, {"type": "array", "items": INTEGER}]}, {"x": 1}),
    row("out of range all the same", {"type": "integer", "maximum": 4}, "5"),
]


@pytest.mark.parametrize(("schema", "written"), NEVER)
def test_no_reading_is_made_up(schema: Any, written: Any) -> None:
    parsed = parse(render_call("put", {"v": written}), [tool(schema)])
    assert parsed.calls == ()
    assert [(problem.kind, problem.path) for problem in parsed.problems] == [("invalid_arguments", "/v")]


def test_null_for_what_may_be_left_out_is_left_out() -> None:
    (call,) = parse('{"tool":"put","args":{"v":null}}', [tool(STRING, required=False)]).calls
    assert (dict(call.arguments), call.how) == ({}, ("coerced(/v)",))


def test_deep_inside() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"properties": {"n": INTEGER}}}}}
    (call,) = parse('{"tool":"put","args":{"rows":[{"n":1},{"n":"2"}]}}', [{"name": "put", "parameters": schema}]).calls
    assert call.arguments == {"rows": [{"n": 1}, {"n": 2}]}
    assert call.how == ("coerced(/rows/1/n)",)


def test_all_that_is_wrong_is_said_at_once() -> None:
    properties = {"port": STRING, "deck": {"enum": ["upper", "lower"]}, "seats": {"type": "integer", "minimum": 1}}
    parameters = {"type": "object", "properties": properties, "required": ["port"], "additionalProperties": False}
    parsed = parse(
        '{"tool":"put","args":{"deck":"roof","seats":0,"pram":1}}', [{"name": "put", "parameters": parameters}]
    )
    (problem,) = parsed.problems
    for words in ("missing required argument port", '"upper", "lower"', '"roof"', "seats", "pram", "port, deck, seats"):
        assert words in problem.message


def test_a_long_enum_is_cut_short() -> None:
    parsed = parse('{"tool":"put","args":{"v":"x"}}', [tool({"enum": [f"e{i}" for i in range(500)]})])
    assert "480 more" in parsed.problems[0].message
    assert len(parsed.problems[0].message) < 600


def test_the_draft_is_the_one_that_the_schema_names() -> None:
    tuples = {"type": "array", "items": [INTEGER, STRING]}  # a tuple in draft 7 only
    parameters = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"v": tuples}}
    (call,) = parse('{"tool":"put","args":{"v":[1,"a"]}}', [{"name": "put", "parameters": parameters}]).calls
    assert call.arguments["v"] == [1, "a"]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2026-12-01", "tomorrow"),
        ("time", "10:30:00Z", "half past ten"),
        ("date-time", "2026-12-01T10:30:00+01:00", "2026-13-01T10:30:00Z"),
        ("uuid", "7f3f1c3e-6f0a-4f38-9f5d-1f4d5a6b7c8d", "7f3f1c3e"),
        ("email", "a@example.org", "a at example.org"),
        ("ipv4", "192.0.2.1", "192.0.2.256"),
        ("ipv6", "2001:db8::1", "2001:db8:::1"),
        ("uri", "https://example.org/a?b=c", "https://example.org/a b"),
        ("hostname", "host.example.org", "under_score.example.org"),
    ],
)
def test_formats_are_checked(name: str, good: str, bad: str) -> None:
    described = [tool({"type": "string", "format": name})]
    assert parse(render_call("put", {"v": good}), described).calls
    (problem,) = parse(render_call("put", {"v": bad}), described).problems
    assert name in problem.message


NULLABLE = {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        (NULLABLE, True),
        ({"type": "array", "items": NULLABLE}, True),
        ({"enum": ["a"], "nullable": True}, True),
        ({"$ref": "#/$defs/n"}, True),
        ({"type": "string", "nullable": False}, False),
        ({"type": "string", "minLength": 1}, False),
    ],
)
def test_null_where_the_schema_says_nullable(schema: Any, good: bool) -> None:
    described = tool(schema)
    described["parameters"]["$defs"] = {"n": NULLABLE}
    value = [None] if schema.get("type") == "array" else None
    parsed = parse(render_call("put", {"v": value}), [described])
    assert [call.arguments["v"] for call in parsed.calls] == ([value] if good else [])


@pytest.mark.parametrize("schema", [{"$ref": "https://example.org/none.json"}, {"$ref": "#/nowhere"}, {"pattern": "("}])
def test_a_schema_that_cannot_be_used_is_an_error_of_its_author(schema: Any) -> None:
    with pytest.raises(SchemaError, match="put"):
        parse('{"tool":"put","args":{"v":"x"}}', [tool(schema)])


@given(st.integers())
def test_every_integer_comes_back_exactly(number: int) -> None:
    (call,) = parse(render_call("put", {"v": str(number)}), [tool(INTEGER)]).calls
    assert call.arguments["v"] == number


@given(st.text(), st.sampled_from([INTEGER, NUMBER, BOOLEAN, NULL, ARRAY, OBJECT]))
def test_whatever_is_called_is_valid(text: str, schema: dict[str, Any]) -> None:
    types = {"integer": int, "number": (int, float), "boolean": bool, "null": type(None), "array": list, "object": dict}
    for call in parse(render_call("put", {"v": text}), [tool(schema)]).calls:
        assert isinstance(call.arguments["v"], types[schema["type"]])
