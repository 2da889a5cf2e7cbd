"""What a function takes, by pydantic: a model of its parameters, their JSON Schema, and arguments made to fit.

Annotations may be postponed (strings), `Annotated` with pydantic's `Field`, enums, dataclasses and models; a parameter
without one takes any JSON value.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_type_hints

import pydantic
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from textcall.errors import ToolsError


def arguments_model(
    name: str, function: Callable[..., Any], notes: Mapping[str, str]
) -> tuple[type[pydantic.BaseModel], dict[str, Any]]:
    """A pydantic model of the function's parameters, and its JSON Schema (an object, in the order of the signature).

    name: the tool's, for messages. notes: descriptions of parameters that have none in their annotation. Raises
    ToolsError for parameters that cannot be written as JSON.
    """
    try:
        signature = inspect.signature(function)
        hints = _hints(function, signature)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ToolsError(f"the signature of {name!r} cannot be read: {why}") from error
    fields: dict[str, Any] = {}
    extra: Literal["allow", "forbid"] = "forbid"
    for number, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ToolsError(f"the tool {name!r} takes {parameter} by position; JSON arguments have names")
        # pydantic keeps names with a leading underscore and some words for itself: the alias bears the real name.
        fields[f"p{number}"] = _field(parameter, hints.get(parameter.name, Any), notes.get(parameter.name))
    config = pydantic.ConfigDict(extra=extra, arbitrary_types_allowed=False)
    try:
        model = pydantic.create_model(f"{name}_arguments", __config__=config, **fields)
        return model, _clean(model.model_json_schema(schema_generator=_Generator, by_alias=True))
    except Exception as error:  # the types may have code of their own, and pydantic many ways to say no
        why = " ".join(str(error).partition("For further information")[0].split()) or type(error).__name__
        raise ToolsError(f"the parameters of {name!r} cannot be described as JSON: {why}") from error


def converted(model: type[pydantic.BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as they come from JSON, as values of the annotated types, by parameter, defaults filled in.

    Raises ValueError, in one line that names each argument that does not fit.
    """
    try:
        made = model.model_validate(dict(arguments))
    except pydantic.ValidationError as error:
        wrong = "; ".join(f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
        raise ValueError(f"the arguments do not fit: {wrong}") from None
    given = {info.alias or key: getattr(made, key) for key, info in model.model_fields.items()}
    return {**given, **(made.model_extra or {})}


def docstring_of(function: Callable[..., Any]) -> str | None:
    """The function's own docstring; of an object that can be called that of `__call__`, else of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return inspect.getdoc(function)
    return inspect.getdoc(_plain(function)) or inspect.getdoc(type(function))


class _Generator(GenerateJsonSchema):
    # A default that is no JSON is the function's own business: it is left out without a warning.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _hints(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """The annotations of the parameters, evaluated; that of the result is not, for it may name what is not imported."""

    def stand_in() -> None: ...

    stand_in.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        if parameter.annotation is not parameter.empty
    }
    names = getattr(inspect.unwrap(_plain(function)), "__globals__", {})
    return get_type_hints(stand_in, globalns=names, include_extras=True)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function below partial applications, classes and objects that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    owner, attribute = (function, "__init__") if isinstance(function, type) else (type(function), "__call__")
    plain: Callable[..., Any] = getattr(owner, attribute)
    return plain


def _field(parameter: inspect.Parameter, annotation: Any, note: str | None) -> tuple[Any, FieldInfo]:
    default: Any = ... if parameter.default is parameter.empty else parameter.default
    if isinstance(default, FieldInfo):  # x: int = Field(3, ge=1)
        annotation, default = Annotated[annotation, default], ...
    options: dict[str, Any] = {"alias": parameter.name, "validation_alias": parameter.name}
    if note and not _has_description(annotation):
        options["description"] = note
    return annotation, pydantic.Field(default, **options)


def _has_description(annotation: Any) -> bool:
    return any(isinstance(part, FieldInfo) and part.description for part in getattr(annotation, "__metadata__", ()))


def _clean(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what costs tokens and says nothing: titles made of names, defaults of null or of no JSON."""
    schema.pop("description", None)
    for owner in (schema, *schema.get("$defs", {}).values()):
        owner.pop("title", None)
        for sub in owner.get("properties", {}).values():
            if isinstance(sub, dict) and "default" in sub and not _worth_saying(sub["default"]):
                del sub["default"]
    schema.setdefault("properties", {})
    return schema


def _worth_saying(default: Any) -> bool:
    return default is not None and not (isinstance(default, float) and not math.isfinite(default))
