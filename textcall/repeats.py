"""The same call again: answered from memory, and counted, so that a model that goes round in circles is stopped.

The same call is the same name with the same arguments, in whatever order the keys stand. It is run again only where
something else was called since (that may have changed the world), where it failed and was not yet tried again, and
where its tool is `volatile`. A call that is run again and gives the same result counts as a repeat too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from textcall.messages import ToolCall, ToolResult
from textcall.tools import Tool

# What a repeat leads to, by how many turns in a row only repeated: a note beside the result (1), then …
NUDGE = 2  # … a word about it,
LEAVE_OUT = 3  # … the repeated calls leave the prompt,
FORCE = 4  # … an answer without tools.

NOTE = " (the same call as before)"
NOT_RUN = ("refused", "not_run")  # errors of results that no tool gave: asking again changes nothing


def call_key(name: str, arguments: Mapping[str, Any]) -> str:
    """What is equal for two calls that are the same."""
    return json.dumps([name, dict(arguments)], sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Known:
    """A call's last result, the turn that it was run in, and how often it was run."""

    result: ToolResult
    turn: int
    times: int


class CallMemory:
    """The calls of one run. turns: how many in a row brought nothing but what was known."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._turn = 0
        self._last_run = 0  # the last turn in which anything was run
        self._fresh = self._repeated = False
        self.turns = 0

    def recall(self, call: ToolCall, tool: Tool | None) -> ToolResult | None:
        """The result of the same call before; None where the call is to be run."""
        known = self._known.get(call_key(call.name, call.arguments))
        if known is None or (tool is not None and tool.volatile):
            return None
        if known.turn == self._turn:  # twice in one reply: one run serves both
            return replace(known.result, call_id=call.id, seconds=0.0)
        tried_once = not known.result.ok and known.times < 2 and known.result.error not in NOT_RUN
        if known.turn < self._last_run or tried_once:
            return None
        self._repeated = True
        content = known.result.content.removesuffix(NOTE) + NOTE
        return replace(known.result, call_id=call.id, content=content, seconds=0.0)

    def remember(self, call: ToolCall, tool: Tool | None, result: ToolResult) -> None:
        """Keep what a call gave that was run, or refused."""
        key = call_key(call.name, call.arguments)
        known = self._known.get(key)
        volatile = tool is not None and tool.volatile
        if known is not None and not volatile and known.result.content == result.content:
            self._repeated = True
        else:
            self._fresh = True
        self._known[key] = _Known(result, self._turn, known.times + 1 if known else 1)
        if result.error not in NOT_RUN:
            self._last_run = self._turn

    def end_turn(self) -> int:
        """Close a turn; how many in a row now brought nothing new."""
        if self._fresh:
            self.turns = 0
        elif self._repeated:
            self.turns += 1
        self._fresh = self._repeated = False
        self._turn += 1
        return self.turns
