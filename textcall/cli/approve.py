"""Asking the person at the terminal before a dangerous tool runs."""

from __future__ import annotations

import sys
from typing import Literal

from rich.console import Console
from rich.text import Text

from textcall.approval import Approval, Approve
from textcall.cli.show import call_text, labelled
from textcall.messages import ToolCall
from textcall.tools import Tool

_ANSWERS: dict[str, Approval] = {"y": "once", "a": "always", "n": "no", "": "no", "v": "never"}
_WORDS: dict[str, Approval] = {"yes": "once", "once": "once", "always": "always", "no": "no", "never": "never"}


def approver(mode: Literal["ask", "always", "never"], console: Console) -> Approve | None:
    """The hook for the agent. None where somebody should be asked but nobody is at the terminal: refused then."""
    if mode != "ask":
        return lambda _call, _tool: mode
    if sys.stdin is None or not sys.stdin.isatty() or not console.is_terminal:
        return None
    return lambda call, tool: _asked(call, tool, console)


def _asked(call: ToolCall, _tool: Tool, console: Console) -> Approval:
    """What the person says; no answer is no."""
    console.print(labelled("allow?", call_text(call), wrap=True))
    while True:
        question = Text("y once · a always · n not this one · v never [n] ", "bold yellow")
        try:
            said = console.input(Text.assemble(" " * 9, question)).strip().casefold()
        except EOFError:
            return "no"
        answer = _ANSWERS.get(said) or _WORDS.get(said)
        if answer is not None:
            return answer
