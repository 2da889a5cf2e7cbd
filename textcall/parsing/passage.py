"""The text of a paragraph so far, and what it has opened and not closed: inline code, a quotation, a bracket."""

from __future__ import annotations

import re

_KEPT = 80  # code points of the text that are kept
_MARKS = re.compile(r"`+|\"|[“„«‹「『]|[”»›」』]")
_OTHER_MARKS = re.compile(r"[`“„«‹「『”»›」』]|\d\"")
_OPENING_QUOTE = re.compile(r"(?:^|[\s(\[{=:,])[\"']\s*\Z|[“„‘«‹「『]\s*\Z")
_BRACE = re.compile(r"[{}]")
_DATA = re.compile(r"\{\s*[\"'“][^\"'“”\n]{1,60}[\"'”]\s*[:：]")
_HEAD = 100  # code points of an object that are kept to know it by
_CLOSING = {"”": "“", "»": "«", "›": "‹", "」": "「", "』": "『"}


class Passage:
    """Add text as it comes, in any pieces.

    A run of backticks opens inline code that the next run of the same length closes. A straight quotation mark opens or
    closes, but one that would open behind a digit is the sign of inches.
    """

    def __init__(self) -> None:
        self.tail = ""
        self._run = 0  # length of the backticks that the text ends with, which may go on
        self._code = 0  # length of the run that opened inline code
        self._straight = False
        self._low = 0  # quotations that „ opened; “ closes them
        self._low_closed = False  # the last mark was such a “
        self._level = 0  # of braces
        self._object = ""  # the beginning of what the outermost brace opened
        self._open = dict.fromkeys(_CLOSING.values(), 0)  # quotations of each kind

    def add(self, text: str) -> None:
        """More text."""
        if self._level or "{" in text:
            self._braces(text)
        before = self.tail[-1:]
        if _OTHER_MARKS.search(text) is None and not self._run and not (before.isdigit() and text.startswith('"')):
            self._straight ^= text.count('"') % 2 == 1
            self.tail = (self.tail + text)[-_KEPT:]
            return
        for match in _MARKS.finditer(text):
            mark, start = match[0], match.start()
            if mark[0] == "`":
                self._close_run(continues=start == 0)
                self._run += len(mark)
                if match.end() < len(text):
                    self._close_run(continues=False)
                continue
            self._close_run(continues=False)
            if mark == '"':
                self._straight = not (self._straight or (text[start - 1] if start else before).isdigit())
            elif mark == "„" or (mark in "“”" and self._low):
                self._low = max(0, self._low + (1 if mark == "„" else -1))
                self._low_closed = mark == "“"
            else:
                opening = _CLOSING.get(mark, mark)
                self._low_closed = False
                self._open[opening] = max(0, self._open[opening] + (1 if mark == opening else -1))
        if text and text[0] != "`" and self._run and not text.endswith("`"):
            self._close_run(continues=False)
        self.tail = (self.tail + text)[-_KEPT:]

    def _braces(self, text: str) -> None:
        start = 0 if self._level else -1
        for brace in _BRACE.finditer(text):
            if brace[0] == "{" and not self._level:
                start, self._object = brace.start(), ""
            self._level = max(0, self._level + (1 if brace[0] == "{" else -1))
            if not self._level:
                start = -1
        if start >= 0:
            self._object = (self._object + text[start : start + _HEAD])[:_HEAD]

    @property
    def holds_open_data(self) -> bool:
        """Whether an object is open, in whose strings blank lines may stand."""
        return self._level > 0 and _DATA.match(self._object) is not None

    def _close_run(self, *, continues: bool) -> None:
        if continues or not self._run:
            return
        self._code = self._run if not self._code else 0 if self._run == self._code else self._code
        self._run = 0

    @property
    def in_code(self) -> bool:
        """Whether inline code is open, if no further backtick follows at once."""
        if self._run:
            return self._run != self._code
        return self._code > 0

    @property
    def in_quotation(self) -> bool:
        """Whether a quotation is open, or an opening quotation mark comes last."""
        return self._straight or self._low > 0 or any(self._open.values()) or self._opens_one()

    def _opens_one(self) -> bool:
        match = _OPENING_QUOTE.search(self.tail)
        return match is not None and not (match[0][0] == "“" and self._low_closed)

    @property
    def is_open(self) -> bool:
        """Whether the text has opened something that goes on behind it."""
        return self.in_code or self.in_quotation or self.tail.rstrip()[-1:] in ("[", "{", "(", "=")

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but white space."""
        return not self.tail.strip()

    @property
    def in_sentence(self) -> bool:
        """Whether the last line is a sentence that has not ended."""
        before = self.tail.rstrip(" \t")
        if not before or before[-1] == "\n" or before[-1] in _SENTENCE_ENDS:
            return False
        return ord(before[-1]) < 0x2000 or before[-1].isalnum()  # an emoji ends a sentence as well


_SENTENCE_ENDS = frozenset('.!?:;…。！？：；)]}>*"”)」』')
