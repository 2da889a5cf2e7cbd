"""A reply in pieces: the same result wherever it is cut, text as early as possible, nothing of a call in the text."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.block import Convention, Shape, render_call, render_none, render_reply
from textcall.parsing import (
    ArgumentsCame,
    CallDropped,
    CallReady,
    CallStarted,
    Event,
    Parsed,
    ProblemFound,
    Restarted,
    StreamParser,
    TextCame,
    ThoughtCame,
    parse,
)

TOOLS = [
    {"name": "ferry", "parameters": {"properties": {"port": {"type": "string"}, "seats": {"type": "integer"}}}},
    {"name": "jot", "parameters": {"properties": {"body": {"type": "string"}}, "required": ["body"]}},
]
OBAN = '{"tool":"ferry","args":{"port":"Oban"}}'
REPLY, DECIDE = Convention(shape=Shape.REPLY), Convention(shape=Shape.DECIDE)


def numbered() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"call_{next(numbers)}"


def fed(pieces: Iterable[str | bytes], finish_reason: Any = "stop", **options: Any) -> tuple[list[Event], Parsed]:
    parser = StreamParser(TOOLS, ids=numbered(), **options)
    events = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.close(finish_reason)
    return events, parser.parsed()


def gathered(events: Iterable[Event]) -> Parsed:
    """What the events come to."""
    text = thought = ""
    calls: list[Any] = []
    problems: list[Any] = []
    for event in events:
        match event:
            case TextCame():
                text += event.text
            case ThoughtCame():
                thought += event.text
            case CallReady():
                calls.append(event.call)
            case ProblemFound():
                problems.append(event.problem)
            case Restarted():
                text, thought, calls, problems = "", event.reasoning, [], []
            case _:
                pass
    return Parsed(text or None, thought or None, tuple(calls), tuple(problems))


def cut(text: str, cuts: Iterable[int]) -> list[str]:
    edges = [0, *sorted(set(cuts)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def check(text: str, cuts: Iterable[int], finish_reason: Any = "stop", **options: Any) -> None:
    whole = parse(text, TOOLS, finish_reason=finish_reason, ids=numbered(), **options)
    events, parsed = fed(cut(text, cuts), finish_reason, **options)
    assert parsed == whole
    assert gathered(events) == whole


TEXTS = [
    OBAN,
    f"First a look.\n{OBAN}\nThen this:\n{OBAN}\nDone.",
    f"Sure.\n```json\n[{OBAN}]\n```\nWell?",
    f"````tool\n{OBAN}\n{OBAN}\n````",
    f"```python\n{OBAN}\n```\n> {OBAN}\n`{OBAN}` and “{OBAN}”",
    '<tool_call>\n{"name": "ferry", "arguments": {"port": "Oban"}}\n</tool_call>\n<tool_call>{}</tool_call>',
    "I ask.<tool_call>{'name': 'ferry', 'arguments': {'port': 'Oban', 'seats': '2'}}</tool_call> Now wait.",
    '[TOOL_CALLS]ferry[ARGS]{"port": "Oban"}[TOOL_CALLS]ferry[ARGS]{"port": "Uig"}',
    "<|tool_call_start|>[ferry(port='Oban'), jot(body=\"a\nb\")]<|tool_call_end|> ok",
    "[ferry(port='Oban', seats=2)]",
    "<function=ferry>\n<parameter=port>\nOban\n</parameter>\n<parameter=seats>2</parameter>\n</function>",
    "<tool_call>ferry\n<arg_key>port</arg_key>\n<arg_value>Oban</arg_value>\n</tool_call>",
    'Action: ferry\nAction Input: {"port": "Oban"}\nObservation: 12:00\nFinal answer: noon',
    'I ask.<|tool_call>call:ferry{port:<|"|>O}"ban<|"|>,seats:2}<tool_call|><|tool_call>call:jot{}<tool_call|> ok',
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="ferry">\n<｜DSML｜parameter name="port" string="true">Oban'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>\nDone.",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.ferry "
    '<|constrain|>json<|message|>{"port": "Oban"}<|call|>',
    ' to=functions.ferry<|channel|>analysis<|message|>{"port": "Oban"}\nto=you, with thanks',
    "[ferry(port='it's', seats=02)]",
    "Action: think hard\nThat was no call.",
    f"<think>maybe\n{OBAN}\n<think>no</think></think>Hello.",
    f"maybe\n{OBAN}\nno.</think>\n\n{OBAN}",
    "<think>never closed " + OBAN,
    f"{OBAN}<|im_end|>\n<|im_start|>user\nthanks",
    f"{OBAN}</s>",
    "Observation: made up\n" + OBAN,
    '{"answer": [1, 2],\n "tool": 5}\n',
    '{"tool": "ferry", "args": {"port": "Ob',
    '{"tool":"ferry","args":{"port":NaN}}\n' + OBAN,
    '{"tool":"jot","args":{"body":"he said "hi" twice"}}\n',
    '{"tool":"ghost","args":{}} \r\n' + OBAN,
    'Use { and [ and <tool or 3 < 4, "quoted\n' + OBAN,
    "{\n  'tool': 'ferry', // which\n  'args': {'port': 'Oban',},\n}\n",
    "｛“tool”：“ferry”，“args”：｛“port”：“上海”｝｝\n好的。",
    '{"tool":"jot","args":{"body":"naïve 🌊 \\ud83c\\udf0a </tool_call> ``` <think>"}}\nDone.',
    "\n\n  \n" + OBAN + "\n\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("finish_reason", ["stop", "length"])
def test_one_cut_anywhere(text: str, finish_reason: str) -> None:
    for at in range(1, len(text)):
        check(text, [at], finish_reason)


@pytest.mark.parametrize("text", TEXTS)
def test_character_by_character(text: str) -> None:
    check(text, range(1, len(text)))
    check(text, range(1, len(text)), strict=True)
    check(text, range(1, len(text)), thinking=True)


@pytest.mark.parametrize("text", TEXTS)
def test_byte_by_byte(text: str) -> None:
    events, parsed = fed(bytes([byte]) for byte in text.encode())
    assert parsed == gathered(events) == parse(text, TOOLS, ids=numbered())


def test_an_unfinished_character_at_the_end_is_one_replacement() -> None:
    assert fed([b"caf\xc3\xa9 \xf0\x9f"])[1].content == "café \ufffd"


FRAGMENTS = [
    OBAN,
    "{'tool': 'ferry', 'args': {}}",
    '{"name":"jot","arguments":{"body":"q"}}',
    *("\n", "\n\n", " ", "\r\n", "```", "```json\n", "~~~\n", "\n```\n", "`", '"', "'", "“", "”", "{", "}", "[", "]"),
    *("<", ">", "<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "ferry[ARGS]", "functools["),
    *("<function=ferry>", "<parameter=port>", "</parameter>", "</function>", "<|im_end|>", "<|im_start|>", "</s>"),
    *(
        "Observation: ",
        "Action: ferry\nAction Input: ",
        "The end.",
        ",",
        ";",
        "\\",
        "\\u",
        "\\ud83c",
        "\\n",
        "//",
        "/*",
        "#",
    ),
    *(
        ":",
        "true",
        "1",
        "-1.5",
        "NaN",
        "é",
        "🌊",
        "> ",
        "- ",
        "[ferry(port='x')]",
        "</",
        "<tool_",
        '{"a": [\n',
        "<|",
        "\ufeff",
    ),
    *(
        "<|tool_call>",
        "call:ferry{",
        '<|"|>',
        "<tool_call|>",
        "<|channel|>commentary to=functions.ferry",
        "<|message|>",
    ),
    *(
        "<|channel|>analysis",
        "<|call|>",
        "to=functions.jot",
        "<｜DSML｜invoke name=",
        '"ferry">',
        "</｜DSML｜invoke>",
        "[ARGS]",
    ),
    *('"tool":', '"args":', '{"tool":"reply","args":{"text":"hi', '"}}', '{"tool":"none"}', "<|tool_call_start|>"),
]
JOINED = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)


@given(JOINED, st.data(), st.sampled_from(["stop", "length"]), st.sampled_from([None, REPLY, DECIDE]), st.booleans())
def test_any_text_cut_anyhow(
    text: str, data: st.DataObject, reason: str, shape: Convention | None, thinking: bool
) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(text)), max_size=8))
    check(text, cuts, reason, convention=shape, thinking=thinking)
    check(text, range(1, len(text)), reason, convention=shape, thinking=thinking)


@pytest.mark.parametrize(
    "line",
    [
        '{"tool":"ghost","args":{}}',
        '{"tool":"jot","args":{}}',
        "[TOOL_CALLS]ghost[ARGS]{}",
        '{"tool":"ferry","args":{"port":NaN}}',
        "{'tool':'jot','args':{'body':'x'}}",
    ],
)
def test_where_reading_stops_does_not_depend_on_the_pieces(line: str) -> None:
    text = f"{OBAN}\n" + f"{line}\n" * 1_050 + f"{OBAN}\nDone."
    for size in (7, 1_000):
        check(text, range(size, len(text), size))


def test_prose_comes_at_once() -> None:
    parser = StreamParser(TOOLS)
    assert parser.feed("Once there was ") == [TextCame("Once there was")]
    assert parser.feed("a ferry, 3 < 4") == [TextCame(" a ferry, 3 < 4")]


def test_only_what_may_be_a_mark_is_held_back() -> None:
    parser = StreamParser(TOOLS)
    assert parser.feed("See <tool") == [TextCame("See")]
    assert parser.feed("box> there.") == [TextCame(" <toolbox> there.")]


@pytest.mark.parametrize("text", ["Well!\n<tool_call>" + OBAN + "</tool_call>", "Well!\n```json\n" + OBAN + "\n```"])
def test_nothing_of_a_call_shows_in_the_text(text: str) -> None:
    events, _ = fed(text)
    assert "".join(event.text for event in events if isinstance(event, TextCame)) == "Well!"


def test_a_call_is_announced_and_its_arguments_come_as_they_are_written() -> None:
    parser = StreamParser(TOOLS)
    assert parser.feed('{"tool":"ferry",') == []
    assert parser.feed('"args":{"po') == [CallStarted("ferry"), ArgumentsCame('{"po')]
    assert parser.feed('rt":"O}b') == [ArgumentsCame('rt":"O}b')]
    assert parser.feed('an"}}') == [ArgumentsCame('an"}')]
    (ready,) = parser.close()
    assert isinstance(ready, CallReady)
    assert ready.call.arguments == {"port": "O}ban"}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('[TOOL_CALLS]ferry[ARGS]{"port": "Ob', '{"port": "Ob'),
        ('<|tool_call_begin|>functions.ferry:0<|tool_call_argument_begin|>{"port": "Ob', '{"port": "Ob'),
        ('<tool_call>\n{"name": "ferry", "arguments": {"port": "Ob', '{"port": "Ob'),
        ('<|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "ferry", "parameters": {"port"', '{"port"'),
        ("<|tool_call_start|>[ferry(port='Ob", ""),
        ('<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "ferry", ', ""),
    ],
)
def test_calls_in_wrappers_are_announced(text: str, arguments: str) -> None:
    events = StreamParser(TOOLS).feed(text)
    assert events[0] == CallStarted("ferry")
    assert "".join(event.text for event in events if isinstance(event, ArgumentsCame)) == arguments


def test_a_call_that_was_announced_by_its_name_gives_its_arguments_as_they_come() -> None:
    parser = StreamParser(TOOLS)
    head = '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "ferry", '
    assert parser.feed(head) == [CallStarted("ferry")]
    assert parser.feed('"parameters": {"po') == [ArgumentsCame('{"po')]
    assert parser.feed('rt": "Oban"}}]') == [ArgumentsCame('rt": "Oban"}')]
    (ready,) = parser.close()
    assert isinstance(ready, CallReady)


def test_arguments_written_as_python_come_when_they_are_whole() -> None:
    events, _ = fed("<|tool_call_start|>[ferry(port='Oban')]<|tool_call_end|>")
    assert [type(event) for event in events] == [CallStarted, ArgumentsCame, CallReady]
    assert events[1] == ArgumentsCame('{"port":"Oban"}')


@pytest.mark.parametrize("end", [" is what one writes.", "\nfoo"])
def test_every_start_is_followed_by_a_call_or_a_drop(end: str) -> None:
    events, parsed = fed(OBAN + end)
    kinds = [type(event) for event in events if isinstance(event, CallStarted | CallReady | CallDropped)]
    assert kinds == [CallStarted, CallReady if parsed.calls else CallDropped]


def test_a_call_in_one_piece_is_announced_too() -> None:
    events, _ = fed(["Hm.\n" + OBAN + "\n"])
    assert events[:3] == [TextCame("Hm."), CallStarted("ferry"), ArgumentsCame('{"port":"Oban"}')]


def test_the_text_of_a_reply_comes_as_it_is_written() -> None:
    parser = StreamParser(TOOLS, convention=REPLY)
    said = [
        parser.feed(piece) for piece in ('{"tool":"reply","args":{"te', 'xt":"Hel', "lo \\", 'n\\"you\\"', ' there"}}')
    ]
    assert said == [[], [TextCame("Hel")], [TextCame("lo")], [TextCame(' \n"you"')], [TextCame(" there")]]
    assert parser.close() == []


@given(st.text(), st.data())
def test_a_reply_says_exactly_its_text(text: str, data: st.DataObject) -> None:
    written = render_reply(REPLY, text)
    _, parsed = fed(cut(written, data.draw(st.sets(st.integers(0, len(written)), max_size=5))), convention=REPLY)
    wanted = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").strip()
    assert (parsed.content or "", parsed.calls, parsed.problems) == (wanted, (), ())


def test_decide_gives_the_text_behind_its_line() -> None:
    events, parsed = fed(f"{render_none(DECIDE)}\nHello!", convention=DECIDE)
    assert gathered(events) == parsed == Parsed("Hello!", None, (), ())


def test_half_a_call_is_no_call_when_the_writer_fails() -> None:
    parser = StreamParser(TOOLS)
    events = [*parser.feed('{"tool":"ferry","args":{"port":"Ob'), *parser.close("length")]
    assert [type(event) for event in events] == [CallStarted, ArgumentsCame, CallDropped, ProblemFound]
    assert parser.parsed().content is None


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@pytest.mark.parametrize("dress", [OBAN[:-2].replace("Oban", "{}") + "}}", "```json\n{}\n```", "{} words"])
def test_time_grows_with_the_text_however_small_the_pieces(dress: str) -> None:
    """A text of one hundred thousand characters, one at a time: held text is not read again for each."""

    def stream(size: int) -> None:
        body = json.dumps("x y" * (size // 3))[1:-1]
        text = dress.replace("{}", body if "port" in dress else render_call("jot", {"body": body}))
        _, parsed = fed(text)
        assert parsed.calls or dress.endswith("words")

    small, large = seconds(lambda: stream(10_000)), seconds(lambda: stream(100_000))
    assert large < 40 * small + 0.5


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" + '{"a":1}\n' * 4_096,
        '```json\n{"tool":"jot","args":{"body":"' + "x]\n" * 10_000,
        '{"tool":"jot","args":{"body":"a "b" c\n' + "x}\n" * 10_000,
        "Well: " + '{"tool":"jot","args":{"body":"' + "x}\n\n" * 8_000,
    ],
)
def test_time_where_the_text_seems_to_end_again_and_again(text: str) -> None:
    part = text[: len(text) // 4]
    small, large = (seconds(lambda t=t: fed(cut(t, range(3, len(t), 3)))) for t in (part, text))
    assert large < 10 * small + 0.5  # 4 where the time grows with the length, 16 with its square
