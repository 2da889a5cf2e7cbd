"""Fenced blocks: calls where the fence is meant for them and holds nothing else, text otherwise."""

from __future__ import annotations

import re

from textcall.parsing import bodies, markers, wrappers
from textcall.parsing.cursor import Body, Cursor
from textcall.parsing.extent import Tangled, clean_end, closing_fence, is_data, last_resort
from textcall.parsing.lenient import Broken
from textcall.parsing.pythonic import read_pythonic

_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)(?:\n|\Z)")
_MAX_INFO = 200
_MAX_TAIL = 40

Fence = tuple[str, int]  # the character of an open fence, and how many of it opened it


def opening(c: Cursor, at: int) -> Fence | bool:
    """The fence that opens at `at`, its first line passed; True where it was calls, False where none opens."""
    c.need(len(c.buf) - at < 3 and not c.buf[at:].strip(c.buf[at]))
    if not c.buf.startswith(c.buf[at] * 3, at):
        return False
    c.need("\n" not in c.buf[at : at + 2 * _MAX_INFO] and len(c.buf) - at < 2 * _MAX_INFO)
    match = _FENCE.match(c.buf, at)
    if match is None or len(match["info"]) > _MAX_INFO or (c.buf[at] == "`" and "`" in match["info"]):
        return False
    marks = match["marks"]
    language = (match["info"].split() or [""])[0].lower()
    may_call = (
        language in markers.CALL_FENCES
        and not c.rules.strict
        and not c.inside
        and not c.passage.is_open
        and c.restarts > 0
    )
    if may_call and _calls(c, at, match.end(), marks, language):
        return True
    _pass(c, match.end())
    return (marks[0], len(marks))


def text(c: Cursor, fence: Fence) -> bool:
    """The text of a fence, as far as it is certain; whether the fence closes."""
    char, count = fence
    closing = re.compile(rf"^[ \t]*{char}{{{count},}}[ \t\r]*(?:\n|\Z)", re.MULTILINE)
    match = closing.search(c.buf, c.pos)
    if match is not None and not (match.start() == c.pos and not c.line_start):
        c.need(not match[0].endswith("\n"))
        _pass(c, match.end())
        c.new_paragraph()
        return True
    last = c.buf.rfind("\n", c.pos) + 1
    start = last if last > 0 else c.pos
    could_close = (last > 0 or c.line_start) and not c.buf[start : start + _MAX_INFO].strip(" \t\r" + char)
    end = start if could_close and not c.final and len(c.buf) - start < _MAX_INFO else len(c.buf)
    c.need(end <= c.pos)
    _pass(c, end)
    return False


def _pass(c: Cursor, end: int) -> None:
    c.line_start = c.buf[end - 1] == "\n"
    c.pos = end
    c.begun = True


def _calls(c: Cursor, at: int, pos: int, marks: str, language: str) -> bool:
    pos = c.skip(pos)
    try:
        body = _body(c, pos, marks, language)
        end = None if body is None or body.others or not body.calls else _end(c, body.end, marks)
    except Broken as error:
        end, certain = _broken_end(c, pos, marks, error)
        c.restarts -= 1
        meant = c.meant_as_call(c.buf[pos:end], error)
        if meant:
            c.refused(at, end, error, certain=certain)
        elif not certain and is_data(c.buf, pos):
            c.as_text(end)
        else:
            return False
        return True
    if body is None or end is None:
        c.failures += 1
        return False
    c.calls(at, end, body, "fence")
    return True


def _broken_end(c: Cursor, pos: int, marks: str, error: Broken) -> tuple[int, bool]:
    """The end of a fence whose inside cannot be read, and whether it is certain."""
    if error.incomplete:
        return last_resort(c, pos), False
    try:
        end = clean_end(c, pos, error, stops=(marks,))
        closing = _closing(c, end, marks)
        c.need(closing is None)
        return (len(c.buf) if closing is None else closing), True
    except Tangled:
        c.need()
    closing = closing_fence(c, error.pos, marks) if c.restarts > 0 else None
    return (last_resort(c, pos), False) if closing is None else (closing, True)


def _body(c: Cursor, pos: int, marks: str, language: str) -> Body | None:
    if bodies.starts_value(c.buf, pos):
        try:
            return bodies.values(c, pos, stops=(marks,), wrapped=False, on_line=False)
        except Broken:
            if c.buf[pos] != "[" or language not in markers.CODE_FENCES:
                raise
    if c.buf.startswith("<", pos):
        mark = markers.AT_LINE.match(c.buf, pos, partial=not c.final)
        c.need(mark is not None and mark.partial)
        if mark is not None and wrappers.is_wrapper(mark[0]):
            return wrappers.body(c, pos, mark[0])
    if language not in markers.CODE_FENCES:
        return None
    closing = _closing(c, pos, marks)
    c.need(closing is None)
    source = c.buf[pos : len(c.buf) if closing is None else c.buf.rfind(marks, pos, closing)]
    calls = read_pythonic(source, bare=True)
    return None if calls is None else Body(calls, pos + len(source.rstrip()))


def _end(c: Cursor, pos: int, marks: str) -> int | None:
    """The end of the closing fence that must follow here; a wrapper's closing mark may stand before it."""
    tail = re.compile(rf"(?:[\s}}\]]|</\w+>)*{re.escape(marks)}{re.escape(marks[0])}*[ \t]*")
    pos = c.skip(pos)
    match = tail.match(c.buf, pos)
    if match is not None:
        c.need(match.end() >= len(c.buf))
        return match.end()
    rest = re.compile(rf"[\s}}\]{re.escape(marks[0])}]*\Z").match(c.buf, pos)
    c.need(rest is not None or len(c.buf) - pos < _MAX_TAIL)
    return None if rest is None else len(c.buf)


def _closing(c: Cursor, pos: int, marks: str) -> int | None:
    """The end of the next line that closes the fence."""
    closing = re.compile(rf"^[ \t]*{re.escape(marks)}{re.escape(marks[0])}*[ \t\r]*(?=\n|\Z)", re.MULTILINE)
    match = closing.search(c.buf, pos)
    c.need(match is not None and match.end() >= len(c.buf))
    return match.end() if match else None
