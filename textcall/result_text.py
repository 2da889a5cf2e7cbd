"""What a tool returned, as the text that the model reads: compact JSON, characters as they are, cut where too long."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from pydantic_core import to_jsonable_python

from textcall.messages import compact_json

LIMIT = 16_000  # characters of a result that go to the model
MESSAGE_LIMIT = 2_000  # characters of an error's message


def result_text(value: Any) -> str:
    """Text stays as it is, everything else is compact JSON; what has no JSON but a text of its own is that text.

    Raises TypeError or ValueError where it cannot be written without a guess: bytes, what may never end, a circle.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Iterator):
        raise TypeError("it may never end: return a list")
    jsonable = to_jsonable_python(value, inf_nan_mode="constants", fallback=_plain)
    if _holds_bytes(value):
        raise TypeError("bytes are no text: decode them, or write them to a file and give its name")
    if isinstance(jsonable, str):  # a date, a path, an object with a text of its own
        return clean(jsonable)
    return clean(json.dumps(jsonable, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def error_text(message: str) -> str:
    """An error as the model reads it: one line."""
    return clean(compact_json({"error": cut(" ".join(message.split()), MESSAGE_LIMIT)}))


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning and end with a line between them that says how many characters are missing."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit} characters left out …\n{text[len(text) - tail :]}"


def cut_to_tokens(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """`text`, cut as `cut` does until it has no more than so many tokens."""
    limit, found, shorter = len(text), count(text), text
    while found > tokens and limit > 0:
        limit = min(limit - 1, limit * tokens // found)
        shorter = cut(text, limit)
        found = count(shorter)
    return shorter


def clean(text: str) -> str:
    """Without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _plain(value: Any) -> Any:
    """The numbers and arrays of numpy and its kin as Python's own, any path as text, and what has a text of its own."""
    if isinstance(value, PurePath):
        return str(value)
    if not isinstance(value, type):
        if callable(getattr(value, "tolist", None)):
            return value.tolist()
        if any("__str__" in kind.__dict__ for kind in type(value).__mro__[:-1]):
            return str(value)
    raise TypeError(f"there is no JSON for {type(value).__name__}")


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_bytes(inner) for inner in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds_bytes(inner) for inner in value)
    return isinstance(value, bytes | bytearray | memoryview)
