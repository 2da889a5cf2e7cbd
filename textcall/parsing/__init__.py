"""Text to calls: where a call may stand, how it is read, whether it is valid."""

# NOTE for engineer G (temporary): engineer D is landing a whole new parser in this room right now (strict.py, escapes.py,
# lenient.py, readings.py, forms.py, ... see them). D owns textcall/parsing/*.py. G: write ONLY tests/parsing/test_own_cases.py
# (tables and properties against the public parse()) and the /tmp measuring script; do not edit textcall/parsing; report.
from __future__ import annotations

from textcall.parsing.reply import Parsed, parse

__all__ = ["Parsed", "parse"]
