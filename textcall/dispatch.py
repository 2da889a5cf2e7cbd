"""One call to one result, whatever happens: an unknown tool, an exception, a hang, a value that is no JSON, a flood.

A call is started and its result is waited for, in two steps, so that several may run beside one another.
"""

from __future__ import annotations

import contextvars
import copy
import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from textcall.messages import ToolCall, ToolResult
from textcall.result_text import LIMIT, cut, error_text, result_text
from textcall.tools import Tool, Toolset

TIMEOUT = 60.0  # seconds, where the tool says nothing
TICK = 0.2  # seconds between two looks at whether the waiting shall go on
_LONGEST = 10**8  # seconds: what the clocks of all platforms can wait for

Waiting = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a tool gave. error: "" or the kind of failure. trace: where an exception came from. stop: ends the run."""

    content: str
    error: str = ""
    trace: str = ""
    stop: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A call on its way."""

    call: ToolCall
    limit: int
    _started: float
    _timeout: float
    _answers: queue.SimpleQueue[_Outcome]

    def result(self, waiting: Waiting = lambda _seconds: None) -> ToolResult:
        """Wait for the result. Raises KeyboardInterrupt and SystemExit where the tool did, and what `waiting` raises.

        waiting: called a few times a second with the seconds since the start. A tool that hangs, or that nobody waits
        for any more, is left behind in its thread.
        """
        outcome = self._outcome(waiting)
        if outcome.stop is not None:
            raise outcome.stop
        return ToolResult(
            call_id=self.call.id,
            name=self.call.name,
            content=cut(outcome.content, self.limit),
            error=outcome.error,
            seconds=time.perf_counter() - self._started,
            traceback=outcome.trace,
        )

    def _outcome(self, waiting: Waiting) -> _Outcome:
        while (left := self._started + self._timeout - time.perf_counter()) > 0:
            try:
                return self._answers.get(timeout=min(TICK, left))
            except queue.Empty:
                waiting(time.perf_counter() - self._started)
        try:
            return self._answers.get_nowait()
        except queue.Empty:
            return _failure("timeout", f"{self.call.name} gave no result within {self._timeout:g} seconds")


def dispatch(call: ToolCall, tools: Toolset, *, timeout: float = TIMEOUT, limit: int = LIMIT) -> ToolResult:
    """Run one call and wait for its result: see `start` and `Running.result`."""
    return start(call, tools, timeout=timeout, limit=limit).result()


def start(
    call: ToolCall, tools: Toolset, *, timeout: float = TIMEOUT, longest: float = _LONGEST, limit: int = LIMIT
) -> Running:
    """Begin one call. Never raises for what the tool does; Ctrl-C passes through.

    timeout: seconds, where the tool has none of its own. longest: seconds that no tool may exceed. limit: characters of
    the result; the middle of a longer one is left out, and says how much. The tool gets a copy of the arguments: what
    it does to them does not show in the conversation.
    """
    tool = tools.get(call.name)
    seconds = min(timeout if tool is None or tool.timeout is None else tool.timeout, max(longest, 0.0), _LONGEST)
    running = Running(call, limit, time.perf_counter(), seconds, queue.SimpleQueue())
    if tool is None:
        known = ", ".join(tools.names) or "none"
        running._answers.put(_failure("unknown_tool", f"there is no tool {call.name!r}; the tools are: {known}"))
    elif tool.function is None:
        message = f"the tool {call.name!r} has no function here: only the caller can run it"
        running._answers.put(_failure("no_function", message))
    else:
        _begin(tool, call.arguments, running._answers)
    return running


def refused(call: ToolCall, kind: str, why: str) -> ToolResult:
    """The result of a call that is not run."""
    return ToolResult(call.id, call.name, error_text(f"{call.name} was not run: {why}"), kind)


def _begin(tool: Tool, arguments: Mapping[str, Any], answers: queue.SimpleQueue[_Outcome]) -> None:
    """Run the tool in a thread of its own, so that one that hangs holds nobody up."""
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: answers.put(context.run(_outcome, tool, arguments)), name=f"tool {tool.name}", daemon=True
    )
    try:
        thread.start()
    except RuntimeError as error:  # the system gives no more threads
        answers.put(_failure("exception", _said(error)))


def _outcome(tool: Tool, arguments: Mapping[str, Any]) -> _Outcome:
    """Never raises: nobody would hear it in this thread, and the call would have no result but a timeout."""
    try:
        value = tool.call(copy.deepcopy(dict(arguments)))
    except BaseException as error:  # noqa: BLE001  whatever a tool raises is its result, but for what ends a program
        return _failure("exception", _said(error), trace=_traceback(error), stop=_stop(error))
    try:
        return _Outcome(result_text(value))
    except BaseException as error:  # noqa: BLE001  a value may have code of its own that runs now
        message = f"{tool.name} gave a {type(value).__name__} that is no JSON: {_said(error)}"
        return _failure("bad_result", message, trace=_traceback(error), stop=_stop(error))


def _stop(error: BaseException) -> BaseException | None:
    """The error where it is meant for the whole program, alone or within a group."""
    ends = (KeyboardInterrupt, SystemExit)
    inside = isinstance(error, BaseExceptionGroup) and error.subgroup(ends) is not None
    if inside:
        return KeyboardInterrupt()
    return error if isinstance(error, ends) else None


def _said(error: BaseException) -> str:
    """Type and message; an error may have no message, or fail to give it."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  its `__str__` is the tool's code too
        text = ""
    return f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__


def _traceback(error: BaseException) -> str:
    """Where the error comes from, for the trace; the model does not see it."""
    try:
        return "".join(traceback.format_exception(error))[-20_000:]
    except Exception:  # noqa: BLE001  an error whose own code fails
        return ""


def _failure(kind: str, message: str, *, trace: str = "", stop: BaseException | None = None) -> _Outcome:
    return _Outcome(error_text(message), kind, trace, stop)
