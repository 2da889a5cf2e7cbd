from __future__ import annotations

from typing import Any

import pytest

from textcall.errors import GrammarError
from textcall.grammar.gbnf import Grammar
from textcall.grammar.gbnf_text import LAST, Chars, Repeat, merged, read_gbnf

# grammar, texts that match, texts that do not
SYNTAX = [
    ('root ::= "ab" "c"', ["abc"], ["ab", "abcc", ""]),
    ('root ::= "a" | "b"', ["a", "b"], ["ab", ""]),
    ('root ::= "a" |\n  "b"\n', ["a", "b"], ["c"]),
    ('root ::= ("a" |\n "b"\n) "c"', ["ac", "bc"], ["a", "c"]),
    ('root ::= | "a"', ["", "a"], ["aa"]),
    ('root ::= ""', [""], ["a"]),
    ("root ::= ", [""], ["a"]),
    ("root ::= [a-c]", ["a", "b", "c"], ["d", "-", ""]),
    ("root ::= [^a-c]", ["d", "\n", "é", "\U0010ffff"], ["a", "b"]),
    ("root ::= [a-]", ["a", "-"], ["b"]),
    ("root ::= [-a]", ["a", "-"], ["b"]),
    ("root ::= [\\]\\[^]", ["]", "[", "^"], ["\\"]),
    ("root ::= [\\x41-\\x43]", ["A", "C"], ["D"]),
    ("root ::= [\\u00e9\\U0001F600]", ["é", "😀"], ["e"]),
    ('root ::= "\\n\\t\\r\\\\\\"\\x20"', ['\n\t\r\\" '], ["nt"]),
    ('root ::= "é😀"', ["é😀"], ["e"]),
    ("root ::= .", ["x", "\n", "😀"], ["", "xx"]),
    ('root ::= "a"*', ["", "a", "aaa"], ["b"]),
    ('root ::= "a"+', ["a", "aaa"], [""]),
    ('root ::= "a"?', ["", "a"], ["aa"]),
    ('root ::= "ab"{2}', ["abab"], ["ab", "ababab"]),
    ('root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
    ('root ::= "a"{1,3}', ["a", "aaa"], ["", "aaaa"]),
    ('root ::= "a"{ 1 , 3 }', ["a", "aaa"], ["aaaa"]),
    ('root ::= "a"{0}', [""], ["a"]),
    ('root ::= "a"? "b"* # a comment "c"\n# and a line\n', ["", "ab", "bb"], ["c"]),
    ('# first\n\nroot ::= x-1 X2\nx-1 ::= "a"\nX2 ::= "b"', ["ab"], ["a"]),
    ('root ::= "a"\r\n', ["a"], ["a\r"]),
]


@pytest.mark.parametrize(("gbnf", "good", "bad"), SYNTAX, ids=[case[0] for case in SYNTAX])
def test_syntax(gbnf: str, good: list[str], bad: list[str]) -> None:
    grammar = Grammar(gbnf)
    assert [grammar.accepts(text) for text in good] == [True] * len(good)
    assert [grammar.accepts(text) for text in bad] == [False] * len(bad)


ERRORS = [
    ("", "there is no rule 'root'"),
    ('other ::= "a"', "line 1, column 1: there is no rule 'root'"),
    ('root := "a"', "line 1, column 6: '::=' expected"),
    ('root ::= "a', "line 1, column 10: a literal is not closed"),
    ('root ::= "a\nb"', "line 1, column 10: a literal is not closed"),
    ("root ::= [a", "line 1, column 10: a character class is not closed"),
    ("root ::= [c-a]", "line 1, column 10: a range of a character class runs backwards"),
    ('root ::= ("a"', "line 1, column 14: ')' expected"),
    ('root ::= "a")', "line 1, column 13: a rule name expected"),
    ('root ::= "\\q"', "unknown escape \\q"),
    ('root ::= "\\x4"', "unknown escape \\x"),
    ('root ::= "\\U00110000"', "unknown escape \\U"),
    ('root ::= "a"{x}', "line 1, column 13: a count such as"),
    ('root ::= "a"{3,2}', "{3,2} counts backwards"),
    ('root ::= "a"\n\nroot ::= "b"', "line 3, column 1: rule 'root' is defined twice"),
    ('root ::= "a"\nb ::= nowhere', "line 2, column 7: rule 'nowhere' is not defined"),
    ("root ::= [\\", "unknown escape"),
    ('root ::= "\\', "unknown escape"),
]


@pytest.mark.parametrize(("gbnf", "message"), ERRORS)
def test_an_error_says_where_and_what(gbnf: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(gbnf)
    assert message in str(caught.value)


def test_groups_may_nest_but_not_without_end() -> None:
    assert Grammar("root ::= " + "(" * 50 + '"a"' + ")" * 50).accepts("a")
    with pytest.raises(GrammarError, match="too deeply"):
        Grammar("root ::= " + "(" * 5000 + '"a"' + ")" * 5000)


def test_a_count_is_one_element() -> None:
    node: Any = read_gbnf("root ::= [a]{3,100000}")["root"]
    assert isinstance(node, Repeat)
    assert (node.least, node.most) == (3, 100_000)


def test_ranges_are_merged_and_inverted() -> None:
    assert merged([(5, 6), (1, 2), (3, 4), (9, 9)]) == ((1, 6), (9, 9))
    node = read_gbnf("root ::= [^b-cd]")["root"]
    assert isinstance(node, Chars)
    assert node.ranges == ((0, 97), (101, 0xD7FF), (0xE000, LAST))  # surrogates are no characters of a text
