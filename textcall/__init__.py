"""Tool calling for any local model, by prompt convention: no native function calling needed.

    from textcall import Agent, tool

    @tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    print(Agent(tools=[add]).run("What is 1234 + 5678?").text)

The rooms: `tools`, `grammar`, `parsing`, `prompting`, `engines`, `turn`, `dispatch`, `agent`.
Errors: `textcall.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textcall.agent import Agent
    from textcall.block import Convention, Shape
    from textcall.engines.base import Sampling
    from textcall.errors import TextcallError
    from textcall.events import Run
    from textcall.messages import Message, Problem, ToolCall, ToolResult, Usage
    from textcall.tools import Tool, Toolset, tool

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Convention",
    "Message",
    "Problem",
    "Run",
    "Sampling",
    "Shape",
    "TextcallError",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Toolset",
    "Usage",
    "tool",
]

_ROOMS = {
    "agent": ("Agent",),
    "events": ("Run",),
    "block": ("Convention", "Shape"),
    "engines.base": ("Sampling",),
    "errors": ("TextcallError",),
    "messages": ("Message", "Problem", "ToolCall", "ToolResult", "Usage"),
    "tools": ("Tool", "Toolset", "tool"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    """What the package exports is imported when it is first used: the command line starts in less time so."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'textcall' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"textcall.{_ROOM_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
