"""The tolerant JSON reader: every repair by its name, everything that has no single reading refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.parsing.lenient import Broken, NeedMore, Options, read
from textcall.parsing.strict import MAX_DEPTH


def row(name: str, *values: Any) -> Any:
    return pytest.param(*values, id=name)


MENDED = [
    row("single quotes", "{'a': 'b'}", {"a": "b"}, ["single_quotes"]),
    row("an apostrophe in double quotes is none", '{"a": "it\'s", }', {"a": "it's"}, ["trailing_comma"]),
    row("python words", "[True, False, None, ]", [True, False, None], ["python_literals", "trailing_comma"]),
    row("shouted words", "[TRUE]", [True], ["python_literals"]),
    row("undefined", '{"a": undefined}', {"a": None}, ["javascript_literals"]),
    row("unquoted keys", "{a: 1, b_2: 2}", {"a": 1, "b_2": 2}, ["unquoted_keys"]),
    row("commas before closers", "[[1,],]", [[1]], ["trailing_comma"]),
    row("comma missing before a key", '{"a": 1\n "b": 2}', {"a": 1, "b": 2}, ["missing_comma"]),
    row("comma missing behind a string", '{"a": "x" "b": "y"}', {"a": "x", "b": "y"}, ["missing_comma"]),
    row("comma missing between lines", '[1\n2\n"c"]', [1, 2, "c"], ["missing_comma"]),
    row("comments", '{"a": 1, // one\n /* two */ "b": 2 # three\n}', {"a": 1, "b": 2}, ["comments"]),
    row("raw line break and tab", '{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, ["control_characters"]),
    row("full width", "｛“a”：“b”，“c”：1｝", {"a": "b", "c": 1}, ["fullwidth_punctuation", "smart_quotes"]),
    row("full width inside a string stays", '{"a": "，：｝",}', {"a": "，：｝"}, ["trailing_comma"]),
    row("smart quotes", "{“a”: “b”}", {"a": "b"}, ["smart_quotes"]),
    row("a smart quote that closes", '{"a": "b”, "c": 1}', {"a": "b", "c": 1}, ["inner_quotes"]),
    row("angle", '<"a": 1, "b": {"c": []}>', {"a": 1, "b": {"c": []}}, ["angle_brackets"]),
    row("byte order mark", '\ufeff{"a": 1}', {"a": 1}, ["white_space"]),
    row("no-break spaces", '{"a":\u00a01}', {"a": 1}, ["white_space"]),
    row("closers missing", '{"a": {"b": [true', {"a": {"b": [True]}}, ["missing_closers"]),
    row("the same twice", '{"a": 1, "a": 1}', {"a": 1}, ["duplicate_key"]),
    row("quotes in the last string", '{"a": "say "hi""}', {"a": 'say "hi"'}, ["inner_quotes"]),
    row("quotes in code", '{"a": 1, "code": "f("x", "y")"}', {"a": 1, "code": 'f("x", "y")'}, ["inner_quotes"]),
    row("a hash behind a quote is no comment", '{"a": "see "#5" there"}', {"a": 'see "#5" there'}, ["inner_quotes"]),
    row("nor are slashes", '{"a": "at "//x" in"\n}', {"a": 'at "//x" in'}, ["inner_quotes"]),
    row("escaped apostrophe", r'{"a": "it\'s"}', {"a": "it's"}, ["bad_escapes"]),
    row("escaped underscore", r'{"a": "snake\_case"}', {"a": "snake_case"}, ["bad_escapes"]),
    row("a path", r'{"a": "D:\Games\bin\new"}', {"a": r"D:\Games\bin\new"}, ["bad_escapes"]),
    row("a regular expression", r'{"a": "\d+\.\w"}', {"a": r"\d+\.\w"}, ["bad_escapes"]),
    row("LaTeX", r'{"a": "\frac{1}{2} \pm \beta"}', {"a": r"\frac{1}{2} \pm \beta"}, ["bad_escapes"]),
    row("a pair of escapes is one character", r"{'a': '\ud83c\udf0a'}", {"a": "🌊"}, ["single_quotes"]),
    row("half a pair", r'{"a": "x\ud83cy"}', {"a": "x\ufffdy"}, ["lone_surrogates"]),
    row("half a pair, raw", '{"a": "x\ud83cy"}', {"a": "x\ufffdy"}, ["lone_surrogates"]),
]


@pytest.mark.parametrize(("text", "value", "repairs"), MENDED)
def test_mended_and_said(text: str, value: Any, repairs: list[str]) -> None:
    start = len(text) - len(text.lstrip("\ufeff"))
    found = read(text, 0 if "white_space" in repairs else start)
    assert found.value == value
    assert sorted(found.repairs) == sorted(repairs)
    assert found.end == len(text)


REFUSED = [
    row("hexadecimal", '{"a": 0x1F}', 6, "0x1F"),
    row("leading zero", '{"a": 007}', 6, "007"),
    row("NaN", '{"a": NaN}', 6, "NaN"),
    row("Infinity", '{"a": -Infinity}', 6, "Infinity"),
    row("overflow", '{"a": 1e999}', 6, "finite"),
    row("five thousand digits", '{"a": ' + "7" * 5000 + "}", 6, "too large"),
    row("a bare word", '{"a": north wind}', 6, "double quotes"),
    row("two commas", "[1,,2]", 3, "value"),
    row("a comma first", "[,1]", 1, "value"),
    row("no colon", '{"a" 1}', 3, "quote"),
    row("number as a key", "{1: 2}", 1, "key"),
    row("quotes with two readings", '{"a": "3" wide", "b": "x"}', 8, "not escaped"),
    row("a member may be swallowed", '{"a": "x" y", "d": 0x1F, "e": "f"}', 8, "not escaped"),
    row("a member may be torn off", '{"a": "{"k": "x", "j": "y"}"}', 8, "not escaped"),
    row("hex escape", r'{"a": "\x41\d"}', 6, r"\u0041"),
    row("a line break or a path", r'{"a": "\new \d"}', 6, "double the backslashes"),
    row("some doubled, some not", r'{"a": "\\srv\data"}', 6, "double"),
    row("wrong closer", '{"a": [1}', 8, "]"),
    row("open comment", '{"a": 1 /* x', 8, "comma"),
]


@pytest.mark.parametrize(("text", "position", "words"), REFUSED)
def test_refused_with_place_and_reason(text: str, position: int, words: str) -> None:
    with pytest.raises(Broken) as caught:
        read(text)
    assert words in caught.value.why
    assert caught.value.pos == position


@pytest.mark.parametrize("text", ['{"a": "b', '{"a": 12', '{"a":', '{"a', "{", '[1, "x', '{"a": "b\\'])
def test_open_strings_and_numbers_are_never_closed(text: str) -> None:
    with pytest.raises(Broken) as caught:
        read(text)
    assert caught.value.incomplete


@pytest.mark.parametrize("text", ['{"a": [true', '{"a": "b"', '{"a": {}'])
def test_nothing_that_was_cut_is_mended(text: str) -> None:
    assert read(text).repairs == ("missing_closers",)
    with pytest.raises(Broken) as caught:
        read(text, options=Options(cut=True))
    assert caught.value.incomplete


def test_a_key_with_two_values_is_noted_and_not_chosen_silently() -> None:
    assert read('{"a": 1, "a": 2}').duplicates == ("a",)
    assert read("{'a': 1, 'a': 2}").duplicates == ("a",)
    assert read('{"a": true, "a": 1}').duplicates == ("a",)


@pytest.mark.parametrize("opening", ["[", '{"a":', "{'a':", '[{"a":'])
def test_depth_is_bounded_with_a_reason(opening: str) -> None:
    with pytest.raises(Broken, match="levels") as caught:
        read(opening * (MAX_DEPTH + 1))
    assert caught.value.kind == "too_deep"


def test_what_is_just_deep_enough_is_read() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).repairs == ()
    with pytest.raises(Broken, match="levels"):
        read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_strict_mends_nothing() -> None:
    assert read('{"a": 1}', options=Options(strict=True)).value == {"a": 1}
    for text in ("{'a': 1}", '{"a": 1,}', "[1 2]"):
        with pytest.raises(Broken):
            read(text, options=Options(strict=True))


def test_stops_end_a_value_like_the_end_of_the_text() -> None:
    found = read('{"a": {"b": true}</tool>', stops=("</tool>",))
    assert (found.value, found.end, found.repairs) == ({"a": {"b": True}}, 17, ("missing_closers",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def written(value: Any, **options: Any) -> str:
    return json.dumps(value, **options)


def clean(value: Any) -> Any:
    """What JSON with escapes says: the same value through the standard library, lone surrogates aside."""
    return json.loads(written(value))


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_strict_json_is_never_touched(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = written([value], indent=indent, ensure_ascii=ascii_only)
    found = read(text)
    assert (found.value, found.end, found.repairs) == (clean([value]), len(text), ())


@given(JSON)
def test_one_repair_changes_nothing_else(value: Any) -> None:
    """The tolerant reader agrees with the strict one on all that is strict around a trailing comma."""
    found = read(f"[{written(value)},]")
    assert found.value == clean([value])
    assert found.repairs == ("trailing_comma",)


@given(JSON, st.data())
def test_part_of_a_value_decides_nothing(value: Any, data: st.DataObject) -> None:
    text = written({"a": value})
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises((NeedMore, Broken)) as caught:
        read(cut, options=Options(final=False))
    assert caught.type is NeedMore


PLAIN = st.characters(exclude_characters="\"'\\“”‘’,:{}[]<>，：｛｝［］", exclude_categories=["Cs"])


@given(st.text(PLAIN))
def test_one_reading_of_quotes_gives_the_text(text: str) -> None:
    found = read('{"a": ' + json.dumps(f'<"{text}">').replace('\\"', '"') + "}")
    assert found.value == {"a": f'<"{text}">'}
