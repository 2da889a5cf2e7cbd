from __future__ import annotations

from typing import Any

import pytest

from textcall.engines.base import Sampling
from textcall.errors import UsageError

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": NAN},
        {"temperature": INFINITE},
        {"temperature": "hot"},
        {"temperature": True},
        {"min_p": 1.5},
        {"min_p": NAN},
        {"top_p": -1},
        {"top_p": 1.01},
        {"top_k": 1.5},
        {"top_k": -1},
        {"seed": -1},
        {"seed": 0.5},
        {"max_tokens": 0},
        {"max_tokens": None},
        {"stop": "end"},
        {"stop": ("",)},
    ],
    ids=str,
)
def test_values_out_of_their_range_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Sampling(**wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"temperature": 0},
        {"temperature": 2.5, "seed": 0},
        {"seed": 2**63},
        {"top_p": 0, "top_k": 0, "min_p": 1},
        {"max_tokens": 1, "stop": ("a", "b")},
    ],
    ids=str,
)
def test_values_in_their_range(right: dict[str, Any]) -> None:
    assert Sampling(**right) == Sampling(**right)
