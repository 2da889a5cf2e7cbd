"""Text to segments, fed in pieces: what is text, what is thought, and where a call stands.

A call stands alone on its line(s), in a fence meant for calls, or in a known wrapper. Inside a sentence, inline code, a
quotation, a fence of another language, a think block, a string, or behind an invented tool result it is text.

Every decision is made once, and only when nothing that may follow could change it; so the segments of a text are the same
however it was cut into pieces. Where more text could decide, `NeedMore` stops the scan until there is more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from textcall.parsing import bodies, fences, lines, markers, wrappers
from textcall.parsing.cursor import Cursor, Rules, Segment
from textcall.parsing.escapes import TwoReadings, decode
from textcall.parsing.lenient import NeedMore

_BLANKS = re.compile(r"[ \t\r\ufeff\u3000]*")
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_REPLY_RUN = re.compile(
    rf"""(?:[^"\\]|{_HIGH}{_LOW}|{_HIGH}(?=[^\\]|\\[^u]|\\u[^dD]|\\u[dD][^c-fC-F])|\\u(?![dD][89abAB])[^"\\]{{4}}"""
    r"""|\\u[^"\\]{0,3}(?=["\\])|\\[^u])*""",
    re.DOTALL,
)
_REPLY_OPEN = re.compile(r'"\s*\}?\s*\Z')
_NOTHING = re.compile(r"\s*\Z")
_REPLY_END = re.compile(r'"\s*\}\s*\}')
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)
_WORDS = re.compile(r"\w")
_TRIM_AT = 65_536  # code points taken before the buffer is cut


class Scanner:
    """Feed text, take segments; at the end, `close`.

    ended: "" or why nothing counts any more ("end", "role"), from the position `ended_at` on.
    """

    def __init__(self, rules: Rules, *, thinking: bool = False) -> None:
        self.cursor = Cursor(rules)
        self.closer = "</think>" if thinking else ""  # what closes the think block that is open
        self.opener = "<think>" if thinking else ""
        self.level = 1
        self.fence: fences.Fence | None = None
        self.in_reply = False
        self.ended = ""
        self.ended_at = 0
        self.went_on = False  # there were words behind the end

    def feed(self, text: str) -> Iterator[Segment]:
        """The segments that are certain now."""
        self.cursor.buf += text
        return self._run()

    def close(self, *, length: bool) -> Iterator[Segment]:
        """The rest. length: whether the reply was cut."""
        self.cursor.final = True
        self.cursor.length = length
        return self._run()

    def _run(self) -> Iterator[Segment]:
        c = self.cursor
        while c.pos < len(c.buf):
            try:
                segments = self._step(c)
            except NeedMore:
                break
            yield from segments
            if c.pos > _TRIM_AT:
                c.trim()
        c.trim()

    def _step(self, c: Cursor) -> list[Segment]:
        if self.ended:
            self.went_on = self.went_on or _WORDS.search(markers.TOKEN.sub("", c.buf[c.pos :])) is not None
            return [c.take("dropped", len(c.buf))]
        if self.in_reply:
            return self._reply_text(c)
        if self.closer:
            return self._thought(c)
        if self.fence is not None:
            segments, closed = fences.text_line(c, self.fence)
            self.fence = None if closed else self.fence
            return segments
        return self._line_start(c) if c.line_start else self._in_line(c)

    def _line_start(self, c: Cursor) -> list[Segment]:
        match = _BLANKS.match(c.buf, c.pos)
        at = match.end() if match else c.pos
        c.need(at >= len(c.buf))
        if at >= len(c.buf) or c.buf[at] == "\n":
            return c.text(min(at + 1, len(c.buf)))
        if c.buf[at] in "`~":
            found = fences.opening(c, at)
            if found is not None:
                segments, self.fence = found
                return segments
        if c.buf[at] == ">" or c.inside:
            c.quoted = True
            return c.mention(at + 1)
        return self._opening(c, at)

    def _opening(self, c: Cursor, at: int) -> list[Segment]:
        """What a line can begin with: a mark, a value, `Action:`, a role; else text."""
        char = c.buf[at]
        if char in markers.FIRST_CHARS or char == markers.FUNCTOOLS[0]:
            mark = lines.mark_at(c, at)
            if mark is not None:
                return self._marked(c, at, mark, line=True)
        if char == "{" and c.rules.reply_opening is not None:
            found = self._reply_opening(c, at)
            if found is not None:
                return found
        c.need(char == "<" and _NOTHING.match(c.buf, at + 1) is not None)
        if bodies.starts_value(c.buf, at):
            return lines.value(c, at)
        words = lines.words(c, at)
        if words == "role":
            return self._end(c, "role", at)
        if isinstance(words, list):
            return words
        return c.mention(at + 1)

    def _in_line(self, c: Cursor) -> list[Segment]:
        """Text up to the next mark or the end of the line."""
        match = markers.SEARCH.search(c.buf, c.pos)
        if match is None:
            end = len(c.buf) if c.final else self._certain(c)
            c.need(end <= c.pos)
            return c.text(end)
        if match[0] == "\n":
            return c.text(match.end())
        if match.start() > c.pos:
            return c.text(match.start())
        return self._marked(c, c.pos, match[0], line=False)

    @staticmethod
    def _certain(c: Cursor) -> int:
        """Up to where the end of the text cannot become a mark."""
        for at in range(max(c.pos, len(c.buf) - markers.LONGEST), len(c.buf)):
            if c.buf[at] in markers.FIRST_CHARS and markers.ANYWHERE.match(c.buf, at, partial=True):
                return at
        return len(c.buf)

    def _marked(self, c: Cursor, at: int, mark: str, *, line: bool) -> list[Segment]:
        """A mark at `at`: what it means, or text where it is only spoken of."""
        end = at + len(mark)
        if self._spoken_of(c, at, mark, line=line):
            return c.mention(end)
        if mark in markers.ORPHANS:
            return self._restart(c, end)
        if mark in markers.ROLE_TOKENS or mark in markers.ROLE_TAGS:
            return self._end(c, "role", at)
        if mark in markers.LINE_ENDS:
            nothing = _NOTHING.match(c.buf, end)
            c.need(nothing is not None)
            if nothing is None:
                return c.mention(end)
        if mark in markers.ENDS or mark in markers.LINE_ENDS:
            return self._end(c, "end", at)
        if wrappers.is_wrapper(mark):
            return wrappers.wrapper(c, at, mark)
        if mark in markers.THINK:
            self.opener, self.closer, self.level = mark, markers.THINK[mark], 1
        before = c.before(at)
        dropped = c.take("dropped", end)
        c.line_start = line or not c.paragraph
        return [*before, dropped]

    @staticmethod
    def _spoken_of(c: Cursor, at: int, mark: str, *, line: bool) -> bool:
        """Whether a mark is only mentioned: in inline code, in a quotation, in the middle of a sentence."""
        if c.quoted or c.ticks % 2 == 1 or c.after_quote():
            return True
        if line:
            return False
        if mark in markers.ORPHANS:
            end = at + len(mark)
            c.need(len(c.buf) < end + 2)
            return c.paragraph[-1:] == " " and c.buf[end : end + 1] == " " and c.buf[end + 1 : end + 2].isalnum()
        if mark in markers.THINK:
            return not mark.startswith("<|") and bool(c.paragraph.strip())
        return wrappers.is_tag(mark) and wrappers.in_sentence(c)

    @staticmethod
    def _restart(c: Cursor, end: int) -> list[Segment]:
        """A think block closes that was never opened: all before it was thought."""
        segment = c.take("restart", end)
        c.new_paragraph()
        c.line_start, c.begun, c.called, c.invented = True, False, False, False
        return [segment]

    def _end(self, c: Cursor, why: str, at: int) -> list[Segment]:
        before = c.before(at)
        self.ended, self.ended_at = why, c.base + at
        return before

    def _thought(self, c: Cursor) -> list[Segment]:
        """A think block, up to the mark that closes it; blocks inside it are counted."""
        closing = c.buf.find(self.closer, c.pos)
        opening = c.buf.find(self.opener, c.pos, closing if closing >= 0 else len(c.buf))
        if opening >= 0:
            self.level += 1
            return [c.take("thought", opening + len(self.opener))]
        if closing < 0:
            end = len(c.buf) if c.final else _certain_of(c, (self.opener, self.closer))
            c.need(end <= c.pos)
            return [c.take("thought", end)]
        self.level -= 1
        if self.level > 0:
            return [c.take("thought", closing + len(self.closer))]
        segments = [c.take("thought", closing), c.take("dropped", closing + len(self.closer))]
        self.closer = ""
        c.line_start = True
        c.new_paragraph()
        return segments

    # The answer of the shape REPLY, decoded as it comes

    def _reply_opening(self, c: Cursor, at: int) -> list[Segment] | None:
        pattern = c.rules.reply_opening
        match = pattern.match(c.buf, at) if pattern is not None else None
        if match is None:
            return None
        before = c.before(at)
        self.in_reply = True
        return [*before, c.take("dropped", match.end())]

    def _reply_text(self, c: Cursor) -> list[Segment]:
        """The text of the answer. A quote ends it where two closing braces follow."""
        match = _REPLY_RUN.match(c.buf, c.pos)
        end = match.end() if match else c.pos
        if end > c.pos:
            source = c.buf[c.pos : end]
            segment = Segment("reply", _ESCAPES.sub(_unescaped, source), c.span(c.pos, end))
            c.pos = end
            return [segment]
        closing = _REPLY_END.match(c.buf, end)
        if closing is not None:
            self.in_reply = False
            dropped = c.take("dropped", closing.end())
            c.after_block()
            return [dropped]
        if c.buf[end] == '"' and not _REPLY_OPEN.match(c.buf, end):
            return [c.take("reply", end + 1)]
        c.need()
        return [c.take("dropped", len(c.buf))]


def _certain_of(c: Cursor, marks: tuple[str, ...]) -> int:
    """Up to where the end of the text cannot become one of the marks."""
    for at in range(max(c.pos, len(c.buf) - max(map(len, marks))), len(c.buf)):
        if any(mark.startswith(c.buf[at:]) for mark in marks):
            return at
    return len(c.buf)


def _unescaped(match: re.Match[str]) -> str:
    try:
        return decode(match[0])[0]
    except TwoReadings:
        return match[0]
