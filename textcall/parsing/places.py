"""In what a part of a text stands: said to the model and to whoever asks why something was no call."""

from __future__ import annotations

import re

from textcall.parsing.markers import CALL_FENCES
from textcall.parsing.passage import Passage

_FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n")
_FAR = 20_000  # code points before a place that are looked at


def place_of(text: str, at: int) -> str:
    """What the position `at` stands in, as words that go behind "stands"."""
    before = text[max(0, at - _FAR) : at]
    fence = _open_fence(before)
    if fence is not None:
        language = (fence.split() or [""])[0].lower()
        return "in a fence with other things" if language in CALL_FENCES else f"in a fence of {language[:20]}"
    line = before[before.rfind("\n") + 1 :]
    if line.lstrip().startswith(">"):
        return "in a block quote"
    passage = Passage()
    passage.add(_PARAGRAPH.split(before)[-1])
    if passage.in_code:
        return "in inline code"
    if passage.in_quotation:
        return "in a quotation"
    if passage.is_open:
        return "inside other data"
    return "inside a sentence" if line.strip() else "beside other words on its line"


def _open_fence(text: str) -> str | None:
    """What stands behind the marks of the fence that is open at the end; None where none is."""
    marks, info = "", ""
    for match in _FENCE.finditer(text):
        if not marks:
            marks, info = match["marks"], match["info"]
        elif match["marks"].startswith(marks) and not match["info"].strip():
            marks = ""
    return info if marks else None
