from __future__ import annotations

from typing import Any

import pytest

from textcall.budget import Budget, Limits
from textcall.errors import UsageError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"steps": 1.5},
        {"steps": True},
        {"calls": -1},
        {"tokens": 0},
        {"tokens": "9"},
        {"seconds": 0},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"seconds": "soon"},
    ],
)
def test_limits_that_leave_nothing(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"max_{next(iter(wrong))}"):
        Limits(**wrong)


def test_which_limit_ends_the_run() -> None:
    clock = Clock()
    budget = Budget(Limits(steps=2, calls=1, tokens=10, seconds=5.0), clock)
    assert budget.used_up() is None
    budget.steps = 2
    assert budget.used_up() == "max_steps"
    budget.calls = 1
    assert budget.used_up() == "max_steps"  # all calls are used, but none was refused yet
    assert budget.refusal() == "no more than 1 calls are allowed for one question"
    assert budget.used_up() == "max_calls"
    budget.tokens = 10
    assert budget.used_up() == "max_tokens"
    clock.now += 5
    assert budget.used_up() == "max_seconds"
    assert budget.refusal() == "the time for this question is used up"


def test_the_time_in_which_a_person_thinks_does_not_count() -> None:
    clock = Clock()
    budget = Budget(Limits(seconds=5.0), clock)
    with budget.waiting_for_somebody():
        clock.now += 60
    clock.now += 3
    assert budget.seconds_left == 2


def test_without_limits_nothing_ends() -> None:
    clock = Clock()
    budget = Budget(Limits(steps=1000, calls=None), clock)
    clock.now += 1e9
    budget.calls = budget.tokens = 10**9
    assert (budget.used_up(), budget.refusal(), budget.reply_tokens(50)) == (None, None, 50)


@pytest.mark.parametrize(("used", "wanted", "tokens"), [(0, 50, 50), (80, 50, 20), (99, 50, 1), (100, 50, 1)])
def test_a_reply_gets_no_more_tokens_than_the_run_has_left(used: int, wanted: int, tokens: int) -> None:
    budget = Budget(Limits(tokens=100))
    budget.tokens = used
    assert budget.reply_tokens(wanted) == tokens
