from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.engines.cursor import Cursor, code_points_from, first_bytes_of, split_utf8
from textcall.grammar import Grammar

ANY = Grammar("root ::= [^\\x00]*")
CJK = Grammar("root ::= [一-龥]+ [.]")


@given(st.text(), st.integers(0, 400))
def test_any_cut_of_a_text_is_read_on(text: str, at: int) -> None:
    data = text.encode()
    split = split_utf8(data[:at])
    assert split is not None
    assert (split[0].encode() + split[1] + data[at:]).decode() == text
    assert len(split[1]) < 4


@pytest.mark.parametrize("data", [b"\xff", b"\xc0\x80", b"a\x80", b"\xed\xa0\x80", b"\xf5", b"\xe4\xbdx"])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    assert split_utf8(data) is None
    assert Cursor.at_start(ANY).step(data) is None


@given(st.characters(codec="utf-8").filter(lambda c: ord(c) > 127), st.integers(1, 3))
def test_the_range_of_an_incomplete_character_holds_it(char: str, length: int) -> None:
    data = char.encode()
    if length < len(data):
        low, high = code_points_from(data[:length])
        assert low <= ord(char) <= high


@given(st.integers(0, 0x10FFFF), st.integers(0, 2000))
def test_first_bytes_hold_every_character_of_the_range(low: int, width: int) -> None:
    high = min(low + width, 0x10FFFF)
    found = first_bytes_of(((low, high),))
    for point in (low, (low + high) // 2, high):
        if not 0xD800 <= point <= 0xDFFF:
            assert chr(point).encode()[0] in found


def test_a_character_in_two_tokens() -> None:
    first, second = "汉".encode()[:2], "汉".encode()[2:]
    cursor = Cursor.at_start(CJK).step(first)
    assert cursor is not None
    assert cursor.pending == first
    assert not cursor.is_final
    assert cursor.first_bytes() == frozenset(range(0x80, 0xC0))
    cursor = cursor.step(second + b".")
    assert cursor is not None
    assert cursor.is_final
    assert not cursor.can_continue


def test_bytes_that_no_allowed_character_begins_with_are_refused() -> None:
    assert Cursor.at_start(CJK).step("é".encode()[:1]) is None
    assert Cursor.at_start(CJK).step(b"") is None
