"""Where in a grammar a reply stands, byte by byte: grammars speak code points, tokens are bytes."""

from __future__ import annotations

from dataclasses import dataclass

from textcall.grammar import Grammar
from textcall.grammar.gbnf import State

# By the length of a sequence: the smallest code point that may be written with it.
_SMALLEST = {2: 0x80, 3: 0x800, 4: 0x10000}


@dataclass(frozen=True, slots=True)
class Cursor:
    """A state of `grammar`, and the bytes of a character that is not complete yet."""

    grammar: Grammar
    state: State
    pending: bytes = b""

    @classmethod
    def at_start(cls, grammar: Grammar) -> Cursor:
        """Before the first character."""
        return cls(grammar, grammar.start())

    @property
    def is_final(self) -> bool:
        """Whether the text may end here."""
        return not self.pending and self.grammar.is_final(self.state)

    @property
    def can_continue(self) -> bool:
        """Whether the text may go on here."""
        return bool(self.pending) or self.grammar.can_continue(self.state)

    def step(self, piece: bytes) -> Cursor | None:
        """The cursor after `piece`, or None where the grammar or UTF-8 refuses it. A piece of no bytes is refused."""
        if not piece:
            return None
        split = split_utf8(self.pending + piece)
        if split is None:
            return None
        text, pending = split
        state = self.grammar.advance(self.state, text) if text else self.state
        if state is None:
            return None
        if pending and not self._may_begin(state, pending):
            return None
        return Cursor(self.grammar, state, pending)

    def first_bytes(self) -> frozenset[int]:
        """The bytes that the next token may begin with (more than that, never less)."""
        if self.pending:
            return frozenset(range(0x80, 0xC0))
        return first_bytes_of(self.grammar.first_ranges(self.state))

    def _may_begin(self, state: State, pending: bytes) -> bool:
        low, high = code_points_from(pending)
        return any(lo <= high and low <= hi for lo, hi in self.grammar.first_ranges(state))


def split_utf8(data: bytes) -> tuple[str, bytes] | None:
    """The complete characters of `data` and the bytes of a last, incomplete one; None where it is not UTF-8."""
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return data[: error.start].decode(), data[error.start :]


def code_points_from(pending: bytes) -> tuple[int, int]:
    """The smallest and the largest code point whose UTF-8 begins with `pending` (one to three bytes)."""
    lead = pending[0]
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    value = lead & (0x7F >> length)
    for byte in pending[1:]:
        value = value << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    low, high = value << missing, (value << missing) | (1 << missing) - 1
    return max(low, _SMALLEST[length]), min(high, 0x10FFFF)


def first_bytes_of(ranges: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """The first bytes of the UTF-8 of all code points in `ranges`."""
    found: set[int] = set()
    for low, high in ranges:
        found.update(range(_lead(low), _lead(high) + 1))
    return frozenset(found)


def _lead(code_point: int) -> int:
    if code_point < 0x80:
        return code_point
    if code_point < 0x800:
        return 0xC0 | code_point >> 6
    if code_point < 0x10000:
        return 0xE0 | code_point >> 12
    return 0xF0 | code_point >> 18
