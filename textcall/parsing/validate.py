"""A call against the schema of its tool: jsonschema decides, whatever the grammar let through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Protocol

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for

from textcall.messages import Problem, Span, compact_json

_SHOWN = 5  # problems of one call that are said


class Described(Protocol):
    """What the parser knows of a tool."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        ...


def problems_of(tool: Described, arguments: Mapping[str, Any], span: Span) -> Iterator[Problem]:
    """What is wrong with the arguments, the first few, in words that say what is allowed."""
    validator = _validator(compact_json(dict(tool.parameters)))
    errors = sorted(validator.iter_errors(arguments), key=lambda error: [str(part) for part in error.absolute_path])
    for error in errors[:_SHOWN]:
        path = "".join(f"/{part}" for part in error.absolute_path)
        where = f"argument {path[1:]}" if path else "the arguments"
        yield Problem("invalid_arguments", f"{tool.name}: {where}: {_said(error)}", path, span)


def unknown_tool(name: str, tools: Mapping[str, Described], span: Span) -> Problem:
    """The problem of a name that no tool bears."""
    near = get_close_matches(name, tools, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    known = ", ".join(tools) or "none"
    return Problem("unknown_tool", f"there is no tool {name!r}.{hint} The tools are: {known}.", "", span)


def _said(error: ValidationError) -> str:
    if error.validator == "enum":
        return f"{compact_json(error.instance)} is not one of {', '.join(map(compact_json, error.validator_value))}"
    if error.validator == "type":
        wanted = error.validator_value if isinstance(error.validator_value, str) else " or ".join(error.validator_value)
        return f"{compact_json(error.instance)[:200]} is not of type {wanted}"
    return error.message[:400]


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    import json

    parsed = json.loads(schema)
    return validator_for(parsed, default=Draft202012Validator)(parsed)
