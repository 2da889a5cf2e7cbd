"""A call against the schema of its tool. jsonschema decides, whatever the grammar let through.

The draft is the one that `$schema` names, else 2020-12; formats are checked; nothing is ever fetched for a `$ref`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Protocol

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from textcall.block import render_call
from textcall.errors import SchemaError
from textcall.messages import Problem, Span, compact_json
from textcall.parsing.quick import Proof, proof_of

# What `nullable` beside it lifts from null.
_NULLABLE = ("type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf")
_SHOWN_ERRORS = 8
_SHOWN_VALUES = 20
_SHOWN_TEXT = 200


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


_KNOWN: dict[int, tuple[Mapping[str, Any], Validator, Proof | None]] = {}
_MAX_KNOWN = 512


def validator_of(tool: Described) -> Validator:
    """The validator of a tool's parameters; the same one for the same object, which is not to be changed."""
    return _known(tool)[1]


def is_proven(tool: Described, arguments: dict[str, Any]) -> bool:
    """Whether the arguments fit for certain, every number in them being of the type that the schema asks for.

    False says nothing: then `is_valid` knows.
    """
    proof = _known(tool)[2]
    return proof is not None and proof(arguments)


def _known(tool: Described) -> tuple[Mapping[str, Any], Validator, Proof | None]:
    parameters = tool.parameters
    known = _KNOWN.get(id(parameters))
    if known is not None and known[0] is parameters:
        return known
    schema = dict(parameters)
    draft = _with_nullable(validator_for(schema, default=Draft202012Validator))
    made = draft(schema, registry=Registry(), format_checker=draft.FORMAT_CHECKER)
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    known = _KNOWN[id(parameters)] = (parameters, made, proof_of(schema))
    return known


@cache
def _with_nullable(draft: Any) -> Any:
    """The draft with OpenAPI's `nullable`: many tools are described in its dialect, and the grammar knows it too.

    Null is allowed then, also beside a `$ref` or `anyOf`, where OpenAPI is silent and its users mean it.
    """

    def unless_null(check: Any) -> Any:
        def checked(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
            if instance is not None or schema.get("nullable") is not True:
                yield from check(validator, value, instance, schema)

        return checked

    own = {keyword: unless_null(draft.VALIDATORS[keyword]) for keyword in _NULLABLE if keyword in draft.VALIDATORS}
    return extend(draft, own)  # type: ignore[no-untyped-call]


def is_valid(tool: Described, arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments fit. Raises SchemaError where the schema cannot be used."""
    return next(_errors(tool, arguments), None) is None


def problem_of(tool: Described, arguments: Mapping[str, Any], span: Span | None) -> Problem | None:
    """Everything that is wrong with the arguments, in one problem; its path is that of the first fault."""
    errors = sorted(_errors(tool, arguments), key=lambda error: [str(part) for part in error.absolute_path])
    if not errors:
        return None
    said = list(dict.fromkeys(_said(error, tool) for error in errors))
    more = f"; and {len(said) - _SHOWN_ERRORS} more" if len(said) > _SHOWN_ERRORS else ""
    message = f"{tool.name}: {'; '.join(said[:_SHOWN_ERRORS])}{more}."
    return Problem("invalid_arguments", message, _pointer(errors[0]), span)


def unknown_tool(name: str, names: Mapping[str, Any], span: Span | None) -> Problem:
    """The problem of a name that no tool bears."""
    near = get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    known = ", ".join(names) or "none"
    return Problem("unknown_tool", f"There is no tool {name[:80]!r}.{hint} The tools are: {known}.", "", span)


def not_an_object(name: str, arguments: Any, span: Span | None) -> Problem:
    """The problem of arguments that are no JSON object."""
    kinds = {str: "a string", list: "an array", bool: "true or false", int: "a number", float: "a number"}
    got = "nothing" if arguments is None else kinds.get(type(arguments), "something else")
    message = f"{name}: the arguments must be a JSON object, got {got}. Write {render_call(name, {'NAME': 'VALUE'})}."
    return Problem("invalid_arguments", message, "", span)


def _errors(tool: Described, arguments: Mapping[str, Any]) -> Iterator[ValidationError]:
    try:
        yield from validator_of(tool).iter_errors(arguments)
    except (Unresolvable, re.error, RecursionError) as error:
        why = "it refers to itself without end" if isinstance(error, RecursionError) else str(error)
        raise SchemaError(f"the parameters of {tool.name!r} cannot be used as a schema: {why}") from error


def _said(error: ValidationError, tool: Described) -> str:
    where = _pointer(error)
    shown = f"argument {where[1:]}" if where else "the arguments"
    rule, wanted = str(error.validator), _wanted(error)
    if rule == "required":
        return _missing(error, where)
    if rule == "additionalProperties" and isinstance(error.instance, Mapping) and wanted is False:
        return _unknown(error, where, tool)
    got = f"got {_short(error.instance)}"
    if rule == "enum":
        return f"{shown} must be one of: {_listed(wanted)}; {got}"
    if rule == "const":
        return f"{shown} must be {compact_json(wanted)}; {got}"
    if rule == "type":
        return f"{shown} must be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}; {got}"
    if rule in ("anyOf", "oneOf"):
        return f"{shown} must fit {'one' if rule == 'oneOf' else 'any'} of: {_branches(wanted)}; {got}"
    if rule == "format":
        return f"{shown} must be a {wanted}; {got}"
    return f"{shown}: {error.message[:_SHOWN_TEXT]}"


def _wanted(error: ValidationError) -> Any:
    """What the keyword says that was not met."""
    return error.validator_value


def _given(error: ValidationError) -> Any:
    """The value that does not fit."""
    return error.instance


def _missing(error: ValidationError, where: str) -> str:
    names = [name for name in _wanted(error) if name not in _given(error)]
    what = "arguments" if len(names) > 1 else "argument"
    return f"missing required {what} {', '.join(names)}{f' of {where[1:]}' if where else ''}"


def _unknown(error: ValidationError, where: str, tool: Described) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    known = schema.get("properties", {})
    names = [name for name in _given(error) if name not in known]
    hint = (
        " (put the arguments directly into the object)"
        if not where and {"properties", "parameters", tool.name} & {*names}
        else ""
    )
    allowed = f"allowed are: {', '.join(known)}" if known else "it takes none"
    what = "arguments" if len(names) > 1 else "argument"
    return f"unknown {what} {', '.join(names)}{f' of {where[1:]}' if where else ''}{hint}; {allowed}"


def _pointer(error: ValidationError) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path)


def _listed(values: list[Any]) -> str:
    shown = ", ".join(_short(value) for value in values[:_SHOWN_VALUES])
    return f"{shown}, and {len(values) - _SHOWN_VALUES} more" if len(values) > _SHOWN_VALUES else shown


def _branches(branches: list[Any]) -> str:
    named = [
        str(b.get("type", b.get("title", compact_json(b)))) if isinstance(b, Mapping) else str(b) for b in branches
    ]
    return " or ".join(_short_text(name) for name in named[:_SHOWN_VALUES])


def _short(value: Any) -> str:
    return _short_text(compact_json(value))


def _short_text(text: str) -> str:
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
