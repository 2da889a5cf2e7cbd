"""Calls that repeat: what is answered from memory, what is run again, and how a circle is counted."""

from __future__ import annotations

from typing import Any

import pytest

from textcall.messages import ToolCall, ToolResult
from textcall.repeats import NOTE, CallMemory, call_key
from textcall.tools import Tool

STABLE, VOLATILE = Tool(name="t"), Tool(name="v", volatile=True)


class Loop:
    """Runs turns of calls against a memory, as the agent does. said: what each call gave; ran: which were run."""

    def __init__(self) -> None:
        self.memory = CallMemory()
        self.ran: list[str] = []

    def turn(self, *calls: str, results: dict[str, ToolResult] | None = None) -> tuple[list[str], int]:
        """Each call is "letter of the tool + argument"; its result is the argument unless `results` says otherwise."""
        contents = []
        for name in calls:
            call = ToolCall(name, name[0], {"a": name[1:]})
            tool = VOLATILE if name[0] == "v" else STABLE
            result = self.memory.recall(call, tool)
            if result is None:
                result = (results or {}).get(name) or ToolResult(call.id, call.name, name[1:])
                self.ran.append(name)
                self.memory.remember(call, tool, result)
            contents.append(result.content)
        return contents, self.memory.end_turn()


def test_the_same_call_is_answered_from_memory_and_counted() -> None:
    loop = Loop()
    assert loop.turn("t1") == (["1"], 0)
    assert [loop.turn("t1") for _ in range(3)] == [(["1" + NOTE], n) for n in (1, 2, 3)]
    assert loop.ran == ["t1"]


def test_something_new_ends_the_count() -> None:
    loop = Loop()
    counts = [loop.turn(*calls)[1] for calls in (["t1"], ["t1"], ["t1", "t2"], ["t1", "t2"], ["t1"])]
    assert counts == [0, 1, 0, 1, 2]
    assert loop.ran == ["t1", "t2", "t1", "t2"]  # t2 was called since t1, and then t1 since t2


def test_after_another_call_it_is_run_again_and_counts_where_nothing_changed() -> None:
    loop = Loop()
    counts = [loop.turn(call)[1] for call in ("t1", "t2", "t1", "t2", "t1", "t2")]
    assert counts == [0, 0, 1, 2, 3, 4]
    assert loop.ran == ["t1", "t2", "t1", "t2", "t1", "t2"]


def test_after_another_call_it_may_give_something_new() -> None:
    loop = Loop()
    loop.turn("t1")
    loop.turn("t2")
    assert loop.turn("t1", results={"t1": ToolResult("t1", "t", "changed")}) == (["changed"], 0)


def test_a_failed_call_is_tried_once_more() -> None:
    failure = {"t1": ToolResult("t1", "t", "offline", error="exception")}
    loop = Loop()
    assert [loop.turn("t1", results=failure)[1] for _ in range(4)] == [0, 1, 2, 3]
    assert loop.ran == ["t1", "t1"]


@pytest.mark.parametrize("error", ["refused", "not_run"])
def test_what_was_refused_is_not_asked_for_again(error: str) -> None:
    loop = Loop()
    refusal = {"t1": ToolResult("t1", "t", "no", error=error)}
    assert [loop.turn("t1", results=refusal)[1] for _ in range(3)] == [0, 1, 2]
    assert loop.ran == ["t1"]


def test_twice_in_one_reply_is_one_run_without_a_note() -> None:
    loop = Loop()
    assert loop.turn(*["t1"] * 9) == (["1"] * 9, 0)
    assert loop.ran == ["t1"]


def test_volatile_tools_are_always_run() -> None:
    loop = Loop()
    assert [loop.turn("v1", "v1")[1] for _ in range(4)] == [0, 0, 0, 0]
    assert loop.ran == ["v1"] * 8


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"x": 1, "y": [1]}}, {"a": {"y": [1], "x": 1}}, True),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({}, {"a": None}, False),
    ],
)
def test_which_calls_are_the_same(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (call_key("t", one) == call_key("t", other)) is same
    assert call_key("t", one) != call_key("u", one)
