"""What stands on a line, in a fence or in a wrapper: JSON values one after the other, and the forms beside JSON."""

from __future__ import annotations

import json
import re

from textcall.parsing.cursor import Body, Cursor
from textcall.parsing.forms import Shaped
from textcall.parsing.lenient import Broken, read
from textcall.parsing.markers import FUNCTION
from textcall.parsing.pythonic import read_pythonic

_VALUE_START = re.compile(r"[{\[｛［]|<\s*[\"'“]")
_BETWEEN = re.compile(r"[\s,;，；]*")
_BETWEEN_ON_LINE = re.compile(r"[ \t,;，；]*")
_NAMED = re.compile(
    r"(?:function<｜tool▁sep｜>|functions\.)?(?P<name>[A-Za-z_][\w.-]{0,127})(?::\d{1,9})?(?:\[CALL_ID\]\w{0,64})?"
    r"(?:\[ARGS\]|<\|tool_call_argument_begin\|>|<｜tool▁sep｜>)?\s{0,50}(?P<fence>```json)?\s{0,50}(?=\{)"
)
_NAMED_MAX = 400  # code points within which `_NAMED` ends
_FUNCTION = re.compile(FUNCTION)
_PARAMETER = re.compile(r'<(?:｜DSML｜)?(?:parameter=|parameter name=|param name=)"?([\w.:-]+)"?([^>\n]*)>')
_PARAMETER_ENDS = ("</parameter>", "</param>", "</｜DSML｜parameter>")
FUNCTION_ENDS = ("</function>", "</invoke>", "</｜DSML｜invoke>")
_FUNCTION_END = re.compile(rf"\s*(?:{'|'.join(FUNCTION_ENDS)})")
_TEXT = 'string="true"'  # says that a parameter is a text, whatever it looks like
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")
_GEMMA = re.compile(r"(?:call)?:(?P<name>[\w.-]{1,128})(?=\{)")
_GEMMA_STRING = re.compile(r"(<\|\"\|>|<escape>)(.*?)\1", re.DOTALL)
_GEMMA_PARTS = re.compile(rf"{_GEMMA_STRING.pattern}|<\|\"\|>|<escape>|[{{}}]", re.DOTALL)
_PAIRS_NAME = re.compile(r"\s*(?P<name>[A-Za-z_][\w.:/-]*)\s*(?=<arg_key>|\Z)")
_PAIR = re.compile(r"<arg_key>\s*([^<]*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)
_CALL_LIKE = re.compile(r"[({<]")
_PYTHON = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")
_PYTHON_OR_MORE = re.compile(r"\[\s*(?:[A-Za-z_][\w.]*)?\Z")
_NO_NAME = "[ARGS]"  # where a name should stand
_TAG_MAX = 200  # code points within which a tag ends


def starts_value(src: str, pos: int) -> bool:
    """Whether an object or an array begins here."""
    return _VALUE_START.match(src, pos) is not None


def values(c: Cursor, pos: int, *, stops: tuple[str, ...], wrapped: bool, on_line: bool) -> Body:
    """JSON values from `pos` on, with commas, semicolons and blanks between. Raises Broken and NeedMore."""
    between = _BETWEEN_ON_LINE if on_line else _BETWEEN
    calls: list[Shaped] = []
    repairs: list[str] = []
    duplicates: list[str] = []
    others = 0
    while True:
        found = read(c.buf, pos, stops=stops, options=c.options)
        shaped = c.rules.shape(found.value, wrapped=wrapped)
        others += shaped is None
        calls += shaped or ()
        repairs += found.repairs
        duplicates += found.duplicates
        match = between.match(c.buf, found.end)
        pos = match.end() if match else found.end
        pos = pos if on_line or wrapped else c.skip(pos)
        c.need(pos >= len(c.buf))
        if not starts_value(c.buf, pos) or _at_stop(c, pos, stops) or (others and on_line):
            end = pos if on_line and not others else found.end
            return Body(tuple(calls), end, tuple(dict.fromkeys(repairs)), tuple(duplicates), others)


def _at_stop(c: Cursor, pos: int, stops: tuple[str, ...]) -> bool:
    found = any(c.buf.startswith(stop, pos) for stop in stops)
    c.need(not found and any(stop.startswith(c.buf[pos : pos + len(stop)]) for stop in stops))
    return found


def wrapped(c: Cursor, pos: int, *, closers: tuple[str, ...]) -> Body | None:
    """What stands behind the opening of a wrapper; None where it is nothing that calls. Raises Broken and NeedMore."""
    pos = c.skip(pos)
    c.need(_PYTHON_OR_MORE.match(c.buf, pos) is not None)
    if c.buf.startswith(_NO_NAME, pos):
        pos = c.skip(pos + len(_NO_NAME))
    if starts_value(c.buf, pos) and not _PYTHON.match(c.buf, pos):
        return values(c, pos, stops=(*closers, "[TOOL_CALLS]", "<|"), wrapped=True, on_line=False)
    if c.buf.startswith("<", pos):
        return function(c, pos)
    if gemma := _GEMMA.match(c.buf, pos):
        return _gemma(c, gemma["name"], gemma.end())
    named = _NAMED.match(c.buf, pos)
    if named is not None:
        return _named(c, named, closers)
    c.need(len(c.buf) - pos < _NAMED_MAX and not any(c.buf.find(closer, pos) >= 0 for closer in closers or ("\n",)))
    return _to_closer(c, pos, closers)


def _named(c: Cursor, named: re.Match[str], closers: tuple[str, ...]) -> Body:
    """`name[ARGS]{…}` and its kin."""
    found = read(c.buf, named.end(), stops=(*closers, "[TOOL_CALLS]", "```"), options=c.options)
    end = found.end
    if named["fence"]:
        end = c.skip(end)
        c.need(len(c.buf) - end < len("```"))
        end += len("```") if c.buf.startswith("```", end) else 0
    return Body((Shaped(named["name"], found.value),), end, found.repairs, found.duplicates)


def _gemma(c: Cursor, name: str, start: int) -> Body:
    """`call:name{key:<|"|>text<|"|>,other:5}`: keys without quotes, strings in marks of their own, no escapes."""
    depth = 0
    for part in _GEMMA_PARTS.finditer(c.buf, start):
        if part[2] is None and part[0] not in "{}":
            break
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if depth == 0 and part[0] == "}":
            source = _GEMMA_STRING.sub(lambda string: json.dumps(string[2]), c.buf[start : part.end()])
            try:
                found = read(source)
            except Broken as error:
                raise Broken(start, error.why) from None
            repairs = tuple(repair for repair in found.repairs if repair != "unquoted_keys")
            return Body((Shaped(name, found.value),), part.end(), repairs, found.duplicates)
    c.need()
    raise Broken(len(c.buf), "the text ended inside an object", incomplete=True)


def message(c: Cursor, pos: int, mark: str) -> Body | None:
    """The arguments of a call whose name stands in the mark, as `to=functions.name`."""
    named = _RECIPIENT.search(mark)
    c.need(pos >= len(c.buf))
    if named is None or not starts_value(c.buf, pos):
        return None
    found = read(c.buf, pos, stops=("<|",), options=c.options)
    return Body((Shaped(named[1], found.value),), found.end, found.repairs, found.duplicates)


def _to_closer(c: Cursor, pos: int, closers: tuple[str, ...]) -> Body | None:
    """Forms that only their closing mark ends: Python, pairs of keys and values, a bare name."""
    ends = [at for at in (c.buf.find(closer, pos) for closer in closers or ("\n",)) if at >= 0]
    c.need(not ends)
    end = min(ends, default=len(c.buf))
    inner = c.buf[pos:end]
    if not ends and c.length and inner.strip() and not inner.rstrip().endswith((")", "]")):
        raise Broken(len(c.buf), "the text ended before the call was closed", incomplete=True)
    calls = read_pythonic(inner, bare=True)
    if calls is not None:
        return Body(calls, end)
    if ("<arg_key>" in inner or inner.strip() in c.rules.names) and (ends or not closers):
        pairs = _pairs(inner)
        if pairs is not None:
            name, found = pairs
            arguments = dict(found)
            twice = tuple(key for key, text in found if arguments[key] != text)
            return Body((Shaped(name, arguments, raw=frozenset(arguments)),), end, (), twice)
    if any(name in inner for name in c.rules.names) and not inner[:1].isspace() and _CALL_LIKE.search(inner):
        raise Broken(end, f"no call was found in {inner.strip()[:40]!r}", incomplete=not ends and bool(closers))
    return None


def _pairs(inner: str) -> tuple[str, list[tuple[str, str]]] | None:
    """A name and pairs of keys and values behind it; None where anything else stands there."""
    named = _PAIRS_NAME.match(inner)
    pos = named.end() if named else 0
    found = []
    while named is not None and (pair := _PAIR.match(inner, pos)):
        found.append((pair[1], pair[2]))
        pos = pair.end()
    return (named["name"], found) if named is not None and pos == len(inner) else None


def function(c: Cursor, pos: int) -> Body | None:
    """`<function=name>{…}</function>` or with `<parameter=key>value</parameter>`, several after one another."""
    calls: list[Shaped] = []
    repairs: list[str] = []
    duplicates: list[str] = []
    while True:
        opening = _FUNCTION.match(c.buf, pos)
        if opening is None:
            c.need(
                len(c.buf) - pos < _TAG_MAX and ">" not in c.buf[pos : pos + _TAG_MAX] and c.buf.startswith("<", pos)
            )
            return Body(tuple(calls), pos, tuple(dict.fromkeys(repairs)), tuple(duplicates)) if calls else None
        at = c.skip(opening.end())
        if starts_value(c.buf, at):
            found = read(c.buf, at, stops=FUNCTION_ENDS, options=c.options)
            calls.append(Shaped(opening[1], found.value))
            repairs += found.repairs
            duplicates += found.duplicates
            at = found.end
        else:
            arguments, raw, at, twice = _parameters(c, at)
            duplicates += twice
            calls.append(Shaped(opening[1], arguments, raw=raw))
        end = _function_end(c, at)
        pos = c.skip(end)
        if not c.buf.startswith("<", pos):
            return Body(tuple(calls), end, tuple(dict.fromkeys(repairs)), tuple(duplicates))


def _parameters(c: Cursor, pos: int) -> tuple[dict[str, str], frozenset[str], int, list[str]]:
    """Pairs of a key and its raw text; a line break at either end is layout.

    The schema decides what the text means, except of those that say that they are a text.
    """
    arguments: dict[str, str] = {}
    raw: set[str] = set()
    twice: list[str] = []
    while True:
        pos = c.skip(pos)
        match = _PARAMETER.match(c.buf, pos)
        if match is None:
            c.need(len(c.buf) - pos < _TAG_MAX and ">" not in c.buf[pos : pos + _TAG_MAX])
            return arguments, frozenset(raw), pos, twice
        ends = [(at, end) for end in _PARAMETER_ENDS if (at := c.buf.find(end, match.end())) >= 0]
        if not ends:
            c.need()
            raise Broken(len(c.buf), "the text ended inside a parameter", incomplete=True)
        end, closer = min(ends)
        text = c.buf[match.end() : end]
        text = text[1:].removesuffix("\n") if text.startswith("\n") else text
        if arguments.setdefault(match[1], text) != text:
            twice.append(match[1])
        if _TEXT not in match[2]:
            raw.add(match[1])
        pos = end + len(closer)


def _function_end(c: Cursor, pos: int) -> int:
    match = _FUNCTION_END.match(c.buf, pos)
    if match is not None:
        return match.end()
    rest = c.buf[pos : pos + 40].strip()
    if len(c.buf) - pos < 40 and any(end.startswith(rest) for end in FUNCTION_ENDS):
        c.need()
        raise Broken(len(c.buf), "the text ended before the call was closed", incomplete=True)
    raise Broken(pos, "</function> was expected")
