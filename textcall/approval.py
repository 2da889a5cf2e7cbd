"""Asking somebody before a dangerous tool runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from textcall.errors import UsageError
from textcall.messages import ToolCall
from textcall.tools import Tool

# once: this call. always: this tool from now on. no: not this call. never: this tool not any more.
Approval = Literal["once", "always", "no", "never"]
Approve: TypeAlias = Callable[[ToolCall, Tool], Approval]

NOBODY = "it needs somebody's approval, and nobody can be asked here"
DENIED = "the user did not allow it. Do not call it again; answer without it"


class Approvals:
    """What was allowed so far. ask: None where nobody can be asked: then nothing dangerous runs."""

    def __init__(self, ask: Approve | None) -> None:
        self._ask = ask
        self._standing: dict[str, bool] = {}

    def refusal(self, call: ToolCall, tool: Tool) -> str | None:
        """Why the call must not run, None where it may. Raises UsageError where the hook gives no `Approval`."""
        if not tool.dangerous:
            return None
        if tool.name in self._standing:
            return None if self._standing[tool.name] else DENIED
        if self._ask is None:
            return NOBODY
        answer = self._ask(call, tool)
        if answer not in get_args(Approval):
            raise UsageError(f"approve gave {answer!r}, not one of {', '.join(get_args(Approval))}")
        if answer in ("always", "never"):
            self._standing[tool.name] = answer == "always"
        return None if answer in ("once", "always") else DENIED
