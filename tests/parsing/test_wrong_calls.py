"""Replies that hold what looks like a call and must not run, or not so: what a second reader of the parser found."""

from __future__ import annotations

from typing import Any

import pytest

from textcall.parsing import Parsed, StreamParser, parse

TEXT = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": TEXT, "unit": TEXT}, "required": ["city"]},
    },
    {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "write_file",
        "parameters": {"type": "object", "properties": {"path": TEXT, "content": TEXT}, "required": ["content"]},
    },
    {"name": "delete", "parameters": {"type": "object", "properties": {"path": TEXT}}},
]
D = '{"tool":"delete","args":{}}'
W = '{"tool":"get_weather","args":{"city":"Paris"}}'
WEATHER = ["get_weather"]


def names(parsed: Parsed) -> list[str]:
    return [call.name for call in parsed.calls]


def kinds(parsed: Parsed) -> list[str]:
    return [problem.kind for problem in parsed.problems]


def read(text: str, finish_reason: Any = "stop") -> Parsed:
    """The reply read as a whole, which must be what it is when it comes a character at a time."""
    numbers = iter(range(1000))
    whole = parse(text, TOOLS, finish_reason=finish_reason, ids=lambda: str(next(numbers)))
    numbers = iter(range(1000))
    stream = StreamParser(TOOLS, ids=lambda: str(next(numbers)))
    for char in text:
        stream.feed(char)
    stream.close(finish_reason)
    assert stream.parsed() == whole
    return whole


OPEN_STRING = '{"tool":"write_file","args":{"content":"first line\n'
IN_A_STRING = {
    "raw lines": OPEN_STRING + D + '\nthird"}}',
    "a blank line before": OPEN_STRING + "\n" + D + '\nthird"}}',
    "never closed": OPEN_STRING + D + "\nthird",
    "quotes and lines": '{"tool":"write_file","args":{"content":"say "x"\n' + D + '\nthird"}}',
    "closers and a quote too few": '{"tool":"write_file","args":{"content":"say "x"}}\n' + D + '\n"}}',
    "closers and quotes": '{"tool":"write_file","args":{"content":"say "x""}}\n' + D + '\n"}}',
    "three quotes": '{"tool":"write_file","args":{"content":"""\n' + D + '\n"""}}',
    "backticks": '{"tool":"write_file","args":{"content":`\n' + D + "\n`}}",
    "no quotes": '{"tool":"write_file","args":{"content":# Doc\n' + D + "\n}}",
    "unknown tool": '{"tool":"save","args":{"content":"first line\n' + D + '\nthird"}}',
    "fence in it": '{"tool":"write_file","args":{"path":"a.md","content":"# Doc\n\n```json\n'
    + D
    + '\n```\n\nMore "text""}}',
    "action in it": '{"tool":"write_file","args":{"content":"say "x"\nAction: delete\nAction Input: {}\n"}}',
    "tag in it": '{"tool":"write_file","args":{"content":"say "x"\n<tool_call>' + D + '</tool_call>\n"}}',
    "tag in a tag": '<tool_call>{"tool":"write_file","args":{"content":"say "x"\n<tool_call>'
    + D
    + '</tool_call>\n"}}</tool_call>',
    "end of the tag in it": '<tool_call>{"tool":"write_file","args":{"content":"a "b"\n</tool_call>\n'
    + D
    + '\n"}}</tool_call>',
    "Mistral's token": "[TOOL_CALLS][" + OPEN_STRING + D + '\nthird"}}]',
    "Llama's token": "<|python_tag|>" + OPEN_STRING + D + '\nthird"}}',
    "tag that is cut": "<tool_call>" + OPEN_STRING + D + "\nthi",
    "fence that ends in it": '```json\n{"tool":"write_file","args":{"content":"a\n```\n' + D + "\n```\n",
    "fence with quotes": '```json\n{"tool":"write_file","args":{"content":"a "q"\n```\n' + D + '\n```\n"}}\n```',
    "fence in a fence": '```json\n{"tool":"write_file","args":{"content":"a "q"\n```json\n' + D + '\n```\n"}}\n```',
    "action's input": 'Action: write_file\nAction Input: {"content":"a "q", "\n' + D + '\n"}',
    "action's text": "Action: write_file\nAction Input: some text:\n" + D,
    "Python": '[write_file(content="""abc\n' + D + '\n""", path=x)]',
    "Python between tokens": '<|tool_call_start|>[write_file(content="x <|tool_call_end|>\n'
    + D
    + '\n")]<|tool_call_end|>',
    "parameters": "<function=write_file><parameter=content>a</parameter>\n" + D + "\n</parameter></function>",
    "pairs": "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>a</tool_call>\n"
    + D
    + "\n</arg_value></tool_call>",
    "end of thinking in it": '{"tool":"write_file","args":{"content":"a "b" </think>\n' + D + '\n"}}',
    "in a sentence": "Sure: " + OPEN_STRING + "\n" + D + '\nthird"}}',
    "fence in a sentence": 'Sure: {"tool":"write_file","args":{"content":"# Doc\n\n```json\n'
    + D
    + "\n```\n"
    + D
    + '\n"}}',
    "in a sentence, with quotes": 'Sure: {"tool":"write_file","args":{"content":"say "x"\n\n' + D + '\nthird"}}',
    "in a tag in a sentence": "I use <tool_call>" + OPEN_STRING + "\n" + D + '\nthird"}}</tool_call> here',
}


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
@pytest.mark.parametrize("row", IN_A_STRING)
def test_nothing_runs_out_of_a_string_that_may_be_open(row: str, finish_reason: str) -> None:
    parsed = read(IN_A_STRING[row], finish_reason)
    assert "delete" not in names(parsed)
    assert kinds(parsed) or names(parsed) == ["write_file"]


DATA = {
    "never closed as it should be": '{\n"example":\n' + D + "\n, oops\n}",
    "quotes": '{"answer":"he "said"\n' + D + '\n"}',
    "cut": '{"answer":\n"he\n\n' + D,
    "in a fence": '```json\n{"answer":"he "said"\n```\n' + D + '\n```\n"}\n```',
    "in a tag": '<tool_call>{"answer":"he "said"\n' + D + '\n"}</tool_call>',
}


@pytest.mark.parametrize("row", DATA)
def test_nothing_runs_out_of_data_that_cannot_be_read(row: str) -> None:
    parsed = read(DATA[row])
    assert names(parsed) == []
    assert kinds(parsed)


RECOVERED = {
    "a word that is no value": '{"tool":"delete","args":{"path":NaN}}\n' + W,
    "over lines": '{"tool":"delete",\n"args":{\n"path":nothing\n}\n}\n' + W,
    "a quote inside, and nothing open": '{"tool":"write_file","args":{"content":"a", "b": "c "d" e"}}\n' + W,
    "in a tag": '<tool_call>{"name":"write_file","arguments":{"content":"a", "b": "c "d" e"}}</tool_call>\n' + W,
    "in a fence": '```json\n{"tool":"write_file","args":{"content":"a", "b": "c "d" e"}}\n```\n' + W,
    "after thinking that the template opened": '{"tool":"delete","args":{"path":"a\n</think>\n' + W,
}


@pytest.mark.parametrize("row", RECOVERED)
def test_a_call_behind_a_broken_one_runs_where_that_surely_ended(row: str) -> None:
    assert names(read(RECOVERED[row])) == WEATHER
