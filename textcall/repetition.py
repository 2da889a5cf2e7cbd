"""Text that repeats itself without end: small models get caught in it, and would fill the whole context."""

from __future__ import annotations

from collections.abc import Sequence

TIMES = 10  # a unit repeated so often is no style any more …
LONG = 1000  # … once it fills so many characters;
SHORT = 256  # for one character again and again, and for white space, so many
WINDOW = 4000  # characters at the end that are looked at


def endless(text: str) -> int | None:
    """Where to cut a text that ends in an endless repetition: behind the first unit of it. None where there is none.

    >>> endless("Yes. " + "No. " * 300)
    9
    """
    tail = text[-WINDOW:]
    blank = len(tail) - len(tail.rstrip())
    if blank >= SHORT:
        return len(text) - blank
    repeated = max((found for found in _repeats(tail[::-1]) if found), default=None)
    return len(text) - repeated[0] + repeated[1] if repeated else None


def _repeats(reversed_tail: str) -> Sequence[tuple[int, int] | None]:
    """For each length of the tail, (length, unit) where so much of it is one unit again and again.

    By the failure function of Knuth, Morris and Pratt: a text whose longest border has b characters has the period
    length - b.
    """
    border = [0] * len(reversed_tail)
    found: list[tuple[int, int] | None] = [None] * len(reversed_tail)
    for end in range(1, len(reversed_tail)):
        matched = border[end - 1]
        while matched and reversed_tail[matched] != reversed_tail[end]:
            matched = border[matched - 1]
        border[end] = matched + (reversed_tail[matched] == reversed_tail[end])
        length, unit = end + 1, end + 1 - border[end]
        if length >= (SHORT if unit == 1 else LONG) and length >= TIMES * unit:
            found[end] = (length - length % unit, unit)
    return found
