"""Strings: their escapes, lengths, patterns together with lengths, formats."""

from __future__ import annotations

from typing import Any

import pytest

from textcall.grammar import Grammar
from textcall.grammar.library import format_rules, gbnf_file
from textcall.grammar.schema import schema_to_gbnf
from textcall.grammar.strings import EXACT_FORMATS
from textcall.grammar.terms import counted
from textcall.messages import compact_json

FORMATS = {
    "date": (["2024-02-29", "1999-12-31", "0001-04-30"], ["2024-13-01", "2024-04-31", "2024-1-1", "2024-00-10"]),
    "time": (["23:59:60Z", "08:30:06.283185Z", "10:00:00+01:00"], ["24:00:00Z", "10:00:00", "1:00:00Z", "10:60:00Z"]),
    "date-time": (
        ["2024-05-01T12:00:00Z", "1985-04-12t23:20:50.52z", "1996-12-19T16:39:57-08:00"],
        ["2024-05-01 12:00:00Z", "2024-05-01", "2024-05-01T12:00Z", "2024-05-01T12:00:00"],
    ),
    "duration": (["P1Y", "PT36H", "P4DT12H30M5S", "P2W"], ["P", "1Y", "PT", "P1S", "P1YT", "P1D2H"]),
    "uuid": (["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98"]),
    "email": (
        ["joe.bloggs@example.com", "te~st@example.com", '"joe bloggs"@example.com', "a+b@x.org", "joe@[127.0.0.1]"],
        ["2962", ".test@example.com", "te..st@example.com", "@example.com", "joe@", "joe@-a.com", "a b@example.com"],
    ),
    "idn-email": (["실례@실례.테스트", "joe@example.com"], ["2962", "a@b@c"]),
    "hostname": (["www.example.com", "xn--4gbwdl", "a", "a1-b"], ["-a", "a-", "a..b", "a_b", "", f"{'a' * 64}.com"]),
    "ipv4": (["192.168.0.1", "0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"]),
    "ipv6": (
        ["::1", "::", "1234::", "1:2:3:4:5:6:7:8", "::ffff:192.168.0.1", "1::3:4:5:6:7:8"],
        ["12345::", "1:2:3:4:5:6:7", "1::2::3", "1:2:3:4:5:6:7:8:9", ":1", "::256.1.1.1", "1:2:3:4:5:6:7::8:9"],
    ),
    "uri": (
        ["http://foo.bar/?q=Test%20URL#fragment", "mailto:a@b.c", "urn:isbn:0451450523", "ldap://[2001:db8::7]/c=GB"],
        ["//foo.bar", "abc", "http://a b", "http://a/%zz", "http://ex\\ample", ":a"],
    ),
    "uri-reference": (["/abc", "#f", "", "http://a.b"], ["\\\\x", "a b", "<a>"]),
    "iri": (["http://ƒøø.ßår/?∂éœ=πîx#πîüx"], ["ƒøø", "http://a b"]),
    "iri-reference": (["/âππ", ""], ["\\\\a", "a b"]),
}  # fmt: skip


def grammar_of(schema: dict[str, Any]) -> Grammar:
    return Grammar(schema_to_gbnf({"type": "string", **schema}).gbnf)


def kept(schema: dict[str, Any]) -> dict[str, str]:
    return {entry.keyword: entry.status for entry in schema_to_gbnf({"type": "string", **schema}).report}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str, oracle: Any) -> None:
    taken, refused = FORMATS[name]
    grammar = grammar_of({"format": name})
    assert [text for text in taken if not grammar.accepts(compact_json(text))] == []
    assert [text for text in refused if grammar.accepts(compact_json(text))] == []
    assert kept({"format": name})["format"] == ("enforced" if name in EXACT_FORMATS else "approximated")
    assert oracle.loads(schema_to_gbnf({"type": "string", "format": name}).gbnf)


def test_every_format_has_cases() -> None:
    assert {name.removeprefix("format-") for name in format_rules() if name.startswith("format-")} == set(FORMATS)


def test_the_file_of_formats_is_a_grammar(oracle: Any) -> None:
    assert Grammar(gbnf_file("formats")).accepts("2024-05-01")
    assert oracle.loads(gbnf_file("formats"))


def test_an_unknown_format_is_any_string() -> None:
    assert grammar_of({"format": "colour"}).accepts('"red"')


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (r'"\u0041\n\/"', True),
        (r'"\ud83d\uDE00"', True),
        (r'"\uD7FF\ue000\uDbFf\udC00"', True),
        (r'"\ud83d"', False),
        (r'"\ude00"', False),
        (r'"\ud83d\u0041"', False),
        (r'"\u00"', False),
        (r'"\x"', False),
        ('"\x1f"', False),
        ('"\x7f\u2028"', True),
    ],
)
def test_escapes_of_any_string(text: str, taken: bool) -> None:
    listed = {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}
    assert grammar_of({}).accepts(text) is taken
    assert Grammar(schema_to_gbnf(listed).gbnf).accepts("{" + f"{text}:{text}" + "}") is taken


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert grammar_of({"maxLength": 1}).accepts(r'"\ud83d\ude00"')


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ({"minLength": 2, "maxLength": 3}, ["ab", "日本語", '\\"', "😀\n"], ["a", "abcd", ""]),
        ({"maxLength": 0}, [""], ["a"]),
        ({"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd", "AB"]),
        ({"pattern": "^[a-z]{2,9}$", "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
        ({"pattern": "^x-[0-9]*$", "minLength": 4, "maxLength": 5}, ["x-12", "x-123"], ["x-1", "x-1234", "x-"]),
        ({"pattern": "^https://", "maxLength": 12}, ["https://a.b", "https://"], ["https://abcde", "http://a"]),
        ({"pattern": ".*", "minLength": 1}, ["a", "\n"], [""]),
        ({"pattern": "^(ab)+$", "maxLength": 4}, ["ab", "abab"], ["aba", "ba"]),
        ({"pattern": "^a", "format": "uuid"}, ["abc"], ["b"]),
        ({"pattern": "(?i)1", "format": "ipv4"}, ["1.2.3.4"], ["abc"]),
        ({"pattern": '^"$'}, ['"'], ["a", "\\"]),
        ({"pattern": r"^[\x00-\x1f]$"}, ["\n", "\x00", "\x1f", "\b"], ["a", " ", "\\"]),
        ({"pattern": r"^[\n\x0b]$"}, ["\n", "\x0b"], ["\t", "\x0c"]),
        ({"pattern": "^[^a]$"}, ["b", '"', "\\", "\n", "\x01", "é", "😀"], ["a", "", "bb"]),
    ],
    ids=str,
)
def test_keywords_together(schema: dict[str, Any], taken: list[str], refused: list[str]) -> None:
    grammar = grammar_of(schema)
    assert [text for text in taken if not grammar.accepts(compact_json(text))] == []
    assert [text for text in refused if grammar.accepts(compact_json(text))] == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": "^[a-z]+$", "maxLength": 3}, {"pattern": "enforced", "maxLength": "enforced"}),
        ({"pattern": "^(ab)+$", "maxLength": 4}, {"pattern": "enforced", "maxLength": "checked after"}),
        ({"pattern": "^(ab){1,2}$", "maxLength": 4}, {"pattern": "enforced", "maxLength": "enforced"}),
        ({"pattern": r"\ba"}, {"pattern": "approximated"}),
        ({"pattern": "(?i)a"}, {"pattern": "checked after"}),
        ({"pattern": "a", "format": "uuid"}, {"pattern": "enforced", "format": "checked after"}),
        ({"format": "date", "minLength": 3}, {"format": "approximated", "minLength": "checked after"}),
        ({"maxLength": 100000}, {"maxLength": "enforced"}),
        ({"maxLength": 10**9}, {"maxLength": "approximated"}),
    ],
    ids=str,
)
def test_what_is_said_to_hold(schema: dict[str, Any], expected: dict[str, str]) -> None:
    assert {**kept(schema), "type": "enforced"} == {**expected, "type": "enforced"}


@pytest.mark.parametrize(
    ("least", "most"), [(0, 300), (255, 257), (300, None), (256, 256), (1, 1000), (511, 770), (3, 3)]
)
def test_long_counts_are_exact(least: int, most: int | None, oracle: Any) -> None:
    gbnf = f"root ::= {counted('[ab]', least, most)}"
    grammar = Grammar(gbnf)
    for count in {0, 1, least - 1, least, least + 1, (most or 900) - 1, most or 900, (most or 900) + 1, 256, 512}:
        if count >= 0:
            expected = least <= count and (most is None or count <= most)
            assert grammar.accepts("a" * count) is expected, count
    assert oracle.loads(gbnf)


def test_a_very_long_string_has_a_short_grammar(oracle: Any) -> None:
    gbnf = schema_to_gbnf({"type": "string", "minLength": 1, "maxLength": 100000}).gbnf
    assert len(gbnf) < 500
    assert oracle.loads(gbnf)
    grammar = Grammar(gbnf)
    assert grammar.accepts(f'"{"a" * 3000}"')
    assert not grammar.accepts('""')
