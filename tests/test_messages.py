from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.block import Convention, Shape, render_call, render_none, render_reply
from textcall.messages import Message, ToolCall, ToolResult, Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(min_size=1))
def test_a_call_goes_over_the_wire_and_back(arguments: dict[str, Any], name: str) -> None:
    call = ToolCall("call_1", name, arguments)
    assert ToolCall.from_wire(call.to_wire()) == call
    assert json.loads(render_call(name, arguments)) == {"tool": name, "args": arguments}


MESSAGES = [
    (Message.system("s"), {"role": "system", "content": "s"}),
    (Message.user("u"), {"role": "user", "content": "u"}),
    (Message.assistant("a"), {"role": "assistant", "content": "a"}),
    (
        Message.assistant(None, [ToolCall("c1", "f", {"x": "ü"})]),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":"ü"}'}}],
        },
    ),
    (
        Message.tool(ToolResult("c1", "f", "42")),
        {"role": "tool", "content": "42", "tool_call_id": "c1", "name": "f"},
    ),
]


@pytest.mark.parametrize(("message", "wire"), MESSAGES)
def test_messages_have_the_fields_wire_shape(message: Message, wire: dict[str, Any]) -> None:
    assert message.to_wire() == wire
    assert Message.from_wire(wire) == message


@pytest.mark.parametrize(
    "wire", [{"role": "robot", "content": ""}, {"content": "x"}, {"role": "assistant", "tool_calls": [{"id": "1"}]}]
)
def test_other_shapes_are_refused(wire: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        Message.from_wire(wire)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, None),
        ("a", "a"),
        ([], ""),
        ([{"type": "text", "text": "a"}], "a"),
        ([{"type": "text", "text": "a\n"}, {"type": "text", "text": "b"}], "a\n\nb"),
    ],
)
def test_content_may_be_a_list_of_text_parts(content: Any, text: str | None) -> None:
    assert Message.from_wire({"role": "user", "content": content}) == Message("user", text)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "x"}}], "'image_url'"),
        ([{"type": "input_audio"}], "'input_audio'"),
        ([{"type": "text"}], "'text' has no text"),
        ([{"type": "text", "text": 5}], "'text' has no text"),
        (["a"], "no object"),
        ([{"text": "a"}], "no object with a type"),
        ({"type": "text", "text": "a"}, "neither a text nor a list"),
        (5, "neither a text nor a list"),
    ],
)
def test_other_content_is_refused_by_name(content: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Message.from_wire({"role": "user", "content": content})


def test_usage_adds_up() -> None:
    total = Usage(10, 5, 1, 2, 3, 4) + Usage(1, 1, 1, 1, 1, 1)
    assert total == Usage(11, 6, 2, 3, 4, 5)
    assert total.to_wire()["total_tokens"] == 17


def test_reserved_names_may_be_chosen() -> None:
    assert Convention(reply_name="answer").beside([]).reply_name == "answer"


def test_reserved_names_give_way_to_tools() -> None:
    convention = Convention(shape=Shape.REPLY).beside(["reply", "reply_", "none"])
    assert (convention.reply_name, convention.none_name) == ("reply__", "none_")
    assert render_reply(convention, 'a "b"') == '{"tool":"reply__","args":{"text":"a \\"b\\""}}'
    assert render_none(convention) == '{"tool":"none_"}'
    assert Convention(shape=Shape.PLAIN).reserved == ()
