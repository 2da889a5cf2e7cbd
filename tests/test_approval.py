from __future__ import annotations

from typing import Any

import pytest

from textcall.approval import DENIED, NOBODY, Approvals
from textcall.errors import UsageError
from textcall.messages import ToolCall
from textcall.tools import Tool

DELETE, LOOK = Tool(name="delete", dangerous=True), Tool(name="look")
CALL = ToolCall("1", "delete", {"path": "x"})


@pytest.mark.parametrize(
    ("answers", "refusals"),
    [
        (["once", "no", "once"], [None, DENIED, None]),
        (["always"], [None, None, None]),
        (["never"], [DENIED, DENIED, DENIED]),
        (["no", "always"], [DENIED, None, None]),
    ],
)
def test_what_was_answered_holds(answers: list[Any], refusals: list[str | None]) -> None:
    approvals = Approvals(lambda _call, _tool: answers.pop(0))
    assert [approvals.refusal(CALL, DELETE) for _ in refusals] == refusals
    assert answers == []


def test_an_answer_for_one_tool_says_nothing_of_another() -> None:
    approvals = Approvals(lambda _call, tool: "always" if tool.name == "delete" else "no")
    assert approvals.refusal(CALL, DELETE) is None
    assert approvals.refusal(CALL, Tool(name="format", dangerous=True)) == DENIED


def test_harmless_tools_are_not_asked_about() -> None:
    approvals = Approvals(lambda _call, _tool: pytest.fail("asked"))
    assert approvals.refusal(CALL, LOOK) is None


def test_nobody_to_ask_is_no() -> None:
    assert Approvals(None).refusal(CALL, DELETE) == NOBODY


@pytest.mark.parametrize("answer", [True, None, "yes", ""])
def test_an_answer_that_is_none(answer: Any) -> None:
    with pytest.raises(UsageError, match="approve gave"):
        Approvals(lambda _call, _tool: answer).refusal(CALL, DELETE)
