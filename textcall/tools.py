"""Tools: what a model may call.

    @tool
    def get_weather(city: str, day: Literal["today", "tomorrow"] = "today") -> dict[str, Any]:
        "Weather in a city."

The schema of the arguments comes from the signature, by pydantic; descriptions come from the docstring.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, overload

import pydantic
from jsonschema.exceptions import SchemaError as InvalidSchema
from jsonschema.validators import Draft202012Validator, validator_for

from textcall.docstring import described
from textcall.errors import SchemaError, ToolsError, UsageError
from textcall.signature import arguments_model, converted, docstring_of

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    parameters: JSON Schema of the arguments, an object; empty or True is one without properties. function: what runs
    it, None for a tool that only the caller can run. dangerous: asks before it runs, where somebody can be asked.
    parallel_safe: may run beside others. volatile: the same call may give another result, so it is never answered from
    memory. timeout: seconds.
    Raises ToolsError for an unusable name, description or timeout, SchemaError for parameters that are no JSON Schema
    of an object.
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
        _check_fields(self.name, self.description, self.timeout)
        object.__setattr__(self, "parameters", _object_schema(self.name, self.parameters))

    def __hash__(self) -> int:
        return hash(self.name)  # parameters are a dict, which has none

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        if self.function is None:
            raise ToolsError(f"the tool {self.name!r} has no function")
        return self.function(*args, **kwargs)

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """Run the tool with arguments as they come from JSON, converted to the types of the signature.

        Raises ToolsError where there is no function, ValueError where the arguments do not fit, and whatever the
        function raises. An async function is run to its end.
        """
        if not isinstance(arguments, Mapping):
            raise ValueError(f"the arguments must be an object, not {type(arguments).__name__}")
        values = _bound(self, arguments) if self._arguments is None else converted(self._arguments, arguments)
        result = self(**values)
        return _finished(result) if inspect.isawaitable(result) else result

    def to_wire(self) -> dict[str, Any]:
        """The tool as OpenAI's chat-completions API writes it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    @classmethod
    def from_wire(cls, wire: Any) -> Tool:
        """A tool from OpenAI's form, or from the bare `{"name", "description", "parameters"}`.

        The parameters may be called `input_schema` (Anthropic's form) or `inputSchema` (MCP's). Raises ToolsError,
        SchemaError.
        """
        inner = wire.get("function", wire) if isinstance(wire, Mapping) else None
        if not isinstance(inner, Mapping) or "name" not in inner:
            raise ToolsError(f"not the description of a tool: {str(wire)[:120]}")
        given = (inner.get(key) for key in ("parameters", "input_schema", "inputSchema"))
        parameters: Any = next((schema for schema in given if schema is not None), {})
        description = inner.get("description")
        return cls(name=inner["name"], description="" if description is None else description, parameters=parameters)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    dangerous: bool = False,
    parallel_safe: bool = False,
    volatile: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    dangerous: bool = False,
    parallel_safe: bool = False,
    volatile: bool = False,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a Tool of a function, as a decorator with or without arguments: those of `Tool`.

    name, description: instead of the function's own name and the first paragraph of its docstring. Raises ToolsError
    where the signature cannot be described as JSON.
    """

    def make(function: Callable[..., Any]) -> Tool:
        _check_function(function)
        known = name or str(getattr(function, "__name__", type(function).__name__))
        summary, notes = described(docstring_of(function))
        model, parameters = arguments_model(known, function, notes)
        return Tool(
            name=known,
            description=summary if description is None else description,
            parameters=parameters,
            function=function,
            dangerous=dangerous,
            parallel_safe=parallel_safe,
            volatile=volatile,
            timeout=timeout,
            _arguments=model,
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
        return item in self._by_name if isinstance(item, str) else item in self._tools

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


def _bound(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as they are, where the function takes them at all."""
    if tool.function is not None:
        try:
            signature = inspect.signature(tool.function)
        except ValueError:  # some built-in functions have none
            return arguments
        try:
            signature.bind(**arguments)
        except TypeError as error:
            raise ValueError(f"the arguments do not fit: {error}") from None
    return arguments


def _finished(awaitable: Awaitable[Any]) -> Any:
    """What an async function gives, also where a loop is running already: then in a thread with a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(awaitable))
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(context.run, lambda: asyncio.run(_awaited(awaitable))).result()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _check_fields(name: Any, description: Any, timeout: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolsError(f"{name!r} is no name for a tool: letters, digits and _ . : / - only, 128 at most")
    if not isinstance(description, str):
        raise ToolsError(f"the description of {name!r} must be text, not {type(description).__name__}")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout > 0):
        raise ToolsError(f"the timeout of {name!r} must be seconds above 0, not {timeout!r}")


def _check_function(function: Any) -> None:
    if isinstance(function, Tool) or not callable(function):
        what = f"the tool {function.name!r}" if isinstance(function, Tool) else repr(function)
        raise ToolsError(f"@tool is for functions, not for {what}; options have names: @tool(name=…)")


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _object_schema(name: str, parameters: Any) -> Mapping[str, Any]:
    """The parameters, where they are the schema of an object."""
    if parameters is True or parameters == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema but {type(parameters).__name__}")
    if not isinstance(parameters.get("$schema", ""), str):
        raise SchemaError(
            f"the parameters of {name!r} are no valid JSON Schema at /$schema: the draft's name is no text"
        )
    try:
        validator_for(parameters, default=Draft202012Validator).check_schema(dict(parameters))
        json.dumps(parameters, allow_nan=False)
    except InvalidSchema as error:
        path = "/" + "/".join(str(part) for part in error.absolute_path)
        raise SchemaError(f"the parameters of {name!r} are no valid JSON Schema at {path}: {error.message}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the parameters of {name!r} are no JSON Schema: {_one_line(error)}") from error
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise SchemaError(f"the parameters of {name!r} must describe an object, not {kind!r}")
    return parameters
