"""Calls that stand alone on their line(s): values, Python, and `Action:` with its input."""

from __future__ import annotations

import re

from textcall.parsing import bodies, markers
from textcall.parsing.cursor import Body, Cursor
from textcall.parsing.extent import end_of_value, is_data
from textcall.parsing.forms import Shaped
from textcall.parsing.lenient import Broken, read
from textcall.parsing.pythonic import read_pythonic

_ACTION = re.compile(rf"{markers.ACTION}\s*(?P<fence>```(?:json)?\s*)?", re.IGNORECASE)
_FENCE_END = re.compile(r"\s*```[ \t]*")
_OBSERVED = re.compile(rf"(?<=\n){markers.INVENTED.pattern}", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]*")
_CLOSERS = re.compile(r"[ \t]*[}\]]*[ \t]*")
_STRAY = re.compile(
    r"</(?:tool_calls?|function_calls?|tools|TOOLCALL)>|<\|(?:tool_call_end|eom_id|END_ACTION|tools_suffix)\|>"
)
_ENDS_LINE = frozenset(
    (
        *markers.ENDS,
        *markers.LINE_ENDS,
        *markers.ROLE_TOKENS,
        *markers.ORPHANS,
        *markers.TOKENS,
        *markers.TAGS,
        *markers.NOISE,
    )
)
_WHOLE_PYTHON = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_INNER_STARTS = frozenset(" \t\"'“}],）｝")


def value(c: Cursor, at: int) -> None:
    """An object or a list at the beginning of a line: calls, something refused, or text."""
    if c.passage.is_open:
        c.inside = True
        c.mention(at + 1)
        return
    if not c.begun and _WHOLE_PYTHON.match(c.buf, at) and not c.rules.strict:
        c.need()
        if _python(c, at):
            return
    try:
        stops = () if c.rules.strict else ("<|", "</s>")
        body = bodies.values(c, at, stops=stops, wrapped=False, on_line=True)
        end = None if body.others else line_rest(c, body.end)
    except Broken as error:
        _broken(c, at, error)
        return
    if end is None:
        c.mention(max(body.end, at + 1))
        return
    extra = c.buf[body.end : end].strip(" \t\r")
    c.calls(at, end, body, "", ("repaired(extra_closers)",) if extra and not extra.startswith("<") else ())


def line_rest(c: Cursor, pos: int) -> int | None:
    """The end of the line, where nothing is left on it that says something; None where there is."""
    match = _CLOSERS.match(c.buf, pos)
    at = match.end() if match else pos
    while stray := _STRAY.match(c.buf, at):
        match = _BLANKS.match(c.buf, stray.end())
        at = match.end() if match else stray.end()
    c.need(at >= len(c.buf))
    if at >= len(c.buf) or c.buf[at] in "\r\n":
        return at
    mark = mark_at(c, at)
    if mark is None and c.buf[at] == "<":
        c.need(any(stray.startswith(c.buf[at : at + 60]) for stray in _STRAYS))
    return at if mark in _ENDS_LINE else None


_STRAYS = (
    "</tool_call>",
    "</function_call>",
    "</tool_calls>",
    "</function_calls>",
    "</tools>",
    "</TOOLCALL>",
    "<|tool_call_end|>",
    "<|eom_id|>",
    "<|END_ACTION|>",
)


def mark_at(c: Cursor, at: int) -> str | None:
    """The mark that begins at `at`, which is the beginning of a line or as good as one."""
    match = markers.AT_LINE.match(c.buf, at, partial=not c.final)
    if match is None:
        return None
    c.need(match.partial)
    return str(match[0])


def _python(c: Cursor, at: int) -> bool:
    """A whole reply that is a list of Python calls; whether it is one."""
    source = c.buf[at:].rstrip()
    for mark in (*markers.ENDS, *markers.LINE_ENDS):
        source = source.removesuffix(mark).rstrip()
    calls = read_pythonic(source, bare=False)
    if calls is None or not all(call.name in c.rules.names for call in calls):
        return False
    c.calls(at, at + len(source), Body(calls, at + len(source)), "")
    return True


def _broken(c: Cursor, at: int, error: Broken) -> None:
    """A value that cannot be read: refused where it was meant as a call, text where not."""
    end = extent(c, at)
    if error.incomplete and "\n{" not in c.buf[end:]:
        end = len(c.buf)
    meant = c.meant_as_call(c.buf[at:end], error)
    if not meant and not is_data(c.buf, at):
        c.mention(max(c.failed(error, end), at + 1))
        return
    end, certain = end_of_value(c, at, error)
    end = c.failed(error, end)
    if meant:
        c.refused(at, end, error, certain=certain)
    else:
        c.as_text(end)


def extent(c: Cursor, at: int) -> int:
    """The end of a broken value: its line, and the lines behind it that begin as the inside of a value does."""
    end = c.buf.find("\n", at)
    while end >= 0:
        following = c.buf[end + 1 : end + 2]
        c.need(not following)
        if following not in _INNER_STARTS:
            return end
        line = c.buf.find("\n", end + 1)
        c.need(line < 0)
        if not c.buf[end + 1 : line if line >= 0 else len(c.buf)].strip():
            return end
        end = line
    c.need()
    return len(c.buf)


def is_role(c: Cursor, at: int) -> bool:
    """Whether the model goes on as somebody else here, after a call; an invented tool result before one is noted."""
    if markers.ROLE_WORDS.match(c.buf, at) is None:
        return False
    c.invented = c.invented or markers.INVENTED.match(c.buf, at) is not None
    return c.called


def starts_word(c: Cursor, at: int) -> bool:
    """Whether words begin here that mean something at the beginning of a line: a role, or `Action:` with its input."""
    match = markers.WORDS.match(c.buf, at, partial=not c.final)
    c.need(match is not None and match.partial)
    return match is not None


def action(c: Cursor, at: int) -> bool:
    """`Action: name` with `Action Input: …`; whether it is that."""
    match = None if c.rules.strict else _ACTION.match(c.buf, at)
    return match is not None and _action(c, at, match)


def _action(c: Cursor, at: int, match: re.Match[str]) -> bool:
    pos, name = match.end(), match["name"]
    c.need(pos >= len(c.buf) or (c.buf[pos] == "`" and len(c.buf) - pos < 12))
    if not bodies.starts_value(c.buf, pos):
        return _plain_input(c, at, pos, name)
    try:
        found = read(c.buf, pos, stops=("```",), options=c.options)
    except Broken as error:
        if name not in c.rules.names:
            return False
        end, certain = end_of_value(c, pos, error)
        c.refused(at, c.failed(error, end), error, certain=certain)
        return True
    rest = _closed_fence(c, found.end) if match["fence"] else line_rest(c, found.end)
    if rest is None:
        return False
    c.calls(at, rest, Body((Shaped(name, found.value),), rest, found.repairs, found.duplicates), "action")
    return True


def _plain_input(c: Cursor, at: int, pos: int, name: str) -> bool:
    """An input that is no object: the call is refused with a reason, where it names a tool.

    Such an input may go on over any lines; only an observation ends it for certain.
    """
    if name not in c.rules.names:
        return False
    c.need()
    line = c.buf.find("\n", pos)
    line = len(c.buf) if line < 0 else line
    written = c.buf[pos:line].strip()
    if c.length and line >= len(c.buf):
        c.refused(at, line, Broken(line, "the text ended inside the input of an action", incomplete=True))
    elif written == '""':
        c.calls(at, line, Body((Shaped(name, {}),), line), "action")
    else:
        observed = _OBSERVED.search(c.buf, pos)
        end = observed.start() if observed else len(c.buf)
        c.calls(at, end, Body((Shaped(name, written.strip('"') or None),), end), "action")
    return True


def _closed_fence(c: Cursor, pos: int) -> int | None:
    closing = _FENCE_END.match(c.buf, pos)
    c.need(closing is None or closing.end() >= len(c.buf))
    return closing.end() if closing else None
