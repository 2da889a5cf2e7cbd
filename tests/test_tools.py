from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from textcall.errors import SchemaError, ToolsError, UsageError
from textcall.tools import Tool, ToolChoice, Toolset, tool

EMPTY = {"type": "object", "properties": {}}


@tool
def get_weather(
    city: Annotated[str, Field(description="name of the city")], day: Literal["today", "tomorrow"] = "today"
) -> str:
    """Weather in a city.

    Nothing that a model need know.

    Args:
        city: not this, the annotation says it
        day: which day
    """
    return f"{city} {day}"


def plain(n: int) -> int:
    """Plain."""
    return n


# A tool's own values


@pytest.mark.parametrize("name", ["a", "get_weather", "a.b", "ns:get/v1-x", "A" * 128])
def test_names_that_models_can_write(name: str) -> None:
    assert Tool(name=name).name == name


@pytest.mark.parametrize("name", ["", "a b", "a\n", "天气", "a" * 129, '"', "<lambda>", None, 5, b"a"])
def test_other_names_are_refused(name: Any) -> None:
    with pytest.raises(ToolsError, match="is no name for a tool"):
        Tool(name=name)


def test_a_tool_is_keyword_only_and_frozen() -> None:
    with pytest.raises(TypeError):
        Tool("a")  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Tool(name="a").name = "b"  # type: ignore[misc]


@pytest.mark.parametrize("description", [None, 5, ["a"]])
def test_a_description_is_text(description: Any) -> None:
    with pytest.raises(ToolsError, match="the description of 'a' must be text"):
        Tool(name="a", description=description)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), True, "5"])
def test_a_timeout_is_seconds_above_none(timeout: Any) -> None:
    with pytest.raises(ToolsError, match="the timeout of 'a' must be seconds above 0"):
        Tool(name="a", timeout=timeout)


# Parameters


@pytest.mark.parametrize("parameters", [{}, True, EMPTY])
def test_no_parameters(parameters: Any) -> None:
    assert Tool(name="a", parameters=parameters).parameters == EMPTY
    assert Tool(name="a").parameters == EMPTY


DRAFT_4 = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "object",
    "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}},
}
SCHEMAS: list[dict[str, Any]] = [
    DRAFT_4,
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {"a": {}}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": ["object", "null"]},
    {"$schema": "https://example.org/a-draft-of-its-own", "type": "object"},
    {"properties": {"a": {"type": "string"}}},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_draft_is_a_schema_and_is_left_as_it_is(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    assert Tool(name="a", parameters=schema).parameters is schema
    assert schema == before


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


CIRCLE: dict[str, Any] = {"type": "object"}
CIRCLE["default"] = CIRCLE
NO_SCHEMAS: list[tuple[Any, str]] = [
    (None, "NoneType"),
    (False, "bool"),
    ([], "list"),
    ("object", "str"),
    ({"type": "objekt"}, "at /type"),
    ({"type": "object", "properties": {"x": {"type": "strin"}}}, "at /properties/x/type"),
    ({"type": "object", "properties": []}, "at /properties"),
    ({"type": "object", "properties": {"x": {"pattern": "("}}}, "at /properties/x/pattern"),
    ({"type": "object", "required": "x"}, "at /required"),
    ({**DRAFT_4, "$schema": "https://json-schema.org/draft/2020-12/schema"}, "at /properties/n/exclusiveMinimum"),
    ({"type": "array"}, "must describe an object, not 'array'"),
    ({"type": ["string", "null"]}, "must describe an object"),
    ({"$schema": ["x"]}, "at /$schema"),
    ({"$schema": 1}, "at /$schema"),
    ({"$schema": None}, "at /$schema"),
    ({"type": "object", "default": {1}}, "no JSON Schema"),
    ({"type": "object", "default": float("nan")}, "no JSON Schema"),
    ({"type": "object", "default": date(2026, 1, 1)}, "no JSON Schema"),
    (CIRCLE, "no JSON Schema"),
    (nested(5000), "no JSON Schema"),
]


@pytest.mark.parametrize(("schema", "said"), NO_SCHEMAS, ids=[said for _, said in NO_SCHEMAS])
def test_what_is_no_schema_of_an_object_is_refused(schema: Any, said: str) -> None:
    with pytest.raises(SchemaError, match="the parameters of 'a' ") as caught:
        Tool(name="a", parameters=schema)
    assert said in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["object", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "$schema", "properties", "$ref", "enum", "items", "anyOf"]), inner)
    ),
    max_leaves=10,
)


@given(JSON)
def test_no_json_whatever_breaks_a_tool_in_another_way(schema: Any) -> None:
    try:
        assert Tool(name="a", parameters=schema).parameters == (EMPTY if schema in ({}, True) else schema)
    except SchemaError as error:
        assert "'a'" in str(error)


# The decorator


def test_a_function_becomes_a_tool() -> None:
    assert get_weather.name == "get_weather"
    assert get_weather.description == "Weather in a city."
    assert get_weather.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "name of the city"},
            "day": {"type": "string", "enum": ["today", "tomorrow"], "default": "today", "description": "which day"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_and_stays_callable() -> None:
    assert get_weather("Paris") == "Paris today"
    assert get_weather(day="tomorrow", city="Paris") == "Paris tomorrow"


def test_options_of_the_decorator() -> None:
    made = tool(name="other", description="Else.", dangerous=True, parallel_safe=True, volatile=True, timeout=2)(plain)
    assert (made.name, made.description, made.function) == ("other", "Else.", plain)
    assert (made.dangerous, made.parallel_safe, made.volatile, made.timeout) == (True, True, True, 2)
    assert tool(description="")(plain).description == ""
    assert tool()(plain) == tool(plain)


@pytest.mark.parametrize("thing", [5, "name", None, get_weather])
def test_the_decorator_is_for_functions(thing: Any) -> None:
    with pytest.raises(ToolsError, match="@tool is for functions"):
        tool()(thing)


def test_a_lambda_has_no_name() -> None:
    with pytest.raises(ToolsError, match="'<lambda>' is no name"):
        tool(lambda: 1)
    assert tool(name="one")(lambda: 1).call({}) == 1


# Calls


def test_call_converts_and_fills_in() -> None:
    @tool
    def later(day: date, days: int = 1) -> tuple[date, int]:
        return day, days

    assert later.call({"day": "2026-03-04"}) == (date(2026, 3, 4), 1)
    with pytest.raises(ValueError, match="the arguments do not fit: day: "):
        later.call({"day": "soon"})


def test_call_raises_what_the_function_raises() -> None:
    @tool
    def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        fail.call({})


def test_call_of_a_tool_with_a_schema_of_its_own() -> None:
    made = Tool(name="a", function=plain)
    assert made.call({"n": "as it is"}) == "as it is"
    for arguments in ({}, {"m": 1}, {"n": 1, "m": 1}):
        with pytest.raises(ValueError, match="the arguments do not fit"):
            made.call(arguments)
    assert Tool(name="a", function=dict).call({"self": 1}) == {"self": 1}  # a class without a signature


def test_call_without_a_function() -> None:
    with pytest.raises(ToolsError, match="'a' has no function"):
        Tool(name="a").call({})
    with pytest.raises(ToolsError, match="'a' has no function"):
        Tool(name="a")()


@pytest.mark.parametrize("arguments", [None, [], "{}", 5])
def test_arguments_are_an_object(arguments: Any) -> None:
    with pytest.raises(ValueError, match="the arguments must be an object"):
        get_weather.call(arguments)


def test_call_takes_any_mapping_and_changes_nothing() -> None:
    assert get_weather.call(MappingProxyType({"city": "Paris"})) == "Paris today"


USER = contextvars.ContextVar("USER", default="nobody")


@tool
async def whoami(greeting: str) -> str:
    """Who asks."""
    await asyncio.sleep(0)
    return f"{greeting} {USER.get()}"


def test_async_functions_run_to_their_end_with_and_without_a_loop() -> None:
    async def inside() -> Any:
        USER.set("somebody")
        return whoami.call({"greeting": "hello"})

    assert whoami.call({"greeting": "hello"}) == "hello nobody"
    assert asyncio.run(inside()) == "hello somebody"


# The wire


def test_to_wire_and_back() -> None:
    wire = get_weather.to_wire()
    assert wire["type"] == "function"
    assert list(wire["function"]) == ["name", "description", "parameters"]
    back = Tool.from_wire(wire)
    assert (back.name, back.description, back.parameters) == (
        "get_weather",
        "Weather in a city.",
        EMPTY | wire["function"]["parameters"],
    )
    assert back.function is None
    assert Tool.from_wire(wire["function"]) == back


CITY = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema"])
def test_the_schema_has_three_names(key: str) -> None:
    assert Tool.from_wire({"name": "a", key: CITY}).parameters == CITY


@pytest.mark.parametrize("parameters", [{}, True, None])
def test_from_wire_without_parameters(parameters: Any) -> None:
    made = Tool.from_wire(
        {"type": "function", "function": {"name": "a", "description": None, "parameters": parameters}}
    )
    assert (made.description, made.parameters) == ("", EMPTY)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        5,
        "a",
        [],
        {},
        {"type": "web_search"},
        {"function": None},
        {"function": {}},
        {"name": None},
        {"name": "a b"},
    ],
)
def test_what_describes_no_tool_is_refused(wire: Any) -> None:
    with pytest.raises(ToolsError):
        Tool.from_wire(wire)


@pytest.mark.parametrize("description", [5, ["a"], False])
def test_a_description_on_the_wire_is_text(description: Any) -> None:
    with pytest.raises(ToolsError, match="must be text"):
        Tool.from_wire({"name": "a", "description": description})


# Toolsets


def test_a_toolset_of_tools_functions_and_descriptions() -> None:
    tools = Toolset.of([get_weather, plain, {"name": "remote"}])
    assert tools.names == ("get_weather", "plain", "remote")
    assert [one.name for one in tools] == list(tools.names)
    assert (len(tools), tools[1].name, tools[-1].name) == (3, "plain", "remote")
    assert tools[:1] == (get_weather,)
    assert tools.get("get_weather") is get_weather
    assert tools.get("nothing") is None
    assert repr(tools) == "Toolset(get_weather, plain, remote)"
    assert not Toolset()


def test_in_asks_for_a_name_or_a_tool() -> None:
    tools = Toolset([get_weather])
    assert "get_weather" in tools
    assert get_weather in tools
    assert tool(plain) not in tools
    for other in ("plain", {}, None, 5):
        assert other not in tools


def test_tools_can_be_keys() -> None:
    assert len({get_weather, get_weather, tool(plain), tool(plain)}) == 2


def test_a_name_comes_once() -> None:
    with pytest.raises(ToolsError, match="more than one tool is called 'plain'"):
        Toolset.of([plain, get_weather, plain])


@pytest.mark.parametrize("thing", [5, "abc", None])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(ToolsError, match="neither a tool nor a function"):
        Toolset.of([thing])


# The choice

AUTO = Tool(name="auto")
TOOLS = Toolset([get_weather, AUTO])
CHOICES: list[tuple[Any, ToolChoice]] = [
    ("auto", ToolChoice("auto")),
    ("required", ToolChoice("required")),
    ("none", ToolChoice("none")),
    ("get_weather", ToolChoice("required", "get_weather")),
    ({"type": "function", "function": {"name": "get_weather"}}, ToolChoice("required", "get_weather")),
    ({"type": "function", "name": "get_weather"}, ToolChoice("required", "get_weather")),
    ({"type": "function", "function": {"name": "auto"}}, ToolChoice("required", "auto")),
    (ToolChoice("required", "auto"), ToolChoice("required", "auto")),
]


@pytest.mark.parametrize(("value", "choice"), CHOICES, ids=str)
def test_a_choice(value: Any, choice: ToolChoice) -> None:
    assert ToolChoice.parse(value, TOOLS) == choice


NO_CHOICES: list[Any] = ["Auto", "", "weather", None, 5, [], {}, {"type": "auto"}, {"function": {"name": "required"}}]


@pytest.mark.parametrize("value", [*NO_CHOICES, {"function": None}, {"function": {"name": ["get_weather"]}}], ids=str)
def test_an_unknown_tool_is_told_the_known_ones(value: Any) -> None:
    with pytest.raises(
        UsageError, match=r"there is no tool .*; the tools are: get_weather, auto \(or auto, required, none\)"
    ):
        ToolChoice.parse(value, TOOLS)


def test_required_needs_tools() -> None:
    with pytest.raises(UsageError, match="needs tools"):
        ToolChoice.parse("required", Toolset())
    with pytest.raises(UsageError, match="the tools are: none"):
        ToolChoice.parse("get_weather", Toolset())
    assert ToolChoice.parse("auto", Toolset()) == ToolChoice("auto")
