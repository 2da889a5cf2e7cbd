"""Grammars to walk over: the package's own, those of replies with varied tools, those of made-up schemas and GBNF."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.grammar.made_gbnf import made_gbnf
from tests.grammar.test_schema_property import made
from textcall.block import Convention, Shape
from textcall.grammar.calls import Mode, reply_grammar
from textcall.grammar.library import format_rules, gbnf_file
from textcall.grammar.schema import schema_to_gbnf
from textcall.tools import Tool

Named = tuple[str, str]

_STRING = {"type": "string"}
_TREE = {
    "type": "object",
    "properties": {"name": _STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["name"],
}

# What each tool's arguments hold, by the tool's name.
PARAMETERS: dict[str, dict[str, Any]] = {
    "none": {},
    "enums": {
        "e": {
            "enum": ['a"b', "it's", "back\\slash", "line\nbreak", "é", "日本", "😀", "", 1, -1.5, None, True, [1, "x"]]
        }
    },
    "alike": {"e": {"enum": ["get", "getter", "get_all", "get all"]}, "c": {"const": '":"'}},
    "patterns": {"p": {**_STRING, "pattern": "^[A-Z]{2}-\\d{3,5}(é|ü)?$"}, "q": {**_STRING, "pattern": "b+"}},
    "formats": {
        name: {**_STRING, "format": name} for name in ("date-time", "uuid", "email", "ipv6", "uri", "iri", "duration")
    },
    "integers": {"i": {"type": "integer", "minimum": -17, "maximum": 1234}, "j": {"type": "integer", "minimum": 3}},
    "numbers": {"n": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 99.25}, "m": {"type": "number"}},
    "counts": {
        "s": {**_STRING, "minLength": 2, "maxLength": 5},
        "a": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        "l": {**_STRING, "maxLength": 700},
    },
    "nested": {
        "m": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}}
    },
    "tree": {"root": {"$ref": "#/$defs/tree"}},
    "open": {"any": {}, "map": {"type": "object", "additionalProperties": {"type": "integer"}}},
    "either": {
        "x": {"anyOf": [{"type": "integer"}, {**_STRING, "maxLength": 3}, {"type": "null"}]},
        "y": {"type": ["boolean", "array"]},
    },
    "naïve key": {'quoted "key"': _STRING, "ключ": {"type": "integer"}, "a b": {"type": "null"}},
}


def _tool(name: str) -> Tool:
    wanted = {"type": "object", "properties": PARAMETERS[name], "required": list(PARAMETERS[name])[:1]}
    return Tool(name="naive" if name == "naïve key" else name, parameters={**wanted, "$defs": {"tree": _TREE}})


def package_grammars() -> Iterator[Named]:
    """The grammars of the folder `grammars`, and each format by itself."""
    yield "json", gbnf_file("json")
    yield "call", gbnf_file("json").replace("root ", "top ") + gbnf_file("call")
    yield "formats", gbnf_file("formats")
    rules = format_rules()
    for name in rules:
        if name.startswith("format-"):
            yield name, "\n".join([f"root ::= {name}", *(f"{rule} ::= {body}" for rule, body in rules.items())])


def reply_grammars() -> Iterator[Named]:
    """Each tool by itself, and several together, over all shapes and modes."""
    shapes, modes = list(Shape), ["auto", "required", "auto"]
    for i, name in enumerate(PARAMETERS):
        yield _reply([name], shapes[i % 3], modes[i % len(modes)], parallel=i % 2 == 0)
    for shape in Shape:
        yield _reply(["alike", "none", "tree"], shape, "auto", parallel=True)
        yield _reply(["enums", "counts"], shape, "required", parallel=False)
        yield _reply(["none"], shape, "none", parallel=True)


def _reply(names: list[str], shape: Shape, mode: Any, *, parallel: bool) -> Named:
    wanted: Mode = mode
    tools = [_tool(name) for name in names]
    reply = reply_grammar(tools, mode=wanted, convention=Convention(shape=shape), parallel=parallel)
    assert not reply.problems, reply.problems
    return f"{shape}-{mode}-{'+'.join(names)}", reply.gbnf


def schema_grammar(seed: object) -> Named:
    """The grammar of a made-up schema."""
    chance = random.Random(f"schema {seed}")
    return f"schema-{seed}", schema_to_gbnf(made(chance), open_objects=chance.random() < 0.5).gbnf


def random_grammar(seed: object) -> Named:
    """A made-up grammar."""
    return f"gbnf-{seed}", made_gbnf(random.Random(f"gbnf {seed}"))


MAKERS: list[Callable[[object], Named]] = [schema_grammar, random_grammar]
