"""Where a call may stand: every form that is read, in every place where it is only text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from textcall.cli import app
from textcall.parsing import parse
from textcall.parsing.explain import explain

LAMP = {"properties": {"room": {"type": "string"}, "level": {"type": "integer"}}, "required": ["room"]}
TOOLS = [{"name": "lamp", "parameters": LAMP}, {"name": "night", "parameters": {"type": "object"}}]
ATTIC = [("lamp", {"room": "attic", "level": 3})]
ARGS = '{"room": "attic", "level": 3}'
NAMED = f'{{"name": "lamp", "arguments": {ARGS}}}'

FORMS = {
    "canonical": '{"tool":"lamp","args":{"room":"attic","level":3}}',
    "angle": f'<"tool": "lamp", "args": {ARGS}>',
    "over lines": '{\n  "tool": "lamp",\n  "args": {\n    "room": "attic",\n    "level": 3\n  }\n}',
    "python words": "{'tool': 'lamp', 'args': {'room': 'attic', 'level': 3}}",
    "list": f"[{NAMED}]",
    "envelope": f'{{"id": "x", "type": "function", "function": {{"name": "lamp", "arguments": {json.dumps(ARGS)}}}}}',
    "outer key": f'{{"tool_calls": [{NAMED}]}}',
    "tag": f"<tool_call>{NAMED}</tool_call>",
    "tag over lines": f"<tool_call>\n{NAMED}\n</tool_call>",
    "tag without an end": f"<function_call> {NAMED}",
    "tag around a list": f"<tool_calls>[{NAMED}]</tool_calls>",
    "mistral": f"[TOOL_CALLS] [{NAMED}]",
    "mistral by name": f"[TOOL_CALLS]lamp[ARGS]{ARGS}",
    "llama": f"<|python_tag|>{NAMED}",
    "phi": f"functools[{NAMED}]",
    "command": f"<|START_ACTION|>[{NAMED}]<|END_ACTION|>",
    "kimi": f"<|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|>",
    "deepseek": f"<｜tool▁call▁begin｜>lamp<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>",
    "lfm": "<|tool_call_start|>[lamp(room='attic', level=3)]<|tool_call_end|>",
    "by key": f'<|tools_prefix|>[{{"lamp": {ARGS}}}]<|tools_suffix|>',
    "function": f"<function=lamp>{ARGS}</function>",
    "parameters": (
        "<function=lamp>\n<parameter=room>\nattic\n</parameter>\n<parameter=level>\n3\n</parameter>\n</function>"
    ),
    "invoke": (
        '<invoke name="lamp"><parameter name="room">attic</parameter><parameter name="level">3</parameter></invoke>'
    ),
    "deepseek tags": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="lamp">\n<｜DSML｜parameter name="room" string="true">attic'
        '</｜DSML｜parameter>\n<｜DSML｜parameter name="level" string="false">3</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "gemma": '<|tool_call>call:lamp{room:<|"|>attic<|"|>,level:3}<tool_call|>',
    "small gemma": "<start_function_call>call:lamp{room:<escape>attic<escape>,level:3}<end_function_call>",
    "gpt-oss": f"<|channel|>commentary to=functions.lamp <|constrain|>json<|message|>{ARGS}<|call|>",
    "gpt-oss, channel behind": f"<|start|>assistant to=functions.lamp<|channel|>commentary json<|message|>{ARGS}",
    "gpt-oss, begun by the prompt": f" to=functions.lamp<|channel|>analysis<|message|>{ARGS}",
    "pairs": (
        "<tool_call>lamp\n<arg_key>room</arg_key>\n<arg_value>attic</arg_value>\n"
        "<arg_key>level</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
    ),
    "action": f"Action: lamp\nAction Input: {ARGS}",
}

PLACES: dict[str, Callable[[str], str]] = {
    "inline code": "Write `{}` for that.".format,
    "double inline code": "Write ``{}`` for that.".format,
    "quotation": 'She wrote "{}" there.'.format,
    "quotation alone": '"{}"'.format,
    "curly quotation": "She wrote “{}” there.".format,
    "corner brackets": "她写了「{}」。".format,
    "block quote": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "foreign fence": "```python\n{}\n```".format,
    "longer foreign fence": "Look:\n````md\n{}\n````\nThat is it.".format,
    "tilde fence": "~~~text\n{}\n~~~".format,
    "thought": "<think>{}</think>Well.".format,
    "thought on lines": "<think>\nI could\n{}\n</think>\nWell.".format,
    "open thought": "<think>\n{}\n".format,
    "thought that the template opened": "Maybe\n{}\nor not.\n</think>\nWell.".format,
    "string": lambda text: json.dumps({"answer": text}),
    "string in a list": lambda text: json.dumps([text, 1], indent=1),
    "sentence": "The page told me to run {} but I will not.".format,
    "list item in a structure": '{{"plan": [\n{}\n], "done": 0'.format,
    "behind an invented result": "Tool result: 3 lamps\n{}".format,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", "{}\n", "\n{}\n\n", "I look.\n{}", "<think>hm</think>\n{}", "\ufeff{}"])
def test_every_form_is_read(form: str, around: str) -> None:
    parsed = parse(around.format(FORMS[form]) if "{" in around else FORMS[form], TOOLS)
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == ATTIC
    assert parsed.problems == ()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_no_form_is_a_call_where_it_is_text(form: str, place: str) -> None:
    parsed = parse(PLACES[place](FORMS[form]), TOOLS)
    assert parsed.calls == ()


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("action", "angle")])
def test_twice_is_two_calls(form: str) -> None:
    parsed = parse(f"{FORMS[form]}\n{FORMS[form]}", TOOLS)
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == ATTIC * 2


@pytest.mark.parametrize("language", ["", "json", "JSON", "tool", "tool_call", "jsonc title=x"])
@pytest.mark.parametrize("marks", ["```", "````", "~~~"])
def test_fences_for_calls(language: str, marks: str) -> None:
    parsed = parse(f"So:\n{marks}{language}\n{FORMS['canonical']}\n{FORMS['over lines']}\n{marks}\nThere.", TOOLS)
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == ATTIC * 2
    assert parsed.content == "So:\n\nThere."


def test_a_fence_that_holds_something_else_as_well_is_text() -> None:
    text = f'```json\n{FORMS["canonical"]}\n{{"note": 1}}\n```'
    parsed = parse(text, TOOLS)
    assert (parsed.calls, parsed.content) == ((), text)
    assert [problem.kind for problem in parsed.problems] == ["not_a_call"]


@pytest.mark.parametrize(
    "text",
    [
        "Some wrap calls in <tool_call> and </tool_call>, others in [TOOL_CALLS].",
        "The <think> tag and the </think> tag come in pairs.",
        "Use functools[0] or <function=x> if you must.",
        "a <s>struck</s> word and `<|im_end|>`",
        '{"name": "Ada", "input": "x"}',
        '{"tool": 5, "args": {}}',
        '[{"name": "Ada"}, {"name": "Bob"}]',
        "[1] A footnote. [2] Another.",
        "Action: none\nAction Input: none\nHello.",
        "User: hi\nAssistant: a dialogue as an answer.",
    ],
)
def test_marks_and_json_of_an_answer_stay_in_it(text: str) -> None:
    parsed = parse(text, TOOLS)
    assert (parsed.content, parsed.calls, parsed.problems) == (text, (), ())


@pytest.mark.parametrize("mark", ["<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>"])
def test_end_marks_are_dropped(mark: str) -> None:
    assert parse(f"Done.{mark}", TOOLS).content == "Done."
    parsed = parse(f"{FORMS['canonical']}{mark}\n", TOOLS)
    assert (len(parsed.calls), parsed.content, parsed.problems) == (1, None, ())


@pytest.mark.parametrize(
    "turn", ["Observation: 3", "User: thanks", "<tool_response>3</tool_response>", "<|im_start|>user\nx"]
)
def test_behind_an_invented_turn_nothing_counts(turn: str) -> None:
    parsed = parse(f"{FORMS['canonical']}\n{turn}\n{FORMS['canonical']}\nSo it is 3.", TOOLS)
    assert (len(parsed.calls), parsed.content) == (1, None)
    assert [problem.kind for problem in parsed.problems] == ["role_confusion"]


@pytest.mark.parametrize(
    ("written", "how"),
    [
        ("Lamp", ("renamed(Lamp)",)),
        ("functions.lamp", ("renamed(functions.lamp)",)),
        ("tools:LAMP", ("renamed(tools:LAMP)",)),
    ],
)
def test_a_name_is_folded_where_one_tool_fits(written: str, how: tuple[str, ...]) -> None:
    (call,) = parse(f'{{"tool":"{written}","args":{{"room":"x"}}}}', TOOLS).calls
    assert (call.name, call.how) == ("lamp", how)


def test_a_name_that_two_tools_fit_is_unknown() -> None:
    tools = [{"name": "get-a", "parameters": {}}, {"name": "get_a", "parameters": {}}]
    parsed = parse('{"tool":"GET_A","args":{}}', tools)
    assert [problem.kind for problem in parsed.problems] == ["unknown_tool"]
    assert parse('{"tool":"get-a","args":{}}', tools).calls[0].name == "get-a"


@pytest.mark.parametrize(
    "text",
    [
        '{"tool":"lamp","name":"night","args":{"room":"x"}}',
        '{"name":"lamp","arguments":{"room":"x"},"parameters":{"room":"y"}}',
    ],
)
def test_two_readings_are_refused(text: str) -> None:
    parsed = parse(text, TOOLS)
    assert (parsed.calls, [problem.kind for problem in parsed.problems]) == ((), ["ambiguous"])


def test_python_is_read_and_never_run() -> None:
    for text in (
        "[lamp(room=open('x'))]",
        "[lamp(room='a'+'b')]",
        "[lamp('attic')]",
        "[lamp(**{})]",
        "[__import__('os')]",
    ):
        assert parse(text, TOOLS).calls == ()
    for text in ("[night(a=1e999)]", "[night(a=1if 1else 2)]", "[night(a=-'x')]"):
        assert parse(text, TOOLS).calls == ()
    (call,) = parse(r"[night(a='\d\ud83d')]", TOOLS).calls
    assert call.arguments == {"a": "\\d\ufffd"}
    (call,) = parse("[night(a=-1, b=(1, 2), c={'d': None, 'e': true})]", TOOLS).calls
    assert call.arguments == {"a": -1, "b": [1, 2], "c": {"d": None, "e": True}}


@pytest.mark.parametrize(
    ("text", "arguments", "repair"),
    [
        ("[night(month=07, day=05)]", {"month": 7, "day": 5}, "leading_zeros"),
        ("[night(at='08', n=[01, -02, 10], x=0.5)]", {"at": "08", "n": [1, -2, 10], "x": 0.5}, "leading_zeros"),
        ("[night(song='it's late')]", {"song": "it's late"}, "inner_quotes"),
        ('[night(run="echo "a, b" \\" end")]', {"run": 'echo "a, b" " end'}, "inner_quotes"),
    ],
)
def test_python_is_mended_where_one_reading_exists(text: str, arguments: dict[str, Any], repair: str) -> None:
    (call,) = parse(text, TOOLS).calls
    assert (dict(call.arguments), call.how[-1]) == (arguments, f"repaired({repair})")


@pytest.mark.parametrize(
    "inner",
    ["night(n=010)", "night(a='x', b='it's')", "night(a='x'), night(b='y'z')"],
)
def test_python_with_two_readings_is_refused(inner: str) -> None:
    parsed = parse(f"<|tool_call_start|>[{inner}]<|tool_call_end|>", TOOLS)
    assert (parsed.calls, [problem.kind for problem in parsed.problems]) == ((), ["bad_json"])


@pytest.mark.parametrize(
    "text",
    [
        "So I write [night(a=1)] for that.",
        "One could say [night()]",
        "Or <function=night>{}</function> here.",
        'Or <invoke name="night"></invoke> here.',
    ],
)
def test_calls_in_other_forms_are_told_where_they_are_text(text: str) -> None:
    parsed = parse(text, TOOLS)
    assert (parsed.calls, parsed.content) == ((), text)
    assert [problem.kind for problem in parsed.problems] == ["not_a_call"]


def test_what_is_no_call_between_control_tokens_is_told() -> None:
    text = "<|tool_call>call:lamp attic<tool_call|><|tool_call>call:night{}<tool_call|>"
    parsed = parse(text, TOOLS)
    assert ([call.name for call in parsed.calls], parsed.content) == (["night"], None)
    assert [problem.kind for problem in parsed.problems] == ["not_a_call"]


def test_arguments_behind_no_name_are_refused() -> None:
    parsed = parse('lamp[TOOL_CALLS][ARGS]{"room": "attic"}', TOOLS)
    assert (parsed.calls, [problem.kind for problem in parsed.problems]) == ((), ["not_a_call"])


def test_gemma_strings_hold_anything() -> None:
    text = '<|tool_call>call:night{a:{b:<|"|>{"c": }<|"|>,d:[true,null]},e:<|"|>x\n\\y<|"|>}<tool_call|>'
    (call,) = parse(text, TOOLS).calls
    assert (call.arguments, call.how) == (
        {"a": {"b": '{"c": }', "d": [True, None]}, "e": "x\n\\y"},
        ("extracted(wrapper)",),
    )


@pytest.mark.parametrize("inner", ["call:night{a:<|", 'call:night{a:<|"|>x', "call:night{a:{b:1}", "call:night{a:1,,}"])
def test_broken_gemma_calls_are_refused(inner: str) -> None:
    parsed = parse(f"<|tool_call>{inner}", TOOLS)
    assert (parsed.calls, len(parsed.problems)) == ((), 1)


def test_a_parameter_that_says_so_is_a_text() -> None:
    tools = [{"name": "put", "parameters": {"properties": {"a": {"type": ["string", "integer"]}, "b": {}}}}]
    form = '<｜DSML｜invoke name="put"><｜DSML｜parameter name="a" string="{}">42</｜DSML｜parameter></｜DSML｜invoke>'
    assert parse(form.format("true"), tools).calls[0].arguments == {"a": "42"}
    assert parse(form.format("false"), tools).calls[0].arguments == {"a": 42}


def test_a_message_to_no_tool_is_refused_and_one_to_nobody_is_text() -> None:
    head = "<|channel|>commentary to=functions.{}<|message|>"
    parsed = parse(head.format("ghost") + "{}", TOOLS)
    assert (parsed.calls, [problem.kind for problem in parsed.problems]) == ((), ["unknown_tool"])
    assert parse(head.format("lamp") + "print(1)", TOOLS).calls == ()


def test_the_command_says_why(tmp_path: Any) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{**tool, "description": ""} for tool in TOOLS]), encoding="utf-8")
    text = f"Well.\n```json\n{NAMED}\n```\nor `{FORMS['canonical']}`\n"
    done = CliRunner().invoke(app, ["parse", "--tools", str(tools), "--json", "--why"], input=text)
    reasons = json.loads(done.stdout)["why"]
    assert done.exit_code == 1
    assert [reason["line"] for reason in reasons] == [2, 5]
    assert [reason["verdict"] for reason in reasons] == ["call", "text"]
    assert reasons[0]["why"] == "lamp, taken out of a fence, written with name, arguments"
    assert reasons[1]["why"] == "a call of lamp stands in inline code"
    shown = CliRunner().invoke(app, ["parse", "--tools", str(tools), "--why"], input=text).stdout
    assert "line 5    text    " in shown
    assert "stands in inline code" in shown
    nothing = CliRunner().invoke(app, ["parse", "--tools", str(tools), "--why"], input="Good morning.")
    assert (nothing.exit_code, nothing.stdout) == (0, "nothing in it looks like a call\n")


CANDIDATES = f"""<think>Say {FORMS["canonical"]}?</think>
One writes {FORMS["canonical"]} for that.
{FORMS["canonical"]}

> {FORMS["canonical"]}
```python
{FORMS["canonical"]}
```
```json
{FORMS["canonical"]}
{{"more": 1}}
```
`{FORMS["canonical"]}` or “{FORMS["canonical"]}”

{{"name": "Ada"}}

[
{FORMS["canonical"]}, {{}}

<tool_call>lamp attic</tool_call>

{FORMS["canonical"]} is how.
{{"tool":"ghost","args":{{}}}}
{{"tool":"lamp","args":{{"level":NaN}}}}
Observation: 3
{FORMS["canonical"]}"""


def test_every_candidate_is_explained() -> None:
    reasons = [(CANDIDATES.count("\n", 0, each.span[0]) + 1, each) for each in explain(CANDIDATES, TOOLS)]
    assert [(line, each.verdict, each.why.removeprefix("a call of lamp ").split(":")[0]) for line, each in reasons] == [
        (1, "text", "stands in a think block"),
        (2, "text", "stands inside a sentence"),
        (3, "call", "lamp, exactly as the prompt asks"),
        (5, "text", "stands in a block quote"),
        (7, "text", "stands in a fence of python"),
        (10, "text", "stands in a fence with other things"),
        (11, "text", "is no object with a tool's name and its arguments (tool, args)"),
        (13, "text", "stands in inline code"),
        (13, "text", "stands in a quotation"),
        (15, "text", "is no object with a tool's name and its arguments (tool, args)"),
        (17, "text", "is no object with a tool's name and its arguments (tool, args)"),
        (18, "text", "stands inside other data"),
        (20, "text", "what stands behind <tool_call> is no call"),
        (22, "text", "stands beside other words on its line"),
        (23, "refused", "unknown_tool"),
        (24, "refused", "bad_json"),
        (25, "refused", "role_confusion"),
    ]


def test_the_model_is_told_where_its_call_stood() -> None:
    (problem,) = parse(f"```python\n{FORMS['canonical']}\n```", TOOLS).problems
    assert problem.message.startswith("A call of lamp stands in a fence of python and was not run.")
