"""A tolerant JSON reader: `read(src, pos) -> Read(value, end, repairs, duplicates)`.

Strict JSON comes first and is never touched by a repair. What follows mends only what has one reading, and says what it
mended by name:

    angle_brackets          <"a": 1>                       bad_escapes           "C:\\Kiosk", "it\\'s"
    comments                // # /* */                     control_characters    a raw newline in a string
    duplicate_key           the same key and value twice   fullwidth_punctuation ｛"a"：1，"b"：2｝
    inner_quotes            "say "hi"" (see `readings`)    javascript_literals   undefined
    lone_surrogates         half a pair becomes U+FFFD     missing_closers       only ] and } are missing at the end
    missing_comma           before a key, or a new line    python_literals       True, False, None
    single_quotes           'a'                            smart_quotes          “a”
    trailing_comma          before a closer                unquoted_keys         {a: 1}
    white_space             other blanks than JSON's

An open string is never closed, a number at the end of the text never taken for whole.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from textcall.parsing.escapes import TwoReadings, decode
from textcall.parsing.readings import MAX_TEXT, only_reading
from textcall.parsing.rest import behind_closers, surely_over
from textcall.parsing.strict import MAX_DEPTH, MAX_DIGITS, NotStrict, Read, contradictions, read_strict

__all__ = ["Broken", "NeedMore", "Options", "Read", "read", "skip_blanks"]

# Opening quote -> the quotes that can close it.
QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "＂": "＂"}
_NAMED = {
    "'": "single_quotes",
    "“": "smart_quotes",
    "”": "smart_quotes",
    "‘": "smart_quotes",
    "＂": "fullwidth_punctuation",
}
_RUN = {quote: re.compile(rf"[^\\{close}]*") for quote, close in QUOTES.items()}
_OPENERS = {"{": "}", "｛": "｝", "<": ">", "[": "]", "［": "］"}
_STRICT_BLANKS = re.compile(r"[ \t\n\r]*")
_BLANKS = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBERISH = re.compile(r"[-+.\w]*")
_WORD = re.compile(r"-?[^\W\d][\w$]*")
_KEY = re.compile(r"""(?:"[^"\\\n]{0,200}"|'[^'\\\n]{0,200}'|“[^”\\\n]{0,200}”|[^\W\d][\w$-]{0,200})[ \t]*[:：]""")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_STRICT_WORDS = frozenset({"true", "false", "null"})
_QUOTE_MARKS = frozenset("\"'“”")
_DELIMITERS = "{}[],:<>｛｝［］，：/#"


class Broken(ValueError):
    """No JSON, and no repair with one reading. pos: where. incomplete: the text ended before the value did.

    near: whether `why` is to be followed by what stands at `pos`.
    """

    def __init__(
        self, pos: int, why: str, *, incomplete: bool = False, kind: str = "bad_json", near: bool = False
    ) -> None:
        super().__init__(why)
        self.pos = pos
        self.why = why
        self.incomplete = incomplete
        self.kind = kind
        self.near = near


class NeedMore(Exception):
    """The text may go on, and what follows decides."""


def may_be_comment(src: str, pos: int) -> bool:
    """Whether a comment begins here that has not ended yet, or may begin here."""
    return src.startswith(("#", "//", "/*"), pos) or (src.startswith("/", pos) and pos + 1 == len(src))


@dataclass(frozen=True, slots=True)
class Options:
    """final: whether the text ends where `src` does; where not, NeedMore is raised whenever more of it could decide.

    cut: whether the text ends there because it was cut; then nothing unfinished is mended. strict: no repair. quotes:
    whether to try what unescaped quotes could mean, which takes time.
    """

    final: bool = True
    cut: bool = False
    strict: bool = False
    quotes: bool = True


def read(src: str, pos: int = 0, *, stops: tuple[str, ...] = (), options: Options = Options()) -> Read:
    """The JSON value at `pos`. stops: texts that end it like its end does (a closing tag, a fence). Raises Broken."""
    final = options.final
    try:
        return read_strict(src, pos)
    except NotStrict as error:
        if options.strict:
            _strict_only(src, pos, error, final=final)
    reader = _Reader(src, final, stops, cut=options.cut)
    try:
        value, end = reader.value(pos, 0)
    except Broken as error:
        if error.kind != "inner_quote" or not options.quotes:
            raise
        return _with_inner_quotes(src, pos, error, options, stops)
    return Read(value, end, tuple(dict.fromkeys(reader.repairs)), tuple(reader.duplicates))


def _with_inner_quotes(src: str, pos: int, error: Broken, options: Options, stops: tuple[str, ...]) -> Read:
    """Unescaped quotes inside strings, where one reading exists: first within the line, then up to a blank line.

    A string with such a quote may go on to the end of the text: that has to speak against it as well.
    """
    final = options.final
    for ending in ("\n", "\n\n"):
        line = src.find(ending, error.pos, pos + MAX_TEXT)
        if line < 0 and not final and len(src) - pos <= MAX_TEXT:
            raise NeedMore
        line = min(len(src), pos + MAX_TEXT) if line < 0 else line
        end = min((at for stop in stops if (at := src.find(stop, error.pos, line)) >= 0), default=line)
        found = only_reading(src, pos, end)
        if found is not None:
            value, stop, ambiguous = found
            if not final:
                raise NeedMore
            if ambiguous or options.cut or not surely_over(src, behind_closers(src, stop)):
                break
            return Read(value, stop, ("inner_quotes",))
    raise Broken(error.pos, error.why, kind="inner_quote", near=True)


def _strict_only(src: str, pos: int, error: NotStrict, *, final: bool) -> NoReturn:
    """Say what is wrong, and whether it may only be unfinished: that the reader knows."""
    reader = _Reader(src, final, ())
    try:
        reader.value(pos, 0)
    except Broken as broken:
        raise Broken(broken.pos, str(error), incomplete=broken.incomplete) from None
    raise Broken(pos, str(error), incomplete="missing_closers" in reader.repairs)


def skip_blanks(src: str, pos: int) -> int:
    """Past white space and comments."""
    match = _BLANKS.match(src, pos)
    return match.end() if match else pos


class _Reader:
    """One pass over one value. Every method takes a position and returns the value with the position behind it."""

    def __init__(self, src: str, final: bool, stops: tuple[str, ...], *, cut: bool = False) -> None:
        self.src = src
        self.final = final
        self.cut = cut
        self.stops = stops
        self.repairs: list[str] = []
        self.duplicates: list[str] = []

    def value(self, pos: int, level: int, closer: str = "") -> tuple[Any, int]:
        pos = self.blanks(pos)
        if self.over(pos):
            self.ended(pos, "the text ended where a value was expected")
        char = self.src[pos]
        if char in QUOTES:
            return self.string(pos, closer)
        if char in "[［":
            return self.array(pos, level)
        if char in "{｛" or (char == "<" and self.src[self.blanks(pos + 1) : self.blanks(pos + 1) + 1] in QUOTES):
            return self.object(pos, level)
        if char in "-+.0123456789" and not self.src.startswith("-I", pos):
            return self.number(pos)
        return self.word(pos)

    def object(self, pos: int, level: int) -> tuple[dict[str, Any], int]:
        self.deeper(pos, level)
        closer = self.opener(pos)
        pairs: list[tuple[str, Any]] = []
        pos = self.blanks(pos + 1)
        while True:
            if self.over(pos):
                self.ended(pos, "the text ended inside an object")
            if self.src[pos] == closer:
                return self.made(pairs), pos + 1
            key, pos = self.key(pos)
            value, pos = self.value(pos, level + 1, closer)
            pairs.append((key, value))
            pos, done = self.after(pos, closer, value)
            if done:
                return self.made(pairs), pos

    def array(self, pos: int, level: int) -> tuple[list[Any], int]:
        self.deeper(pos, level)
        closer = self.opener(pos)
        items: list[Any] = []
        pos = self.blanks(pos + 1)
        while True:
            if self.over(pos):
                self.ended(pos, "the text ended inside an array")
            if self.src[pos] == closer:
                return items, pos + 1
            value, pos = self.value(pos, level + 1, closer)
            items.append(value)
            pos, done = self.after(pos, closer, value, element=True)
            if done:
                return items, pos

    def after(self, pos: int, closer: str, value: Any, *, element: bool = False) -> tuple[int, bool]:
        """Past what follows a member or an element; whether the container is closed by it."""
        start, pos = pos, self.blanks(pos)
        if self.over(pos):
            if not self.final and pos >= len(self.src):
                raise NeedMore
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.ended(pos, "the text ended behind a number, which may be cut")
            if self.cut and pos >= len(self.src):
                self.ended(pos, "the text ended before the value was closed")
            self.repairs.append("missing_closers")
            return pos, True
        char = self.src[pos]
        if char == closer:
            return pos + 1, True
        if char in ",，":
            self.repairs += ["fullwidth_punctuation"] if char == "，" else []
            pos = self.blanks(pos + 1)
            if not self.over(pos) and self.src[pos] == closer:
                self.repairs.append("trailing_comma")
                return pos + 1, True
            return pos, False
        if self.comma_is_missing(start, pos, element=element):
            self.repairs.append("missing_comma")
            return pos, False
        raise Broken(pos, f"a comma or {closer} was expected", near=True)

    def comma_is_missing(self, start: int, pos: int, *, element: bool) -> bool:
        if element:
            return "\n" in self.src[start:pos] and self.src[pos] not in "}]>:："
        return start < pos and self.is_key(pos)

    def is_key(self, pos: int) -> bool:
        if _KEY.match(self.src, pos):
            return True
        if not self.final and "\n" not in self.src[pos : pos + 200] and len(self.src) - pos < 200:
            raise NeedMore
        return False

    def key(self, pos: int) -> tuple[str, int]:
        if self.src[pos] in QUOTES:
            key, pos = self.string(pos, ":")
        else:
            word = _WORD.match(self.src, pos)
            if word is None:
                raise Broken(pos, "a key in double quotes was expected", near=True)
            if word.end() >= len(self.src):
                self.ended(word.end(), "the text ended inside a key")
            self.repairs.append("unquoted_keys")
            key, pos = word[0], word.end()
        pos = self.blanks(pos)
        if self.over(pos):
            self.ended(pos, "the text ended behind a key")
        if self.src[pos] not in ":：":
            raise Broken(pos, f"a colon was expected behind the key {key[:40]!r}")
        self.repairs += ["fullwidth_punctuation"] if self.src[pos] == "：" else []
        return key, pos + 1

    def string(self, pos: int, closer: str) -> tuple[str, int]:
        quote = self.src[pos]
        at = pos + 1
        while True:
            match = _RUN[quote].match(self.src, at)
            at = match.end() if match else at
            if at >= len(self.src):
                self.ended(at, "the text ended inside a string")
            if self.src[at] == "\\":
                at += 2
                continue
            if not self.closes(at + 1, closer):
                why = "a quote inside a string is not escaped, or a comma is missing"
                raise Broken(at, why, kind="inner_quote", near=True)
            break
        self.repairs += [_NAMED[quote]] if quote in _NAMED else []
        try:
            text, repairs = decode(self.src[pos + 1 : at])
        except TwoReadings as error:
            raise Broken(pos, str(error)) from None
        self.repairs += repairs
        return text, at + 1

    def closes(self, pos: int, closer: str) -> bool:
        """Whether a quote before `pos` can end a string; closer: what ends the object or array, ":" for a key."""
        start, pos = pos, self.look(pos)
        if not _QUOTE_MARKS.isdisjoint(self.src[start:pos]):
            return False  # behind a string, a comment with quotes in it is more likely the rest of the string
        if self.over(pos):
            if not self.final and pos >= len(self.src):
                raise NeedMore
            return True
        char = self.src[pos]
        if closer == ":":
            return char in ":："
        if char in ",，" or char == closer:
            return True
        return self.comma_is_missing(start, pos, element=closer in "]］")

    def number(self, pos: int) -> tuple[int | float, int]:
        whole = _NUMBERISH.match(self.src, pos)
        if not self.final and (whole.end() if whole else pos) >= len(self.src):
            raise NeedMore
        match = _NUMBER.match(self.src, pos)
        end = match.end() if match else pos
        if match is None or not self.delimited(end):
            written = whole[0] if whole else self.src[pos]
            raise Broken(pos, f"{written[:40]} is not a JSON number; write it in plain decimal digits")
        if len(match[0]) > MAX_DIGITS:
            raise Broken(pos, f"a number of {len(match[0])} digits is too large")
        if match[1] is None and match[2] is None:
            return int(match[0]), end
        number = float(match[0])
        if not math.isfinite(number):
            raise Broken(pos, f"{match[0][:40]} is not a finite number")
        return number, end

    def word(self, pos: int) -> tuple[bool | None, int]:
        match = _WORD.match(self.src, pos)
        if match is None:
            raise Broken(pos, "a value was expected", near=True)
        if match.end() >= len(self.src) and not self.final:
            raise NeedMore
        word = match[0]
        if word in ("NaN", "nan", "Infinity", "-Infinity", "inf"):
            raise Broken(pos, f"{word} is not a JSON number")
        if word == "undefined":
            self.repairs.append("javascript_literals")
            return None, match.end()
        if word.lower() not in _WORDS or not self.delimited(match.end()):
            raise Broken(pos, "a value was expected, and text belongs into double quotes", near=True)
        self.repairs += ["python_literals"] if word not in _STRICT_WORDS else []
        return _WORDS[word.lower()], match.end()

    def opener(self, pos: int) -> str:
        char = self.src[pos]
        self.repairs += ["angle_brackets"] if char == "<" else ["fullwidth_punctuation"] if char in "｛［" else []
        return _OPENERS[char]

    def made(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            twice = contradictions(pairs)
            self.duplicates += twice
            self.repairs += [] if twice else ["duplicate_key"]
        return value

    def blanks(self, pos: int) -> int:
        """Past white space and comments, which are reported."""
        match = _STRICT_BLANKS.match(self.src, pos)
        end = match.end() if match else pos
        more = self.look(end)
        if more > end:
            skipped = self.src[end:more]
            self.repairs.append("comments" if "/" in skipped or "#" in skipped else "white_space")
        return more

    def look(self, pos: int) -> int:
        end = skip_blanks(self.src, pos)
        if not self.final and may_be_comment(self.src, end):
            raise NeedMore
        return end

    def over(self, pos: int) -> bool:
        if pos >= len(self.src):
            return True
        for stop in self.stops:
            if self.src.startswith(stop, pos):
                return True
            if not self.final and stop.startswith(self.src[pos : pos + len(stop)]):
                raise NeedMore
        return False

    def ended(self, pos: int, why: str) -> NoReturn:
        if not self.final and pos >= len(self.src):
            raise NeedMore
        raise Broken(pos, why, incomplete=pos >= len(self.src))

    def deeper(self, pos: int, level: int) -> None:
        if level >= MAX_DEPTH:
            raise Broken(pos, f"more than {MAX_DEPTH} levels of objects and arrays", kind="too_deep")

    def delimited(self, pos: int) -> bool:
        return self.over(pos) or self.src[pos].isspace() or self.src[pos] in _DELIMITERS
