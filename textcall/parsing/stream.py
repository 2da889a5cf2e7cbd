"""A reply, read while it is being written: the same result as `parse` of the whole, however it is cut into pieces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from textcall.block import ARGS_ALIASES, NAME_ALIASES, Convention
from textcall.messages import compact_json
from textcall.parsing.escapes import without_surrogates
from textcall.parsing.events import ArgumentsCame, CallDropped, CallReady, CallStarted, Event
from textcall.parsing.judge import Judge, new_id
from textcall.parsing.reply import FinishReason, Parsed, Reading
from textcall.parsing.validate import Described

# The beginning of a call up to its arguments: as JSON, behind a fence or the mark of a wrapper; by its name.
_WORD = r'"[^"\\]{0,80}"'
_HEADS = (
    re.compile(
        r"\s*(?:```\w*\s*|<[\w:|]{1,30}>\s*|\[TOOL_CALLS\]\s*)?(?:\[\s*)?"
        rf'\{{\s*(?:"(?:id|type|tool_call_id)"\s*:\s*{_WORD}\s*,\s*){{0,2}}'
        rf'"(?:{"|".join(NAME_ALIASES)})"\s*:\s*"([^"\\]+)"\s*,\s*"(?:{"|".join(ARGS_ALIASES)})"\s*:\s*(?=\{{)'
    ),
    re.compile(
        r"\s*(?:\[TOOL_CALLS\]|<\|tool_call_begin\|>|<｜tool▁call▁begin｜>)\s*(?:functions\.)?([\w.-]+?)(?::\d{1,9})?\s*"
        r"(?:\[ARGS\]|<\|tool_call_argument_begin\|>|<｜tool▁sep｜>)\s*(?=\{)"
    ),
    # Where only calls stand, the name is enough. Python's arguments come when they are whole.
    re.compile(
        rf'\s*<\|START_ACTION\|>\s*\[?\s*\{{\s*"tool_call_id"\s*:\s*{_WORD}\s*,\s*"tool_name"\s*:\s*"([^"\\]+)"\s*,'
    ),
    re.compile(r"\s*<\|tool_call_start\|>\s*\[\s*([\w.]+)\("),
)
_HEAD_MAX = 800  # code points within which the arguments of a call begin
_SPECIAL = re.compile(r'["{}\[\]]|\\(?:.|\Z)', re.DOTALL)
_SMALL = 1024  # held text up to this length is looked at with every piece
_MAX_LOOKS = 16  # until the held text is twice as long
_ENDS_VALUE = re.compile(r"[}\]>`~]\s*\n")


class StreamParser:
    """Feed the reply in pieces, take events; `close` gives the last ones and `parsed` the whole.

    >>> parser = StreamParser([{"name": "add", "parameters": {}}])
    >>> [event.text for event in (*parser.feed("Hello"), *parser.feed(" there"), *parser.close())]
    ['Hello', ' there']
    """

    def __init__(
        self,
        tools: Iterable[Described | Mapping[str, Any]],
        *,
        strict: bool = False,
        convention: Convention | None = None,
        thinking: bool = False,
        ids: Callable[[], str] = new_id,
    ) -> None:
        judge = Judge(tools, strict=strict, convention=convention, ids=ids)
        self._reading = Reading(judge, thinking=thinking)
        self._preview = _Preview(judge)
        self._bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._new: list[str] = []  # pieces that the reading has not seen
        self._new_length = 0
        self._looks = 0  # how often held text was looked at because it seemed to have ended
        self._looked_at = 0  # how long it was at the first of them

    def feed(self, piece: str | bytes) -> list[Event]:
        """The events that a piece of the reply brings. Bytes may be cut inside a character."""
        text = self._bytes.decode(piece) if isinstance(piece, bytes) else without_surrogates(piece)
        events = list(self._preview.piece(text))
        self._new.append(text)
        self._new_length += len(text)
        if self._is_time(text):
            scanner = self._reading.scanner
            events += self._read(self._reading.feed(self._take()))
            if scanner.may_call:
                events += self._preview.held(scanner.cursor.buf)
        return events

    def close(self, finish_reason: FinishReason = "stop") -> list[Event]:
        """The last events. finish_reason: "length" where the reply was cut."""
        self._new.append(self._bytes.decode(b"", final=True))
        events = list(self._read(self._reading.feed(self._take())))
        events += self._read(self._reading.close(finish_reason))
        events += self._preview.drop()
        return events

    def parsed(self) -> Parsed:
        """The whole, after `close`: what `parse` gives."""
        return self._reading.parsed()

    def _is_time(self, text: str) -> bool:
        """Whether to look at the held text again: always while it is short, else if it may have ended or has grown.

        Each look costs as much as the text is long; where it seems to end again and again, growth alone counts.
        """
        held = len(self._reading.scanner.cursor.buf)
        if held < _SMALL or self._new_length * 8 > held:
            return True
        if not held // 2 < self._looked_at <= held:
            self._looked_at, self._looks = held, 0
        if self._looks >= _MAX_LOOKS or _ENDS_VALUE.search(text) is None:
            return False
        self._looks += 1
        return True

    def _take(self) -> str:
        text = "".join(self._new)
        self._new, self._new_length = [], 0
        return text

    def _read(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            yield from self._preview.before(event)
            yield event


class _Preview:
    """Says early that a call begins, and gives its arguments as they come."""

    def __init__(self, judge: Judge) -> None:
        self.names = judge.tools.keys()
        self.name: str | None = None
        self.arguments: _Arguments | None = None  # None where none came as JSON

    def piece(self, text: str) -> Iterator[Event]:
        """A new piece of the reply, before it is read."""
        if self.name is not None:
            yield from self._more(text)

    def held(self, text: str) -> Iterator[Event]:
        """What is held back after a piece was read."""
        if self.arguments is not None:
            return
        head = text[:_HEAD_MAX]
        match = next((match for pattern in _HEADS if (match := pattern.match(head))), None)
        if match is None or match[1] not in self.names:
            return
        if self.name is None:
            self.name = match[1]
            yield CallStarted(self.name)
        if text.startswith("{", match.end()):
            self.arguments = _Arguments()
            yield from self._more(text[match.end() :])

    def before(self, event: Event) -> Iterator[Event]:
        """What must be said before an event of the reading."""
        if not isinstance(event, CallReady):
            yield from self.drop()
            return
        if self.name is None:
            yield CallStarted(event.call.name)
        if self.name is None or self.arguments is None:
            yield ArgumentsCame(compact_json(dict(event.call.arguments)))
        self.name = self.arguments = None

    def drop(self) -> Iterator[Event]:
        """The call that began was none."""
        if self.name is not None:
            self.name = self.arguments = None
            yield CallDropped()

    def _more(self, text: str) -> Iterator[Event]:
        new = self.arguments.more(text) if self.arguments is not None else ""
        if new:
            yield ArgumentsCame(new)


class _Arguments:
    """The text of one object, up to where it closes."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False
        self.escaped = False  # the next piece begins with an escaped character
        self.done = False

    def more(self, text: str) -> str:
        """What of a further piece belongs to it."""
        if self.done or not text:
            return ""
        start, self.escaped = int(self.escaped), False
        for match in _SPECIAL.finditer(text, start):
            char = match[0]
            if char[0] == "\\":
                self.escaped = len(char) == 1
            elif self.in_string:
                self.in_string = char != '"'
            elif char == '"':
                self.in_string = True
            else:
                self.depth += 1 if char in "{[" else -1
                if self.depth <= 0:
                    self.done = True
                    return text[: match.end()]
        return text
