"""What a reply holds, by tables: each row is a text and the calls in it. Properties and time bounds come last."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from textcall.block import Convention, Shape, render_call, render_none, render_reply
from textcall.parsing import Parsed, parse
from textcall.tools import Tool

OBJECT = {"type": "object", "additionalProperties": False}
FERRY = {"port": {"type": "string"}, "seats": {"type": "integer", "minimum": 1}, "deck": {"enum": ["upper", "lower"]}}
TOOLS = (
    Tool(name="ferry", parameters={**OBJECT, "properties": FERRY, "required": ["port"]}),
    Tool(name="stop_pumps", parameters={**OBJECT, "properties": {}}),
    Tool(
        name="jot",
        parameters={**OBJECT, "properties": {"body": {"type": "string"}}, "required": ["body"]},
    ),
    Tool(
        name="valve",
        parameters={
            **OBJECT,
            "properties": {"open": {"type": "boolean"}, "flow": {"type": "number"}, "zones": {"type": "array"}},
        },
    ),
)
OPEN = Tool(name="anything", parameters={"type": "object"})

Call = tuple[str, dict[str, Any]]
OBAN = '{"tool":"ferry","args":{"port":"Oban"}}'
CALLED: Call = ("ferry", {"port": "Oban"})
STOP = '{"tool":"stop_pumps","args":{}}'
STOPPED: Call = ("stop_pumps", {})


def read(text: str, **options: Any) -> Parsed:
    numbers = itertools.count(1)
    return parse(text, TOOLS, ids=lambda: f"call_{next(numbers)}", **options)


def calls(parsed: Parsed) -> list[Call]:
    return [(call.name, dict(call.arguments)) for call in parsed.calls]


def kinds(parsed: Parsed) -> list[str]:
    return [problem.kind for problem in parsed.problems]


def table(*rows: tuple[Any, ...]) -> Any:
    """Rows of (id, value, …) as parameters."""
    return [pytest.param(*values, id=name) for name, *values in rows]


READ = table(
    # the canonical form
    ("canonical", OBAN, [CALLED], None),
    ("no arguments", STOP, [STOPPED], None),
    ("spread over lines", '{\n  "tool": "ferry",\n  "args": {\n    "port": "Oban"\n  }\n}\n', [CALLED], None),
    ("keys in the other order", '{"args":{"port":"Oban"},"tool":"ferry"}', [CALLED], None),
    ("text before and after", f"One moment.\n{OBAN}\nDone soon.", [CALLED], "One moment.\n\nDone soon."),
    ("indented", f"  {OBAN}", [CALLED], None),
    ("carriage returns", f"One moment.\r\n{OBAN}\r\n", [CALLED], "One moment."),
    ("a string full of marks", r'{"tool":"jot","args":{"body":"{\"tool\":\"x\"} ``` </tool_call> <think>"}}',
     [("jot", {"body": '{"tool":"x"} ``` </tool_call> <think>'})], None),
    ("beyond ASCII", '{"tool":"ferry","args":{"port":"Ørsta 🛳"}}', [("ferry", {"port": "Ørsta 🛳"})], None),
    # fences
    ("fence json", f"```json\n{OBAN}\n```", [CALLED], None),
    ("fence JSON", f"```JSON\n{OBAN}\n```", [CALLED], None),
    ("fence tool", f"```tool\n{OBAN}\n```", [CALLED], None),
    ("fence tool_call", f"```tool_call\n{OBAN}\n```", [CALLED], None),
    ("fence without a word", f"```\n{OBAN}\n```", [CALLED], None),
    ("four backticks", f"````json\n{OBAN}\n````", [CALLED], None),
    ("fence never closed", f"```json\n{OBAN}\n", [CALLED], None),
    ("fence between text", f"First this:\n```json\n{OBAN}\n```\nThen more.", [CALLED], "First this:\n\nThen more."),
    ("two in one fence", f"```json\n{OBAN}\n{STOP}\n```", [CALLED, STOPPED], None),
    ("two fences", f"```json\n{OBAN}\n```\n```json\n{STOP}\n```", [CALLED, STOPPED], None),
    # wrappers
    ("wrapper tool_call", f"<tool_call>\n{OBAN}\n</tool_call>", [CALLED], None),
    ("wrapper function_call", f"<function_call>{OBAN}</function_call>", [CALLED], None),
    ("wrapper never closed", f"<tool_call>\n{OBAN}", [CALLED], None),
    ("two wrappers", f"<tool_call>{OBAN}</tool_call>\n<tool_call>{STOP}</tool_call>", [CALLED, STOPPED], None),
    ("wrapper after a sentence", f"Asking now.\n<tool_call>{OBAN}</tool_call>", [CALLED], "Asking now."),
    # names of keys
    ("name and arguments", '{"name":"ferry","arguments":{"port":"Oban"}}', [CALLED], None),
    ("name and parameters", '{"name":"ferry","parameters":{"port":"Oban"}}', [CALLED], None),
    ("function and params", '{"function":"ferry","params":{"port":"Oban"}}', [CALLED], None),
    ("tool_name and input", '{"tool_name":"ferry","input":{"port":"Oban"}}', [CALLED], None),
    ("action and action_input", '{"action":"ferry","action_input":{"port":"Oban"}}', [CALLED], None),
    # OpenAI's shapes
    ("envelope", '{"type":"function","function":{"name":"ferry","arguments":{"port":"Oban"}}}', [CALLED], None),
    # several
    ("a call a line", f"{OBAN}\n{STOP}\n{OBAN}", [CALLED, STOPPED, CALLED], None),
    ("list", f"[{OBAN},{STOP}]", [CALLED, STOPPED], None),
    ("list in a fence", f"```json\n[{OBAN}, {STOP}]\n```", [CALLED, STOPPED], None),
    # think blocks
    ("after thinking", f"<think>The user wants Oban.</think>\n{OBAN}", [CALLED], None),
    ("after thinking that the template began", f"The user wants Oban.\n</think>\n{OBAN}", [CALLED], None),
)  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "content"), READ)
def test_read(text: str, wanted: list[Call], content: str | None) -> None:
    parsed = read(text)
    assert calls(parsed) == wanted
    assert parsed.problems == ()
    said = parsed.content and "\n\n".join(filter(None, (part.strip() for part in parsed.content.split("\n"))))
    assert said == content


NEVER = table(
    ("in a sentence", f"You would write {OBAN} to ask for the ferry."),
    ("at the end of a sentence", f"You would write {OBAN}"),
    ("a sentence behind it", f"{OBAN} is what you would write."),
    ("inline code", f"Write `{OBAN}` to ask."),
    ("inline code alone on its line", f"`{OBAN}`"),
    ("quotation", f"> {OBAN}"),
    ("quotation of some lines", f"> Someone wrote:\n> {OBAN}\n> and left."),
    ("python fence", f"```python\n{OBAN}\n```"),
    ("bash fence", f"```bash\n{OBAN}\n```"),
    ("text fence", f"```text\n{OBAN}\n```"),
    ("python fence, never closed", f"```python\n{OBAN}\n"),
    ("json fence inside a markdown fence", f"````markdown\n```json\n{OBAN}\n```\n````"),
    ("think block", f"<think>\n{OBAN}\n</think>\nWhich port?"),
    ("thinking block", f"<thinking>\n{OBAN}\n</thinking>\nWhich port?"),
    ("string of JSON", json.dumps({"answer": OBAN})),
    ("string in a fence", f"```json\n{json.dumps({'log': [OBAN]})}\n```"),
    ("string of a list", json.dumps([OBAN, STOP])),
    ("inside another object", f'{{"example":{OBAN},"note":"as asked"}}'),
    ("list of other things", '[1, "two", {"port":"Oban"}]'),
    ("HTML comment", f"<!-- {OBAN} -->"),
    ("plain JSON", '{"port":"Oban","seats":2}'),
    ("a person", '{"name":"Ingrid","age":41}'),
    ("a schema", '{"name":"ferry","description":"Times","parameters":{"type":"object","properties":{"port":{}}}}'),
    ("braces", "Use {port} and {seats} in the template."),
    ("empty", ""),
    ("blank", " \n\t\n"),
)  # fmt: skip


@pytest.mark.parametrize("text", NEVER)
def test_never_a_call(text: str) -> None:
    assert calls(read(text)) == []


@pytest.mark.parametrize("text", ["Good morning.", "1 < 2 and {3} > [4]", "The set {a, b}.", 'Use `x` or "y".'])
def test_prose_stays_as_it_is(text: str) -> None:
    assert read(text) == Parsed(text, None, (), ())


CUT = table(
    ("inside the arguments", '{"tool":"ferry","args":{"port":"Oban"'),
    ("one closer short", OBAN[:-1]),
    ("inside a string", '{"tool":"jot","args":{"body":"Dear all, the'),
    ("inside a number", '{"tool":"ferry","args":{"port":"Oban","seats":1'),
    ("in a fence", '```json\n{"tool":"ferry","args":{"port":"Oban"'),
    ("in a wrapper", '<tool_call>{"tool":"ferry","args":{"port":"Ob'),
)


@pytest.mark.parametrize("text", CUT)
def test_nothing_that_was_cut_is_run(text: str) -> None:
    parsed = read(text, finish_reason="length")
    assert calls(parsed) == []
    assert "truncated" in kinds(parsed)


def test_what_stands_whole_before_the_cut_counts() -> None:
    parsed = read(f'{STOP}\n{{"tool":"ferry","args":{{"port":"Ob', finish_reason="length")
    assert calls(parsed) == [STOPPED]
    assert kinds(parsed) == ["truncated"]


def test_an_open_string_is_never_closed_even_where_the_engine_says_stop() -> None:
    parsed = read('{"tool":"jot","args":{"body":"half a sen')
    assert calls(parsed) == []
    assert parsed.problems


REFUSED = table(
    ("unknown tool", '{"tool":"submarine","args":{}}', "unknown_tool", ["submarine", "ferry", "stop_pumps"]),
    ("nearly a tool", '{"tool":"fery","args":{"port":"Oban"}}', "unknown_tool", ["Did you mean ferry?"]),
    ("missing argument", '{"tool":"ferry","args":{}}', "invalid_arguments", ["port"]),
    ("wrong type", '{"tool":"ferry","args":{"port":["Oban"]}}', "invalid_arguments", ["port", "string"]),
    ("not one of", '{"tool":"ferry","args":{"port":"Oban","deck":"roof"}}', "invalid_arguments", ["upper", "lower"]),
    ("below the minimum", '{"tool":"ferry","args":{"port":"Oban","seats":0}}', "invalid_arguments", ["seats"]),
    ("unknown argument", '{"tool":"stop_pumps","args":{"now":true}}', "invalid_arguments", ["now"]),
    ("arguments are a list", '{"tool":"ferry","args":["Oban"]}', "invalid_arguments", ["object"]),
    ("a word for a number", '{"tool":"ferry","args":{"port":"Oban","seats":"two"}}', "invalid_arguments", ["seats"]),
    ("half a seat", '{"tool":"ferry","args":{"port":"Oban","seats":1.5}}', "invalid_arguments", ["integer"]),
    ("yes for true", '{"tool":"valve","args":{"open":"yes"}}', "invalid_arguments", ["boolean"]),
)  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "words"), REFUSED)
def test_refused(text: str, kind: str, words: list[str]) -> None:
    parsed = read(text)
    assert calls(parsed) == []
    assert kinds(parsed) == [kind]
    problem = parsed.problems[0]
    assert all(word in problem.message for word in words), problem.message
    assert problem.span == (0, len(text))


def test_a_refused_call_does_not_take_its_neighbours_with_it() -> None:
    parsed = read(f'{OBAN}\n{{"tool":"submarine","args":{{}}}}\n{STOP}')
    assert calls(parsed) == [CALLED, STOPPED]
    assert kinds(parsed) == ["unknown_tool"]
    assert parsed.content is None


def test_a_problem_points_at_its_argument() -> None:
    text = '{"tool":"ferry","args":{"port":"Oban","deck":"roof"}}'
    assert read(text).problems[0].path == "/deck"


HOW = table(
    ("canonical", OBAN, ("strict",)),
    ("fence", f"```json\n{OBAN}\n```", ("extracted(fence)",)),
    ("wrapper", f"<tool_call>{OBAN}</tool_call>", ("extracted(wrapper)",)),
    ("renamed", '{"name":"ferry","arguments":{"port":"Oban"}}', ("renamed(name)", "renamed(arguments)")),
)


@pytest.mark.parametrize(("text", "how"), HOW)
def test_how_it_was_read(text: str, how: tuple[str, ...]) -> None:
    assert read(text).calls[0].how == how


def test_ids_and_spans() -> None:
    parsed = read(f"🛳 First.\n{OBAN}\n{STOP}")
    assert [call.id for call in parsed.calls] == ["call_1", "call_2"]
    low, high = parsed.calls[0].span or (0, 0)
    assert (low, high) == (9, 9 + len(OBAN))


def test_reasoning_is_apart() -> None:
    parsed = read(f"<think>Oban it is.</think>\nAsking.\n{OBAN}")
    assert (parsed.reasoning, parsed.content) == ("Oban it is.", "Asking.")


# The reserved names of the conventions.

REPLY = Convention(shape=Shape.REPLY)
DECIDE = Convention(shape=Shape.DECIDE)


def test_the_text_of_a_reply_is_the_content() -> None:
    parsed = read(render_reply(REPLY, "At noon.\nFrom pier 3."), convention=REPLY)
    assert parsed == Parsed("At noon.\nFrom pier 3.", None, (), ())


def test_a_reply_beside_a_call_is_content() -> None:
    parsed = read(f"{render_reply(REPLY, 'I look.')}\n{OBAN}", convention=REPLY)
    assert (calls(parsed), parsed.content, parsed.problems) == ([CALLED], "I look.", ())


@pytest.mark.parametrize("kept", [0, 1, 6])
def test_the_readable_part_of_a_reply_that_was_cut(kept: int) -> None:
    whole = render_reply(REPLY, "At noon")
    parsed = read(whole[: whole.index("At") + kept], convention=REPLY, finish_reason="length")
    assert (parsed.content or "").strip() == "At noon"[:kept].strip()
    assert (calls(parsed), kinds(parsed)) == ([], ["truncated"])


def test_a_reply_that_was_cut_inside_an_escape() -> None:
    text = render_reply(REPLY, "").removesuffix('"}}') + r"5 \u20a"
    assert read(text, convention=REPLY, finish_reason="length").content == "5"


def test_none_is_dropped_and_the_text_behind_it_is_the_content() -> None:
    parsed = read(f"{render_none(DECIDE)}\nAt noon.", convention=DECIDE)
    assert parsed == Parsed("At noon.", None, (), ())


def test_without_a_convention_the_reserved_names_mean_nothing() -> None:
    assert kinds(read(render_reply(REPLY, "At noon."))) == ["unknown_tool"]


def test_a_tool_called_reply_stays_a_tool() -> None:
    tools = [Tool(name="reply", parameters={"type": "object"})]
    text = render_call("reply", {"text": "hello"})
    assert calls(parse(text, tools, convention=REPLY)) == [("reply", {"text": "hello"})]


# Tools in other dress.


@pytest.mark.parametrize("dress", ["bare", "wire"])
def test_tools_as_mappings(dress: str) -> None:
    bare = {"name": "ferry", "description": "Times", "parameters": {"type": "object", "properties": FERRY}}
    tool = bare if dress == "bare" else {"type": "function", "function": bare}
    assert calls(parse(OBAN, [tool])) == [CALLED]


@pytest.mark.parametrize("text", [f"```json\n{OBAN}\n```", '{"name":"ferry","arguments":{"port":"Oban"}}'])
def test_strict_takes_canonical_calls_only(text: str) -> None:
    assert calls(read(text, strict=True)) == []
    assert calls(read(OBAN, strict=True)) == [CALLED]


# Properties.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=5)


@given(ARGUMENTS)
@example({"tool": "ferry", "args": {"port": "Oban"}})
@example({"text": "</tool_call>\n```\n<think>"})
@example({"": {"": [None, -0.0, 1e300, 2**70]}})
def test_round_trip(arguments: dict[str, Any]) -> None:
    parsed = parse(render_call("anything", arguments), [OPEN])
    assert [repr(dict(call.arguments)) for call in parsed.calls] == [repr(arguments)]
    assert parsed.calls[0].how == ("strict",)
    assert (parsed.content, parsed.problems) == (None, ())


@given(
    st.lists(ARGUMENTS, min_size=2, max_size=3),
    st.sampled_from(["{}", "```json\n{}\n```", "<tool_call>{}</tool_call>"]),
)
def test_several_round_trips(several: list[dict[str, Any]], dress: str) -> None:
    text = "\n".join(dress.replace("{}", render_call("anything", arguments)) for arguments in several)
    assert [repr(dict(call.arguments)) for call in parse(text, [OPEN]).calls] == [repr(each) for each in several]


HIDDEN = ["Write {} now.", "`{}`", "> {}", "```python\n{}\n```", "<think>{}</think>", "<think>\n{}\n</think>\nWell."]
LINE = st.text(st.characters(exclude_characters="`", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20)


@given(LINE, st.sampled_from(HIDDEN))
def test_no_call_where_it_is_text(value: str, hiding: str) -> None:
    text = hiding.replace("{}", render_call("anything", {"value": value}))
    assert parse(text, [OPEN]).calls == ()


@given(ARGUMENTS, ARGUMENTS)
def test_no_call_inside_a_string(arguments: dict[str, Any], others: dict[str, Any]) -> None:
    inner = render_call("ferry", others)
    parsed = parse(render_call("anything", {**arguments, "note": inner}), [OPEN, *TOOLS])
    assert [call.name for call in parsed.calls] == ["anything"]


@given(st.data())
def test_no_cut_call_runs_wherever_the_cut_is(data: st.DataObject) -> None:
    text = render_call("anything", data.draw(ARGUMENTS))
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert parse(cut, [OPEN], finish_reason="length").calls == ()


ALPHABET = [
    *"{}[]\"':,\\\n`1 \x00\ud83d",
    *("```json\n", "<tool_call>", "</tool_call>", "<think>", "</think>", '"tool"', '"args"', '"ferry"', '"port"', OBAN),
]


@given(
    st.lists(st.sampled_from(ALPHABET), max_size=40).map("".join), st.sampled_from(["stop", "length"]), st.booleans()
)
def test_any_text_is_read_without_an_exception(text: str, finish_reason: Any, strict: bool) -> None:
    parsed = read(text, finish_reason=finish_reason, strict=strict)
    for call in parsed.calls:
        assert call.name in {tool.name for tool in TOOLS}
        low, high = call.span or (-1, -1)
        assert 0 <= low < high <= len(text)


# Time: four times the text may take no more than eight times the time, where something quadratic takes sixteen.

DEEP = table(
    ("keys of a call", '{"tool":' * 100_000),
    ("not so many, and the text ends", '{"tool":' * 5),
    ("in a fence", "```json\n" + '{"tool":' * 1_000),
    ("in a tag", "<tool_call>" + '{"tool":' * 1_000),
    ("in a list", '[{"tool":' * 1_000),
    ("in arguments", '{"tool":"jot","args":{"body":' + "[" * 5_000 + "]" * 5_000 + "}}"),
    ("in arguments that are named otherwise", '{"name":"jot","arguments":' + '{"a":' * 5_000 + "1" + "}" * 5_001),
)


@pytest.mark.parametrize("text", DEEP)
def test_depth_is_bounded_and_told(text: str) -> None:
    parsed = read(text)
    assert (calls(parsed), len(parsed.problems)) == ([], 1)
    assert kinds(parsed)[0] in ("too_deep", "truncated")


@pytest.mark.parametrize("bad", ['{"tool":"submarine","args":{}}', '{"tool":"ferry","args":{}}', '{"tool":"ferry"}'])
def test_behind_a_hundred_refused_calls_nothing_is_read_and_that_is_told(bad: str) -> None:
    parsed = read(f"{OBAN}\n" + f"{bad}\n" * 500 + OBAN)
    assert calls(parsed) == [CALLED]
    assert len(parsed.problems) < 120
    assert "not all of it was read" in parsed.problems[-1].message


HEAVY = table(
    ("braces", "{"),
    ("brackets", "["),
    ("quotes", '"'),
    ("backslashes", "\\"),
    ("lines of quotes", '"\n'),
    ("objects begun", '{"a":'),
    ("json fences", "```json\n"),
    ("wrappers begun", "<tool_call>\n"),
    ("wrappers by turns", "<tool_call>\n<function_call>\n"),
    ("think blocks", "<think>"),
    ("lines of prose", "The ferry leaves at noon.\n"),
    ("lines of objects", '{"port":"Oban"}\n'),
    ("lines of calls", f"{OBAN}\n"),
    ("tags of calls", f"<tool_call>{OBAN}</tool_call>\n"),
    ("calls of no tool", '{"tool":"submarine","args":{}}\n'),
    ("calls that are mended", "{'tool':'jot','args':{'body':\"a \"b\" c\"}}\n"),
    ("keys of a call", '{"tool":'),
)  # fmt: skip


@pytest.mark.parametrize("piece", HEAVY)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    small, large = (min(seconds(piece * (size // len(piece))) for _ in range(2)) for size in (5_000, 20_000))
    assert large < 8 * max(small, 0.005)


def seconds(text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started
