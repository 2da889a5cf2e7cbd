"""Text to calls: where a call may stand, how it is read, whether it is valid."""

from __future__ import annotations

from textcall.parsing.events import (
    ArgumentsCame,
    CallDropped,
    CallReady,
    CallStarted,
    Event,
    ProblemFound,
    Restarted,
    TextCame,
    ThoughtCame,
)
from textcall.parsing.reply import Parsed, parse
from textcall.parsing.stream import StreamParser

__all__ = [
    "ArgumentsCame",
    "CallDropped",
    "CallReady",
    "CallStarted",
    "Event",
    "Parsed",
    "ProblemFound",
    "Restarted",
    "StreamParser",
    "TextCame",
    "ThoughtCame",
    "parse",
]
