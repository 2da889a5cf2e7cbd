from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator
from pydantic import BaseModel, Field

from textcall.errors import ToolsError
from textcall.signature import arguments_model, converted, docstring_of

if TYPE_CHECKING:
    from fractions import Fraction


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    """A node."""

    label: str = Field(description="what it is called")
    above: Node | None = None


@dataclass
class Point:
    x: int
    y: int = 2


NONE = inspect.Parameter.empty
NODE = {
    "type": "object",
    "description": "A node.",
    "properties": {
        "label": {"type": "string", "description": "what it is called"},
        "above": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
    },
    "required": ["label"],
}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 2}},
    "required": ["x"],
    "additionalProperties": False,
}


def taking(annotation: Any = NONE, default: Any = NONE) -> Callable[..., Any]:
    """A function of one parameter, `x`, that gives it back."""

    def function(**values: Any) -> Any:
        return values["x"]

    parameter = inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
    function.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    return function


def parameters(function: Callable[..., Any], **notes: str) -> dict[str, Any]:
    schema = arguments_model("t", function, notes)[1]
    Draft202012Validator.check_schema(schema)
    json.dumps(schema, allow_nan=False)
    return schema


def called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What the function gives for arguments as they come from JSON."""
    return function(**converted(arguments_model("t", function, {})[0], arguments))


SCHEMAS: list[tuple[Any, Any, dict[str, Any]]] = [
    (NONE, NONE, {}),
    (Any, NONE, {}),
    (int, NONE, {"type": "integer"}),
    ("int", NONE, {"type": "integer"}),
    (float, 1.5, {"type": "number", "default": 1.5}),
    (bool, False, {"type": "boolean", "default": False}),
    (str | None, None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (list[str], NONE, {"type": "array", "items": {"type": "string"}}),
    (dict[str, int], NONE, {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Literal["a", "b"], "a", {"type": "string", "enum": ["a", "b"], "default": "a"}),
    (date, date(2026, 1, 2), {"type": "string", "format": "date", "default": "2026-01-02"}),
    (Annotated[int, Field(ge=1, le=5)], NONE, {"type": "integer", "minimum": 1, "maximum": 5}),
    (int, Field(3, ge=1, description="d"), {"type": "integer", "minimum": 1, "description": "d", "default": 3}),
    (Annotated[int, Field(default=4)], NONE, {"type": "integer", "default": 4}),
    (int, object(), {"type": "integer"}),
    (float, math.nan, {"type": "number"}),
    (float, -math.inf, {"type": "number"}),
]


@pytest.mark.parametrize(("annotation", "default", "schema"), SCHEMAS)
def test_the_schema_of_a_parameter(annotation: Any, default: Any, schema: dict[str, Any]) -> None:
    whole = parameters(taking(annotation, default))
    assert whole["properties"] == {"x": schema}
    assert {key: whole[key] for key in ("type", "additionalProperties")} == {
        "type": "object",
        "additionalProperties": False,
    }


REFERENCES: list[tuple[Any, str, dict[str, Any]]] = [
    (Colour, "Colour", {"type": "string", "enum": ["red", "blue"]}),
    ("list[Node]", "Node", NODE),
    (list["Node"], "Node", NODE),
    (Point, "Point", POINT),
]


@pytest.mark.parametrize(("annotation", "name", "schema"), REFERENCES)
def test_types_with_a_name_are_referred_to_and_have_no_title(
    annotation: Any, name: str, schema: dict[str, Any]
) -> None:
    whole = parameters(taking(annotation))
    assert whole["$defs"] == {name: schema}
    assert "title" not in json.dumps(whole)


REQUIRED: list[tuple[Any, Any, bool]] = [
    (int, NONE, True),
    (int, 3, False),
    (str | None, NONE, True),
    (int, Field(description="d"), True),
    (int, Field(3), False),
    (Annotated[int, Field(default=4)], NONE, False),
    (list[int], Field(default_factory=list), False),
    (Any, object(), False),
]


@pytest.mark.parametrize(("annotation", "default", "required"), REQUIRED)
def test_what_has_no_default_is_required(annotation: Any, default: Any, required: bool) -> None:
    assert parameters(taking(annotation, default)).get("required", []) == (["x"] if required else [])


CONVERTED: list[tuple[Any, Any, dict[str, Any], Any]] = [
    (NONE, NONE, {"x": {"a": [1]}}, {"a": [1]}),
    (int, NONE, {"x": 5}, 5),
    (int, NONE, {"x": "5"}, 5),
    (int, NONE, {"x": 5.0}, 5),
    (date, NONE, {"x": "2026-03-04"}, date(2026, 3, 4)),
    (Colour, NONE, {"x": "blue"}, Colour.BLUE),
    (Point, NONE, {"x": {"x": 1}}, Point(1, 2)),
    ("Node", NONE, {"x": {"label": "a"}}, Node(label="a")),
    (set[int], NONE, {"x": [1, 1, 2]}, {1, 2}),
    (tuple[int, str], NONE, {"x": [1, "a"]}, (1, "a")),
    (int, 7, {}, 7),
    (int, Field(3), {}, 3),
    (int, Field(3), {"x": 4}, 4),
    (Annotated[int, Field(default=4)], NONE, {}, 4),
    (Annotated[int, Field(alias="y")], NONE, {"x": 1}, 1),
    (Annotated[int, Field(validation_alias="y")], NONE, {"x": 1}, 1),
    (int, "no number", {}, "no number"),
]


@pytest.mark.parametrize(("annotation", "default", "arguments", "value"), CONVERTED)
def test_arguments_become_what_the_annotation_says(
    annotation: Any, default: Any, arguments: dict[str, Any], value: Any
) -> None:
    made = called(taking(annotation, default), arguments)
    assert made == value
    assert type(made) is type(value)


UNFIT: list[tuple[Any, dict[str, Any], str]] = [
    (int, {}, "x: Field required"),
    (int, {"x": "five"}, "x: Input should be a valid integer"),
    (int, {"x": 1, "y": 2}, "y: Extra inputs are not permitted"),
    (Colour, {"x": "green"}, "'red' or 'blue'"),
    (Annotated[int, Field(le=5)], {"x": 6}, "less than or equal to 5"),
    (Point, {"x": {"x": "a"}}, "x/x: Input should be"),
    (list[int], {"x": [1, None]}, "x/1: Input should be"),
]


@pytest.mark.parametrize(("annotation", "arguments", "said"), UNFIT)
def test_arguments_that_do_not_fit_are_a_value_error(annotation: Any, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="the arguments do not fit") as caught:
        called(taking(annotation), arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_faults_are_said_at_once() -> None:
    def f(a: int, b: int) -> None: ...

    with pytest.raises(ValueError, match=r"a: .*; b: .*; c: "):
        called(f, {"b": "x", "c": 1})


def positional(a: int, /) -> None: ...
def starred(*numbers: int) -> None: ...
def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def wrong_attribute(a: date.nothing) -> None: ...  # type: ignore[name-defined]
def divides(a: 1 / 0) -> None: ...  # type: ignore[valid-type]
def no_syntax(a: "1 +") -> None: ...  # type: ignore[syntax]  # noqa: F722
def function(a: Callable[[int], int]) -> None: ...
def foreign(a: inspect.Signature) -> None: ...
def twisted(a: Annotated[str, Field(ge=object())]) -> None: ...
def unbalanced(a: Annotated[str, Field(pattern="(")]) -> None: ...


class Stubborn:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, make: Any) -> Any:
        raise KeyError("mine")


def stubborn(a: Stubborn) -> None: ...


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (positional, "takes a: 'int' by position"),
    (starred, "takes *numbers: 'int' by position"),
    (unknown, "name 'Nowhere' is not defined"),
    (wrong_attribute, "AttributeError"),
    (divides, "ZeroDivisionError"),
    (no_syntax, "SyntaxError"),
    (function, "cannot be described as JSON"),
    (foreign, "cannot be described as JSON"),
    (twisted, "cannot be described as JSON"),
    (unbalanced, "regex parse error"),
    (stubborn, "'mine'"),
    (int, "no signature found"),
    (print, "takes *args by position"),
]


@pytest.mark.parametrize(("refused", "said"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_cannot_be_written_as_json_is_refused_in_one_line(refused: Callable[..., Any], said: str) -> None:
    with pytest.raises(ToolsError, match="'t'") as caught:
        arguments_model("t", refused, {})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_annotation_of_the_result_may_name_what_is_not_imported() -> None:
    def ratio(a: int) -> Fraction:
        raise NotImplementedError

    assert parameters(ratio)["properties"] == {"a": {"type": "integer"}}


def test_names_that_pydantic_keeps_for_itself() -> None:
    def f(x: int, _x: int, __x: int, model_config: int, schema: str, self: int, cls: int, *, copy: int = 1) -> Any:
        return x, _x, __x, model_config, schema, self, cls, copy

    names = ["x", "_x", "__x", "model_config", "schema", "self", "cls", "copy"]
    assert list(parameters(f)["properties"]) == names
    values = dict(zip(names, [1, 2, 3, 4, "s", 5, 6, 7], strict=True))
    assert converted(arguments_model("t", f, {})[0], values) == values


def test_other_keyword_arguments_go_through() -> None:
    def f(x: int, **rest: int) -> Any:
        return x, rest

    assert parameters(f)["additionalProperties"] is True
    assert called(f, {"x": 1, "p0": 2, "model_extra": 3}) == (1, {"p0": 2, "model_extra": 3})


def test_a_note_describes_where_the_annotation_does_not() -> None:
    def f(a: int, b: Annotated[int, Field(description="own")], c: int = Field(1, description="own")) -> None: ...

    described = parameters(f, a="note", b="note", c="note")["properties"]
    assert [described[name]["description"] for name in "abc"] == ["note", "own", "own"]


def test_parameters_stand_in_the_order_of_the_signature() -> None:
    def f(z: int, a: int, m: int = 1, b: int = 2) -> None: ...

    assert list(parameters(f)["properties"]) == ["z", "a", "m", "b"]
    assert parameters(f)["required"] == ["z", "a"]


def test_a_default_that_is_changed_is_fresh_for_the_next_call() -> None:
    def f(items: list[int] = [1]) -> list[int]:  # noqa: B006
        items.append(2)
        return items

    model = arguments_model("f", f, {})[0]
    assert [f(**converted(model, {})) for _ in range(2)] == [[1, 2], [1, 2]]


class Adder:
    """Adds."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __call__(self, more: int) -> int:
        """Add more."""
        return self.start + more

    def method(self, n: Colour) -> Colour:
        """By a method."""
        return n

    @staticmethod
    def static(n: int) -> int:
        return n


@functools.lru_cache
def cached(n: Colour) -> Colour:
    """Kept."""
    return n


@functools.wraps(cached)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return cached(*args, **kwargs)


def two(a: Colour, b: int) -> Any:
    """Two of them."""
    return a, b


CALLABLES: list[tuple[Callable[..., Any], dict[str, Any], Any, str | None]] = [
    (Adder(1), {"more": 2}, 3, "Add more."),
    (Adder(1).method, {"n": "red"}, Colour.RED, "By a method."),
    (Adder.static, {"n": 1}, 1, None),
    (cached, {"n": "red"}, Colour.RED, "Kept."),
    (wrapped, {"n": "red"}, Colour.RED, "Kept."),
    (functools.partial(two, b=3), {"a": "red"}, (Colour.RED, 3), "Two of them."),
    (functools.partial(two, Colour.BLUE), {"b": 3}, (Colour.BLUE, 3), "Two of them."),
    (Point, {"x": 5}, Point(5, 2), inspect.getdoc(Point)),
    (lambda n: n, {"n": [1]}, [1], None),
]


@pytest.mark.parametrize(("function", "arguments", "value", "doc"), CALLABLES)
def test_whatever_can_be_called(
    function: Callable[..., Any], arguments: dict[str, Any], value: Any, doc: str | None
) -> None:
    assert called(function, arguments) == value
    assert docstring_of(function) == doc


def test_an_object_without_a_docstring_has_that_of_its_class() -> None:
    class Silent:
        """Silent, but described."""

        def __call__(self) -> None: ...

    assert docstring_of(Silent()) == "Silent, but described."


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES))
def test_what_the_schema_takes_the_function_gets(arguments: dict[str, Any]) -> None:
    """Whatever validates against the schema is taken, and nothing but a ValueError comes of the rest."""

    def f(a: int, b: list[str] | None = None, c: Literal["x", "y"] = "x") -> Any:
        return a, b, c

    model, schema = arguments_model("f", f, {})
    try:
        values = converted(model, arguments)
    except ValueError:
        assert not Draft202012Validator(schema).is_valid(arguments)
    else:
        f(**values)
