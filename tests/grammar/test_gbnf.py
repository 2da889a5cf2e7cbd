from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textcall.errors import GrammarError
from textcall.grammar.gbnf import Grammar, State
from textcall.grammar.library import gbnf_file

Walk = Callable[[Grammar, random.Random], str | None]


def after(grammar: Grammar, text: str) -> State:
    state = grammar.advance(grammar.start(), text)
    assert state is not None, text
    return state


def test_first_ranges_are_sorted_and_apart() -> None:
    grammar = Grammar('root ::= [a-c] | [b-f] | "z" | "g" | [0-9]')
    assert grammar.first_ranges(grammar.start()) == ((48, 57), (97, 103), (122, 122))


def test_final_and_can_continue() -> None:
    grammar = Grammar('root ::= "a" "b"?')
    start, a, ab = grammar.start(), after(grammar, "a"), after(grammar, "ab")
    assert [(grammar.is_final(s), grammar.can_continue(s)) for s in (start, a, ab)] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert grammar.advance(ab, "b") is None
    assert grammar.allows_char(a, "b")
    assert not grammar.allows_char(a, "c")


FORCED = [
    ('root ::= "abc" [x-y] "d"', "", "abc"),
    ('root ::= "abc" [x-y] "d"', "abcx", "d"),
    ('root ::= "abc" | "abd"', "", "ab"),  # two ways, one text
    ('root ::= "ab" "c"?', "", "ab"),  # it may end: nothing is forced from there on
    ('root ::= "a"', "a", ""),
    ("root ::= [a-b]", "", ""),
    ('root ::= "é😀"', "", "é😀"),
    ('root ::= "a"{3}', "", "aaa"),
]


@pytest.mark.parametrize(("gbnf", "before", "forced"), FORCED)
def test_forced(gbnf: str, before: str, forced: str) -> None:
    grammar = Grammar(gbnf)
    assert grammar.forced(after(grammar, before)) == forced


def test_forced_stops_at_its_limit() -> None:
    grammar = Grammar('root ::= "a"{100000}')
    assert grammar.forced(grammar.start(), limit=10) == "a" * 10


def test_nothing_can_follow_where_a_grammar_has_no_text() -> None:
    grammar = Grammar('root ::= "a" root')
    assert grammar.advance(grammar.start(), "aaa") is not None
    assert not grammar.accepts("aaa")


@pytest.mark.parametrize(
    "gbnf",
    [
        "root ::= root",
        'root ::= root "a" | "b"',
        'root ::= a\na ::= b "x"\nb ::= a | "y"',
        'root ::= e root "x" | "y"\ne ::= "a"?',
        'root ::= ("a"* root)*',
        'root ::= "" root',
        'root ::= "a"\nunused ::= unused "b"',
    ],
)
def test_left_recursion_is_refused(gbnf: str) -> None:
    with pytest.raises(GrammarError, match="left recursion"):
        Grammar(gbnf)


def test_other_recursion_is_fine() -> None:
    grammar = Grammar('root ::= "(" root ")" | ""')
    assert grammar.accepts("(" * 3000 + ")" * 3000)
    assert not grammar.accepts("(()")


def test_a_long_count_costs_what_it_is_used() -> None:
    grammar = Grammar("root ::= [a-z]{0,100000}")
    assert len(grammar.start().stacks) == 1
    assert grammar.accepts("q" * 2000)
    few = Grammar("root ::= [a-z]{500,2000}")
    assert [few.accepts("q" * count) for count in (499, 500, 2000, 2001)] == [False, True, True, False]


NULLABLE = [
    ('root ::= (x?)*\nx ::= "x"', "x*"),
    ('root ::= (x?)+ "y"\nx ::= "x"', "x*y"),
    ('root ::= (x?){0,50000} "y"\nx ::= "x" | ""', "x{0,50000}y"),
    ('root ::= (x?){40000} "y"\nx ::= "x"', "x{0,40000}y"),
    ('root ::= ("x"? "y"?){2}', "(x?y?){2}"),
    ('root ::= (("x"* "y"*)* "y"?){3}', "[xy]*"),
    ('root ::= ("x"{2,3} | ""){0,2}', "(xxx?){0,2}"),
    ('root ::= (""){0,9} "y"', "y"),
    ('root ::= (e e e)* "y"\ne ::= x?\nx ::= "x"', "x*y"),
    ('root ::= (""*)* "x"', "x"),
    ('root ::= ("x"{0,0})* "y"', "y"),
]


@pytest.mark.parametrize(("gbnf", "pattern"), NULLABLE, ids=[gbnf for gbnf, _ in NULLABLE])
def test_repetitions_of_nothing_end_and_mean_the_same(gbnf: str, pattern: str) -> None:
    grammar = Grammar(gbnf)
    assert len(grammar.start().stacks) < 20
    for size in range(7):
        for number in range(2**size):
            text = "".join("xy"[number >> i & 1] for i in range(size))
            assert grammar.accepts(text) == bool(re.fullmatch(pattern, text)), text


@pytest.mark.parametrize(
    "gbnf",
    ['root ::= ("a" | "a" | "a")*', 'root ::= ("a"*)*', 'root ::= ("a" | "aa")*', 'root ::= x*\nx ::= "a"+ | "aa"+'],
)
def test_ambiguity_does_not_explode(gbnf: str) -> None:
    grammar = Grammar(gbnf)
    assert len(after(grammar, "a" * 500).stacks) < 20
    assert grammar.accepts("a" * 500)


@pytest.mark.parametrize(
    ("gbnf", "unit", "rest"),
    [
        ('root ::= x x | "(" x x "!"\nx ::= "-" | "(" root [?]?', "(", "--!"),
        ('root ::= "[" root "]" | "[" root ")" | "."', "[", "."),
        ('root ::= ("a" root "b"? | "a" root "c"? | "x")', "a", "x"),
    ],
)
def test_nested_ambiguity_does_not_explode(gbnf: str, unit: str, rest: str) -> None:
    """Each `unit` may be read in two ways, so that there are 2^60 of reading the text."""
    grammar = Grammar(gbnf)
    state = after(grammar, unit * 60)
    assert len(state.stacks) < 20
    assert grammar.advance(state, rest) is not None


def test_merged_ways_stay_apart() -> None:
    grammar = Grammar('root ::= "[" root "]" | "[" root ")" | "(" root "]" | "."')
    assert grammar.accepts("[(" * 20 + "." + "])" * 20)
    assert grammar.accepts("[" * 20 + "." + "])" * 10)
    assert not grammar.accepts("[(" * 20 + "." + "])" * 19 + ")]")
    assert not grammar.accepts("[" * 20 + "." + "])" * 9 + "]")


def test_the_same_place_is_the_same_state() -> None:
    grammar = Grammar(gbnf_file("json"))
    assert after(grammar, '{"a":1,"') is after(grammar, '{"bc":[true],"')


# --- against Python's regular expressions ----------------------------------------------------------------------------

_ATOMS = st.sampled_from(
    [('"a"', "a"), ('"b"', "b"), ("[ab]", "[ab]"), ('"ab"', "(?:ab)"), ("[^b]", "[^b]"), ('""', "(?:)")]
)


def _grown(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    counts = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}"])
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: (f"({p[0][0]} {p[1][0]})", f"(?:{p[0][1]}{p[1][1]})")),
        st.tuples(inner, inner).map(lambda p: (f"({p[0][0]} | {p[1][0]})", f"(?:{p[0][1]}|{p[1][1]})")),
        st.tuples(inner, counts).map(lambda p: (f"({p[0][0]}){p[1]}", f"(?:{p[0][1]}){p[1]}")),
    )


EXPRESSIONS = st.recursive(_ATOMS, _grown, max_leaves=8)
TEXTS = [""] + [f"{n:b}"[1:].replace("0", "a").replace("1", "b") for n in range(2, 64)]


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS)
def test_like_a_regular_expression(pair: tuple[str, str]) -> None:
    gbnf, pattern = pair
    grammar, expression = Grammar(f"root ::= {gbnf}"), re.compile(pattern)
    wrong = [text for text in TEXTS if grammar.accepts(text) != bool(expression.fullmatch(text))]
    assert not wrong


@settings(max_examples=60, deadline=None)
@given(pair=EXPRESSIONS, seed=st.integers(0, 2**32))
def test_walks_end_in_texts_of_the_grammar(pair: tuple[str, str], seed: int, walked: Walk) -> None:
    grammar = Grammar(f"root ::= {pair[0]}")
    text = walked(grammar, random.Random(seed))
    assert text is None or re.fullmatch(pair[1], text, re.DOTALL)


# --- against llama.cpp -----------------------------------------------------------------------------------------------


def test_llama_cpp_loads_the_hand_written_grammars(oracle: Any) -> None:
    assert oracle.loads(gbnf_file("json"))
    assert oracle.loads(gbnf_file("text"))
    assert oracle.loads(gbnf_file("json").replace("root ", "top ") + gbnf_file("call"))
    assert not oracle.loads("root ::= (")


@pytest.mark.parametrize("seed", range(12))
def test_llama_cpp_accepts_the_same_json(oracle: Any, seed: int, walked: Walk) -> None:
    grammar, chance = Grammar(gbnf_file("json")), random.Random(seed)
    texts = [text for _ in range(8) if (text := walked(grammar, chance)) is not None]
    for text in texts:
        assert oracle.accepts(grammar.gbnf, text), text
        broken = text[: len(text) // 2] + chance.choice('}],:"x ') + text[len(text) // 2 :]
        assert oracle.accepts(grammar.gbnf, broken) == grammar.accepts(broken), broken


def test_unicode_is_read_by_code_point(oracle: Any) -> None:
    gbnf = "root ::= [α-ω]{2} [^a-z] [\\U0001F600-\\U0001F64F]"
    for text, good in [("αβ!😀", True), ("αβ漢😀", True), ("αβx😀", False), ("α!😀", False)]:
        assert Grammar(gbnf).accepts(text) is good
        assert oracle.accepts(gbnf, text) is good, text
