"""What is left out of a conversation that does not fit, and what never is. Tokens are words here (ScriptedEngine)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall import Agent, Convention, Message, Sampling, Tool, ToolCall, ToolResult, Toolset, tool
from textcall.block import render_call, render_reply
from textcall.engines.base import Noticed
from textcall.errors import ContextOverflow
from textcall.fitting import leave_out, result_tokens, tool_costs
from textcall.prompting.render import FEEDBACK, feedback
from textcall.prompting.window import droppable, without
from textcall.testing import ScriptedEngine
from textcall.turn import Setup, prompt

CONVENTION = Convention()


def call(name: str) -> list[Message]:
    """An exchange: a call and its result of ten words."""
    made = ToolCall(name, "t", {"a": name})
    return [Message.assistant(None, [made]), Message.tool(ToolResult(name, "t", f"{name} " + "word " * 9))]


def unusable(text: str) -> list[Message]:
    return [Message("assistant", text, name=FEEDBACK), feedback([])]


HISTORY = [
    Message.system("Late orders."),  # 0
    Message.user("first question"),  # 1
    *call("a"),  # 2 3
    *unusable("bad"),  # 4 5
    *call("b"),  # 6 7
    Message.assistant("first answer"),  # 8
    Message.user("second question"),  # 9
    Message.assistant("second answer"),  # 10
    Message.user("this question"),  # 11
    *call("c"),  # 12 13
    *call("d"),  # 14 15
]


def test_what_goes_first() -> None:
    parts = [list(part) for part in droppable(HISTORY)]
    assert parts == [[2, 3], [4, 5], [6, 7], [1, 2, 3, 4, 5, 6, 7, 8], [9, 10], [12, 13]]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [Message.user("only a question")],
        [Message.user("q"), *call("a")],
        [Message.system("s"), Message.user("q")],
        [*call("a")],
    ],
)
def test_what_is_never_left_out(messages: list[Message]) -> None:
    assert list(droppable(messages)) == []


def test_two_calls_of_one_reply_go_together() -> None:
    both = Message.assistant(None, [ToolCall("1", "t", {}), ToolCall("2", "t", {})])
    results = [Message.tool(ToolResult(n, "t", "x")) for n in "12"]
    messages = [Message.user("q"), both, *results, feedback([]), *call("b")]
    assert [list(part) for part in droppable(messages)] == [[1, 2, 3, 4]]


def test_the_gap_says_so_once() -> None:
    shown = without(HISTORY, frozenset({2, 3, 6, 7}))
    assert [m.content for m in shown if m.name == FEEDBACK and m.role == "user"] == [
        "[4 earlier messages are left out here: there is no room for more]",
        HISTORY[5].content,
    ]
    assert len(shown) == len(HISTORY) - 4 + 1
    assert without(HISTORY, frozenset(), frozenset({2, 3})) == [*HISTORY[:2], *HISTORY[4:]]


SETUP = Setup(tools=Toolset([Tool(name="t")]), sampling=Sampling(max_tokens=20))


def fits(n_ctx: int, messages: list[Message] = HISTORY) -> tuple[frozenset[int], int]:
    engine = ScriptedEngine([], n_ctx=n_ctx)
    left_out = leave_out(engine, messages, SETUP)
    return left_out, engine.count_prompt(prompt(without(messages, left_out), SETUP))


def test_nothing_is_left_out_where_all_fits() -> None:
    assert fits(10_000)[0] == frozenset()


@given(st.integers(150, 600), st.lists(st.integers(1, 60), max_size=12))
def test_what_is_shown_fits_and_keeps_the_question(n_ctx: int, sizes: list[int]) -> None:
    calls = [m for i, size in enumerate(sizes) for m in [*call(f"c{i}"), Message("user", "w " * size, name=FEEDBACK)]]
    messages = [*HISTORY[:11], Message.user("this question"), *calls]
    try:
        left_out, size = fits(n_ctx, messages)
    except ContextOverflow:
        return
    assert size <= n_ctx - min(20, n_ctx // 4)
    shown = without(messages, left_out)
    assert Message.user("this question") in shown
    assert messages[-2:] == shown[-2:] or not calls
    # whole exchanges: no result without its call, no call without its result
    ids = {made.id for m in shown for made in m.tool_calls}
    assert ids == {m.tool_call_id for m in shown if m.role == "tool"}


def test_what_went_stays_out_and_leaves_room() -> None:
    whole = fits(10_000)[1]
    left_out, size = fits(whole + 15)
    assert {2, 3} <= left_out
    assert size < whole - 15


def test_too_much_says_the_numbers_and_the_largest_tools() -> None:
    tools = [Tool(name=f"tool_{n}", description="word " * n) for n in range(1, 60, 10)]
    setup = Setup(tools=Toolset(tools), sampling=Sampling(max_tokens=20))
    engine = ScriptedEngine([], n_ctx=200)
    with pytest.raises(ContextOverflow) as raised:
        leave_out(engine, [Message.user("q")], setup)
    said = str(raised.value)
    needed = engine.count_prompt(prompt([Message.user("q")], setup))
    assert f"the conversation needs {needed} tokens; the context holds 200, 20 of them for the reply" in said
    assert "largest: tool_51 " in said
    assert ", 1 more)" in said
    assert tool_costs(engine, setup)["tool_51"] > tool_costs(engine, setup)["tool_1"]


@pytest.mark.parametrize(("n_ctx", "count", "tokens"), [(4096, 1, 1024), (4096, 4, 256), (100, 50, 16)])
def test_the_results_of_a_turn_share_a_quarter(n_ctx: int, count: int, tokens: int) -> None:
    assert result_tokens(ScriptedEngine([], n_ctx=n_ctx), count) == tokens


@tool(volatile=True)
def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + "word " * 40


def test_a_long_run_goes_on_and_says_what_it_left_out() -> None:
    replies = [render_call("read", {"page": n}) for n in range(7)]
    events: list[Any] = []
    engine = ScriptedEngine([*replies, render_reply(CONVENTION, "done")], n_ctx=480)
    result = Agent(engine, [read], sampling=Sampling(max_tokens=50), max_steps=20).run("Read all", events.append)
    assert (result.text, result.finish_reason) == ("done", "stop")
    assert len([m for m in result.messages if m.role == "tool"]) == 7  # the conversation itself loses nothing
    noticed = [e.text for e in events if isinstance(e, Noticed)]
    assert noticed
    assert all("left out of the prompt: the context is full" in text for text in noticed)
    assert len(noticed) < 4  # more than is needed goes at once
    last = "\n".join(m.content or "" for m in engine.prompts[-1])
    assert "left out here" in last
    assert "page 6" in last
    assert "page 0" not in last
    assert "Read all" in last
    assert all(engine.count_prompt(p) <= 430 for p in engine.prompts)


def test_a_result_longer_than_the_context_is_cut_and_the_run_goes_on() -> None:
    @tool
    def flood() -> str:
        """Very long."""
        return "x " * 3000

    engine = ScriptedEngine([render_call("flood", {}), render_reply(CONVENTION, "long")], n_ctx=800)
    result = Agent(engine, [flood], sampling=Sampling(max_tokens=50)).run("Go")
    assert result.text == "long"
    content = result.steps[0].results[0].content
    assert len(content.split()) <= 200
    assert "characters left out" in content
