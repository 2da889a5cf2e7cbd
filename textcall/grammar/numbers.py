"""Numbers between bounds, as GBNF over their digits.

A bound becomes one alternative a digit, so the text grows with the digits of the bound and not with the range. Numbers
are written plainly; an exponent is taken where a serializer needs one (below 0.001, from 1e16 on) and the range allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from textcall.grammar.terms import either, literal

_MOST_DIGITS = 40  # a bound with more is left to validation
_MOST_LISTED = 64
_FRACTION = '("." [0-9]+)?'
_NO_FRACTION = '("." "0"+)?'
_MORE_THAN_ZERO = "[0-9]* [1-9] [0-9]*"
# Exponents as serializers write them: 1e-05, 1e-7; 1e+16, 1e16.
_TINY = f'[1-9] {_FRACTION} [eE] "-" ("0"? [4-9] | [1-9] [0-9]+)'
_HUGE = f'[1-9] {_FRACTION} [eE] "+"? ("1" [6-9] | [2-9] [0-9] | [1-9] [0-9] [0-9]+)'
_TINY_END, _HUGE_START = Decimal("0.001"), Decimal("1e16")
_EXPONENTS_ALWAYS = Decimal("1e15")


@dataclass(frozen=True, slots=True)
class Bounds:
    """From `low` to `high`, None for no bound; an open bound is not itself allowed."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False

    def mirrored(self) -> Bounds:
        """The same range with the other sign."""
        low = None if self.high is None else self.high.copy_negate()
        return Bounds(low, None if self.low is None else self.low.copy_negate(), self.high_open, self.low_open)

    def whole(self) -> tuple[int | None, int | None]:
        """The smallest and the largest integer within."""
        low = None if self.low is None else math.floor(self.low) + 1 if self.low_open else math.ceil(self.low)
        high = None if self.high is None else math.ceil(self.high) - 1 if self.high_open else math.floor(self.high)
        return low, high

    @property
    def is_empty(self) -> bool:
        """Whether no number lies between the bounds."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


def whole_numbers(low: int | None, high: int | None, multiple: int | None = None) -> tuple[str, bool]:
    """The integers from `low` to `high` (None: no bound) that are multiples of `multiple`, and whether only these.

    The text is "" where there are none.
    """
    if low is not None and high is not None:
        if low > high:
            return "", True
        step = multiple or 1
        first, last = -(-low // step), high // step  # not len(range(…)): it may be beyond what len can say
        if last - first < (_MOST_LISTED if step > 1 else 8):
            listed = [literal(str(n * step)) for n in range(first, last + 1)]
            return (either(listed) if listed else ""), True
    low, low_exact = _drawn_in(low)
    high, high_exact = _drawn_in(high)
    if multiple is not None and multiple > 1:
        digits = _multiples(multiple)
        if digits and low in (None, 0, 1) and high is None:
            signed = digits if low is not None else f'"-"? ({digits})'
            return f"({signed})", low != 1 and low_exact and high_exact
        return whole_numbers(low, high)[0], False
    options = [_naturals(max(low or 0, 0), high)] if high is None or high >= 0 else []
    if low is None or low < 0:
        options.append(f'"-" {_naturals(max(-high if high is not None else 0, 0), None if low is None else -low)}')
    text = either(option for option in options)
    return "integer" if low is None and high is None else text, low_exact and high_exact


def whole_multiple(multiples: Iterable[Decimal]) -> int:
    """An integer is a multiple of all of these where it is one of this: of p/q in lowest terms, it is one of p."""
    return math.lcm(*(Fraction(multiple).numerator for multiple in multiples))


def numbers(bounds: Bounds, multiple: Decimal | None = None) -> tuple[str, bool]:
    """The numbers between bounds, in plain notation or with an exponent, and whether only these. "": there are none.

    multiple: a power of ten limits the decimals, a whole number the fraction to zeros; others are left to validation.
    """
    if bounds.is_empty:
        return "", True
    exact = True
    if any(bound is not None and _is_long(bound) for bound in (bounds.low, bounds.high)):
        kept = [None if bound is None or _is_long(bound) else bound for bound in (bounds.low, bounds.high)]
        bounds, exact = Bounds(kept[0], kept[1], bounds.low_open, bounds.high_open), False
    if multiple is not None:
        fraction = _decimals(multiple)
        if fraction is None or (bounds.low, bounds.high) != (None, None):
            return numbers(bounds)[0], False
        body = f'"-"? ("0" | [1-9] [0-9]*) {fraction}'
        return (
            f"({body} | integer {_FRACTION} [eE] [-+]? [0-9]+)",
            False,
        )  # an exponent is one way to write a multiple too
    if bounds.low is None and bounds.high is None:
        return "number", exact
    options: list[str] = []
    for sign, half in (("", bounds), ('"-" ', bounds.mirrored())):
        found, only = _not_negative(half)
        options += [f"{sign}{option}" for option in found]
        exact = exact and only
    return (either(options) if options else ""), exact


def _not_negative(bounds: Bounds) -> tuple[list[str], bool]:
    """The numbers from zero on that are within bounds."""
    if bounds.high is not None and bounds.high < 0:
        return [], True
    low, low_open = (bounds.low, bounds.low_open) if bounds.low is not None and bounds.low >= 0 else (Decimal(0), False)
    within = Bounds(low, bounds.high, low_open, bounds.high_open)
    if within.is_empty:
        return [], True
    options, exact = _plain(within)
    high = bounds.high
    if low < _TINY_END and high != 0:
        options.append(_TINY)
        exact = exact and low == 0 and (high is None or high >= _TINY_END)
    if high is None or high > _EXPONENTS_ALWAYS:
        options.append(_HUGE)
        exact = exact and high is None and (low < _HUGE_START or (low == _HUGE_START and not low_open))
    return options, exact


def _plain(bounds: Bounds) -> tuple[list[str], bool]:
    """Without exponent, from a bound of zero or more."""
    low = bounds.low or Decimal(0)
    first, low_digits = _split(low)
    lower = _at_least(low_digits, is_open=bounds.low_open)
    if bounds.high is None:
        return [f"{literal(str(first))} {lower}", f"{_naturals(first + 1, None)} {_FRACTION}"], True
    last, high_digits = _split(bounds.high)
    if first == last:
        between, exact = _between(low_digits, high_digits, bounds)
        return ([f"{literal(str(first))} {between}".rstrip()] if between is not None else []), exact
    options = [f"{literal(str(first))} {lower}"]
    if last - first > 1:
        options.append(f"{_naturals(first + 1, last - 1)} {_FRACTION}")
    upper = _at_most(high_digits, is_open=bounds.high_open)
    if upper is not None:
        options.append(f"{literal(str(last))} {upper}".rstrip())
    return options, True


def _split(number: Decimal) -> tuple[int, str]:
    """The whole part, and the decimals without zeros at the end."""
    whole, _, decimals = f"{number:f}".partition(".")
    return int(whole), decimals.rstrip("0")


def _at_least(decimals: str, *, is_open: bool) -> str:
    """The fraction, with its point, of a number that is at least (is_open: more than) 0.decimals."""
    if not decimals:
        return f'"." {_MORE_THAN_ZERO}' if is_open else _FRACTION
    return f'"." {_digits_from(decimals, is_open)}'


def _digits_from(decimals: str, is_open: bool) -> str:
    text = _MORE_THAN_ZERO if is_open else "[0-9]*"
    for digit in reversed(decimals):
        more = f"{_digit_range(int(digit) + 1, 9)} [0-9]* | " if digit != "9" else ""
        text = f'({more}"{digit}" {text})'
    return text


def _at_most(decimals: str, *, is_open: bool) -> str | None:
    """The fraction, with its point, of a number at most (is_open: less than) 0.decimals; None where there is none."""
    if not decimals:
        return None if is_open else _NO_FRACTION
    return f'("." {_digits_to(decimals, is_open)})?'


def _digits_to(decimals: str, is_open: bool) -> str:
    text = ""
    for place, digit in enumerate(reversed(decimals)):
        less = f"{_digit_range(0, int(digit) - 1)} [0-9]*" if digit != "0" else ""
        same = f'"{digit}" {text}?' if place else "" if is_open else f'"{digit}" "0"*'
        text = f"({' | '.join(filter(None, (less, same)))})"
    return text


def _between(low: str, high: str, bounds: Bounds) -> tuple[str | None, bool]:
    """The fraction of a number between 0.low and 0.high; low < high, or both are the same and allowed."""
    if low == high:
        return (_NO_FRACTION if not low else f'"." "{low}" "0"*'), True
    shared = 0
    while shared < min(len(low), len(high)) and low[shared] == high[shared]:
        shared += 1
    prefix, low, high = high[:shared], low[shared:], high[shared:]
    if not low:  # 0.prefix itself is the lower bound: what is between it and zero more is let through
        text = _at_most(high, is_open=bounds.high_open) or ""
        inside = text.removeprefix('("." ').removesuffix(")?")
        if not prefix:
            return (text, True) if not bounds.low_open else (f'"." {inside}', False)
        return f'"." "{prefix}" {inside}?', not bounds.low_open
    here, there = int(low[0]), int(high[0])
    options = [f'"{low[0]}" {_digits_from(low[1:], bounds.low_open)}']
    if there - here > 1:
        options.append(f"{_digit_range(here + 1, there - 1)} [0-9]*")
    rest = high[1:]
    if rest:
        options.append(f'"{high[0]}" {_digits_to(rest, bounds.high_open)}?')
    elif not bounds.high_open:
        options.append(f'"{high[0]}" "0"*')
    start = f'"{prefix}" ' if prefix else ""
    return f'"." {start}{either(options)}', True


def _naturals(low: int, high: int | None) -> str:
    """Whole numbers from `low` (zero or more) to `high`, as one element."""
    if high is None:
        if low <= 1:
            return '("0" | [1-9] [0-9]*)' if low == 0 else "([1-9] [0-9]*)"
        size = len(str(low))
        return f"({_same_length(str(low), '9' * size)} | [1-9] [0-9]{{{size},}})"
    options = []
    first, last = len(str(low)), len(str(high))
    for size in range(first, last + 1):
        start = str(low) if size == first else "1" + "0" * (size - 1)
        options.append(_same_length(start, str(high) if size == last else "9" * size))
    return f"({' | '.join(options)})"


def _same_length(low: str, high: str) -> str:
    """Digits between two texts of the same length."""
    if not low:
        return '""'
    if low == "0" * len(low) and high == "9" * len(high):
        return _any_digits(len(low))
    if low[0] == high[0]:
        shared = 1
        while shared < len(low) and low[shared] == high[shared]:
            shared += 1
        rest = _same_length(low[shared:], high[shared:])
        return f'"{low[:shared]}"' if rest == '""' else f'"{low[:shared]}" {rest}'
    first, last = int(low[0]), int(high[0])
    size = len(low) - 1
    options = []
    if low[1:] != "0" * size:
        options.append(f'"{low[0]}" {_same_length(low[1:], "9" * size)}')
        first += 1
    tail = high[1:] != "9" * size
    if first <= last - tail:
        options.append(f"{_digit_range(first, last - tail)} {_any_digits(size)}".rstrip())
    if tail:
        options.append(f'"{high[0]}" {_same_length("0" * size, high[1:])}')
    return either(options)


def _any_digits(count: int) -> str:
    return "" if count == 0 else "[0-9]" if count == 1 else f"[0-9]{{{count}}}"


def _digit_range(low: int, high: int) -> str:
    return f'"{low}"' if low == high else f"[{low}-{high}]"


def _multiples(of: int) -> str | None:
    """The natural numbers that a power of ten shows to be multiples, by their last digits; None for other steps."""
    for size in (1, 2, 3):
        if 10**size % of == 0:
            ends = [f"{n:0{size}d}" for n in range(0, 10**size, of)]
            if len(ends) > _MOST_LISTED:
                return None
            short = [str(n) for n in range(0, 10 ** (size - 1), of)]
            full = [end for end in ends if end[0] != "0"]
            options = [literal(n) for n in [*short, *full]] + [f"[1-9] [0-9]* {either(map(literal, ends))}"]
            return " | ".join(dict.fromkeys(options))
    return None


def _decimals(multiple: Decimal) -> str | None:
    """The fraction of a multiple of a power of ten up to 1, or of a whole number."""
    if multiple == multiple.to_integral_value() and multiple >= 1:
        return _NO_FRACTION
    sign, digits, exponent = multiple.normalize().as_tuple()
    if sign or digits != (1,) or not isinstance(exponent, int) or exponent < -_MOST_DIGITS:
        return None
    return f'("." [0-9]{{1,{-exponent}}} "0"*)?'


def _drawn_in(bound: int | None) -> tuple[int | None, bool]:
    return (None, False) if bound is not None and len(str(abs(bound))) > _MOST_DIGITS else (bound, True)


def _is_long(bound: Decimal) -> bool:
    return len(f"{bound:f}") > _MOST_DIGITS
