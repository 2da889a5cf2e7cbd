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

from textcall.agent import Agent, Run
from textcall.block import Convention, Shape
from textcall.engines.base import Sampling
from textcall.errors import TextcallError
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
