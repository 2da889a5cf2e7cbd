"""The shapes in which models write a call as JSON, told apart from JSON that is an answer.

All keys come from `block`: `{"tool":…,"args":…}` and its aliases, OpenAI's envelope, one outer key, lists of these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from textcall.block import ARGS_ALIASES, ARGS_KEY, NAME_ALIASES, NAME_KEY
from textcall.parsing.lenient import Broken, read, skip_blanks

# An object whose only key (beside these) is one of the second set holds the call, or a list of calls.
_BESIDE = frozenset({"id", "type", "index", "tool_call_id"})
_OUTER = frozenset({"tool_call", "tool_calls", "function_call", "function_calls", "call", "calls"})
_FUNCTION = "function"
_SCHEMA_KEYS = frozenset({"input_schema", "inputSchema", "schema", "returns"})
_MAX_NESTED = 4


@dataclass(frozen=True, slots=True)
class Shaped:
    """An object that has the shape of a call.

    arguments: as written, a JSON string already decoded; None where there are none. how: which keys were renamed.
    doubt: why it cannot be taken, where two readings exist. raw: the arguments that are texts between tags: what
    they mean the schema says. definition: it may be the description of a tool instead, "" where not: "sure" where it
    describes itself, "schema" where only its arguments are written like a schema.
    """

    name: str
    arguments: Any
    how: tuple[str, ...] = ()
    doubt: str = ""
    raw: frozenset[str] = frozenset()
    definition: str = ""


def shaped(value: Any, names: Collection[str], *, wrapped: bool, level: int = 0) -> tuple[Shaped, ...] | None:
    """The calls that a value holds, or None where it is something else.

    names: the names of the tools. wrapped: whether it stands in a wrapper for calls; then less is enough.
    """
    if level > _MAX_NESTED:
        return None
    if isinstance(value, list):
        return _of_list(value, names, wrapped=wrapped, level=level)
    if not isinstance(value, Mapping):
        return None
    inner = _inside(value)
    if inner is not None:
        return shaped(inner, names, wrapped=wrapped, level=level + 1)
    found = _of_object(value, names, wrapped=wrapped)
    return None if found is None else (found,)


def _of_list(values: list[Any], names: Collection[str], *, wrapped: bool, level: int) -> tuple[Shaped, ...] | None:
    found: list[Shaped] = []
    for value in values:
        calls = None if isinstance(value, list) else shaped(value, names, wrapped=wrapped, level=level + 1)
        if calls is None and not wrapped:
            return None
        found += calls or ()
    return tuple(found) or None


def _inside(value: Mapping[str, Any]) -> Any:
    """What stands in an envelope, or None where this is none."""
    keys = [key for key in value if key not in _BESIDE]
    if len(keys) != 1:
        return None
    key, inner = keys[0], value[keys[0]]
    if key == _FUNCTION and isinstance(inner, Mapping):
        return inner
    return inner if key in _OUTER and isinstance(inner, Mapping | list) else None


def _of_object(value: Mapping[str, Any], names: Collection[str], *, wrapped: bool) -> Shaped | None:
    name_key = _name_key(value, names)
    if name_key is None:
        return _named_by_key(value, names) if wrapped else None
    name: str = value[name_key]
    args_keys = [key for key in ARGS_ALIASES if key in value and key != name_key]
    if not args_keys:
        return _without_arguments(value, name_key, names, wrapped=wrapped)
    doubt = _doubt(value, args_keys, names)
    args_key = args_keys[0]
    if name not in names and not _certainly_a_call(value, name_key, args_key):
        return None
    arguments, decoded = _decoded(value[args_key])
    definition = _definition(value, arguments)
    how = [f"renamed({key})" for key, known in ((name_key, NAME_KEY), (args_key, ARGS_KEY)) if key != known]
    return Shaped(name, arguments, (*how, *decoded), doubt, definition=definition)


def _definition(value: Mapping[str, Any], arguments: Any) -> str:
    """Whether an object recites what a tool is: its description, and the schema of its arguments."""
    if not isinstance(arguments, Mapping):
        return ""
    properties = arguments.get("properties")
    is_schema = isinstance(properties, Mapping) and (
        arguments.get("type") == "object" or (bool(properties) and all(map(_is_schema, properties.values())))
    )
    describes = isinstance(value.get("description"), str)
    if describes and (is_schema or not arguments or arguments.get("type") == "object"):
        return "sure"
    return "schema" if is_schema else ""


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.keys() & {"type", "enum", "anyOf", "$ref", "description"})


def _name_key(value: Mapping[str, Any], names: Collection[str]) -> str | None:
    keys = [key for key in NAME_ALIASES if isinstance(value.get(key), str) and value[key]]
    return next((key for key in keys if value[key] in names), keys[0] if keys else None)


def _doubt(value: Mapping[str, Any], args_keys: list[str], names: Collection[str]) -> str:
    named = {value[key] for key in NAME_ALIASES if isinstance(value.get(key), str) and value[key] in names}
    if len(named) > 1:
        return f"it names {' and '.join(sorted(named))}"
    objects = [key for key in args_keys if isinstance(value[key], Mapping)]
    if len(objects) > 1 and any(value[key] != value[objects[0]] for key in objects):
        return f"it has arguments under {' and '.join(objects)}"
    return ""


def _certainly_a_call(value: Mapping[str, Any], name_key: str, args_key: str) -> bool:
    """Whether it is a call although no tool has that name, and not an answer with a `name` in it."""
    if name_key == NAME_KEY and args_key == ARGS_KEY:
        return True
    only = {name_key, args_key} | _BESIDE
    return value.keys() <= only and isinstance(_decoded(value[args_key])[0], Mapping)


def _without_arguments(
    value: Mapping[str, Any], name_key: str, names: Collection[str], *, wrapped: bool
) -> Shaped | None:
    """`{"tool":"x"}`: a call in a wrapper; elsewhere one whose arguments are missing, where the name is a tool's."""
    name: str = value[name_key]
    if name not in names:
        return None
    if isinstance(value.get("description"), str) and _SCHEMA_KEYS & value.keys():
        return Shaped(name, {}, definition="sure")
    if value.keys() <= {name_key} | _BESIDE:
        return Shaped(name, {} if wrapped else None, ("repaired(no_arguments)",))
    return Shaped(name, None) if name_key == NAME_KEY or wrapped else None


def _named_by_key(value: Mapping[str, Any], names: Collection[str]) -> Shaped | None:
    """`{"get_weather": {"city": "Paris"}}`."""
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    return Shaped(name, arguments, ("renamed(key)",)) if name in names and isinstance(arguments, Mapping) else None


def _decoded(arguments: Any) -> tuple[Any, tuple[str, ...]]:
    """Arguments written as a string of JSON; nothing at all, blank or null, as no arguments."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}, ("repaired(no_arguments)",)
    if not isinstance(arguments, str):
        return arguments, ()
    start = skip_blanks(arguments, 0)
    try:
        found = read(arguments, start)
    except Broken:
        return arguments, ()
    if not isinstance(found.value, dict) or arguments[found.end :].strip() or found.duplicates:
        return arguments, ()
    return found.value, ("repaired(arguments_as_string)", *(f"repaired({name})" for name in found.repairs))
