"""JSON as RFC 8259 has it, by the standard library's C scanner, with what it lets through refused or noted.

Noted: a key that comes twice with two values. Refused: NaN, Infinity, numbers that overflow, nesting without end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from textcall.parsing.escapes import clean_surrogates

MAX_DEPTH = 100  # levels of objects and arrays; the lenient reader has the same bound
MAX_DIGITS = 4300  # of one number; Python's own bound for int()


@dataclass(frozen=True, slots=True)
class Read:
    """A value that was read from src[start:end].

    repairs: names of what had to be mended, in order, each once. duplicates: keys that came twice with two values.
    """

    value: Any
    end: int
    repairs: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()


class NotStrict(ValueError):
    """Not strict JSON; the lenient reader says why, or mends it."""


def read_strict(src: str, pos: int = 0) -> Read:
    """The JSON value at `pos`. Raises NotStrict."""
    repairs: tuple[str, ...] = ()
    twice: list[str] = []
    try:
        value, end = _decoded(src, pos, _DECODER)
    except _Twice:
        value, end = _decoded(src, pos, _decoder(_noting(twice)))
        repairs = () if twice else ("duplicate_key",)
    if src.count("{", pos, end) + src.count("[", pos, end) > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise NotStrict("too deep")
    if _may_hold_surrogates(src, pos, end):
        cleaned = _cleaned(value)
        repairs += ("lone_surrogates",) if cleaned != value else ()
        value = cleaned
    return Read(value, end, repairs, tuple(twice))


def _decoded(src: str, pos: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(src, pos)
    except RecursionError:
        raise NotStrict("too deep") from None
    except json.JSONDecodeError as error:
        raise NotStrict(error.msg) from None
    except ValueError as error:
        raise NotStrict(str(error)) from None


def depth(value: Any) -> int:
    """Levels of objects and arrays in a value."""
    level, layer = 0, [value]
    while layer := [item for item in layer if isinstance(item, dict | list)]:
        level += 1
        layer = [inner for item in layer for inner in (item.values() if isinstance(item, dict) else item)]
    return level


class _Twice(Exception):
    """A key comes twice in an object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made


def _noting(twice: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Makes objects of pairs, and notes the keys that came twice with two values."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(contradictions(pairs))
        return dict(pairs)

    return made


def contradictions(pairs: list[tuple[str, Any]]) -> list[str]:
    """The keys that come more than once with different values."""
    first: dict[str, Any] = {}
    found = []
    for key, value in pairs:
        if key in first and repr(first[key]) != repr(value) and key not in found:
            found.append(key)
        first.setdefault(key, value)
    return found


def _refuse(word: str) -> NoReturn:
    raise NotStrict(f"{word} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotStrict(f"{digits[:40]} is not a finite number")
    return number


def _decoder(hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=hook, parse_constant=_refuse, parse_float=_finite)


_DECODER = _decoder(_once)


def _may_hold_surrogates(src: str, pos: int, end: int) -> bool:
    if src.find("\\ud", pos, end) >= 0 or src.find("\\uD", pos, end) >= 0:
        return True
    if src.isascii():
        return False
    try:
        src[pos:end].encode()
    except UnicodeEncodeError:
        return True
    return False


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_surrogates(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return value
