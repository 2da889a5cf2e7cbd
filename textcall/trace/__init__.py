"""A run as JSON lines: written while it goes on, read back, replayed, parsed again, shown as one HTML page."""

from __future__ import annotations

from textcall.trace.as_json import call_json, event_json, problem_json
from textcall.trace.read import read_trace
from textcall.trace.write import TraceWriter

__all__ = ["TraceWriter", "call_json", "event_json", "problem_json", "read_trace"]
