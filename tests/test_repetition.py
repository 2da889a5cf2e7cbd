from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.repetition import LONG, SHORT, TIMES, WINDOW, endless

LINE = "| 2026-01-01 | 67.92 | up | nothing to say about this day that was not said before |\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("Yes. " + "No. " * 300, "Yes. No. ", id="a sentence"),
        pytest.param("x" + "\n" * SHORT, "x", id="empty lines"),
        pytest.param("x" + " \n\t " * SHORT, "x", id="mixed white space"),
        pytest.param("b" + "a" * SHORT, "ba", id="one character"),
        pytest.param("下" * 2000, "下", id="one character, wide"),
        pytest.param(
            '{"tool":"reply","args":{"text":"' + "ha" * 600, '{"tool":"reply","args":{"text":"ha', id="in a call"
        ),
        pytest.param("a" * 5000 + LINE * 30, "a" * 5000 + LINE, id="a line behind something else"),
        pytest.param("Start. " + "ab" * WINDOW, None, id="longer than what is looked at: the rest of it is kept"),
    ],
)
def test_an_endless_text_is_cut_behind_its_first_unit(text: str, kept: str | None) -> None:
    cut = endless(text)
    assert cut is not None
    if kept is None:
        assert cut < len(text) - WINDOW + 10
    else:
        assert text[:cut] == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word",
        "-" * (SHORT - 1),
        "No. " * (LONG // 4 - 1),
        LINE * (TIMES - 1) + LINE[:20],
        "x" + " " * (SHORT - 1),
        "".join(f"{n}. A line that counts\n" for n in range(200)),
        "No. " * 300 + "But then something new.",
    ],
)
def test_what_may_still_end_is_left_alone(text: str) -> None:
    assert endless(text) is None


@given(st.text(min_size=1, max_size=30), st.integers(12, 60))
def test_whatever_is_repeated_long_enough_is_found(unit: str, more: int) -> None:
    times = max(TIMES, -(-LONG // len(unit))) + more
    text = unit * times
    cut = endless(text)
    assert cut is not None
    assert text.startswith(text[:cut])
    assert cut <= max(len(unit), len(text) - WINDOW + len(unit))
