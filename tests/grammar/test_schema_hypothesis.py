"""Random schemas and tools with instances made from them: what jsonschema accepts, the grammar accepts too.

`_instances` aims at valid instances and may miss: jsonschema decides, and most must be hits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from textcall.grammar import Grammar
from textcall.grammar.schema import schema_to_gbnf
from textcall.messages import compact_json

SomeOrder = Callable[[Grammar, Any], bool]
BOUNDED = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),  # a failing pair is small enough without shrinking two levels
    suppress_health_check=list(HealthCheck),
)

_NAMES = ("a", "b", "c", "")
_SCALARS = st.sampled_from([0, 1, -1, 2.5, True, False, None, "", "a", "é😀", 'q"\\', [], [1, "a"], {}, {"a": 1}])
_COUNTS = st.integers(0, 3)
_BOUNDS = st.one_of(st.integers(-20, 20), st.sampled_from([0.5, -2.25, 100.125]))
_PATTERNS = st.sampled_from(["^[a-c]", "x[0-9]+", "^(ab|c)+", "[^a]", ".b", '"'])


def _some(*keywords: tuple[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict(keywords))


def _typed(kind: str, *keywords: tuple[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda found: {"type": kind, **found}, _some(*keywords))


_LEAVES = st.one_of(
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"type": ["integer", "array"]}]
    ),
    st.builds(lambda values: {"enum": values}, st.lists(_SCALARS, min_size=1, max_size=4)),
    st.builds(lambda value: {"const": value}, _SCALARS),
    _typed("string", ("minLength", _COUNTS), ("maxLength", st.integers(2, 6))),
    _typed("string", ("pattern", _PATTERNS), ("minLength", _COUNTS)),
    _typed("integer", ("minimum", _BOUNDS), ("maximum", _BOUNDS), ("multipleOf", st.sampled_from([1, 2, 3, 0.5]))),
    _typed("number", ("exclusiveMinimum", _BOUNDS), ("maximum", _BOUNDS)),
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    properties = st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3)
    required = st.lists(st.sampled_from(_NAMES), unique=True, max_size=2)
    extra = st.one_of(st.booleans(), inner)
    return st.one_of(
        _typed("array", ("items", inner), ("minItems", _COUNTS), ("maxItems", st.integers(2, 4))),
        _typed("array", ("items", inner), ("contains", inner), ("uniqueItems", st.booleans())),
        _typed("object", ("properties", properties), ("required", required), ("additionalProperties", extra)),
        _typed("object", ("properties", properties), ("minProperties", _COUNTS), ("maxProperties", st.integers(2, 4))),
        _typed("object", ("patternProperties", st.dictionaries(_PATTERNS, inner, max_size=2)), ("required", required)),
        _typed("object", ("propertyNames", st.just({"maxLength": 2})), ("additionalProperties", extra)),
        st.builds(lambda keyword, schemas: {keyword: schemas}, st.sampled_from(["anyOf", "oneOf"]), several),
        st.builds(lambda one, other: {"allOf": [one, other]}, inner, inner),
        st.builds(lambda one, other: {**one, "anyOf": [other, {}]}, inner, inner),
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda one, two, three: {"if": one, "then": two, "else": three}, inner, inner, inner),
    )


SCHEMAS = st.recursive(_LEAVES, _larger, max_leaves=6)


def _instances(schema: Any, root: Any) -> st.SearchStrategy[Any]:
    """Values that are likely to fit."""
    if not isinstance(schema, dict) or not schema:
        return _SCALARS
    if "$ref" in schema:
        return _instances(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            rest = {key: value for key, value in schema.items() if key != keyword}
            return st.one_of([_instances(_merged([rest, option]), root) for option in schema[keyword]])
    if "allOf" in schema:
        return _instances(_merged([{k: v for k, v in schema.items() if k != "allOf"}, *schema["allOf"]]), root)
    if "if" in schema:
        return st.one_of(_instances(schema["then"], root), _instances(schema["else"], root))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", ["string", "integer", "object"])
    return st.one_of([_of_kind(kind, schema, root) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _merged(schemas: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for schema in schemas:
        for keyword, value in schema.items() if isinstance(schema, dict) else ():
            before = found.get(keyword)
            joins = keyword in ("properties", "required") and before is not None
            found[keyword] = (before | value if isinstance(value, dict) else [*before, *value]) if joins else value
    return found


def _of_kind(kind: str, schema: dict[str, Any], root: Any) -> st.SearchStrategy[Any]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    if low is not None and high is not None and low > high:
        return _SCALARS
    if kind == "integer":
        step = schema.get("multipleOf", 1)
        whole = (None if low is None else math.ceil(low), None if high is None else math.floor(high))
        return st.integers(*whole).map(lambda n: n - n % step) if None in whole or whole[0] <= whole[1] else _SCALARS
    if kind == "number":
        return st.floats(low, high, allow_nan=False, allow_infinity=False)
    if kind == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"]).filter(lambda text: not _ends_lines(text))
        return st.text(
            min_size=schema.get("minLength", 0), max_size=max(schema.get("maxLength", 8), schema.get("minLength", 0))
        )
    if kind == "array":
        least = schema.get("minItems", 0)
        most = max(schema.get("maxItems", 3), least)
        return st.lists(_instances(schema.get("items"), root), min_size=least, max_size=most)
    if kind == "object":
        return _objects(schema, root)
    return st.booleans() if kind == "boolean" else st.none()


def _objects(schema: dict[str, Any], root: Any) -> st.SearchStrategy[dict[str, Any]]:
    listed = {
        name: _instances(inner, root) for name, inner in schema.get("properties", {}).items() if inner is not False
    }
    needed = schema.get("required", [])
    extra = schema.get("additionalProperties", True)
    names = st.text('abcxyz"é', max_size=2).filter(lambda name: name not in listed)
    others = [st.dictionaries(names, _instances(extra, root), max_size=2)] if extra is not False else []
    for pattern, inner in schema.get("patternProperties", {}).items():
        others.append(st.dictionaries(st.from_regex(pattern), _instances(inner, root), max_size=2))
    fixed = st.fixed_dictionaries(
        {name: listed.get(name, _SCALARS) for name in needed},
        optional={name: values for name, values in listed.items() if name not in needed},
    )
    return st.builds(lambda own, more: {**more, **own}, fixed, st.one_of(others) if others else st.just({}))


_DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_POINT = {
    "type": "object",
    "properties": {"lat": {"type": "number", "minimum": -90, "maximum": 90}, "lon": {"type": "number"}},
    "required": ["lat", "lon"],
    "additionalProperties": False,
}
TOOLS: dict[str, dict[str, Any]] = {
    "weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 80},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 1},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city"],
    },
    "flight": {
        "type": "object",
        "properties": {
            "from": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "to": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "dates": {"type": "array", "items": _DATE, "minItems": 1, "maxItems": 2},
            "class": {"type": ["string", "null"], "enum": ["economy", "business", None]},
            "direct": {"type": "boolean"},
        },
        "required": ["from", "to", "dates"],
        "additionalProperties": False,
    },
    "route": {
        "type": "object",
        "properties": {
            "start": {"$ref": "#/$defs/point"},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/point"}, "maxItems": 3},
            "avoid": {"type": "array", "items": {"enum": ["toll", "ferry"]}, "uniqueItems": True},
        },
        "required": ["start"],
        "additionalProperties": False,
        "$defs": {"point": _POINT},
    },
    "filter": {
        "type": "object",
        "properties": {
            "field": {"type": "string"},
            "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
            "between": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        },
        "required": ["field"],
        "oneOf": [{"required": ["value"]}, {"required": ["between"]}],
        "additionalProperties": False,
    },
    "payment": {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 10000},
            "currency": {"const": "EUR"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
            "note": {"type": "string", "maxLength": 20},
        },
        "required": ["amount", "currency"],
        "additionalProperties": False,
    },
}


def _whole(value: Any) -> Any:
    """With whole numbers as integers: 1 for 1.0."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _ordered(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    """With the properties of objects in the order of the schema, others after them."""
    while isinstance(schema, Mapping) and "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        return [_ordered(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    listed = schema.get("properties", {})
    names = [*(name for name in listed if name in value), *(name for name in value if name not in listed)]
    return {name: _ordered(value[name], listed.get(name, {}), root) for name in names}


def _ends_lines(value: Any) -> bool:
    """Whether a text in it ends with a line feed: `$` of Python's `re` matches before it, `$` of a pattern does not."""
    if isinstance(value, dict):
        return any(map(_ends_lines, [*value, *value.values()]))
    return any(map(_ends_lines, value)) if isinstance(value, list) else isinstance(value, str) and value.endswith("\n")


@pytest.mark.parametrize("name", TOOLS)
def test_the_arguments_of_tools(name: str, oracle: Any) -> None:
    schema = TOOLS[name]
    gbnf = schema_to_gbnf(schema, open_objects="additionalProperties" not in schema).gbnf
    grammar, validator = Grammar(gbnf), validator_for(schema)(schema)
    assert oracle.loads(gbnf)
    hits = 0

    @BOUNDED
    @given(_instances(schema, schema))
    def check(value: Any) -> None:
        nonlocal hits
        if validator.is_valid(value) and not _ends_lines(value):
            hits += 1
            text = compact_json(_ordered(_whole(value), schema, schema))
            assert grammar.accepts(text), text

    check()
    assert hits > 10


def test_random_schemas(in_some_order: SomeOrder, oracle: Any) -> None:
    hits = 0

    @settings(BOUNDED, max_examples=120)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal hits
        schema = data.draw(SCHEMAS)
        gbnf = schema_to_gbnf(schema).gbnf
        grammar, validator = Grammar(gbnf), validator_for(schema)(schema)
        assert oracle.loads(gbnf), gbnf
        for value in data.draw(st.lists(st.one_of(_instances(schema, schema), _SCALARS), min_size=1, max_size=4)):
            if validator.is_valid(value):
                hits += 1
                assert in_some_order(grammar, _whole(value)), (schema, value)

    check()
    assert hits > 60
