"""Where something ends that cannot be read: only where that is certain.

A model that writes a file and forgets to escape its quotes leaves a string open, and what stands on the lines behind
is that file. A call in it is text. So a value ends where its brackets close and every string in it was surely closed;
where a quote was not escaped, only if nothing behind it speaks against it either; else nothing behind it is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from textcall.parsing import markers
from textcall.parsing.cursor import Cursor
from textcall.parsing.lenient import Broken
from textcall.parsing.rest import BRACKET, FENCE, OPEN, quotes, surely_over

_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+)|(?P<open>[{\[｛［])|(?P<close>[}\]｝］])|(?P<mark>[,:，：])"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|“[^”]*”)|(?P<word>[\w.+$-]+)""",
    re.DOTALL,
)
_REST_OF_LINE = re.compile(r"[)\s;,]*?(?=\n|\Z)")
_OPENING_QUOTES = frozenset("\"'“")
_BEHIND_A_STRING = frozenset(",:}]，：｝］")
_DATA = re.compile(r"""[{\[｛［<]\s*(?:[{\[｛［]\s*)*(?:["'“]|(?<=[{｛\s])[\w$-]+\s*[:：])""")
_STOPS = re.compile("|".join(map(re.escape, sorted(markers.CONTROL, key=len, reverse=True))))


class Tangled(Exception):
    """A string may still be open, or words stand where none can."""


def is_data(src: str, at: int) -> bool:
    """Whether what begins here was meant as JSON, and not as a bracket in a text."""
    return _DATA.match(src, at) is not None


def clean_end(c: Cursor, at: int, error: Broken, *, stops: tuple[str, ...] = ()) -> int:
    """The end of the values that begin at `at` and hold the error, or where they stop. Raises Tangled and NeedMore.

    Words that begin a paragraph behind a bracket that closed are no part of them.
    """
    if error.kind == "inner_quote" or error.incomplete:
        raise Tangled
    src, pos, depth, before, paragraph = c.buf, at, 0, "mark", -1
    kind: str | None
    while True:
        if any(src.startswith(stop, pos) for stop in stops):
            return pos
        c.need(pos >= len(src) or any(stop.startswith(src[pos : pos + len(stop)]) for stop in stops))
        match = _TOKEN.match(src, pos)
        kind = match.lastgroup if match else None
        if match is None or (kind in ("word", "string") and before not in ("open", "mark")):
            c.need(match is None and src[pos : pos + 1] in _OPENING_QUOTES)  # a string that goes on
            if paragraph >= 0 and src[pos : pos + 1] not in _OPENING_QUOTES:
                return paragraph
            raise Tangled
        if kind == "blank":
            c.need(match.end() >= len(src))
            paragraph = pos if before == "close" and match[0].count("\n") > 1 else -1
            pos = match.end()
            continue
        pos, before, paragraph = match.end(), kind or "", -1
        if kind in ("word", "string"):
            c.need(pos >= len(src))
            if depth <= 0 or (kind == "string" and not _closes(c, pos, stops)):
                raise Tangled
        depth += 1 if kind == "open" else -1 if kind == "close" else 0
        if depth == 0 and kind == "close":
            if pos > error.pos:
                return pos
            before = "mark"


def _closes(c: Cursor, pos: int, stops: tuple[str, ...]) -> bool:
    """Whether what follows a string shows that it has ended."""
    while pos < len(c.buf) and c.buf[pos].isspace():
        pos += 1
    c.need(pos >= len(c.buf))
    return pos < len(c.buf) and (c.buf[pos] in _BEHIND_A_STRING or any(c.buf.startswith(stop, pos) for stop in stops))


def end_of_value(c: Cursor, at: int, error: Broken) -> tuple[int, bool]:
    """The end of a value that cannot be read and stands in nothing, and whether that is certain."""
    if error.incomplete:
        return last_resort(c, at), False
    try:
        return clean_end(c, at, error), True
    except Tangled:
        c.need()
    end = _balanced(c.buf, at)
    may_end = end is not None and end > error.pos and c.restarts > 0 and not c.length
    if end is not None and may_end and quotes(c.buf, at, end) % 2 == 0 and surely_over(c.buf, end):
        return end, True
    return last_resort(c, at), False


def _balanced(src: str, at: int) -> int | None:
    """Where the brackets close, whatever they stand in; None where they do not, or where the line goes on behind."""
    depth = 0
    for bracket in BRACKET.finditer(src, at):
        depth += 1 if bracket[0] in OPEN else -1
        if depth == 0:
            return bracket.end() if _REST_OF_LINE.match(src, bracket.end()) else None
    return None


def closing_tag(c: Cursor, pos: int, openers: Collection[str], closers: Collection[str]) -> int | None:
    """Past the mark behind `pos` that closes what is open, where those between are opened and closed in it."""
    marks = "|".join(re.escape(mark) for mark in sorted((*openers, *closers), key=len, reverse=True))
    level = 1
    for mark in re.compile(marks).finditer(c.buf, pos) if closers else ():
        level += -1 if mark[0] in closers else 1
        if level == 0:
            return mark.end() if not c.length and surely_over(c.buf, mark.end()) else None
    return None


def closing_fence(c: Cursor, pos: int, marks: str) -> int | None:
    """The end of the line that closes a fence, past those that open and close behind `pos`."""
    level = 1
    for fence in FENCE.finditer(c.buf, pos):
        if fence["marks"].startswith(marks):
            level += 1 if fence["info"].strip() else -1
            if level == 0:
                return fence.end() if not c.length and surely_over(c.buf, fence.end()) else None
    return None


def last_resort(c: Cursor, pos: int) -> int:
    """The end of the reply, or a mark of a template that ends all that stands before it."""
    c.need()
    for mark in _STOPS.finditer(c.buf, pos):
        if mark[0] not in markers.ORPHANS or surely_over(c.buf, mark.end()):
            return mark.start()
    return len(c.buf)
