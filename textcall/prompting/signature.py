"""A tool as a signature that a small model reads easily and that costs few tokens.

    get_weather(city: string, date?: "today" | "tomorrow") // Weather in a city on one day.
      city: name of the city

The notation is TypeScript's: `?` marks what may be left out, types are JSON's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textcall.messages import compact_json

_DEEP = 4  # nested objects below this are written as `object`: their schema still holds under the grammar
_LONG = 24  # enums with more members than this are cut: the grammar knows them all


def signature(name: str, description: str, parameters: Mapping[str, Any]) -> str:
    """The lines of one tool: the signature with its description, then one line a described parameter."""
    properties = _properties(parameters)
    required = _names(parameters.get("required"))
    written = ", ".join(_parameter(key, schema, key in required, parameters) for key, schema in properties.items())
    first = f"{name}({written})"
    if description.strip():
        first += f" // {_one_line(description)}"
    notes = [f"  {key}: {note}" for key, schema in properties.items() if (note := _note(schema))]
    return "\n".join([first, *notes])


def type_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """The type of a JSON Schema in TypeScript's notation. root: where `#/…` references are looked up."""
    if not isinstance(schema, Mapping):
        return "any"
    if "const" in schema:
        return compact_json(schema["const"])
    if isinstance(schema.get("enum"), Sequence):
        return _enum(schema["enum"])
    if isinstance(schema.get("$ref"), str):
        target = _resolve(schema["$ref"], root)
        return type_of(target, root, depth + 1) if target is not None and depth < _DEEP else "object"
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), Sequence) and schema[word]:
            return _union([type_of(option, root, depth + 1) for option in schema[word]])
    return _by_type(schema, root, depth)


def _by_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([type_of({**schema, "type": one}, root, depth) for one in kind])
    if kind == "array" or (kind is None and "items" in schema):
        inner = type_of(schema.get("items"), root, depth + 1)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, root, depth)
    return str(kind) if kind else "any"


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    properties = _properties(schema)
    if not properties or depth >= _DEEP:
        return "object"
    required = _names(schema.get("required"))
    inner = ", ".join(_parameter(key, value, key in required, root, depth + 1) for key, value in properties.items())
    return f"{{{inner}}}"


def _parameter(key: str, schema: Any, required: bool, root: Mapping[str, Any], depth: int = 0) -> str:
    name = key if key.isidentifier() else compact_json(key)
    return f"{name}{'' if required else '?'}: {type_of(schema, root, depth)}"


def _note(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    text = _one_line(str(schema.get("description") or ""))
    default = schema.get("default")
    if default is not None and compact_json(default) not in text and str(default) not in text:
        text += f" (default {compact_json(default)})"
    return text.strip()


def _enum(values: Sequence[Any]) -> str:
    shown = [compact_json(value) for value in values[:_LONG]]
    return _union([*shown, "…"] if len(values) > _LONG else shown)


def _union(types: Sequence[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _names(required: Any) -> frozenset[str]:
    return frozenset(required) if isinstance(required, list) else frozenset()


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#/"):
        return None
    found: Any = root
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
