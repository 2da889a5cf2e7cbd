"""A reply, read while it is being written: the same result as `parse` of the whole, however it is cut into pieces."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from textcall.block import ARGS_ALIASES, NAME_ALIASES, Convention
from textcall.messages import compact_json
from textcall.parsing.events import (
    ArgumentsCame,
    CallDropped,
    CallReady,
    CallStarted,
    Event,
    ProblemFound,
    Restarted,
    TextCame,
)
from textcall.parsing.judge import Judge, new_id
from textcall.parsing.reply import FinishReason, Parsed, Reading
from textcall.parsing.validate import Described

# The beginning of a call up to its arguments, behind a fence or the mark of a wrapper.
_HEAD = re.compile(
    rf"""\s*(?:```\w*\s*|<[\w:|]{{1,30}}>\s*|\[TOOL_CALLS\]\s*\[?\s*)?"""
    rf"""\{{\s*"(?:{"|".join(NAME_ALIASES)})"\s*:\s*"([^"\\]+)"\s*,\s*"(?:{"|".join(ARGS_ALIASES)})"\s*:\s*(?=\{{)"""
)
_TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|\Z|\\\Z)', re.DOTALL)
_HEAD_MAX = 400  # code points within which the arguments of a call begin
_SMALL = 1024  # held text up to this length is looked at with every piece
_LINE_ENDS_VALUE = re.compile(r"[}\]>`~]\s*\n")


class StreamParser:
    """Feed the reply in pieces, take events; `close` gives the last ones and `parsed` the whole.

    >>> parser = StreamParser([{"name": "add", "parameters": {}}])
    >>> [type(event).__name__ for event in (*parser.feed("Hello"), *parser.feed(" there"), *parser.close())]
    ['TextCame', 'TextCame']
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
        self._judge = Judge(tools, strict=strict, convention=convention, ids=ids)
        self._reading = Reading(self._judge, thinking=thinking)
        self._bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._new: list[str] = []  # pieces that the reading has not seen
        self._new_length = 0
        self._preview = _Preview(self._judge)

    def feed(self, piece: str | bytes) -> Iterator[Event]:
        """The events that a piece of the reply brings. Bytes may be cut inside a character."""
        text = self._bytes.decode(piece) if isinstance(piece, bytes) else piece
        self._new.append(text)
        self._new_length += len(text)
        if self._is_time(text):
            yield from self._read(self._reading.feed(self._take()))
        yield from self._preview.more(self._held)

    def close(self, finish_reason: FinishReason = "stop") -> Iterator[Event]:
        """The last events. finish_reason: "length" where the reply was cut."""
        self._new.append(self._bytes.decode(b"", final=True))
        yield from self._read(self._reading.feed(self._take()))
        yield from self._read(self._reading.close(finish_reason))
        yield from self._preview.drop()

    def parsed(self) -> Parsed:
        """The whole, after `close`: what `parse` gives."""
        return self._reading.parsed()

    def _is_time(self, text: str) -> bool:
        """Whether to look at the held text again: always while it is short, else when a value may have ended or it has grown."""
        held = len(self._reading.scanner.cursor.buf)
        return held < _SMALL or self._new_length * 8 > held or _LINE_ENDS_VALUE.search(text) is not None

    def _take(self) -> str:
        text = "".join(self._new)
        self._new, self._new_length = [], 0
        return text

    def _held(self, start: int) -> str:
        """The text that is held back, from its position `start` on."""
        return self._reading.scanner.cursor.buf[start:] + "".join(self._new)

    def _read(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            yield from self._preview.before(event)
            yield event


class _Preview:
    """Says early that a call begins, and gives its arguments as they come."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name: str | None = None
        self.text = ""
