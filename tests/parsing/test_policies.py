"""What was decided where two ways can be defended: the rows of the README's table, one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from textcall.parsing import parse

TIDE = {
    "type": "object",
    "properties": {"port": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["port"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": "tide_table", "parameters": TIDE},
    {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {
        "name": "lamp",
        "parameters": {
            "type": "object",
            "properties": {
                "on": {"type": "boolean"},
                "label": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
]
ARGS = '{"port":"Oban"}'
CALL = f'{{"tool":"tide_table","args":{ARGS}}}'
TIDES = ("tide_table", {"port": "Oban"})


def lamp(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return ("lamp", arguments)


def note(text: str) -> tuple[str, dict[str, Any]]:
    return ("note", {"text": text})


def args(name: str, written: str) -> str:
    return f'{{"tool":"{name}","args":{written}}}'


READ = {
    "json fence after a sentence": (f"For example:\n```json\n{CALL}\n```", TIDES),
    "markdown's backslash": (args("note", r'{"text":"snake\_case"}'), note("snake_case")),
    "valid JSON stays as it is": (args("note", r'{"text":"C:\temp\new"}'), note("C:\temp\new")),
    "no valid JSON: backslashes as meant": (args("note", r'{"text":"C:\Kiosk\data"}'), note(r"C:\Kiosk\data")),
    "a key twice, the same value": (args("note", '{"text":"a","text":"a"}'), note("a")),
    "name and arguments in brackets": (f"[TOOL_CALLS]tide_table[ARGS]{ARGS}", TIDES),
    "another case and dash": (args("Tide-Table", ARGS), TIDES),
    "known prefix": (args("functions.tide_table", ARGS), TIDES),
    "prefix with a colon": (args("default_api:tide_table", ARGS), TIDES),
    "prefix tools": (args("tools.tide_table", ARGS), TIDES),
    "prefix tool": (args("tool.tide_table", ARGS), TIDES),
    "integer for a text": (args("lamp", '{"label":2662}'), lamp(label="2662")),
    "one value for a list": (args("lamp", '{"tags":"rope"}'), lamp(tags=["rope"])),
    "commas are not split": (args("lamp", '{"tags":"a, b"}'), lamp(tags=["a, b"])),
    "true as a text": (args("lamp", '{"on":"True"}'), lamp(on=True)),
    "null for what may be left out": (args("lamp", '{"on":null}'), lamp()),
    "an argument more, the schema silent": (args("note", '{"text":"a","_c":1}'), ("note", {"text": "a", "_c": 1})),
    "no arguments: null": (args("lamp", "null"), lamp()),
    "no arguments: an empty text": (args("lamp", '""'), lamp()),
    "no arguments in a wrapper": ('<tool_call>{"name":"lamp"}</tool_call>', lamp()),
    "token behind words": (f"I ask now [TOOL_CALLS]tide_table[ARGS]{ARGS}", TIDES),
    "only closers are missing": (CALL[:-1], TIDES),
    "quotes that are not escaped, one reading": (args("note", '{"text":"say "hi" now"}'), note('say "hi" now')),
    "alone on its lines, between words": (f"So:\n{CALL}\nDone.", TIDES),
}

REFUSED = {
    "a key twice, two values": (args("tide_table", '{"port":"Oban","port":"Uig"}'), "duplicate_key"),
    "token in the name": (args("tide_table<|channel|>x", ARGS), "unknown_tool"),
    "think block without an end": (f"<think>Hm.\n{CALL}", "truncated"),
    "unknown prefix": (args("my.tide_table", ARGS), "unknown_tool"),
    "nearly the name": (args("tide_tabel", ARGS), "unknown_tool"),
    "yes for a boolean": (args("lamp", '{"on":"yes"}'), "invalid_arguments"),
    "fraction for a text": (args("lamp", '{"label":1.5}'), "invalid_arguments"),
    "boolean for a text": (args("lamp", '{"label":true}'), "invalid_arguments"),
    "null in a list": (args("lamp", '{"tags":[null]}'), "invalid_arguments"),
    "arguments inside properties": (args("tide_table", f'{{"properties":{ARGS}}}'), "invalid_arguments"),
    "an argument more, the schema closed": (args("tide_table", '{"port":"a","x":1}'), "invalid_arguments"),
    "no arguments on a line": ('{"tool":"lamp"}', "invalid_arguments"),
    "two names": ('{"tool":"lamp","name":"note","args":{}}', "ambiguous"),
    "two arguments": ('{"name":"lamp","arguments":{"on":true},"parameters":{"on":false}}', "ambiguous"),
    "inside a sentence": (f"Write {CALL} to ask.", "not_a_call"),
    "tag inside a sentence": (f"Write <tool_call>{CALL}</tool_call> to ask.", "not_a_call"),
    "inline code": (f"Write `{CALL}`.", "not_a_call"),
    "quotation": (f"He wrote “{CALL}”.", "not_a_call"),
    "more than a hundred levels": (args("note", '{"text":' + "[" * 101 + "]" * 101 + "}"), "too_deep"),
    "fence of another language": (f"```python\n{CALL}\n```", "not_a_call"),
    "fence with other things": (f'```json\n{CALL}\n{{"a":1}}\n```', "not_a_call"),
    "Python inside a sentence": ('So [tide_table(port="Oban")] it is.', "not_a_call"),
    "words behind it": (f"{CALL} and then?", "not_a_call"),
    "an open string": ('{"tool":"note","args":{"text":"half', "truncated"),
    "a number at the end": ('{"tool":"tide_table","args":{"port":"a","days":1', "truncated"),
    "NaN": (args("tide_table", '{"port":"a","days":NaN}'), "bad_json"),
    "hexadecimal": (args("tide_table", '{"port":"a","days":0x1F}'), "bad_json"),
    "quotes that are not escaped, two readings": (args("note", '{"text":"a", "b": "c "d" e"}'), "bad_json"),
    "behind an invented result": (f"Observation: 3\n{CALL}", "role_confusion"),
}


@pytest.mark.parametrize("row", READ)
def test_read(row: str) -> None:
    text, call = READ[row]
    parsed = parse(text, TOOLS)
    assert [(each.name, dict(each.arguments)) for each in parsed.calls] == [call]
    assert parsed.problems == ()


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row: str) -> None:
    text, kind = REFUSED[row]
    parsed = parse(text, TOOLS)
    assert (parsed.calls, {problem.kind for problem in parsed.problems}) == ((), {kind})


LINE = '{"name":"tide_table","arguments":{"port":"Oban"}}'
FORMS = [
    f'<"tool":"tide_table","args":{ARGS}>',
    f'{{"tool_name":"tide_table","tool_input":{ARGS}}}',
    f'{{"tool":"tide_table","tool_arguments":{ARGS}}}',
    f'{{"action":"tide_table","tool_args":{ARGS}}}',
    '{"type":"function","function":{"name":"tide_table","arguments":"{\\"port\\":\\"Oban\\"}"}}',
    f'{{"tool_call":{LINE}}}',
    f'{{"tool_calls":[{LINE}]}}',
    f"```\n{LINE}\n```",
    f"```tools\n{LINE}\n```",
    '```json5\n{name: "tide_table", arguments: {port: "Oban"}}\n```',
    "~~~tool_code\n[tide_table(port='Oban')]\n~~~",
    "```tool_calls\ntide_table(port='Oban')\n```",
    f"<function_calls>{LINE}</function_calls>",
    f"<tools>{LINE}</tools>",
    "<TOOLCALL>[tide_table(port='Oban')]</TOOLCALL>",
    '<minimax:tool_call><invoke name="tide_table"><parameter name="port">Oban</parameter></invoke></minimax:tool_call>',
    f"functools[{LINE}]",
    f"<|python_tag|>{LINE}",
    f"<seed:think>Hm.</seed:think>{LINE}",
    f"Action: tide_table\nAction Input: {ARGS}",
    "[tide_table(port='Oban')]",
]


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    parsed = parse(text, TOOLS)
    assert [(each.name, dict(each.arguments)) for each in parsed.calls] == [TIDES]
    assert (parsed.content, parsed.problems) == (None, ())


def test_behind_a_hundred_refused_calls_nothing_is_read() -> None:
    parsed = parse(f"{args('ghost', '{}')}\n" * 101 + CALL, TOOLS)
    assert parsed.calls == ()
    assert "not all of it was read" in parsed.problems[-1].message


def test_suggestions() -> None:
    for text, wanted in (
        (args("tide_table<|channel|>x", ARGS), "Did you mean tide_table?"),
        (args("my.tide_table", ARGS), "Did you mean tide_table?"),
        (args("tide_table", f'{{"properties":{ARGS}}}'), "put the arguments directly into the object"),
        (args("lamp", '{"on":"yes"}'), 'argument on must be of type boolean; got "yes"'),
    ):
        assert wanted in parse(text, TOOLS).problems[0].message


def test_two_tools_that_fold_to_one_name() -> None:
    tools = [{"name": name, "parameters": {}} for name in ("get-a", "get_a")]
    assert [problem.kind for problem in parse(args("GET_A", "{}"), tools).problems] == ["unknown_tool"]


def test_what_stands_whole_before_a_cut_runs_and_nothing_behind() -> None:
    parsed = parse(f"{CALL}\n{CALL[:-1]}", TOOLS, finish_reason="length")
    assert [(each.name, dict(each.arguments)) for each in parsed.calls] == [TIDES]
    assert [problem.kind for problem in parsed.problems] == ["truncated"]


def test_behind_an_invented_turn_nothing_runs() -> None:
    parsed = parse(f"{CALL}\nUser: and now?\n{CALL}", TOOLS)
    assert (len(parsed.calls), [problem.kind for problem in parsed.problems]) == (1, ["role_confusion"])
