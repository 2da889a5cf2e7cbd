from __future__ import annotations

import inspect
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.docstring import described

SUMMARIES: list[tuple[str | None, str]] = [
    (None, ""),
    ("", ""),
    (" \n ", ""),
    ("One.", "One."),
    ("One\n    line.\n\n    More.", "One line."),
    ("\n    First.\n\n    More.\n", "First."),
    ("Sum.\nArgs:\n    a: x", "Sum."),
    ("Sum.\n:param a: x", "Sum."),
    ("Sum.\n\nParameters\n----------\na\n    x", "Sum."),
    ("Args:\n    a: x", ""),
    ("Example: a word before a colon is no section", "Example: a word before a colon is no section"),
    ("查询天气。\n\n更多。", "查询天气。"),
]


@pytest.mark.parametrize(("docstring", "summary"), SUMMARIES)
def test_summary_is_the_first_paragraph_on_one_line(docstring: str | None, summary: str) -> None:
    assert described(docstring)[0] == summary


GOOGLE = """Sum.

    Args:
        a: the a
            goes on
        b (int, optional): see http://x: and y
        c (Callable[[int], (str)]): of a type with brackets
        d(int):
            on the next line
        e: with lines: in it

            and a paragraph
        *rest: of the positions
        **more: of the names
        城市: name of the city
        empty:

    Returns:
        x: no parameter
    """
NUMPY = """Sum.

    Parameters
    ----------
    a : int
        The a.

        More of it.
    b
        The b: with a colon.
    c, d : float, optional
        Both.
    e : {'x', 'y'}
        A choice.
    *rest
        The rest.

    Other Parameters
    ----------------
    z : int
        The z.

    Returns
    -------
    x : int
        No parameter.
    """
REST = """Sum.

    :param a: the a
        goes on
    :param int b: the b
    :param dict[str, int] c:
        on the next line
    :type b: int
    :param d: the d

    A paragraph.
    :returns: no parameter
    """
NOTES: list[tuple[str, dict[str, str]]] = [
    (
        GOOGLE,
        {
            "a": "the a goes on",
            "b": "see http://x: and y",
            "c": "of a type with brackets",
            "d": "on the next line",
            "e": "with lines: in it and a paragraph",
            "rest": "of the positions",
            "more": "of the names",
            "城市": "name of the city",
        },
    ),
    (
        NUMPY,
        {
            "a": "The a. More of it.",
            "b": "The b: with a colon.",
            "c": "Both.",
            "d": "Both.",
            "e": "A choice.",
            "rest": "The rest.",
            "z": "The z.",
        },
    ),
    (REST, {"a": "the a goes on", "b": "the b", "c": "on the next line", "d": "the d"}),
    ("S.\n\nParameters:\n    a: x\n", {"a": "x"}),
    ("S.\n\nKeyword Args:\n    a: x\n", {"a": "x"}),
    ("S.\n\nArgs:\n\ta: x\n\t\ty\n", {"a": "x y"}),
    ("S.\r\n\r\nArgs:\r\n    a: x\r\n", {"a": "x"}),
    ("S.\n\nArgs:\n    a: x\nReturns:\n    b: y", {"a": "x"}),
    ("S.\n\nArgs:\n    a: x\n        b: deeper\n    c: z", {"a": "x b: deeper", "c": "z"}),
    ("S.\n\nArgs:\n    a: x\n\nKeyword Args:\n    b: y\n", {"a": "x", "b": "y"}),
    ("S.\n\nAttributes:\n    a: x\n", {}),
    ("S.\n\nReturns\n-------\na : int\n    x\n", {}),
    ("S.\n\nParameters\nare not listed: here\n", {}),
    ("S.\n\na: no section\n", {}),
]


@pytest.mark.parametrize(("docstring", "notes"), NOTES)
def test_notes_of_the_parameters(docstring: str, notes: dict[str, str]) -> None:
    assert described(docstring)[1] == notes


WORDS = st.text("abc xyz", min_size=1, max_size=20).map(lambda text: " ".join(text.split()) or "x")
STYLES = {
    "google": ("Args:\n", "    {0}: {1}\n"),
    "google with types": ("Args:\n", "    {0} (dict[str, int]): {1}\n"),
    "numpy": ("Parameters\n----------\n", "{0} : int\n    {1}\n"),
    "rest": ("", ":param {0}: {1}\n"),
    "rest with types": ("", ":param int {0}: {1}\n"),
}


@given(WORDS, st.dictionaries(st.sampled_from(["city", "day", "_x", "n1"]), WORDS), st.sampled_from(sorted(STYLES)))
def test_what_is_written_in_any_style_is_read(summary: str, notes: dict[str, str], style: str) -> None:
    head, entry = STYLES[style]
    text = f"{summary}\n\n{head}" + "".join(entry.format(*pair) for pair in notes.items())
    assert described(text) == (summary, notes)


LINES = st.lists(
    st.sampled_from(["Args:", "Parameters", "----", "    a: x", ":param a: x", "  (", "", "a : int", "\t*b"])
)


@given(st.text(st.characters(codec=None)) | LINES.map("\n".join))
def test_any_docstring_is_read_into_single_lines(text: str) -> None:
    summary, notes = described(text)
    assert summary == " ".join(summary.split())
    assert all(note and note == " ".join(note.split()) for note in notes.values())
    words = set(inspect.cleandoc(text).split())
    assert set(summary.split()) <= words


@pytest.mark.parametrize(
    "text", ["Args:\n" * 2000, "Args:\n  a" + "(" * 50_000, ":param " + "a " * 50_000, "x" * 10**6]
)
def test_a_long_docstring_takes_no_time(text: str) -> None:
    started = time.process_time()
    described(text)
    assert time.process_time() - started < 2
