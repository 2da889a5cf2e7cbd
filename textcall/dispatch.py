"""One call to one result, whatever happens: an unknown tool, an exception, a hang, a value that is no JSON, a flood."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from textcall.messages import ToolCall, ToolResult, compact_json
from textcall.tools import Tool, Toolset

LIMIT = 16_000  # characters of a result that go to the model
TIMEOUT = 60.0  # seconds, where the tool says nothing


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a tool gave. error: "" or the kind of failure."""

    content: str
    error: str = ""


def dispatch(call: ToolCall, tools: Toolset, *, timeout: float = TIMEOUT, limit: int = LIMIT) -> ToolResult:
    """Run one call. Never raises for what the tool does; Ctrl-C passes through.

    timeout: seconds, where the tool has none of its own; a tool that hangs is left behind in its thread. limit:
    characters of the result; the middle of a longer one is left out, and says how much.
    """
    started = time.perf_counter()
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(tools.names) or "none"
        outcome = _failure("unknown_tool", f"there is no tool {call.name!r}; the tools are: {known}")
    elif tool.function is None:
        outcome = _failure("no_function", f"the tool {call.name!r} has no function here: only the caller can run it")
    else:
        outcome = _run(tool, call.arguments, tool.timeout or timeout)
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
    return f"{text[:head]}\n… {len(text) - limit} characters left out …\n{text[-tail:]}"


def _run(tool: Tool, arguments: Mapping[str, Any], timeout: float) -> _Outcome:
    """Run the tool in a thread of its own, so that one that hangs holds nobody up."""
    answers: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: answers.put(context.run(_outcome, tool, arguments)), name=f"tool {tool.name}", daemon=True
    )
    thread.start()
    try:
        return answers.get(timeout=timeout)
    except queue.Empty:
        return _failure("timeout", f"{tool.name} gave no result within {timeout:g} seconds")


def _outcome(tool: Tool, arguments: Mapping[str, Any]) -> _Outcome:
    try:
        value = tool.call(arguments)
    except BaseException as error:  # noqa: BLE001  whatever a tool raises, SystemExit too, is its result
        return _failure("exception", f"{type(error).__name__}: {error}")
    try:
        return _Outcome(_text(value))
    except (ValueError, TypeError, RecursionError) as error:
        return _failure("bad_result", f"{tool.name} gave a {type(value).__name__} that is no JSON: {error}")


def _failure(kind: str, message: str) -> _Outcome:
    return _Outcome(_clean(compact_json({"error": " ".join(message.split())})), kind)


def _text(value: Any) -> str:
    """Text stays as it is, everything else is compact JSON."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes are no text")
    jsonable = to_jsonable_python(value, inf_nan_mode="constants", bytes_mode="base64")
    return _clean(_strict_json(jsonable))


def _strict_json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _clean(text: str) -> str:
    """Without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
