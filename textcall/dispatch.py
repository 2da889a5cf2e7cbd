"""One call to one result, whatever happens: an unknown tool, an exception, a hang, a value that is no JSON, a flood."""

from __future__ import annotations

import contextvars
import copy
import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pydantic_core import to_jsonable_python

from textcall.messages import ToolCall, ToolResult, compact_json
from textcall.tools import Tool, Toolset

LIMIT = 16_000  # characters of a result that go to the model
MESSAGE_LIMIT = 2_000  # characters of an error's message
TIMEOUT = 60.0  # seconds, where the tool says nothing
_LONGEST = 10**8  # seconds: what the clocks of all platforms can wait for


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a tool gave. error: "" or the kind of failure."""

    content: str
    error: str = ""


def dispatch(call: ToolCall, tools: Toolset, *, timeout: float = TIMEOUT, limit: int = LIMIT) -> ToolResult:
    """Run one call. Never raises for what the tool does; Ctrl-C passes through.

    timeout: seconds, where the tool has none of its own; a tool that hangs is left behind in its thread. limit:
    characters of the result; the middle of a longer one is left out, and says how much. The tool gets a copy of the
    arguments: what it does to them does not show in the conversation.
    """
    started = time.perf_counter()
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(tools.names) or "none"
        outcome = _failure("unknown_tool", f"there is no tool {call.name!r}; the tools are: {known}")
    elif tool.function is None:
        outcome = _failure("no_function", f"the tool {call.name!r} has no function here: only the caller can run it")
    else:
        outcome = _run(tool, call.arguments, timeout if tool.timeout is None else tool.timeout)
    return ToolResult(
        call_id=call.id,
        name=call.name,
        content=cut(outcome.content, limit),
        error=outcome.error,
        seconds=time.perf_counter() - started,
    )


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning and end with a line between them that says how many characters are missing."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit} characters left out …\n{text[len(text) - tail :]}"


def _run(tool: Tool, arguments: Mapping[str, Any], timeout: float) -> _Outcome:
    """Run the tool in a thread of its own, so that one that hangs holds nobody up."""
    answers: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: answers.put(context.run(_outcome, tool, arguments)), name=f"tool {tool.name}", daemon=True
    )
    try:
        thread.start()
    except RuntimeError as error:  # the system gives no more threads
        return _failure("exception", _said(error))
    try:
        return answers.get(timeout=min(timeout, _LONGEST))
    except queue.Empty:
        return _failure("timeout", f"{tool.name} gave no result within {timeout:g} seconds")


def _outcome(tool: Tool, arguments: Mapping[str, Any]) -> _Outcome:
    """Never raises: nobody would hear it in this thread, and the call would have no result but a timeout."""
    try:
        value = tool.call(copy.deepcopy(dict(arguments)))
    except BaseException as error:  # noqa: BLE001  whatever a tool raises, SystemExit too, is its result
        return _failure("exception", _said(error))
    try:
        return _Outcome(_text(value))
    except BaseException as error:  # noqa: BLE001  a value may have code of its own that runs now
        return _failure("bad_result", f"{tool.name} gave a {type(value).__name__} that is no JSON: {_said(error)}")


def _said(error: BaseException) -> str:
    """Type and message; an error may have no message, or fail to give it."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  its `__str__` is the tool's code too
        text = ""
    return f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__


def _failure(kind: str, message: str) -> _Outcome:
    return _Outcome(_clean(compact_json({"error": cut(" ".join(message.split()), MESSAGE_LIMIT)})), kind)


def _text(value: Any) -> str:
    """Text stays as it is, everything else is compact JSON. Raises where it cannot be written without a guess."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, Iterator):
        raise TypeError("it may never end: return a list")
    jsonable = to_jsonable_python(value, inf_nan_mode="constants", fallback=_plain)
    if _holds_bytes(value):
        raise TypeError("bytes are no text: decode them, or write them to a file and give its name")
    return _clean(json.dumps(jsonable, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _plain(value: Any) -> Any:
    """The numbers and arrays of numpy and its kin as Python's own, and any path as text."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, type) or not callable(getattr(value, "tolist", None)):
        raise TypeError(f"there is no JSON for {type(value).__name__}")
    return value.tolist()


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_bytes(inner) for inner in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds_bytes(inner) for inner in value)
    return isinstance(value, bytes | bytearray | memoryview)


def _clean(text: str) -> str:
    """Without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
