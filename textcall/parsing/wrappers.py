"""Calls between the marks that a model was trained on, such as `<tool_call>…</tool_call>` or `[TOOL_CALLS]`.

A tag inside a sentence is text, for models also write about their tags; a control token is no word of any sentence.
"""

from __future__ import annotations

import re

from textcall.parsing import bodies, markers
from textcall.parsing.cursor import Body, Cursor
from textcall.parsing.extent import Tangled, clean_end, closing_tag, end_of_value, is_data, last_resort
from textcall.parsing.lenient import Broken

_GOES_ON = re.compile(r"[a-z,;，、；]|[^\W\d_A-Za-z]")
_BLANKS = re.compile(r"[ \t]*")
_TAIL = re.compile(r"[\s}\]]*")
_FUNCTION_STARTS = ("<function=", "<function name", "<invoke", "<｜DSML｜invoke")
_MESSAGE_STARTS = (*markers.MESSAGE_STARTS, "to=")


def is_wrapper(mark: str) -> bool:
    """Whether calls stand behind the mark."""
    return (
        mark in markers.TAGS
        or mark in markers.TOKENS
        or mark in markers.LINE_TOKENS
        or mark.startswith((*_FUNCTION_STARTS, *_MESSAGE_STARTS))
    )


def is_tag(mark: str) -> bool:
    """Whether the mark is one that models also write about."""
    return mark in markers.TAGS or mark.startswith(_FUNCTION_STARTS)


def spoken_of(c: Cursor, end: int) -> None:
    """A mark that is only text: what it wraps is text as well, to the end of the paragraph."""
    if c.passage.is_open:
        c.inside = True
        return
    match = _TAIL.match(c.buf, end)
    at = match.end() if match else end
    c.need(at >= len(c.buf))
    if at < len(c.buf) and (c.buf[at] in "{[<" or "\n" in c.buf[end:at]):
        c.inside = True


def wrapper(c: Cursor, at: int, mark: str) -> None:
    """What the mark at `at` wraps: calls, something refused, or text."""
    if c.rules.strict or c.restarts <= 0:
        c.failures += 1
        c.mention(at + len(mark))
        return
    closers = _closers(mark)
    try:
        found = body(c, at, mark)
        end = None if found is None or not found.calls else _end(c, found.end, closers, mark)
    except Broken as error:
        _broken(c, at, mark, closers, error)
        return
    if found is not None and not found.calls and found.others and mark in markers.TOKENS:
        c.refused(at, found.end, Broken(found.end, f"the object behind {mark} names no tool", kind="not_a_call"))
    elif found is None and (closed := _closed(c, at, mark)) is not None:
        c.restarts -= 1
        c.refused(at, closed, Broken(at, f"what stands between {mark} and its end is no call", kind="not_a_call"))
    elif found is None or end is None:
        c.restarts -= 1
        c.failures += 1
        c.mention(at + len(mark))
    else:
        c.calls(at, end, found, "wrapper")


def body(c: Cursor, at: int, mark: str) -> Body | None:
    """The calls behind the mark at `at`."""
    if mark.startswith(_FUNCTION_STARTS):
        return bodies.function(c, at)
    pos = c.skip(at + len(mark))
    if mark.startswith(_MESSAGE_STARTS):
        return bodies.message(c, pos, mark)
    if c.buf.startswith(mark, pos):  # some write their mark twice
        pos = c.skip(pos + len(mark))
    c.need(mark.startswith(c.buf[pos : pos + len(mark)]))
    return bodies.wrapped(c, pos, closers=_closers(mark))


def _closers(mark: str) -> tuple[str, ...]:
    if mark.startswith(_FUNCTION_STARTS):
        return bodies.FUNCTION_ENDS
    if mark.startswith(_MESSAGE_STARTS):
        return markers.MESSAGE_ENDS
    return markers.TAGS.get(mark) or markers.TOKENS.get(mark) or ()


def _closed(c: Cursor, at: int, mark: str) -> int | None:
    """Past the closing mark of a control token, which nobody writes by chance; None where it has none."""
    closers = markers.TOKENS.get(mark, ())
    ends = [found + len(closer) for closer in closers if (found := c.buf.find(closer, at)) >= 0]
    c.need(bool(closers) and not ends)
    return min(ends, default=None)


def _end(c: Cursor, pos: int, closers: tuple[str, ...], mark: str) -> int | None:
    """Past the closing mark; None where a sentence goes on behind it."""
    match = _TAIL.match(c.buf, pos)
    at = match.end() if match else pos
    c.need(at >= len(c.buf) or any(closer.startswith(c.buf[at : at + 60]) for closer in (*closers, "</tool_call>")))
    end = pos
    for closer in (*closers, "</tool_call>"):
        if c.buf.startswith(closer, at):
            end = at + len(closer)
            break
    match = _BLANKS.match(c.buf, end)
    following = match.end() if match else end
    c.need(following >= len(c.buf))
    return None if following < len(c.buf) and _GOES_ON.match(c.buf, following) else end


def _broken(c: Cursor, at: int, mark: str, closers: tuple[str, ...], error: Broken) -> None:
    end, certain = _broken_end(c, at + len(mark), mark, closers, error)
    c.restarts -= 1
    c.failures += 1
    if (error.incomplete and c.length) or error.kind == "too_deep" or c.rules.looks_like_call(c.buf[at:end]):
        c.refused(at, end, error, certain=certain)
    elif is_data(c.buf, c.skip(at + len(mark))):
        c.as_text(end)
    else:
        c.mention(at + len(mark))


def _broken_end(c: Cursor, pos: int, mark: str, closers: tuple[str, ...], error: Broken) -> tuple[int, bool]:
    """The end of a wrapper whose inside cannot be read, and whether it is certain: its closing mark, if it has any."""
    start = c.skip(pos)
    try:
        end = clean_end(c, start, error, stops=(*closers, "[TOOL_CALLS]"))
        ends = [found + len(closer) for closer in closers if (found := c.buf.find(closer, end)) >= 0]
        c.need(bool(closers) and not ends)
        return (min(ends), True) if ends else (end, True) if not closers else (last_resort(c, pos), False)
    except Tangled:
        c.need()
    if not closers and bodies.starts_value(c.buf, start):
        return end_of_value(c, start, error)
    closed = closing_tag(c, max(pos, error.pos), (mark,), closers) if not error.incomplete and c.restarts > 0 else None
    return (last_resort(c, pos), False) if closed is None else (closed, True)
