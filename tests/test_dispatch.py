from __future__ import annotations

import asyncio
import contextvars
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, computed_field

from textcall.dispatch import dispatch, start
from textcall.errors import Cancelled, ToolsError
from textcall.messages import ToolCall, ToolResult
from textcall.result_text import LIMIT, MESSAGE_LIMIT, cut, cut_to_tokens
from textcall.tools import Tool, Toolset, tool


def run(function: Callable[..., Any], arguments: dict[str, Any] | None = None, **options: Any) -> ToolResult:
    """The result of one call of a plain function."""
    tools = Toolset([Tool(name="t", function=function)])
    return dispatch(ToolCall("call_1", "t", arguments or {}), tools, **options)


def error_of(result: ToolResult) -> str:
    (key,) = said = json.loads(result.content)
    assert key == "error"
    assert isinstance(said[key], str)
    return str(said[key])


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: float = 0.5


@dataclass
class Pair:
    a: int
    b: Colour


VALUES: list[tuple[Any, str]] = [
    ("as it is", "as it is"),
    ('{"a": 1}', '{"a": 1}'),
    ("", ""),
    (None, "null"),
    (True, "true"),
    (8760, "8760"),
    (0.3, "0.3"),
    (["下雨", 1], '["下雨",1]'),
    ((1, 2), "[1,2]"),
    ({3}, "[3]"),
    ({"a": {"b": None}}, '{"a":{"b":null}}'),
    ({1: "x"}, '{"1":"x"}'),
    (Point(x=1), '{"x":1,"y":0.5}'),
    (Pair(1, Colour.RED), '{"a":1,"b":"red"}'),
    ([Colour.RED], '["red"]'),
    (date(2026, 3, 4), "2026-03-04"),
    ({"at": datetime(2026, 3, 4, 5, 6, 7)}, '{"at":"2026-03-04T05:06:07"}'),
    (timedelta(hours=1), "PT1H"),
    (Decimal("1.10"), "1.10"),
    (PurePosixPath("a/b"), "a/b"),
    ([ValueError("a text of its own")], '["a text of its own"]'),
    (np.int64(4), "4"),
    ({"mean": np.float32(1.5), "all": np.array([[1, 2]])}, '{"mean":1.5,"all":[[1,2]]}'),
    ("a\ud800b", "a?b"),
    (["\udc00"], '["?"]'),
]


@pytest.mark.parametrize(("value", "content"), VALUES)
def test_what_a_tool_returns(value: Any, content: str) -> None:
    result = run(lambda: value)
    assert (result.content, result.error) == (content, "")
    assert result.ok


def endless() -> Iterator[int]:
    while True:
        yield 1


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


class Sly(BaseModel):
    """A value whose own code fails while it is read."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        raise KeyError("sly")


NO_JSON: list[tuple[Any, str]] = [
    (float("nan"), "float"),
    ([float("inf")], "list"),
    (b"bytes", "decode them"),
    (bytearray(b"bytes"), "decode them"),
    ({"a": b"\xff"}, "utf-8"),
    ({"a": [b"ok"]}, "decode them"),
    (object(), "no JSON for object"),
    (int, "no JSON for type"),
    (np.int64, "no JSON for type"),
    (endless(), "return a list"),
    (CIRCLE, "Circular"),
    (10**5000, "digits"),
    (np.array([float("nan")]), "ndarray"),
]


@pytest.mark.parametrize(("value", "said"), NO_JSON, ids=lambda value: str(type(value).__name__))
def test_what_is_no_json_is_refused_in_words(value: Any, said: str) -> None:
    result = run(lambda: value)
    assert result.error == "bad_result"
    assert said in error_of(result)
    assert error_of(result).startswith("t gave a ")


def test_a_value_whose_own_code_fails_is_refused() -> None:
    started = time.perf_counter()
    result = run(Sly, timeout=5)
    assert (result.error, "sly" in error_of(result)) == ("bad_result", True)
    assert time.perf_counter() - started < 2


class Mute(Exception):
    def __str__(self) -> NoReturn:
        raise RuntimeError("no message either")


EXCEPTIONS: list[tuple[BaseException, str]] = [
    (ValueError("division by zero"), "ValueError: division by zero"),
    (ValueError("two\n  lines"), "ValueError: two lines"),
    (ValueError(), "ValueError"),
    (KeyError("k"), "KeyError: 'k'"),
    (ValueError("\ud800 下"), "ValueError: ? 下"),
    (Mute(), "Mute"),
    (BaseExceptionGroup("two", [ValueError("x")]), "ExceptionGroup: two (1 sub-exception)"),
    (StopIteration(1), "StopIteration: 1"),
    (MemoryError(), "MemoryError"),
    (asyncio.CancelledError(), "CancelledError"),
]


@pytest.mark.parametrize(("error", "said"), EXCEPTIONS, ids=lambda value: type(value).__name__)
def test_what_a_tool_raises_is_its_result(error: BaseException, said: str) -> None:
    def fail() -> None:
        raise error

    started = time.perf_counter()
    result = run(fail, timeout=5)
    assert (result.error, error_of(result)) == ("exception", said)
    assert time.perf_counter() - started < 2


ENDS_THE_PROGRAM: list[tuple[BaseException, type[BaseException]]] = [
    (KeyboardInterrupt(), KeyboardInterrupt),
    (SystemExit(3), SystemExit),
    (BaseExceptionGroup("both", [ValueError(), KeyboardInterrupt()]), KeyboardInterrupt),
    (BaseExceptionGroup("deep", [BaseExceptionGroup("in", [SystemExit(1)])]), KeyboardInterrupt),
]


@pytest.mark.parametrize(("error", "raised"), ENDS_THE_PROGRAM, ids=repr)
def test_what_ends_a_program_is_no_result(error: BaseException, raised: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(raised):
        run(fail, timeout=5)


def test_the_traceback_is_for_the_trace_alone() -> None:
    def fail() -> None:
        raise ValueError("deep inside")

    result = run(fail)
    assert "in fail" in result.traceback
    assert "Traceback" not in result.content
    assert run(lambda: 1).traceback == ""


def test_calls_that_are_started_together_run_beside_one_another() -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(name: str) -> str:
        barrier.wait()
        return name

    tools = Toolset([Tool(name="meet", function=meet)])
    running = [start(ToolCall(name, "meet", {"name": name}), tools) for name in "abc"]
    assert [r.result().content for r in running] == ["a", "b", "c"]


def test_whoever_waits_is_told_and_may_give_up() -> None:
    stop = threading.Event()
    told: list[float] = []

    def give_up(seconds: float) -> None:
        told.append(seconds)
        if len(told) == 2:
            raise Cancelled("enough")

    running = start(ToolCall("1", "t", {}), Toolset([Tool(name="t", function=stop.wait)]))
    with pytest.raises(Cancelled):
        running.result(give_up)
    stop.set()
    assert 0 < told[0] < told[1] < 5


@pytest.mark.parametrize("tokens", [60, 100, 1000, 4999])
def test_a_result_is_cut_to_tokens(tokens: int) -> None:
    text = cut_to_tokens("a" + "x" * 5000 + "z", tokens, len)
    assert len(text) <= tokens
    missing = re.search(r"… (\d+) characters left out …", text)
    assert missing is not None
    assert int(missing[1]) == 5002 - len(text.replace(missing[0], "").replace("\n", ""))
    assert (text[0], text[-1]) == ("a", "z")


def test_what_fits_is_not_cut() -> None:
    assert cut_to_tokens("x" * 5000, 5000, len) == "x" * 5000


@given(st.text(st.characters(codec=None)))
def test_any_message_is_one_line_of_json(message: str) -> None:
    def fail() -> None:
        raise ValueError(message)

    content = run(fail).content
    content.encode()
    assert "\n" not in content
    assert error_of(run(fail)).startswith("ValueError")


def test_an_unknown_tool_is_told_the_known_ones() -> None:
    tools = Toolset([Tool(name="a", function=int), Tool(name="b", function=int)])
    result = dispatch(ToolCall("1", "c", {}), tools)
    assert (result.call_id, result.name, result.error) == ("1", "c", "unknown_tool")
    assert error_of(result) == "there is no tool 'c'; the tools are: a, b"
    assert error_of(dispatch(ToolCall("1", "c", {}), Toolset())) == "there is no tool 'c'; the tools are: none"


def test_a_tool_without_a_function() -> None:
    result = dispatch(ToolCall("1", "remote", {}), Toolset([Tool(name="remote")]))
    assert result.error == "no_function"
    assert "no function here" in error_of(result)


def test_arguments_that_do_not_fit_are_an_exception_of_the_call() -> None:
    @tool
    def add(a: int, b: int) -> int:
        return a + b

    result = dispatch(ToolCall("1", "add", {"a": 1, "c": "x"}), Toolset([add]))
    assert error_of(result).startswith("ValueError: the arguments do not fit: b: ")
    assert "c: " in error_of(result)


def test_a_tool_that_hangs_holds_nobody_up() -> None:
    release = threading.Event()
    try:
        started = time.perf_counter()
        result = run(release.wait, timeout=0.05)
        assert time.perf_counter() - started < 2
        assert (result.error, error_of(result)) == ("timeout", "t gave no result within 0.05 seconds")
        assert 0.05 <= result.seconds < 2
    finally:
        release.set()


def test_the_tool_s_own_timeout_goes_before_the_general_one() -> None:
    release = threading.Event()
    try:
        slow = Tool(name="slow", function=release.wait, timeout=0.05)
        result = dispatch(ToolCall("1", "slow", {}), Toolset([slow]), timeout=100)
        assert result.error == "timeout"
    finally:
        release.set()


@pytest.mark.parametrize("timeout", [1e20, float("inf"), 10**30])
def test_no_timeout_is_too_long_to_wait_for(timeout: float) -> None:
    assert run(lambda: 1, timeout=timeout).content == "1"
    forever = Tool(name="t", function=lambda: 1, timeout=timeout)
    assert dispatch(ToolCall("1", "t", {}), Toolset([forever])).content == "1"


def test_where_no_thread_can_start_there_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    result = run(lambda: 1)
    assert (result.error, error_of(result)) == ("exception", "RuntimeError: can't start new thread")


def test_ctrl_c_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(lambda: 1)


@pytest.mark.skipif(os.name == "nt", reason="there os.kill ends the process")
def test_ctrl_c_while_a_tool_runs_passes_through_at_once() -> None:
    release = threading.Event()

    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(20)

    started = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(interrupted, timeout=20)
        assert time.perf_counter() - started < 10
    finally:
        release.set()


def test_async_tools_run_to_their_end() -> None:
    @tool
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    assert dispatch(ToolCall("1", "later", {"n": 1}), Toolset([later])).content == "2"


def test_a_tool_cannot_change_the_conversation() -> None:
    call = ToolCall("1", "t", {"items": [1]})
    tools = Toolset([Tool(name="t", function=lambda items: items.append(2) or items)])
    assert dispatch(call, tools).content == "[1,2]"
    assert call.arguments == {"items": [1]}


def test_the_tool_sees_the_context_of_its_caller() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    token = user.set("somebody")
    try:
        assert run(user.get).content == "somebody"
    finally:
        user.reset(token)


@given(st.text(max_size=300), st.integers(0, 200))
def test_cut_keeps_both_ends_and_says_what_is_missing(text: str, limit: int) -> None:
    short = cut(text, limit)
    if len(text) <= limit:
        assert short == text
        return
    marker = f"\n… {len(text) - limit} characters left out …\n"
    head, found, tail = short.rpartition(marker)
    assert found
    assert len(head) + len(tail) == limit
    assert text.startswith(head)
    assert text.endswith(tail)


def test_a_flood_is_cut() -> None:
    result = run(lambda: "x" * 50_000)
    assert result.ok
    assert LIMIT < len(result.content) < LIMIT + 60
    assert "34000 characters left out" in result.content


def test_an_endless_message_is_cut_and_still_json() -> None:
    def fail() -> None:
        raise ValueError("x" * 100_000)

    said = error_of(run(fail))
    assert said.startswith("ValueError: xxx")
    assert "characters left out" in said
    assert len(said) < MESSAGE_LIMIT + 60


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), True, "5"])
def test_a_timeout_must_be_seconds(timeout: Any) -> None:
    with pytest.raises(ToolsError, match="seconds above 0"):
        Tool(name="t", timeout=timeout)
