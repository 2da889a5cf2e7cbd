from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.toolbox.stocks import SHARES, share_named, stock_price

WRITTEN = [
    ("青岛啤酒", "600600"),
    ("青岛 啤酒", "600600"),
    ("青啤", "600600"),
    ("青岛啤酒股份有限公司", "600600"),
    ("青岛啤酒 (600600)", "600600"),
    ("青岛啤酒（600600）", "600600"),
    ("Tsingtao Brewery", "600600"),
    ("TSINGTAO", "600600"),
    ("Tsingtao Brewery Co., Ltd.", "600600"),
    ("Tsingtao Brewery Company Limited", "600600"),
    ("600600", "600600"),
    ("600600.SH", "600600"),
    ("600600.ss", "600600"),
    ("sh600600", "600600"),
    ("６００６００", "600600"),
    ("贵州茅台", "600519"),
    ("贵州茅台公司", "600519"),
    (" 茅台 ", "600519"),
    ("Kweichow Moutai", "600519"),
    ("moutai ltd", "600519"),
]


@pytest.mark.parametrize(("written", "code"), WRITTEN)
def test_share_however_it_is_written(written: str, code: str) -> None:
    share = share_named(written)
    assert share is not None
    assert share.code == code


@pytest.mark.parametrize("written", ["", "sh", "公司", "(600600)", "600", "Apple", "\ud800", "茅" * 10**6])
def test_what_is_no_known_share(written: str) -> None:
    assert share_named(written) is None


@given(st.text(st.characters(codec=None)))
def test_any_text_is_a_share_or_none(text: str) -> None:
    assert share_named(text) in (None, *SHARES)


@pytest.mark.parametrize(("code", "close"), [("600600", 67.92), ("600519", 1488.21)])
def test_closing_price_marked_as_fixed_data(code: str, close: float) -> None:
    result = stock_price(code)
    assert (result["code"], result["close"], result["currency"]) == (code, close, "CNY")
    assert result["note"] == "fixed demo data"


def test_not_found_lists_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"not found: 'Apple'; known shares: 青岛啤酒 \(Tsingtao Brewery\), 贵州茅台"):
        stock_price("Apple")
