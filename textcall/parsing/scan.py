"""Text to segments, fed in pieces: what is text, what is thought, and where a call stands.

A call stands alone on its line(s), in a fence meant for calls, or in a known wrapper. Inside a sentence, inline code, a
quotation, a fence of another language, a think block, a string, or behind an invented tool result it is text.

Every decision is made once, and only when nothing that may follow could change it; so the segments of a text are the
same however it was cut into pieces. Where more text could decide, `NeedMore` stops the scan until there is more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import regex

from textcall.parsing import bodies, fences, lines, markers, wrappers
from textcall.parsing.cursor import MAX_FAILURES, Cursor, Rules, Segment
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
_ITEM = regex.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]{1,20}")  # of a list
_WORDS_FOLLOW = regex.compile(r"[ \t]*[^\W\d]|[ \t]*[,.;:?!)]")
_MAX_RESTARTED = 16
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
        self.html = ""  # what closes the HTML that is text
        self.in_reply = False
        self.ended = ""
        self.ended_at = 0
        self.restarted = 0
        self.after: list[str] = []  # what stood behind the end

    def feed(self, text: str) -> Iterator[Segment]:
        """The segments that are certain now."""
        self.cursor.buf += text
        return self._run()

    def close(self, *, length: bool) -> Iterator[Segment]:
        """The rest. length: whether the reply was cut."""
        self.cursor.final = True
        self.cursor.length = length
        return self._run()

    @property
    def went_on(self) -> bool:
        """Whether the model wrote words behind the end."""
        return _WORDS.search(markers.TOKEN.sub("", "".join(self.after))) is not None

    @property
    def may_call(self) -> bool:
        """Whether the text that is held back may be a call."""
        return not (self.ended or self.closer or self.in_reply or self.fence or self.html)

    def _run(self) -> Iterator[Segment]:
        c = self.cursor
        while c.pos < len(c.buf):
            try:
                self._step(c)
            except NeedMore:
                break
            if c.out:
                out, c.out = c.out, []
                yield from out
            if c.pos > _TRIM_AT:
                c.trim()
        c.trim()
        out, c.out = c.out, []
        yield from out

    def _step(self, c: Cursor) -> None:
        if c.failures >= MAX_FAILURES:
            c.pos = len(c.buf)
        elif self.ended:
            self.after.append(c.buf[c.pos :])
            c.take("dropped", len(c.buf))
        elif self.in_reply:
            self._reply_text(c)
        elif self.closer:
            self._thought(c)
        elif self.html:
            self._html(c)
        elif self.fence is not None:
            self.fence = None if fences.text(c, self.fence) else self.fence
        elif c.line_start:
            self._line_start(c)
        else:
            self._in_line(c)

    def _line_start(self, c: Cursor) -> None:
        plain = (markers.INNER_LINES if c.inside else markers.PLAIN_LINES).match(c.buf, c.pos)
        if plain is not None and plain.end() > c.pos:
            c.plain(plain.end())
            return
        match = _BLANKS.match(c.buf, c.pos)
        at = match.end() if match else c.pos
        c.need(at >= len(c.buf))
        if at >= len(c.buf) or c.buf[at] == "\n":
            c.text(min(at + 1, len(c.buf)))
            return
        item = _ITEM.match(c.buf, at, partial=not c.final)
        c.need(item is not None and item.partial)
        fence = item.end() if item is not None else at
        c.need(fence >= len(c.buf))
        if fence < len(c.buf) and c.buf[fence] in "`~":
            found = fences.opening(c, fence)
            if found is not False:
                self.fence = None if found is True else found
                return
        if c.buf[at] == ">" or (c.inside and not self._control(c, at)):
            c.quoted = True
            c.mention(at + 1)
        else:
            self._opening(c, at)

    @staticmethod
    def _control(c: Cursor, at: int) -> bool:
        """Whether a mark begins here that no quotation holds."""
        return c.buf[at] in markers.FIRST_CHARS and lines.mark_at(c, at) in markers.CONTROL

    def _opening(self, c: Cursor, at: int) -> None:
        """What a line can begin with: a mark, a value, `Action:`, a role; else text."""
        char = c.buf[at]
        if char in markers.FIRST_IN_LINE:
            mark = lines.mark_at(c, at)
            if mark is not None:
                self._marked(c, at, mark, line=True)
                return
        if char == "{" and c.rules.reply_opening is not None and not c.passage.is_open and self._reply_opening(c, at):
            return
        c.need(char == "<" and _NOTHING.match(c.buf, at + 1) is not None)
        if bodies.starts_value(c.buf, at):
            lines.value(c, at)
            return
        if not c.passage.is_open and lines.starts_word(c, at):
            if lines.is_role(c, at):
                self._end(c, "role", at)
                return
            if lines.action(c, at):
                return
        c.mention(at + 1)

    def _in_line(self, c: Cursor) -> None:
        """Text up to the next mark or the end of the line."""
        match = markers.SEARCH.search(c.buf, c.pos)
        if match is None:
            end = len(c.buf) if c.final else self._certain(c)
            c.need(end <= c.pos)
            c.text(end)
        elif match[0] == "\n":
            c.text(match.end())
        elif match.start() > c.pos:
            c.text(match.start())
        else:
            self._marked(c, c.pos, match[0], line=False)

    @staticmethod
    def _certain(c: Cursor) -> int:
        """Up to where the end of the text cannot become a mark."""
        for at in range(max(c.pos, len(c.buf) - markers.LONGEST), len(c.buf)):
            if c.buf[at] in markers.FIRST_CHARS and markers.ANYWHERE.match(c.buf, at, partial=True):
                return at
        return len(c.buf)

    def _marked(self, c: Cursor, at: int, mark: str, *, line: bool) -> None:
        """A mark at `at`: what it means, or text where it is only spoken of."""
        end = at + len(mark)
        if mark in markers.LINE_ENDS:
            nothing = _NOTHING.match(c.buf, end)
            c.need(nothing is not None)
            if nothing is None:
                c.mention(end)
                return
        if self._spoken_of(c, at, mark, line=line):
            if not (c.quoted or c.inside or c.passage.is_open):
                c.pondering = mark in markers.THINK or (c.pondering and mark not in markers.ORPHANS)
            if wrappers.is_wrapper(mark) or mark in markers.NOISE:
                wrappers.spoken_of(c, end)
            c.mention(end)
        elif mark in markers.HTML:
            if mark == "<!--" or _next_in_line(c, end) in ("", "\n", "<"):
                self.html = markers.HTML[mark]
            c.mention(end)
        elif mark in markers.ORPHANS:
            self._restart(c, end)
        elif mark in markers.ROLE_TAGS and not line and not c.called:
            c.invented = True
            c.mention(end)
        elif mark in markers.ROLE_TOKENS or mark in markers.ROLE_TAGS or (mark in markers.OWN_TURN and c.begun):
            self._end(c, "role", at)
        elif mark in markers.ENDS or mark in markers.LINE_ENDS:
            self._end(c, "end", at)
        else:
            self._opens(c, at, mark, line=line)

    def _opens(self, c: Cursor, at: int, mark: str, *, line: bool) -> None:
        """A mark that opens calls or thoughts, or says nothing."""
        if wrappers.is_wrapper(mark):
            wrappers.wrapper(c, at, mark)
        else:
            end = at + len(mark)
            if mark in markers.THINK:
                self.opener, self.closer, self.level = mark, markers.THINK[mark], 1
            c.pos = at
            c.take("dropped", end)
            c.line_start = line or c.passage.is_empty

    @staticmethod
    def _spoken_of(c: Cursor, at: int, mark: str, *, line: bool) -> bool:
        """Whether a mark is only mentioned: in inline code, in a quotation, in the middle of a sentence."""
        if line and mark in markers.CONTROL:
            return c.passage.in_code
        if c.quoted or c.inside or c.passage.is_open:
            return True
        if line:
            return False
        if mark in markers.ORPHANS:
            end = at + len(mark)
            c.need(len(c.buf) < end + 2)
            return c.passage.tail[-1:] == " " and c.buf[end : end + 1] == " " and c.buf[end + 1 : end + 2].isalnum()
        if mark in markers.ROLE_TAGS:
            words = _WORDS_FOLLOW.match(c.buf, at + len(mark), partial=not c.final)
            c.need(words is not None and words.partial)
            return c.passage.in_sentence and words is not None
        if mark in markers.THINK:
            line_ends = _next_in_line(c, at + len(mark)) in ("", "\n")
            return not mark.startswith("<|") and c.passage.in_sentence and not line_ends
        return wrappers.is_tag(mark) and c.passage.in_sentence

    def _html(self, c: Cursor) -> None:
        """Text up to what closes it."""
        closing = c.buf.find(self.html, c.pos)
        end = closing + len(self.html)
        if closing < 0:
            end = len(c.buf) if c.final else _certain_of(c, (self.html,))
            c.need(end <= c.pos)
        c.text(end)
        if closing >= 0:
            self.html = ""
            c.new_paragraph()

    def _restart(self, c: Cursor, end: int) -> None:
        """A think block closes that was never opened: all before it was thought."""
        self.restarted += 1
        c.take("restart", end)
        if self.restarted >= _MAX_RESTARTED:
            c.failures = MAX_FAILURES  # one more would cost as much again, and what came between must not run
        c.fresh()
        c.line_start, c.begun, c.called, c.invented, c.pondering = True, False, False, False, False

    def _end(self, c: Cursor, why: str, at: int) -> None:
        c.pos = at
        self.ended, self.ended_at = why, c.base + at

    def _thought(self, c: Cursor) -> None:
        """A think block, up to the mark that closes it; blocks inside it are counted."""
        found = _any_case(self.closer).search(c.buf, c.pos)
        closing = found.start() if found else -1
        end = closing
        if closing < 0:
            end = len(c.buf) if c.final else _certain_of(c, (self.opener, self.closer))
            c.need(end <= c.pos)
        self.level += len(_any_case(self.opener).findall(c.buf, c.pos, end))
        if end > c.pos:
            c.take("thought", end)
        if closing < 0:
            return
        self.level -= 1
        c.take("thought" if self.level > 0 else "dropped", closing + len(self.closer))
        if self.level <= 0:
            self.closer = ""
            c.line_start = True
            c.new_paragraph()

    # The answer of the shape REPLY, decoded as it comes

    def _reply_opening(self, c: Cursor, at: int) -> bool:
        pattern = c.rules.reply_opening
        match = pattern.match(c.buf, at) if pattern is not None else None
        if match is None:
            return False
        c.pos = at
        self.in_reply = True
        c.take("dropped", match.end())
        return True

    def _reply_text(self, c: Cursor) -> None:
        """The text of the answer. A quote ends it where two closing braces follow."""
        match = _REPLY_RUN.match(c.buf, c.pos)
        end = match.end() if match else c.pos
        if end > c.pos:
            source = c.buf[c.pos : end]
            c.put(Segment("reply", _ESCAPES.sub(_unescaped, source), c.span(c.pos, end)), end)
            return
        closing = _REPLY_END.match(c.buf, end)
        if closing is not None:
            self.in_reply = False
            c.take("dropped", closing.end())
            c.after_block()
        elif c.buf[end] == '"' and not _REPLY_OPEN.match(c.buf, end):
            c.take("reply", end + 1)
        else:
            c.need()
            c.take("dropped", len(c.buf))


def _next_in_line(c: Cursor, pos: int) -> str:
    """The character behind the blanks at `pos`; "" at the end of the reply."""
    match = _BLANKS.match(c.buf, pos)
    end = match.end() if match else pos
    c.need(end >= len(c.buf))
    return c.buf[end : end + 1]


@lru_cache
def _any_case(mark: str) -> re.Pattern[str]:
    return re.compile(re.escape(mark), re.IGNORECASE)


def _certain_of(c: Cursor, marks: tuple[str, ...]) -> int:
    """Up to where the end of the text cannot become one of the marks."""
    for at in range(max(c.pos, len(c.buf) - max(map(len, marks))), len(c.buf)):
        if any(mark.lower().startswith(c.buf[at:].lower()) for mark in marks):
            return at
    return len(c.buf)


def _unescaped(match: re.Match[str]) -> str:
    try:
        return decode(match[0])[0]
    except TwoReadings:
        return match[0]
