"""Text to calls: where a call may stand, how it is read, whether it is valid."""

from __future__ import annotations

from textcall.parsing.reply import Parsed, parse

__all__ = ["Parsed", "parse"]
