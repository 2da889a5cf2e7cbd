from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from textcall.block import Convention, Shape, render_call
from textcall.errors import UsageError
from textcall.grammar import Grammar
from textcall.grammar.calls import Mode, reply_grammar
from textcall.parsing import parse
from textcall.tools import Tool, Toolset

Walk = Callable[[Grammar, random.Random], str | None]

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "day": {"enum": ["today", "tomorrow"]}},
    "required": ["city"],
}
WEATHER = Tool(name="get_weather", parameters=CITY)
CLOCK = Tool(name="clock")
TOOLS = [WEATHER, CLOCK]

PARIS = '{"tool":"get_weather","args":{"city":"Paris"}}'
NOW = '{"tool":"clock","args":{}}'
NONE = '{"tool":"none"}\n'
SAID = '{"tool":"reply","args":{"text":"It is \\"fine\\"."}}'
TEXT = "It is fine.\n\nReally: 20 °C."

CODE = "Like this:\n\n```python\n{}\n```\n- `{}`\n  * [a] b\n``x``\n  ```js\n  {}\n  ```"
ANSWERS = {Shape.PLAIN: [TEXT, "x", "a\n", CODE], Shape.DECIDE: [NONE + TEXT, NONE + "{}"], Shape.REPLY: [SAID]}
CALLS = [PARIS, NOW, '{"tool":"get_weather","args":{"city":"","day":"today"}}']
NEVER = [
    "",
    " " + PARIS,
    "```json\n" + PARIS,
    "<think>",
    '{"tool":"unknown","args":{}}',
    '{"tool":"get_weather"}',
    '{"tool":"get_weather","args":{}}',
    '{"tool":"get_weather","args":{"city":1}}',
    '{"tool":"get_weather","args":{"city":"a","day":"now"}}',
    '{"tool":"get_weather","args":{"city":"a","more":1}}',
    '{"tool":"clock","args":{"a":1}}',
    '{"tool":"clock","args":null}',
    '{"tool": "clock","args":{}}',
    NOW + " And more.",
    NOW + "\n",
    NOW + "\n" + TEXT,
    '{"tool":"none"}',
    NONE,
    '{"tool":"reply","args":{"text":""}}',
    '{"tool":"reply","args":{"text":" "}}',
    '{"tool":"reply","args":{}}',
]


def grammar(shape: Shape, mode: Mode, **options: Any) -> Grammar:
    tools = options.pop("tools", TOOLS)
    return reply_grammar(tools, mode=mode, convention=Convention(shape=shape), **options).automaton()


def wrong(found: Grammar, good: list[str], bad: list[str]) -> list[str]:
    return [text for text in good if not found.accepts(text)] + [text for text in bad if found.accepts(text)]


OTHER_ANSWERS = {shape: [text for other in Shape if other is not shape for text in ANSWERS[other]] for shape in Shape}


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("parallel", [True, False])
def test_auto_takes_answers_and_calls(shape: Shape, parallel: bool) -> None:
    found = grammar(shape, "auto", parallel=parallel)
    assert wrong(found, ANSWERS[shape] + CALLS, NEVER) == []
    assert found.accepts(PARIS + "\n" + NOW) is parallel
    others = [text for text in OTHER_ANSWERS[shape] if shape is not Shape.PLAIN or not text[0].isalpha()]
    assert wrong(found, [], others) == []


def test_a_text_may_lead_to_calls_on_lines_of_their_own() -> None:
    said = "I look it up.\n"
    good = [said + NOW, said + "\n" + PARIS + "\n" + NOW, said + "```c\n{\n```\n" + NOW]
    broken = [
        said + '{"tool":"nope","args":{}}',
        said + NOW + " And more.",
        said + "  " + NOW,
        said + "{",
        said + "```json\n" + NOW + "\n```",
        said + "```\n" + NOW + "\n```",
        said + "```tool_call\n" + NOW + "\n```",
        said + "<tool_call>\n" + NOW,
        said + "[" + NOW,
        said + "```c\n{",
    ]
    assert wrong(grammar(Shape.PLAIN, "auto"), good, broken) == []
    assert wrong(grammar(Shape.PLAIN, "auto", parallel=False), [said + NOW], [said + PARIS + "\n" + NOW]) == []
    for text in good:
        assert parse(text, Toolset(TOOLS)).calls[-1].name == "clock"


def test_arguments_are_compiled_when_a_reply_comes_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from textcall.grammar import calls

    compiled: list[str] = []
    monkeypatch.setattr(calls, "_compiled_arguments", lambda schema, _rule: compiled.append(schema))
    found = reply_grammar(
        [Tool(name=f"only_here_{i}", parameters=CITY) for i in range(3)], mode="auto", convention=Convention()
    ).automaton()
    assert found.forced(found.start()) == '{"tool":"'
    assert found.advance(found.start(), '{"tool":"only_here_1","args"') is not None
    assert compiled == []


def test_the_text_holds_all_arguments_and_means_the_same(walked: Walk) -> None:
    made = reply_grammar(TOOLS, mode="auto", convention=Convention())
    lazy, eager = made.automaton(), Grammar(made.gbnf)
    assert lazy.gbnf == made.gbnf
    for seed in range(20):
        text = walked(lazy, random.Random(seed))
        assert text is None or eager.accepts(text)


@pytest.mark.parametrize("shape", Shape)
def test_required_takes_calls_only(shape: Shape) -> None:
    found = grammar(shape, "required")
    assert wrong(found, [*CALLS, PARIS + "\n" + NOW], [*NEVER, *ANSWERS[shape], *OTHER_ANSWERS[shape]]) == []


@pytest.mark.parametrize("shape", Shape)
def test_none_takes_answers_only(shape: Shape) -> None:
    found = grammar(shape, "none")
    free = shape is Shape.PLAIN  # there are no calls then: any text is an answer
    assert wrong(found, ANSWERS[shape], [] if free else [*CALLS, *NEVER]) == []
    assert not found.accepts("")


@pytest.mark.parametrize("shape", Shape)
def test_a_named_tool_is_called_once(shape: Shape) -> None:
    found = grammar(shape, "required", name="clock")
    assert wrong(found, [NOW], [PARIS, NOW + "\n" + NOW, *ANSWERS[shape], *NEVER]) == []
    with pytest.raises(UsageError, match=r"no tool 'nope'.*get_weather, clock"):
        grammar(shape, "required", name="nope")


@pytest.mark.parametrize("shape", Shape)
def test_without_tools_only_answers(shape: Shape) -> None:
    assert wrong(grammar(shape, "auto", tools=[]), ANSWERS[shape], [] if shape is Shape.PLAIN else CALLS) == []


@pytest.mark.parametrize(("shape", "name"), [(Shape.REPLY, "reply"), (Shape.DECIDE, "none")])
def test_a_tool_may_bear_a_reserved_name(shape: Shape, name: str) -> None:
    found = grammar(shape, "auto", tools=[Tool(name=name, parameters=CITY)])
    renamed = ANSWERS[shape][0].replace(f'"tool":"{name}"', f'"tool":"{name}_"')
    assert wrong(found, [render_call(name, {"city": "x"}), renamed], [ANSWERS[shape][0]]) == []


NAMES = ["a.b/c:d-e_f", "x" * 128, "tool", "args", "root", "t0", "call", "value", "Tool", "0", "-", "."]


@pytest.mark.parametrize("shape", Shape)
def test_any_name_of_a_tool(shape: Shape, oracle: Any) -> None:
    found = grammar(shape, "auto", tools=[Tool(name=name, parameters=CITY) for name in NAMES])
    calls = [render_call(name, {"city": name}) for name in NAMES]
    assert wrong(found, calls, [render_call(name + "x", {"city": "a"}) for name in NAMES]) == []
    assert oracle.loads(found.gbnf)
    assert all(oracle.accepts(found.gbnf, call) for call in calls)


def test_names_that_begin_alike_force_the_common_part() -> None:
    found = grammar(Shape.REPLY, "required", tools=[Tool(name="get_a"), Tool(name="get_ab")])
    assert found.forced(found.start()) == '{"tool":"get_a'


def test_two_hundred_tools(oracle: Any) -> None:
    tools = [Tool(name=f"tool_{i}", parameters=CITY) for i in range(200)]
    found = grammar(Shape.REPLY, "auto", tools=tools)
    assert wrong(found, [render_call("tool_199", {"city": "x"})], [render_call("tool_200", {"city": "x"})]) == []
    assert oracle.loads(found.gbnf)
    assert len(found.gbnf) < 100_000


def _deep(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"d": schema}, "required": ["d"]}


def test_a_schema_that_cannot_be_compiled_does_not_break_the_others() -> None:
    broken = Tool(name="broken")
    # past the tool's own check, as a schema that another draft or library let through would be
    object.__setattr__(broken, "parameters", {"type": "object", "properties": ["a"]})
    made = reply_grammar([broken, WEATHER], mode="auto", convention=Convention())
    found = made.automaton()
    assert wrong(found, [PARIS, render_call("broken", {"any": [1]})], ['{"tool":"broken","args":[]}', *NEVER]) == []
    assert len(made.problems) == 1
    assert made.problems[0].startswith("broken: ")
    assert "/properties" in made.problems[0]
    assert made.report["broken"] == ()
    assert {entry.status for entry in made.report["get_weather"]} == {"enforced"}


def test_a_deep_schema_is_loosened() -> None:
    made = reply_grammar([Tool(name="deep", parameters=_deep(60)), WEATHER], mode="auto", convention=Convention())
    found = made.automaton()
    assert wrong(found, [PARIS, '{"tool":"deep","args":{"d":' + "[" * 60 + "]" * 60 + "}}"], NEVER) == []
    assert not found.accepts('{"tool":"deep","args":{"d":1}}')


PARAMETERS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({}, ["{}"], ['{"a":1}', "[]", "null"]),
    ({"type": "object"}, ["{}"], ['{"a":1}']),
    ({"type": "object", "additionalProperties": True}, ["{}", '{"a":1}'], ["[]"]),
    ({"type": ["object", "null"], "properties": {"a": {"type": "integer"}}}, ["{}", '{"a":1}'], ["null"]),
    ({"properties": {"a": {"type": "integer"}}}, ["{}", '{"a":1}'], ["[]", "1"]),
    ({"type": "object", "required": ["z"]}, ['{"z":[1]}'], ["{}"]),
    ({"$ref": "#/$defs/p", "$defs": {"p": CITY}}, ['{"city":"x"}'], ["{}", "[]"]),
    ({"anyOf": [CITY, {"type": "null"}]}, ['{"city":"x"}'], ["{}", "null"]),
    ({"type": "object", "properties": {"me": {"$ref": "#"}}}, ['{"me":{"me":{}}}'], ['{"me":1}']),
    (
        {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]},
        ['{"a":"x"}'],
        ["{}"],
    ),
]


@pytest.mark.parametrize(("parameters", "good", "bad"), PARAMETERS)
def test_parameters(parameters: dict[str, Any], good: list[str], bad: list[str], oracle: Any) -> None:
    found = grammar(Shape.REPLY, "required", tools=[Tool(name="t", parameters=parameters)])
    written = [[f'{{"tool":"t","args":{args}}}' for args in some] for some in (good, bad)]
    assert wrong(found, *written) == []
    assert oracle.loads(found.gbnf)


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("mode", ["auto", "required", "none"])
def test_llama_cpp_takes_what_we_write(shape: Shape, mode: Mode, oracle: Any, walked: Walk) -> None:
    found, chance = grammar(shape, mode), random.Random(f"{shape}{mode}")
    texts = [text for _ in range(20) if (text := walked(found, chance))]
    assert texts
    assert [text for text in texts if not oracle.accepts(found.gbnf, text)] == []
    listed = [*ANSWERS[shape], *CALLS, *NEVER[1:]]
    assert [text for text in listed if oracle.accepts(found.gbnf, text) != found.accepts(text)] == []


@pytest.mark.parametrize("shape", Shape)
def test_the_parser_reads_each_call_that_the_grammar_writes(shape: Shape, walked: Walk) -> None:
    found, chance = grammar(shape, "required"), random.Random(7)
    texts = [text for _ in range(20) if (text := walked(found, chance))]
    assert texts
    for text in texts:
        parsed = parse(text, Toolset(TOOLS))
        assert len(parsed.calls) == text.count('{"tool":"'), text
        assert not parsed.problems, text
