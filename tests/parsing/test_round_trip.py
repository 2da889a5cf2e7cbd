"""What `render_call` writes of valid arguments, `parse` gives back: for tools of every kind, whole and in pieces."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsing.tables import rows
from textcall.block import Convention, Shape, render_call
from textcall.parsing import StreamParser, parse
from textcall.tools import Tool

HARD = st.sampled_from(
    [
        '{"tool":"x","args":{}}',
        "```json\n{}\n```",
        "</tool_call>",
        "<think>",
        "C:\\temp\\new",
        "a\tb\r\n",
        "\u2028 “”",
        "🛳",
        "5",
    ]
)
TEXT = st.text(max_size=12) | HARD
FORMATS = {
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda when: f"{when.isoformat()}Z"),
    "email": st.sampled_from(["ingrid@example.org", "o'b+x@example.com"]),
}


def values(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the schema allows, for the keywords that the tools below use."""
    if "$ref" in schema:
        return st.deferred(lambda: values(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root))
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return st.one_of([values(branch, root) for branch in branches])
    named = schema.get("type", "object" if "properties" in schema else "anything")
    if isinstance(named, list):
        return st.one_of([values({**schema, "type": name}, root) for name in named])
    return _TYPES[named](schema, root)


def _object(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    properties = {key: values(sub, root) for key, sub in schema.get("properties", {}).items()}
    required = {key: properties.pop(key) for key in schema.get("required", []) if key in properties}
    made = st.fixed_dictionaries(required, optional=properties)
    extra = schema.get("additionalProperties", False)
    if isinstance(extra, Mapping):
        others = st.dictionaries(st.text(min_size=1, max_size=6), values(extra, root), max_size=2)
        return st.tuples(others, made).map(lambda pair: {**pair[0], **pair[1]})
    return made


def _array(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    low, high = schema.get("minItems", 0), schema.get("maxItems", 4)
    return st.lists(values(schema.get("items", {}), root), min_size=low, max_size=high)


def _string(schema: Mapping[str, Any], _: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "pattern" in schema:
        return st.from_regex(schema["pattern"])
    return FORMATS.get(schema.get("format", ""), TEXT)


_TYPES: dict[str, Any] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": lambda schema, _: st.integers(schema.get("minimum"), schema.get("maximum")),
    "number": lambda schema, _: (
        st.floats(allow_nan=False, allow_infinity=False) | st.integers()
        if "minimum" not in schema
        else st.floats(schema["minimum"], schema.get("maximum", 1e9))
    ),
    "boolean": lambda schema, _: st.booleans(),
    "null": lambda schema, _: st.none(),
    "anything": lambda schema, _: st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2),
}


def tool(name: str, properties: dict[str, Any], *required: str, **more: Any) -> Tool:
    closed = {"additionalProperties": False}
    return Tool(
        name=name, parameters={"type": "object", "properties": properties, "required": [*required], **closed, **more}
    )


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
NOTE = {"type": "object", "properties": {"text": STRING, "next": {"$ref": "#/$defs/note"}}, "required": ["text"]}
OWN = (
    tool("now", {}),
    tool("ferry_times", {"port": STRING, "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "port"),
    tool(
        "book",
        {"from": {"enum": ["Oban", "Uig"]}, "to": {"const": "Lochmaddy"}, "when": {"type": "string", "format": "date"}},
        "from",
        "to",
        "when",
    ),
    tool(
        "remind", {"at": {"type": "string", "format": "date-time"}, "who": {"type": "string", "format": "email"}}, "at"
    ),
    tool("set_lamp", {"room": STRING, "on": {"type": "boolean"}, "level": {"type": ["integer", "null"]}}, "room"),
    tool(
        "plot",
        {"points": {"type": "array", "items": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}}},
        "points",
    ),
    tool("label", {"tags": {"type": "object", "additionalProperties": STRING}}, "tags"),
    tool(
        "find", {"query": STRING, "price": {"type": "number", "minimum": 0}, "sort": {"enum": ["up", "down", 1, None]}}
    ),
    tool("pay", {"iban": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{8}$"}, "cents": INTEGER}, "iban", "cents"),
    tool("send", {"to": {"anyOf": [STRING, {"type": "array", "items": STRING}]}, "body": STRING}, "to", "body"),
    tool(
        "ask",
        {"what": {"oneOf": [INTEGER, {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}]}},
        "what",
    ),
    tool("file", {"note": {"$ref": "#/$defs/note"}}, "note", **{"$defs": {"note": NOTE}}),
    tool("store", {"key": STRING, "value": {}}, "key", "value"),
    Tool(name="any-thing.2", parameters={"type": "object", "additionalProperties": INTEGER}),
)


def others() -> list[Tool]:
    """The tools of other questions, where a folder with them is named."""
    path = Path(os.environ.get("TEXTCALL_CASES", "")) / "bfcl_60.jsonl"
    if "TEXTCALL_CASES" not in os.environ or not path.exists():
        return []
    found = {json.dumps(each): each for row in rows(path) for each in row["tools"]}
    return [Tool(name=each["name"], parameters=each["parameters"]) for each in found.values()]


ALL = (*OWN, *others())


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_what_is_written_comes_back(each: Tool, data: st.DataObject) -> None:
    arguments = data.draw(values(each.parameters, each.parameters))
    text = render_call(each.name, arguments)
    tools = {known.name: known for known in (*OWN, each)}.values()
    parsed = parse(text, tools)
    (call,) = parsed.calls
    assert (call.name, repr(dict(call.arguments)), call.how) == (each.name, repr(arguments), ("strict",))
    assert (parsed.content, parsed.reasoning, parsed.problems) == (None, None, ())
    assert parse(text, tools, strict=True, convention=Convention(shape=Shape.REPLY)).calls[0].arguments == arguments


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_several_in_pieces_come_back(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(OWN), min_size=1, max_size=3))
    wanted = [(each.name, data.draw(values(each.parameters, each.parameters))) for each in chosen]
    text = "Let me see.\n" + "\n".join(render_call(*call) for call in wanted)
    size = data.draw(st.integers(1, 40))
    parser = StreamParser(OWN)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.close()
    assert [(call.name, repr(dict(call.arguments))) for call in parser.parsed().calls] == [
        (name, repr(arguments)) for name, arguments in wanted
    ]
    assert (parser.parsed().content, parser.parsed().problems) == ("Let me see.", ())
