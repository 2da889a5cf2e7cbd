"""Tools: what a model may call.

    @tool
    def get_weather(city: str, day: Literal["today", "tomorrow"] = "today") -> dict[str, Any]:
        "Weather in a city."

The schema of the arguments comes from the signature, by pydantic; descriptions come from the docstring.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, overload

import pydantic
from jsonschema.exceptions import SchemaError as InvalidSchema
from jsonschema.validators import validator_for
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from textcall.docstring import described
from textcall.errors import SchemaError, ToolsError, UsageError

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    parameters: JSON Schema of the arguments, an object. function: what runs it, None for a tool that only the caller
    can run. dangerous: asks before it runs, where somebody can be asked. parallel_safe: may run beside others.
    volatile: the same call may give another result, so it is never answered from memory. timeout: seconds.
    Raises ToolsError for an unusable name, SchemaError for parameters that are no JSON Schema of an object.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    function: Callable[..., Any] | None = None
    dangerous: bool = False
    parallel_safe: bool = False
    volatile: bool = False
    timeout: float | None = None
    _arguments: type[pydantic.BaseModel] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ToolsError(f"{self.name!r} is no name for a tool: letters, digits and _ . : / - only, 128 at most")
        _check_parameters(self.name, self.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        if self.function is None:
            raise ToolsError(f"the tool {self.name!r} has no function")
        return self.function(*args, **kwargs)

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """Run the tool with arguments as they come from JSON, converted to the types of the signature.

        Raises ToolsError where there is no function, ValueError where the arguments do not fit, and whatever the
        function raises. An async function is run to its end.
        """
        values: Mapping[str, Any] = arguments
        if self._arguments is not None:
            values = _converted(self._arguments, arguments)
        result = self(**values)
        return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result

    def to_wire(self) -> dict[str, Any]:
        """The tool as OpenAI's chat-completions API writes it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    @classmethod
    def from_wire(cls, wire: Any) -> Tool:
        """A tool from OpenAI's form, or from the bare `{"name", "description", "parameters"}`. Raises ToolsError."""
        inner = wire.get("function", wire) if isinstance(wire, Mapping) else None
        if not isinstance(inner, Mapping) or "name" not in inner:
            raise ToolsError(f"not the description of a tool: {str(wire)[:120]}")
        parameters = inner.get("parameters") or {"type": "object", "properties": {}}
        return cls(name=inner["name"], description=inner.get("description") or "", parameters=parameters)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(*, name: str | None = None, description: str | None = None, **options: Any) -> Callable[..., Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Tool | Callable[..., Tool]:
    """Make a Tool of a function, as a decorator with or without arguments.

    options: those of `Tool`: dangerous, parallel_safe, volatile, timeout. Raises ToolsError where the signature cannot
    be described as JSON.
    """

    def make(function: Callable[..., Any]) -> Tool:
        known = name or getattr(function, "__name__", type(function).__name__)
        summary, notes = described(function.__doc__)
        model = _arguments_model(known, function, notes)
        parameters = _clean(model.model_json_schema(schema_generator=_Untitled, by_alias=True))
        return Tool(
            name=known,
            description=summary if description is None else description,
            parameters=parameters,
            function=function,
            _arguments=model,
            **options,
        )

    return make if function is None else make(function)


class Toolset(Sequence[Tool]):
    """Tools in order, each name once. Raises ToolsError for a name that comes twice."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in self._tools}
        if len(self._by_name) != len(self._tools):
            names = [tool.name for tool in self._tools]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ToolsError(f"more than one tool is called {', '.join(map(repr, twice))}")

    @classmethod
    def of(cls, things: Iterable[Any]) -> Toolset:
        """Tools from Tools, functions, and OpenAI's descriptions."""
        return cls(_tool_of(thing) for thing in things)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._by_name)

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._by_name.get(name)

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool]: ...
    def __getitem__(self, index: int | slice) -> Tool | Sequence[Tool]:
        return self._tools[index]

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)

    def __contains__(self, item: object) -> bool:
        return item in self._by_name or item in self._tools

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self.names)})"


Mode: TypeAlias = Literal["auto", "required", "none"]


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether a turn must call. name: the only tool that it may call (mode is "required" then)."""

    mode: Mode = "auto"
    name: str | None = None

    @classmethod
    def parse(cls, value: Any, tools: Toolset) -> ToolChoice:
        """From "auto", "required", "none", a tool's name, or OpenAI's `{"type":"function","function":{"name":…}}`.

        A tool called "auto", "required" or "none" can only be named in OpenAI's form. Raises UsageError.
        """
        if isinstance(value, ToolChoice):
            return value
        if isinstance(value, Mapping):
            inner = value.get("function", value)
            value = inner.get("name") if isinstance(inner, Mapping) else None
        elif value in ("auto", "required", "none"):
            choice = cls(value)
            if value == "required" and not tools:
                raise UsageError("tool_choice 'required' needs tools, and there are none")
            return choice
        if not isinstance(value, str) or tools.get(value) is None:
            known = ", ".join(tools.names) or "none"
            raise UsageError(
                f"tool_choice: there is no tool {value!r}; the tools are: {known} (or auto, required, none)"
            )
        return cls("required", value)


def _tool_of(thing: Any) -> Tool:
    if isinstance(thing, Tool):
        return thing
    if isinstance(thing, Mapping):
        return Tool.from_wire(thing)
    if callable(thing):
        return tool(thing)
    raise ToolsError(f"neither a tool nor a function: {thing!r}")


class _Untitled(GenerateJsonSchema):
    """Without the titles that pydantic makes of names: they cost tokens and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        return {key: value for key, value in super().model_schema(schema).items() if key != "title"}


def _arguments_model(name: str, function: Callable[..., Any], notes: Mapping[str, str]) -> type[pydantic.BaseModel]:
    """A pydantic model of the function's parameters."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        raise ToolsError(f"the signature of {name!r} cannot be read: {error}") from error
    fields: dict[str, Any] = {}
    extra: Literal["allow", "forbid"] = "forbid"
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ToolsError(f"the tool {name!r} takes {parameter} by position; JSON arguments have names")
        fields[_safe(parameter.name)] = _field(parameter, notes.get(parameter.name))
    config = pydantic.ConfigDict(extra=extra, arbitrary_types_allowed=False, validate_by_alias=True)
    try:
        return pydantic.create_model(f"{name}_arguments", __config__=config, **fields)
    except (pydantic.PydanticUserError, pydantic.errors.PydanticSchemaGenerationError, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise ToolsError(f"the parameters of {name!r} cannot be described as JSON: {first}") from error


def _safe(name: str) -> str:
    """pydantic keeps names with a leading underscore and some words for itself: the alias bears the real name."""
    return f"p_{name.lstrip('_')}" if name.startswith("_") else f"p_{name}"


def _field(parameter: inspect.Parameter, note: str | None) -> tuple[Any, FieldInfo]:
    annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
    default: Any = ... if parameter.default is parameter.empty else parameter.default
    if isinstance(default, FieldInfo):
        return annotation, default
    options: dict[str, Any] = {"alias": parameter.name}
    if note and not _has_description(annotation):
        options["description"] = note
    return annotation, pydantic.Field(default, **options)


def _has_description(annotation: Any) -> bool:
    return any(isinstance(part, FieldInfo) and part.description for part in getattr(annotation, "__metadata__", ()))


def _clean(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what says nothing: the model's own description, a default of null."""
    schema.pop("description", None)
    for sub in schema.get("properties", {}).values():
        if isinstance(sub, dict) and sub.get("default", ...) is None:
            del sub["default"]
    schema.setdefault("properties", {})
    return schema


def _converted(model: type[pydantic.BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        made = model.model_validate(dict(arguments))
    except pydantic.ValidationError as error:
        wrong = "; ".join(f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
        raise ValueError(f"the arguments do not fit: {wrong}") from None
    given = {info.alias or key: getattr(made, key) for key, info in model.model_fields.items()}
    return {**given, **(made.model_extra or {})}


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _check_parameters(name: str, parameters: Any) -> None:
    if not isinstance(parameters, Mapping):
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema but {type(parameters).__name__}")
    try:
        validator_for(parameters).check_schema(parameters)
    except InvalidSchema as error:
        path = "/" + "/".join(str(part) for part in error.absolute_path)
        raise SchemaError(f"the parameters of {name!r} are no valid JSON Schema at {path}: {error.message}") from error
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise SchemaError(f"the parameters of {name!r} must describe an object, not {kind!r}")
