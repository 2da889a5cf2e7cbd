from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.dispatch import dispatch
from textcall.messages import ToolCall
from textcall.toolbox.calculator import MAX_DIGITS, calculator, evaluate, normalized
from textcall.tools import Toolset

VALUES: list[tuple[str, int | float]] = [
    ("365*24", 8760),
    ("(17+4)*3", 63),
    ("-(-(-(1)))", -1),
    ("7//2", 3),
    ("100/4", 25.0),
    ("1 +\n 2", 3),
    # what is written for an operator
    ("12×3÷4", 9.0),
    ("7−2", 5),
    ("2^10", 1024),
    ("2**3**2", 512),
    ("２＋３", 5),
    ("（１＋２）×３", 9),
    ("３．５＊２", 7.0),
    ("5 x 3", 15),
    ("5x3", 15),
    ("(2) X (3)", 6),
    ("3²+2³", 17),
    ("π*2", 6.28318530718),
    # a trailing equals sign
    ("1+1=", 2),
    ("1+1 = ?", 2),
    ("1＋1＝？", 2),
    ("=6*7", 42),
    # separators of thousands, and of arguments
    ("1,234*2", 2468),
    ("1，234*2", 2468),
    ("1,000,000/4", 250000.0),
    ("1,234.5", 1234.5),
    ("max(1,234)", 234),
    ("min(1,234, 5)", 1),
    # percent, and the remainder
    ("15%", 0.15),
    ("15% of 240", 36.0),
    ("20％ of 50", 10.0),
    ("10%的50", 5.0),
    ("240*15%", 36.0),
    ("50%+50%", 1.0),
    ("10%3", 1),
    ("10 % (3)", 1),
    # functions
    ("sqrt(16)", 4.0),
    ("pow(2,10)", 1024),
    ("abs(-3)", 3),
    ("round(3.14159, 2)", 3.14),
    ("round(2.4)", 2),
    ("floor(-2.5)", -3),
    ("ceil(2.1)", 3),
    ("factorial(5)", 120),
    ("log10(1000)", 3.0),
    ("log(8,2)", 3.0),
    ("log(e)", 1.0),
    ("sin(pi)", 0.0),
    ("cos(tau)", 1.0),
    # binary fractions
    ("0.1+0.2", 0.3),
    ("0.3-0.1-0.2", 0.0),
    ("1.1-1", 0.1),
    ("4.35*100", 435.0),
    ("1/3", 0.333333333333),
    ("9999999999999/3", 3333333333333.0),
    ("12345678901.37*1", 12345678901.37),
    ("1.0001**10000", 2.71814592682),
    ("2**-2", 0.25),
    ("1**5000", 1),
    ("10**399", 10**399),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text: str, value: float) -> None:
    result = evaluate(text)
    assert result == value
    assert type(result) is type(value)


REFUSED: list[tuple[object, str]] = [
    ("", "empty"),
    (" = ? ", "empty"),
    ("5/0", "division by zero"),
    ("5%0", "division by zero"),
    ("0**-1", "division by zero"),
    ("9**9**9**9", "too large"),
    ("10**1000", "too large"),
    ("10**400", "too large"),
    ("1e308*10", "too large"),
    ("1e400", "too large"),
    ("factorial(151)", "too large"),
    ("factorial(150)**9", "too large"),
    ("factorial(-1)", "not defined"),
    ("factorial(2.5)", "not defined"),
    ("sqrt(-1)", "not defined"),
    ("log(0)", "not defined"),
    ("(-8)**0.5", "not defined"),
    ("round(1, -10**9)", "not defined"),
    ("round(1, 10**9)", "not defined"),
    ("max()", "not defined"),
    ("sqrt(1,2)", "no arithmetic expression"),
    ("abs", "no number"),
    ("1,23", "write 1234, not 1,234"),
    ("max(1,2)*1,000", "write 1234, not 1,234"),
    ("2(3+4)", "every multiplication with *"),
    ("(1)(2)", "every multiplication with *"),
    ("2 plus 2", "'plus' is no number"),
    ("calculate 2+2", "'calculate' is no number"),
    ("0x10", "'x' is no number"),
    ("1j", "'j' is no number"),
    ("nan", "'nan' is no number"),
    ("1 if 1 else 2", "'if' is no number"),
    ("1or 2", "'or' is no number"),
    ("__import__('os')", "is not allowed"),
    ("'%9999999999s' % 5", "is not allowed"),
    ("f'{5:9999999999}'", "is not allowed"),
    ("[1]*10**9", "is not allowed"),
    ("1;2", "is not allowed"),
    ("1=1", "is not allowed"),
    ("\x00", "is not allowed"),
    ("\ud800", "is not allowed"),
    ("...", "no number"),
    ("pi.e", "no arithmetic expression"),
    ("max(*1)", "no arithmetic expression"),
    ("max(**1)", "no arithmetic expression"),
    ("007", "no arithmetic expression"),
    ("٣+٤", "no arithmetic expression"),
    ("1+2\n3", "no arithmetic expression"),
    ("a" * 1000, "1000 characters, 300 are allowed"),
    ("(" * 10000, "10000 characters"),
    ("(" * 200, "too many brackets"),
    ("1" + " " * 100_000 + "1", "characters"),
    (None, "must be text"),
    (5, "must be text"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_in_words(text: str, message: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError) as caught:
        evaluate(text)
    assert message in str(caught.value)
    str(caught.value).encode()  # no lone surrogate gets into a message
    assert time.process_time() - started < 1


PIECES = st.sampled_from(
    [*"0123456789+-*/%^().,eExX ×÷", "**", "//", "10**", "9**9", "max(", "round(", "factorial(", "1e300", "pi"]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join), st.text(st.characters(codec=None))))
def test_any_text_gives_a_number_or_a_value_error_and_soon(text: str) -> None:
    started = time.process_time()
    try:
        result = evaluate(text)
    except ValueError as error:
        assert str(error)
    else:
        assert type(result) in (int, float)
        assert len(str(result)) <= MAX_DIGITS + 1
    assert time.process_time() - started < 1


@given(st.integers(-(10**12), 10**12), st.sampled_from("+-*"), st.integers(-(10**12), 10**12))
def test_whole_numbers_are_exact_with_and_without_separators(a: int, sign: str, b: int) -> None:
    right = {"+": a + b, "-": a - b, "*": a * b}[sign]
    assert evaluate(f"{a}{sign}({b})") == right
    assert evaluate(f"{a:,}{sign}({b:,})") == right


@given(st.decimals(0, 10**6, places=2), st.decimals(0, 10**6, places=2))
def test_money_adds_up(a: object, b: object) -> None:
    assert repr(evaluate(f"{a}+{b}")) == repr(float(a + b))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "python"),
    [("1,234×2=", "1234*2"), ("15% of 240", "15/100*240"), ("max(1,234)", "max(1,234)"), ("２＾３ = ?", "2**3")],
)
def test_normalized(text: str, python: str) -> None:
    assert normalized(text) == python


def test_the_tool_says_what_it_worked_out() -> None:
    call = ToolCall("1", "calculator", {"question": "hours in a year", "expression": "365*24"})
    result = dispatch(call, Toolset([calculator]))
    assert result.content == '{"question":"hours in a year","expression":"365*24","result":8760}'


def test_an_error_of_the_tool_reads_as_one_line() -> None:
    result = dispatch(ToolCall("1", "calculator", {"question": "", "expression": "5/0"}), Toolset([calculator]))
    assert (result.error, result.content) == ("exception", '{"error":"ValueError: division by zero"}')
