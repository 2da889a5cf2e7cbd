"""GBNF text as an automaton over code points.

A state is a set of stacks, as in llama.cpp: what is still to be matched, innermost first. Stacks share their tails and
are interned, so that sets of them compare by identity; stacks with the same element on top are one, or an ambiguous
grammar would have twice as many after each character; states are interned too and remember every step, so that text
like the text before costs one look-up a character. Repetitions are counted on the stack and never expanded:
`{0,100000}` is one element.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Final, TypeAlias

from textcall.grammar.emptiness import left_recursion, leftmost_order, without_empty_rounds
from textcall.grammar.gbnf_text import Alt, Chars, Node, Ranges, Ref, Repeat, Seq, error_at, merged, read_gbnf

_MANY_STATES = 50_000
_UNKNOWN: Final = object()


class _Stack:
    """An element to match and what may come after it: `rests`. count: how often a Repeat was matched already.

    Several rests: ways to read the text so far that come to the same element. alone: this stack as the only rest.
    """

    __slots__ = ("alone", "count", "node", "rests")

    def __init__(self, node: Node, count: int, rests: _Rests) -> None:
        self.node = node
        self.count = count
        self.rests = rests
        self.alone: _Rests = (self,)


_Rests: TypeAlias = "tuple[_Stack | None, ...]"
_END: _Rests = (None,)


class State:
    """A place in a grammar; opaque to others. The same place is the same object while the grammar remembers it."""

    __slots__ = ("bounds", "final", "ranges", "stacks", "targets")

    def __init__(self, stacks: tuple[_Stack, ...], final: bool) -> None:
        self.stacks = stacks
        self.final = final
        found = [pair for stack in stacks for pair in _chars(stack).ranges]
        self.ranges: Ranges = merged(found)
        # between two neighbouring bounds all characters lead to the same state
        self.bounds = sorted({low for low, _ in found} | {high + 1 for _, high in found})
        self.targets: list[object] = [_UNKNOWN] * (len(self.bounds) + 1)


class Grammar:
    """A GBNF grammar, ready to run. Raises GrammarError, with line and column, where the text is no GBNF.

    later: rules that are written only when a text comes to them: by name, a function that gives a grammar whose `root`
    stands for the rule. Its other rules join those that are there; the same name must mean the same everywhere. In
    `gbnf` such a rule only holds its place: it matches something, no matter what. whole: the text of all of it.
    """

    def __init__(
        self,
        gbnf: str,
        *,
        later: Mapping[str, Callable[[], str]] | None = None,
        whole: Callable[[], str] | None = None,
    ) -> None:
        self._whole = whole or (lambda: gbnf)
        self._later = later or {}
        rules = _runnable(gbnf)
        self._order = leftmost_order(rules)
        self._rules = {name: node for name, node in rules.items() if name not in self._later}
        self._stacks: dict[tuple[int, int, int], _Stack] = {}
        self._rests: dict[frozenset[int], _Rests] = {}
        self._states: dict[tuple[frozenset[int], bool], State] = {}
        self._start = self._begin()

    @property
    def gbnf(self) -> str:
        """The whole grammar as text."""
        return self._whole()

    def start(self) -> State:
        """The state before the first character."""
        return self._start

    def advance(self, state: State, text: str) -> State | None:
        """The state after `text`, or None where the grammar refuses it."""
        here: State | None = state
        for char in text:
            point = ord(char)
            assert here is not None
            index = bisect_right(here.bounds, point)
            target = here.targets[index]
            if target is _UNKNOWN:
                target = self._step(here, point)
                here.targets[index] = target
            if target is None:
                return None
            here = target  # type: ignore[assignment]
        return here

    def accepts(self, text: str) -> bool:
        """Whether the whole of `text` matches."""
        state = self.advance(self._start, text)
        return state is not None and state.final

    def is_final(self, state: State) -> bool:
        """Whether the text may end here."""
        return state.final

    def can_continue(self, state: State) -> bool:
        """Whether the text may go on here."""
        return bool(state.ranges)

    def first_ranges(self, state: State) -> Ranges:
        """The code points that may come next: sorted, inclusive ranges that do not touch."""
        return state.ranges

    def allows_char(self, state: State, char: str) -> bool:
        """Whether `char` may come next."""
        return self.advance(state, char) is not None

    def forced(self, state: State, limit: int = 4096) -> str:
        """The text that must follow: up to where another character, or the end, is possible. At most `limit` long."""
        chars: list[str] = []
        here = state
        while (
            len(chars) < limit and not here.final and len(here.ranges) == 1 and here.ranges[0][0] == here.ranges[0][1]
        ):
            char = chr(here.ranges[0][0])
            following = self.advance(here, char)
            if following is None:
                break
            chars.append(char)
            here = following
        return "".join(chars)

    def _begin(self) -> State:
        return self._state([self._push(self._rules["root"], 0, _END)])

    def _step(self, state: State, point: int) -> State | None:
        matching = (s for s in state.stacks if any(low <= point <= high for low, high in _chars(s).ranges))
        taken = [rest for stack in matching for rest in stack.rests]
        if not taken:
            return None
        if len(self._states) > _MANY_STATES:  # a memory, not a record: what is still in use finds its way back
            self._states.clear()
        return self._state(taken)

    def _state(self, stacks: Iterable[_Stack | None]) -> State:
        """All stacks that these lead to with a character on top, and whether one of them is done.

        Elements come in the order in which they begin with each other, so that the ways to one are merged before it
        is unfolded. A way that comes late is unfolded by itself.
        """
        tops: dict[int, list[_Stack]] = {}
        waiting: dict[tuple[int, int], list[_Stack]] = {}
        order: list[tuple[int, int]] = []
        seen: set[int | None] = set()
        while True:
            for stack in stacks:
                if stack is None or id(stack) in seen:
                    seen.add(None if stack is None else id(stack))
                    continue
                seen.add(id(stack))
                if isinstance(stack.node, Chars):
                    tops.setdefault(id(stack.node), []).append(stack)
                    continue
                place = (self._order[id(stack.node)], stack.count)
                if place not in waiting:
                    waiting[place] = []
                    heappush(order, place)
                waiting[place].append(stack)
            if not order:
                return self._interned(tuple(map(self._merged, tops.values())), None in seen)
            stacks = self._unfold(self._merged(waiting.pop(heappop(order))))

    def _interned(self, stacks: tuple[_Stack, ...], final: bool) -> State:
        key = (frozenset(map(id, stacks)), final)
        if key not in self._states:
            self._states[key] = State(stacks, final)
        return self._states[key]

    def _merged(self, stacks: list[_Stack]) -> _Stack:
        """One stack for those with the same element on top."""
        first = stacks[0]
        if len(stacks) == 1:
            return first
        found = {id(rest): rest for stack in stacks for rest in stack.rests}
        rests = self._rests.setdefault(frozenset(found), tuple(found.values()))
        return self._push(first.node, first.count, rests)

    def _unfold(self, stack: _Stack) -> Iterator[_Stack | None]:
        node, rests = stack.node, stack.rests
        if isinstance(node, Ref):
            yield self._push(self._rule(node.name), 0, rests)
        elif isinstance(node, Alt):
            for option in node.options:
                yield self._push(option, 0, rests)
        elif isinstance(node, Seq):
            for part in reversed(node.parts):
                rests = self._push(part, 0, rests).alone
            yield from rests
        elif isinstance(node, Repeat):
            yield from self._unfold_repeat(node, stack.count, rests)

    def _rule(self, name: str) -> Node:
        if name not in self._rules:
            rules = _runnable(self._later[name]())
            order = leftmost_order(rules)
            self._order |= {place: number + len(order) for place, number in order.items()}  # behind all that lead to it
            self._rules[name] = rules.pop("root")
            self._rules = {**rules, **self._rules}
        return self._rules[name]

    def _unfold_repeat(self, node: Repeat, count: int, rests: _Rests) -> Iterator[_Stack | None]:
        if count >= node.least:
            yield from rests
        if node.most is None or count < node.most:
            # without an upper end the count stands still at `least`, so that there are finitely many states
            following = min(count + 1, node.least) if node.most is None else count + 1
            yield self._push(node.part, 0, self._push(node, following, rests).alone)

    def _push(self, node: Node, count: int, rests: _Rests) -> _Stack:
        key = (id(node), count, id(rests))
        stack = self._stacks.get(key)
        if stack is None:
            stack = self._stacks[key] = _Stack(node, count, rests)
        return stack


def _chars(stack: _Stack) -> Chars:
    assert isinstance(stack.node, Chars)
    return stack.node


def _runnable(gbnf: str) -> dict[str, Node]:
    try:
        rules = read_gbnf(gbnf)
        ref = left_recursion(rules)
        if ref is not None:
            raise error_at(gbnf, ref.at, f"rule {ref.name!r} begins with itself (left recursion)")
        return without_empty_rounds(rules)
    except RecursionError as error:  # the reader has a limit; a caller may be deep in recursion itself
        raise error_at(gbnf, 0, "the grammar nests its groups too deeply") from error
