"""Where a scan of a reply stands, and the segments that it takes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from textcall.block import NAME_KEY, render_call
from textcall.messages import Problem, Span
from textcall.parsing.forms import Shaped
from textcall.parsing.lenient import Broken, NeedMore, Options, may_be_comment, skip_blanks
from textcall.parsing.passage import Passage

MAX_RESTARTS = 16  # failed candidates whose text is looked at again; bounds the time on any text
EXAMPLE = render_call("NAME", {"ARGUMENT": "VALUE"})
_OPENING = f'{{"{NAME_KEY}":"'
_BEGINS = re.compile(rf"(?:\[\s*)?[{{<｛]\s*[\"'“]{NAME_KEY}[\"'”]\s*[:：]")
MAX_FAILURES = 4000  # candidates that were none; behind them nothing is looked for any more
_INVENTED = "A call behind a tool result that you made up was not run. Call the tool, and wait for its result."
_PONDERING = "A call behind an opened think block was not run. Close the block, and write the call after it."
_EXCERPT = 20  # code points of the text that a problem shows
REFUSED_COUNTS = 40  # a refused call costs more than a line that only looked like one
_MENDED_COUNTS = 4

Kind = Literal["text", "reply", "thought", "calls", "refused", "restart", "dropped"]


class Segment(NamedTuple):
    """A stretch of the reply. text: as written ("reply": decoded). span: in code points of the whole reply.

    calls, how, duplicates: of kind "calls": what was read, how, and keys that came twice. problem: of kind "refused".
    """

    kind: Kind
    text: str
    span: Span
    calls: tuple[Shaped, ...] = ()
    how: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What stands in a place: calls, their end, what was mended, keys that came twice, how many values are no calls."""

    calls: tuple[Shaped, ...]
    end: int
    repairs: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    others: int = 0


class Rules(Protocol):
    """What a scan asks about the tools and the convention."""

    @property
    def names(self) -> Collection[str]:
        """The names that can be called."""
        ...

    @property
    def strict(self) -> bool:
        """Whether only canonical calls count."""
        ...

    @property
    def reply_opening(self) -> re.Pattern[str] | None:
        """What an answer of the shape REPLY begins with, up to its text."""
        ...

    def shape(self, value: Any, *, wrapped: bool) -> tuple[Shaped, ...] | None:
        """The calls in a value; None where it is an answer."""
        ...

    def looks_like_call(self, source: str) -> bool:
        """Whether broken or unfinished text was meant as a call."""
        ...


@lru_cache(maxsize=16)
def _options(final: bool, cut: bool, strict: bool, quotes: bool) -> Options:
    return Options(final=final, cut=cut, strict=strict, quotes=quotes)


class Cursor:
    """The text that came so far, less what was taken, and what must be known of the part that was.

    passage: the paragraph's text so far. inside: it opened a structure or a quotation that goes on. quoted: the line is
    a block quote. begun: something came before. called: a call did.
    invented: a tool result was made up before any call. pondering: a think block was opened in a sentence, as a word or
    not, and nothing closed it.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.buf = ""
        self.base = 0
        self.pos = 0
        self.kept = 0  # from here to `pos`: text that was passed and not given out yet
        self.out: list[Segment] = []
        self.final = False
        self.length = False
        self.line_start = True
        self.begun = False
        self.called = False
        self.invented = False
        self.pondering = False
        self.inside = False
        self.quoted = False
        self.passage = Passage()
        self.restarts = MAX_RESTARTS
        self.failures = 0

    def need(self, condition: bool = True) -> None:
        """Wait for more text where the condition holds, if there may be more. Raises NeedMore."""
        if condition and not self.final:
            raise NeedMore

    def skip(self, pos: int) -> int:
        """Past white space and comments, waiting for more text where they may go on."""
        end = skip_blanks(self.buf, pos)
        self.need(end >= len(self.buf) or may_be_comment(self.buf, end))
        return end

    @property
    def options(self) -> Options:
        """How JSON is to be read here."""
        return _options(self.final, self.length, self.rules.strict, self.restarts > 0)

    def span(self, start: int, end: int) -> Span:
        """Positions in `buf` as positions in the reply."""
        return (self.base + start, self.base + end)

    def trim(self) -> None:
        """Forget the text that was taken."""
        self.flush()
        self.buf = self.buf[self.pos :]
        self.base += self.pos
        self.pos = self.kept = 0

    def flush(self) -> None:
        """Give out the text that was passed."""
        if self.kept < self.pos:
            self.out.append(Segment("text", self.buf[self.kept : self.pos], self.span(self.kept, self.pos)))
            self.kept = self.pos

    def take(self, kind: Kind, end: int) -> None:
        """What stands up to `end` is no text but of another kind."""
        self.flush()
        self.out.append(Segment(kind, self.buf[self.pos : end], self.span(self.pos, end)))
        self.pos = self.kept = end

    def put(self, segment: Segment, end: int) -> None:
        """The same with a segment that is made already."""
        self.flush()
        self.out.append(segment)
        self.pos = self.kept = end

    def text(self, end: int) -> None:
        """Text up to `end`, which may reach over several lines."""
        at = self.pos
        while at < end:
            line = self.buf.find("\n", at, end)
            at = self._line(at, end if line < 0 else line + 1)
        self.pos = end

    def plain(self, end: int) -> None:
        """Whole lines of text that hold no mark: only the last paragraph of them matters for what follows."""
        start = self._last_blank_line(end)
        if start > self.pos and (self.passage.holds_open_data or "{" in self.buf[self.pos : start]):
            self.text(end)
            return
        if start > self.pos or self.buf[start:end].isspace():
            self.new_paragraph()
        text = self.buf[start:end]
        if not text.isspace():
            self.passage.add(text)
        self.begun = self.begun or not self.buf[self.pos : end].isspace()
        self.pos = end

    def _last_blank_line(self, end: int) -> int:
        """The end of the last blank line before `end`, or where the scan stands."""
        while True:
            start = self.buf.rfind("\n", self.pos, end - 1) + 1
            if start <= self.pos:
                return end if self.buf[self.pos : end].isspace() else self.pos
            if self.buf[start:end].isspace():
                return end
            end = start

    def _line(self, start: int, end: int) -> int:
        text = self.buf[start:end]
        if self.line_start and not text.strip():
            if text.endswith("\n"):
                self.new_paragraph()
            return end
        self.begun = True
        self.passage.add(text)
        self.line_start = text.endswith("\n")
        self.quoted = self.quoted and not self.line_start
        return end

    def new_paragraph(self) -> None:
        """What was open in the paragraph before does not matter any more, except of an object: it may hold them."""
        if self.passage.holds_open_data:
            self.inside = True
            return
        self.fresh()

    def fresh(self) -> None:
        """Nothing is open any more."""
        self.passage = Passage()
        self.inside = False

    def mention(self, end: int) -> None:
        """A mark or a value that is only text here, and the line goes on behind it."""
        self.text(end)
        self.line_start = self.buf[end - 1] == "\n"

    def calls(self, at: int, end: int, body: Body, place: str, how: tuple[str, ...] = ()) -> None:
        """The calls of a body, that were found at `at` and reach to `end`."""
        self.pos = at
        span, source = self.span(at, end), self.buf[at:end]
        if (self.invented or self.pondering) and body.calls:
            problem = Problem("role_confusion", _INVENTED, "", span)
            if not self.invented:
                problem = Problem("not_a_call", _PONDERING, "", span)
            segment = Segment("refused", source, span, problem=problem)
        else:
            where = (f"extracted({place})",) if place else ()
            repairs = tuple(f"repaired({name})" for name in body.repairs)
            segment = Segment("calls", source, span, body.calls, (*where, *repairs, *how), body.duplicates)
            self.called = self.called or bool(body.calls)
            self.failures += _MENDED_COUNTS if repairs else 0
        self.put(segment, end)
        self.after_block()

    def as_text(self, end: int) -> None:
        """Something up to `end` that is text as a whole, whatever it opens."""
        self.text(end)
        self.fresh()
        self.line_start = self.buf[end - 1] == "\n"

    def refused(self, at: int, end: int, error: Broken, *, certain: bool = True) -> None:
        """A call that cannot be read. certain: whether it surely ends at `end`."""
        self.pos = at
        span = self.span(at, end)
        if error.incomplete:
            problem = Problem(
                "truncated", f"The call was cut: {error.why}. Nothing was run; write it again, whole.", "", span
            )
        else:
            kind = error.kind if error.kind in ("too_deep", "not_a_call") else "bad_json"
            excerpt = self.buf[error.pos : min(error.pos + _EXCERPT, end)] if error.near else ""
            why = f"{error.why} before {excerpt!r}" if excerpt else error.why
            message = f"A call could not be read at character {self.base + error.pos}: {why}. Write {EXAMPLE}."
            if not certain and "\n" in self.buf[at:end].strip():
                message += " Where it ends is not certain, so nothing behind it was read either."
            problem = Problem(kind, message, "", span)
        segment = Segment("refused", self.buf[at:end], span, problem=problem)
        self.failures += REFUSED_COUNTS
        self.put(segment, end)
        self.after_block()

    def after_block(self) -> None:
        """The line goes on behind something that is no text."""
        self.line_start = False
        self.begun = True
        self.passage = Passage()

    def failed(self, error: Broken, end: int) -> int:
        """Where to go on behind a value that cannot be read and ends at `end`; bounds how often text is read twice."""
        again = error.pos > end
        if again and self.restarts <= 1:
            line = self.buf.find("\n", error.pos)
            self.need(line < 0)
            end = len(self.buf) if line < 0 else line
        if again or error.kind == "inner_quote":
            self.restarts -= 1
        self.failures += 1
        return end

    def meant_as_call(self, source: str, error: Broken) -> bool:
        """Whether text that cannot be read was meant as a call; where the reply was cut, its first letters do."""
        if error.incomplete and self.length:
            squeezed = re.sub(r"\s", "", source[:40])
            if squeezed and _OPENING.startswith(squeezed):
                return True
        if (error.incomplete or error.kind == "too_deep") and _BEGINS.match(source):
            return True
        return self.rules.looks_like_call(source)
