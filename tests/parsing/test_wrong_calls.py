"""Replies that hold what looks like a call and must not run, or not so: what a second reader of the parser found."""

from __future__ import annotations

import time
from typing import Any

import pytest

from textcall.parsing import CallReady, Parsed, StreamParser, parse

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


TURNS = [
    *(
        "<|observation|>",
        "<|user|>",
        "<|system|>",
        "<|assistant|>",
        "<|tool|>",
        "<|tool_response>",
        "<|tool_response|>",
    ),
    *("<start_function_response>", "<|tool_response_start|>", "<|START_TOOL_RESULT|>", "<｜tool▁outputs▁begin｜>"),
    *("<｜tool▁output▁begin｜>", "<|start|>functions.f to=assistant", "<|start|>user", "<|ipython|>", "[INST]"),
    *("[TOOL_RESULT]", "[TOOL_RESULTS]", "<|tool_result|>", "<|tool_output|>", "<tool_response>", "<tool_responses>"),
    *("<tool_output>", "<function_results>", "<Tool_Response>", "<OBSERVATION>", "<|im_user|>", "<|turn>user"),
    *("**Observation:**", "**User:**", "### Observation", "### User", "### Tool result:", "**Observation**: 3"),
    *("Tool output for get_weather:", "Tool call result:", "[Tool result]", "[Tool result: 3]", "Observation: 3"),
]
RESULTS = [turn for turn in TURNS if turn not in ("<|assistant|>", "**User:**", "### User")]


@pytest.mark.parametrize("turn", TURNS)
def test_behind_a_turn_of_somebody_else_nothing_runs(turn: str) -> None:
    parsed = read(f"{W}\n{turn}\n{D}\nDone.")
    assert (names(parsed), kinds(parsed), parsed.content) == (WEATHER, ["role_confusion"], None)


@pytest.mark.parametrize("turn", RESULTS)
def test_behind_a_result_that_was_made_up_nothing_runs(turn: str) -> None:
    parsed = read(f"{turn}\n{D}\n")
    assert (names(parsed), kinds(parsed)) == ([], ["role_confusion"])


@pytest.mark.parametrize("turn", [turn for turn in TURNS if turn[0] in "<["])
@pytest.mark.parametrize("between", ["", " ", " The result: "])
def test_a_turn_needs_no_line_of_its_own(turn: str, between: str) -> None:
    parsed = read(f"<tool_call>{W}</tool_call>{between}{turn}\n{D}\n</tool_response>")
    assert (names(parsed), kinds(parsed)) == (WEATHER, ["role_confusion"])


def test_a_result_inside_a_line_before_any_call() -> None:
    parsed = read(f"The result: <tool_response>\n{D}\n</tool_response>")
    assert (names(parsed), kinds(parsed)) == ([], ["role_confusion"])


@pytest.mark.parametrize(
    "text",
    [
        "Results come in <tool_response> tags, one each.",
        "# User guide\nObservation is a word, ### User is none.",
        "**Users** and *tools*.\nTool results are shown, and the mark [INST] is one, a [tool result is none.",
        "Write `<|user|>` and `<observation>` there.",
    ],
)
def test_turns_that_are_spoken_of_are_text(text: str) -> None:
    assert read(text) == Parsed(text, None, (), ())
    assert names(read(f"{text}\n\n{W}")) == WEATHER


def test_its_own_turn_may_open_a_reply() -> None:
    assert names(read(f"<|assistant|>\n{W}")) == WEATHER


SCHEMA = '{"type":"object","properties":{"path":{"type":"string"}}}'
DEFINITIONS = {
    "no arguments": '{"name":"get_time","description":"The time","parameters":{"type":"object","properties":{}}}',
    "nothing in it": '{"name":"get_time","description":"The time","parameters":{}}',
    "arguments": f'{{"name":"delete","description":"Deletes","parameters":{SCHEMA}}}',
    "no description": f'{{"name":"delete","parameters":{SCHEMA}}}',
    "no type": '{"name":"delete","parameters":{"properties":{"path":{"type":"string"}}}}',
    "canonical keys": f'{{"tool":"delete","args":{SCHEMA}}}',
    "envelope": f'{{"type":"function","function":{{"name":"delete","description":"Deletes","parameters":{SCHEMA}}}}}',
    "other key": f'{{"tool":"delete","description":"Deletes","input_schema":{SCHEMA}}}',
}


@pytest.mark.parametrize("around", ["{}", "[{}]", "```json\n{}\n```", "<tools>{}</tools>", "[TOOL_CALLS][{}]"])
@pytest.mark.parametrize("row", DEFINITIONS)
def test_the_description_of_a_tool_is_no_call(row: str, around: str) -> None:
    parsed = read(around.replace("{}", DEFINITIONS[row]))
    assert (names(parsed), kinds(parsed)) == ([], ["not_a_call"])


def test_a_tool_may_take_a_schema() -> None:
    tools = [{"name": "make", "parameters": {"properties": {"type": TEXT, "properties": {"type": "object"}}}}]
    text = '{"name":"make","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}'
    assert names(parse(text, tools)) == ["make"]
    assert names(parse(text.replace("{", '{"description":"x",', 1), tools)) == []


THOUGHTS = {
    "opened behind a sentence": f"Okay. <think>\n{D}\n",
    "opened behind words": f"Sure <think>\nmaybe\n\n{D}\n\nhm",
    "opened behind a sentence, in a line": f"Okay. <think> maybe\n\n{D}\nhm",
    "opened in a sentence": f"Sure <think> maybe\n\n{D}\nhm",
    "another case": f"<Think>\n{D}\n</Think>\nDone.",
    "capitals, closed in small letters": f"<THINK>\n{D}\n</think>\nDone.",
    **{name: f"<{name}>\n{D}\n</{name}>\nDone." for name in ("thought", "Reasoning", "reflection", "scratchpad")},
    "never opened": f"Maybe\n{D}\n</Thought>\nDone.",
    "closed once more": "a</think>" * 5 + f"\n{D}\n</think>\nDone.",
    "closed and closed": "a</think>" * 15 + f"\n{D}\n</think>\nDone.",
    "closed without end": "a</think>" * 50 + f"\n{D}\n</think>\nDone.",
}


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
@pytest.mark.parametrize("row", THOUGHTS)
def test_no_thought_runs(row: str, finish_reason: str) -> None:
    parsed = read(THOUGHTS[row], finish_reason)
    assert names(parsed) == []
    assert kinds(parsed) or "Done." in (parsed.content or "")


def test_no_thought_is_ready_before_its_end_is_known() -> None:
    stream = StreamParser(TOOLS)
    text = f"Okay. <think>\n{D}\n\nOr <think> so\n{D}\n</think> it.</think>\n{W}\n"
    events = [event for char in text for event in stream.feed(char)]
    assert [event.call.name for event in events if isinstance(event, CallReady)] == WEATHER


def test_a_think_tag_that_is_spoken_of_does_not_matter_once_it_is_closed() -> None:
    assert names(read(f"The <think> tag and the </think> tag come in pairs.\n{W}")) == WEATHER
    assert names(read(f"`<think>` opens a thought.\n{W}")) == WEATHER


CUT = {
    "input of an action": "Action: delete\nAction Input:",
    "input of an action, a blank": "Action: delete\nAction Input: ",
    "text of an action": "Action: delete\nAction Input: a.t",
    "name behind Mistral's token": "[TOOL_CALLS]delete",
    "name that may go on": "[TOOL_CALLS]get_time",
    "name behind a token": "<|function_call|>delete",
    "name behind Llama's token": "<|python_tag|>delete",
    "name in a tag": "<tool_call>delete",
    "pairs": "<tool_call>delete\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n",
    "parameters": "<function=delete><parameter=path>a</parameter>",
    "Python": "<|tool_call_start|>[delete(path='a')",
    "list": f"[{D}",
    "quotes that are not escaped": '{"tool":"write_file","args":{"content":"say "x""}}',
}


@pytest.mark.parametrize("row", CUT)
def test_nothing_that_may_be_cut_runs(row: str) -> None:
    parsed = read(CUT[row], "length")
    assert (names(parsed), kinds(parsed)[:1]) == ([], ["truncated" if "quotes" not in row else "bad_json"])


def test_an_action_without_its_input_is_refused() -> None:
    for text in ("Action: delete\nAction Input:", "Action: delete\nAction Input: \n\nWell."):
        parsed = read(text)
        assert (names(parsed), kinds(parsed)) == ([], ["invalid_arguments"])
    assert names(read('Action: delete\nAction Input: ""\n')) == ["delete"]
    assert names(read("Action: get_time\nAction Input: {}")) == ["get_time"]


def test_many_pairs_take_no_time() -> None:
    pairs = "<arg_key>a</arg_key><arg_value>b</arg_value>" * 2_000
    started = time.perf_counter()
    assert names(parse(f"<tool_call>get_time{pairs}x</tool_call>", TOOLS)) == []
    assert names(parse(f"<tool_call>delete\n{pairs}</tool_call>", TOOLS)) == ["delete"]
    assert time.perf_counter() - started < 2


def test_a_number_that_cannot_be_printed_is_refused() -> None:
    parsed = read(f"<|tool_call_start|>[get_weather(city=0x{'f' * 3600})]<|tool_call_end|>")
    assert (names(parsed), kinds(parsed)) == ([], ["bad_json"])


QUOTED = {
    "fence in a list": f"- ```python\n\n  {D}\n  ```",
    "fence in a list, behind code": f"Steps:\n- ```python\n  x = 1\n\n  {D}\n  ```",
    "tildes in a numbered list": f"1. ~~~python\n\n  {D}\n  ~~~",
    "low quotation marks": f"„Beispiel:\n{D}\n“",
    "low quotation marks, closed high": f"„Przyklad:\n{D}\n”",
    "single guillemets": f"‹Exemple:\n{D}\n›",
    "HTML comment": f"<!--\n\n{D}\n-->",
    "HTML comment behind words": f"So: <!-- no\n\n{D}\n-->",
    "HTML comment without an end": f"<!--\n\n{D}\n",
    "HTML": f"<pre>\n{D}\n</pre>",
    "HTML code": f"<pre><code>\n\n{D}\n</code></pre>",
    "HTML quotation": f"<blockquote>\n{D}\n</blockquote>",
    "parentheses": f"I could (if you want, I mean\n{D})",
    "arguments of a function": f"call(a,\n{D})",
}


@pytest.mark.parametrize("row", QUOTED)
def test_nothing_runs_out_of_code_or_a_quotation(row: str) -> None:
    parsed = read(QUOTED[row])
    assert (names(parsed), kinds(parsed)) == ([], ["not_a_call"])


BEHIND = {
    "fence in a list": f"- ```python\n  x = 1\n  ```\n{W}",
    "a list": f"- one\n- two\n1. three\n\n{W}",
    "low quotation marks": f"Ich rufe „get_weather“ auf:\n{W}",
    "low quotation marks at the end": f"Ich rufe „get_weather“\n{W}",
    "HTML": f"<!-- a comment -->\n<pre>x</pre>\n<code>\nx\n</code>\n{W}",
    "fence of calls in a list": f"- ```json\n  {W}\n  ```",
}


@pytest.mark.parametrize("row", BEHIND)
def test_a_call_behind_code_or_a_quotation_runs(row: str) -> None:
    assert names(read(BEHIND[row])) == WEATHER
