"""What stands between the quotes of a string, decoded: JSON's escapes, and those that models write instead.

Rule: a backslash is repaired only where one reading exists. A string with an escape that JSON does not know was never
escaped for JSON, so its backslashes are meant as they stand (a path, a regular expression, LaTeX), unless something
else in it says the contrary.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_PLAIN = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DROPPED = {
    "'": "'",
    "`": "`",
    "“": "“",
    "”": "”",
    "‘": "‘",
    "’": "’",
    "_": "_",
}  # the backslash before these says nothing
_HEX = re.compile(r"\\x[0-9a-fA-F]{2}|\\0|\\u\{|\\U[0-9a-fA-F]{8}")


class TwoReadings(ValueError):
    """The backslashes of a string can be read in two ways. Its text says which."""


def decode(body: str) -> tuple[str, tuple[str, ...]]:
    """The text of a string's body, and the repairs that it took. Raises TwoReadings."""
    repairs = ["control_characters"] if _CONTROL.search(body) else []
    if "\\" in body:
        body, more = _unescape(body)
        repairs += more
    cleaned = clean_surrogates(body)
    if cleaned != body:
        repairs.append("lone_surrogates")
    return cleaned, tuple(repairs)


def clean_surrogates(text: str) -> str:
    """Pairs of surrogates as one character, lone ones as U+FFFD: what cannot be UTF-8 goes nowhere."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_surrogates(text: str) -> str:
    """Text without raw surrogates, each U+FFFD instead: positions stay what they are."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _unescape(body: str) -> tuple[str, list[str]]:
    found = {match[1] for match in _ESCAPE.finditer(body)}
    illegal = {escape for escape in found if escape not in _PLAIN and escape not in _DROPPED and len(escape) == 1}
    if illegal:
        _check_one_reading(body, found)
        return re.sub(r"\\([\"'])", r"\1", body), ["bad_escapes"]
    repairs = ["bad_escapes"] if found & _DROPPED.keys() else []
    return _joined(_ESCAPE.sub(_character, body)), repairs


def _check_one_reading(body: str, found: set[str]) -> None:
    if _HEX.search(body):
        raise TwoReadings(r"JSON has no escapes such as \x41 or \0; write \u0041")
    if "\\" in found or any(len(escape) > 1 for escape in found):
        raise TwoReadings("some backslashes are doubled and some are not; double every one that is meant as it stands")
    if found & {"n", "r", "t"} and not found & {"b", "f"}:
        raise TwoReadings(
            r"\n, \r or \t beside an escape that JSON does not know; double the backslashes that are meant"
        )


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _PLAIN.get(escape) or _DROPPED[escape]


def _joined(text: str) -> str:
    """Pairs of escaped surrogates as one character; lone ones are left for `clean_surrogates`."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
