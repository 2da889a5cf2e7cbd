"""Arguments made to fit their schema: only a value that does not validate, only where one lossless reading exists.

    written                     wanted                            becomes
    "5", "-1.5"                 integer, number                   5, -1.5
    "true", "False"             boolean                           true, false
    "null", "None"              null                              null
    "[1, 2]", "{\\"a\\": 1}"      array, object                     the value in the string
    5                           string and nothing else           "5"
    5.0                         integer                           5
    "rope"                      array of what "rope" is           ["rope"]
    null                        a property that may be left out   left out

Never: "3.7", "five", "0x10", "" for an integer; "yes" for a boolean; 1.5, true or null for a string; [1] for 1.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from textcall.parsing.strict import MAX_DIGITS, NotStrict, read_strict

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_MAX_CHANGES = 100

Path = tuple[str | int, ...]


def coerce(validator: Validator, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """The arguments with what could be made to fit, and the paths that were changed."""
    made: dict[str, Any] = copy.deepcopy(dict(arguments))
    changed: list[Path] = []
    for _ in range(_MAX_CHANGES):
        error = next((e for e in validator.iter_errors(made) if _mend(validator, made, e, changed)), None)
        if error is None:
            break
    _whole_floats(validator, made, (), changed)
    return made, tuple(dict.fromkeys(changed))


def _mend(validator: Validator, made: dict[str, Any], error: ValidationError, changed: list[Path]) -> bool:
    path = tuple(error.absolute_path)
    if not path or path in changed or error.validator not in ("type", "anyOf", "oneOf", "enum", "const"):
        return False
    parent: Any = made
    for step in path[:-1]:
        parent = parent[step]
    if error.instance is None and isinstance(parent, dict) and _may_be_left_out(validator, made, parent, path):
        changed.append(path)
        return True
    checker = validator.evolve(schema=error.schema)
    fitting: list[Any] = []
    for candidate in _candidates(error.instance, error):
        if checker.is_valid(candidate) and not any(_same(candidate, other) for other in fitting):
            fitting.append(candidate)
    if len(fitting) != 1:
        return False
    parent[path[-1]] = fitting[0]
    changed.append(path)
    return True


def _may_be_left_out(validator: Validator, made: dict[str, Any], parent: dict[Any, Any], path: Path) -> bool:
    """Leave a null out, unless something then misses it."""
    before = sum(1 for _ in validator.iter_errors(made))
    order = list(parent)
    value = parent.pop(path[-1])
    after = list(validator.iter_errors(made))
    if len(after) < before and not any(
        e.validator == "required" and tuple(e.absolute_path) == path[:-1] for e in after
    ):
        return True
    parent[path[-1]] = value
    for key in order[order.index(path[-1]) + 1 :]:  # back into its place
        parent[key] = parent.pop(key)
    return False


def _candidates(value: Any, error: ValidationError) -> Iterator[Any]:
    wanted = _types(error.schema)
    if isinstance(value, str):
        read = list(_from_text(value, wanted))
        yield from read
        if read or value.lstrip().startswith("["):
            return
    elif isinstance(value, int) and not isinstance(value, bool) and wanted == {"string"}:
        yield str(value)
    if "array" in wanted and value is not None and not isinstance(value, list):
        yield [value]


def typed(validator: Validator, arguments: Mapping[str, str], raw: Collection[str]) -> dict[str, Any]:
    """Texts between tags: those in `raw` as the values that the schema allows, as text where it allows nothing else."""
    schema = validator.schema if isinstance(validator.schema, Mapping) else {}
    properties = schema.get("properties", {})
    made: dict[str, Any] = dict(arguments)
    for key, text in arguments.items():
        if key not in raw:
            continue
        sub = properties.get(key) if isinstance(properties, Mapping) else None
        wanted = _types(sub) - {"string"}
        fitting = [value for value in _from_text(text.strip(), wanted) if validator.evolve(schema=sub).is_valid(value)]
        if len(fitting) == 1:
            made[key] = fitting[0]
    return made


def _from_text(text: str, wanted: set[str]) -> Iterator[Any]:
    if wanted & {"integer", "number"} and len(text) <= MAX_DIGITS:
        if _INTEGER.fullmatch(text):
            yield int(text)
        elif "number" in wanted and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
            yield float(text)
    word = text.lower()
    if word in _WORDS and ("null" if _WORDS[word] is None else "boolean") in wanted:
        yield _WORDS[word]
    if wanted & {"array", "object"} and text.lstrip()[:1] in ("[", "{"):
        try:
            read = read_strict(text.strip())
        except NotStrict:
            return
        if (
            read.end == len(text.strip())
            and not read.duplicates
            and ["array", "object"][isinstance(read.value, dict)] in wanted
        ):
            yield read.value


def _types(schema: Any) -> set[str]:
    """The types that a schema speaks of, its branches included."""
    if not isinstance(schema, Mapping):
        return set()
    named = schema.get("type", [])
    found = {named} if isinstance(named, str) else set(named)
    listed = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
    found |= {_type_of(value) for value in listed} if not found else set()
    for branch in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
        found |= _types(branch)
    return found


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}
    return names[type(value)]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _whole_floats(validator: Validator, value: Any, path: Path, changed: list[Path]) -> None:
    """5.0 is a valid integer for JSON Schema; the tool gets 5."""
    schema = validator.schema
    if not isinstance(schema, Mapping) or not isinstance(value, dict):
        return
    properties = schema.get("properties", {})
    for key, sub in properties.items() if isinstance(properties, Mapping) else ():
        inner = value.get(key)
        if (
            isinstance(inner, float)
            and isinstance(sub, Mapping)
            and sub.get("type") == "integer"
            and inner.is_integer()
        ):
            value[key] = int(inner)
            changed.append((*path, key))
        elif isinstance(inner, dict):
            _whole_floats(validator.evolve(schema=sub), inner, (*path, key), changed)
