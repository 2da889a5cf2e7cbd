"""Failures from the field, re-told: each reply comes to what it should, in one piece and in pieces."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.parsing.tables import (
    DATA,
    FIELD,
    Case,
    cuttings,
    differs,
    field_cases,
    outcome,
    read,
    rows,
    without_surrogates,
)
from textcall.parsing import StreamParser, TextCame

CASES = field_cases()
# A fence in a word of a single program's own, which may as well be the language of something shown.
DELIBERATE = {"c046"}
ROWS = {row["id"]: row for row in rows(DATA / f"{FIELD}.jsonl")}


@pytest.mark.parametrize("case", [case for case in CASES if case.id not in DELIBERATE], ids=lambda case: case.id)
def test_right(case: Case) -> None:
    assert outcome(case, read(case)) == "right"


@pytest.mark.parametrize("case", [case for case in CASES if case.id in DELIBERATE], ids=lambda case: case.id)
def test_what_is_not_read_is_told(case: Case) -> None:
    assert outcome(case, read(case)) == "problem"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_in_pieces_as_in_one(case: Case) -> None:
    case = without_surrogates(case)
    whole = read(case)
    if case.chunks:
        assert not differs(case, case.chunks, whole)
    for pieces in cuttings(case.text, random.Random(case.id), singles=25, several=5):
        assert not differs(case, pieces, whole), pieces


def test_the_table_is_whole() -> None:
    counts = Counter(case.group.split()[1] for case in CASES)
    assert counts == {"must": 58, "should": 22, "policy": 14}


def test_bytes_cut_inside_characters() -> None:
    row = ROWS["c132"]
    parser = StreamParser(row["tools"])
    events: list[Any] = [event for piece in row["byte_chunks_hex"] for event in parser.feed(bytes.fromhex(piece))]
    events += parser.close()
    assert "".join(event.text for event in events) == parser.parsed().content == row["text"]


def test_text_comes_before_the_reply_ends() -> None:
    row = ROWS["c137"]
    parser = StreamParser(row["tools"])
    assert any(isinstance(event, TextCame) for piece in row["chunks"][:-1] for event in parser.feed(piece))
