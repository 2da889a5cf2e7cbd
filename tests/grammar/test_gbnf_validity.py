"""Which texts are GBNF: we and llama.cpp agree, but for the differences listed with their reasons."""

from __future__ import annotations

import re

import pytest

from tests.grammar.oracles import LlamaCpp
from textcall.engines.cursor import Cursor
from textcall.errors import GrammarError
from textcall.grammar import Grammar

_E, _S = "\\u00e9", "\\U0001F600"

VALID = [
    'root ::= "a"',
    "root ::=",
    "root ::= ",
    "root ::= # nothing",
    'root ::= ""',
    'root ::= | "a"',
    'root ::= "a" |',
    'root ::= "a" | | "b"',
    "root ::= ()",
    'root ::= (|"a"|)',
    'root ::=\n\n  "a"',
    'root ::= # why\n "a"',
    'root ::= "a" |\n\n # why\n "b"',
    'root ::= (\n"a"\n\n"b" # why\n|\n# why\n"c"\n)',
    'root ::= ("a"\n*)',
    'root ::= ("a" # why\n+ "b")',
    'root ::= (("a")\n{ 1 # why\n , \n 2 }\n)',
    'root ::= "a" *',
    'root ::= "a"{ 2 , 5 }',
    'root ::= "a"{0}',
    'root ::= "a"{0,0}',
    'root ::= "a"{2,2}',
    'root ::= "a"{007}',
    'root ::= "a"+?{2}',
    'root ::= "a"{2000}',
    '# first\n \t\nroot ::= "a"# last',
    'root ::= "a"\r\n\r\n# why\r\nb ::= "b"\r\n',
    'root ::= "a"\rb ::= "b"\r',
    'root ::= x"a"y\nx ::= "x"\ny ::= "y"',
    'root ::= ("a")("b")[c].',
    'root\t::=\t"a"',
    'root::="a"',
    'root ::= a-b A-B 9 -x X\na-b ::= "1"\nA-B ::= "2"\n9 ::= "3"\n-x ::= "4"\nX ::= "5"',
    'unused ::= "a"\nroot ::= "b"',
    'root ::= "\\n\\t\\r\\\\\\"\\[\\]\\-\\x41"',
    f'root ::= "{_E}{_S}é😀"',
    f"root ::= [{_E}-{_S}\\x41-\\x43]",
    "root ::= [^\\]]",
    "root ::= [^^]",
    "root ::= [a^]",
    "root ::= [-a]",
    "root ::= [a-]",
    "root ::= [^-]",
    "root ::= [a-b-c]",
    "root ::= [+--]",
    "root ::= [[]",
    'root ::= ["#|()]',
    "root ::= [\n]",
    'root ::= "a" root | "b"',
    'root ::= "(" root ")" root | ""',
    'root ::= root{0} "a"',
    'root ::= "a" e root | "b"\ne ::= "e"?',
]

INVALID = [
    "# nothing",
    'other ::= "a"',
    "root",
    'root = "a"',
    'root ::= "a',
    "root ::= [a",
    "root ::= [",
    "root ::= [^",
    'root ::= ("a"',
    'root ::= "a")',
    'root ::= "a"]',
    "root ::= [^]]",
    'root ::= "a" b',
    "root ::= root2",
    'root ::= "a"\nb ::= nowhere',
    'root ::= "a" b ::= "b"',
    'root ::=\nb ::= "b"',
    'root ::= "a" |\nb ::= "b"',
    'root ::= "a"\n"b"',
    'root ::= "a"\n  | "b"',
    'root\n::= "a"',
    'root # why\n::= "a"',
    'root: "a"',
    "root ::= *",
    'root ::= | * "a"',
    "root ::= (*)",
    'root ::= "a"{}',
    'root ::= "a"{,2}',
    'root ::= "a"{x}',
    'root ::= "a"{2',
    'root ::= "a"{2,x}',
    'root ::= "a"{1,\n2}',
    'root ::= "a"{1 # why\n}',
    'root ::= "a"{-1}',
    'root ::= "a"{٢}',
    'root ::= "a" & "b"',
    "root ::= 'a'",
    'root ::= "a"; b',
    'root ::= "a"\x0b"b"',
    '\ufeffroot ::= "a"',
    'röot ::= "a"\nroot ::= "b"',
    'root ::= "\\q"',
    'root ::= "\\b"',
    'root ::= "\\/"',
    'root ::= "\\\'"',
    'root ::= "\\0"',
    'root ::= "\\x4"',
    'root ::= "\\xg1"',
    'root ::= "\\u12"',
    'root ::= "\\u{41}"',
    'root ::= "\\U0001F60"',
    "root ::= [\\d]",
    "root ::= [\\^]",
    'root ::= "\\',
    "root ::= [\\",
    "root ::= [a-",
    "root ::= root",
    'root ::= root "a" | "b"',
    'root ::= "a" | root',
    'root ::= ("x" | root "y") "z"',
    'root ::= a "x"\na ::= b\nb ::= root | "y"',
    'root ::= "" root',
    'root ::= e root "x" | "y"\ne ::= "a" | ""',
    'root ::= "a"\nunused ::= unused "b"',
]

# text, whether we take it, whether llama.cpp does (None: it never answers), why
DIFFERENT = [
    ("", False, True, "no text is no grammar there: everything is allowed"),
    # We are stricter: what is most likely a slip is an error at its place.
    ('root ::= "a\nb"', False, True, "a literal that is not closed would take the following lines"),
    ("root ::= [c-a]", False, True, "a range that runs backwards matches nothing there"),
    ('root ::= "a"\nroot ::= "b"', False, True, "of two rules of one name the last one counts there"),
    ("root ::= []", False, True, "no characters: the empty text there, though it reads as 'no character'"),
    ("root ::= [^]", False, True, "the same"),
    ('root ::= "\\U00110000"', False, True, "there is no such character"),
    ('root ::= "a\0b"', False, False, "NUL ends the text there: here the literal is cut"),
    ('root ::= "a"\0b', False, True, "NUL ends the text there"),
    ('root ::= "a"{2,1}', False, None, "it takes 1 - 2 for a huge number and works on that"),
    ('root ::= e root "x" | "y"\ne ::= "a"?', False, None, "it misses left recursion behind what is empty indirectly"),
    ('root ::= e root "x" | "y"\ne ::= f f\nf ::= "a" | ""', False, None, "the same"),
    ("root ::= " + "(" * 300 + '"a"' + ")" * 300, False, True, "a limit of ours: 200 groups inside of each other"),
    ('root ::= "a"' + "?" * 300, False, True, "the same for counts"),
    ("root ::= <[17]>", False, True, "single tokens: a notation for one vocabulary, not for text"),
    # We are looser: the documentation allows it, or does not forbid it, and it has one meaning.
    ('root ::= a_b\na_b ::= "x"', True, False, "the documentation allows underscores in names"),
    ('root ::= ""*', True, False, "nothing may be repeated here"),
    ('root ::= "a"{0}*', True, False, "the same"),
    ('root ::= ("a" | "")*', True, False, "an endless repetition of what may be empty; there it is left recursion"),
    ('root ::= "a"{2001}', True, False, "a limit there: 2000"),
    ('root ::= "a"{100000}', True, False, "the same"),
]


@pytest.mark.parametrize("gbnf", VALID)
def test_both_take_it(gbnf: str, oracle: LlamaCpp) -> None:
    Grammar(gbnf)
    assert oracle.loads(gbnf)


@pytest.mark.parametrize("gbnf", INVALID)
def test_both_refuse_it(gbnf: str, oracle: LlamaCpp) -> None:
    _refused(gbnf)
    assert not oracle.loads(gbnf)


@pytest.mark.parametrize(("gbnf", "ours", "theirs", "why"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_a_difference_that_is_known(gbnf: str, ours: bool, theirs: bool | None, why: str, oracle: LlamaCpp) -> None:
    if ours:
        Grammar(gbnf)
    else:
        _refused(gbnf)
    assert why
    if theirs is not None:
        assert oracle.loads(gbnf) is theirs


def _refused(gbnf: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(gbnf)
    place = re.match(r"line (\d+), column (\d+): ", str(caught.value))
    assert place, str(caught.value)
    lines = re.split("\r\n?|\n", gbnf)
    assert int(place[2]) <= len(lines[int(place[1]) - 1]) + 1


PLACES = [
    ('root ::= "a"\nx ::= y\ny ::= x "a"', "line 3, column 7: rule 'x' begins with itself"),
    ('root ::= "a"\r\nx ::= "b" | y', "line 2, column 13: rule 'y' is not defined"),
    ('root ::= "a"\rx ::= y', "line 2, column 7: rule 'y' is not defined"),
    ("root ::= [a]\n  | [b]", "line 2, column 3: outside of parentheses '|'"),
    ("root ::= [a] []", "line 1, column 14: a character class without characters"),
    ("root ::= " + "(" * 300 + '"a"' + ")" * 300, "line 1, column 210: the grammar nests"),
]


@pytest.mark.parametrize(("gbnf", "message"), PLACES)
def test_places(gbnf: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(gbnf)
    assert str(caught.value).startswith(message)


def test_what_is_read_matches_as_in_llama_cpp(oracle: LlamaCpp) -> None:
    for gbnf, good, bad in [
        ("root ::= [a\\-c]", "-", "b"),
        ("root ::= [+--]", ",", "."),
        ("root ::= [a-b-c]", "-", "d"),
        ('root ::= ("a"\n{2})', "aa", "a"),
        ('root ::= "a"+?{2}', "aaa", "b"),
        ('root ::= "a"{2}{3}', "aaaaaa", "aaaaa"),
        ('root ::= root{0} "a"', "a", "aa"),
        ("root ::= [\\uD7FF-\\uE000]", "\ue000", "\ud7fe"),
    ]:
        for text in (good, bad):
            assert Grammar(gbnf).accepts(text) == oracle.accepts(gbnf, text) == (text == good), (gbnf, text)


def test_what_llama_cpp_makes_of_what_we_refuse(oracle: LlamaCpp) -> None:
    assert oracle.accepts('root ::= "a" []', "a")
    assert not oracle.accepts('root ::= "a" | "b" [c-a]', "b")
    assert oracle.accepts('root ::= "a"\nroot ::= "b"', "b")


def test_a_count_beyond_its_limit_has_no_end_in_llama_cpp(oracle: LlamaCpp) -> None:
    """It takes {0,2001} for {0,}; ours stays exact."""
    gbnf, text = "root ::= [a]{0,2001}", "a" * 2002
    assert oracle.accepts(gbnf, text)
    assert not Grammar(gbnf).accepts(text)
    assert Grammar(gbnf).accepts(text[1:])


@pytest.mark.parametrize(
    "gbnf", ["root ::= [\\uD800-\\uDFFF]", 'root ::= "a" "\\uD800"', "root ::= [^\\x00-\\uD7FF\\uE000-\\U0010FFFF]"]
)
def test_surrogates_stand_in_no_text(gbnf: str) -> None:
    """Without this a first byte ED would be allowed, after which nothing is."""
    grammar = Grammar(gbnf)
    start = grammar.advance(grammar.start(), "a" if '"a"' in gbnf else "")
    assert start is not None
    assert grammar.first_ranges(start) == ()
    assert "\ud800" not in grammar.forced(grammar.start())
    assert Cursor(grammar, start).step(b"\xed") is None
