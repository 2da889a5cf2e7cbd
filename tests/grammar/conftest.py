"""A real vocabulary, llama.cpp's own reader and runner of grammars on it, and random texts of a grammar."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.grammar.oracles import LlamaCpp
from textcall.engines.context import Context
from textcall.engines.vocabulary import Vocabulary
from textcall.grammar import Grammar
from textcall.grammar.gbnf import State
from textcall.messages import compact_json
from textcall.resolve import resolve_model

_FEW = 10


@pytest.fixture(scope="session")
def vocabulary() -> Iterator[Vocabulary]:
    context = Context(resolve_model("smollm2").path, vocab_only=True)
    yield context.vocab
    context.close()


@pytest.fixture(scope="session")
def oracle(vocabulary: Vocabulary) -> Iterator[LlamaCpp]:
    found = LlamaCpp(resolve_model("smollm2").path, vocabulary)
    yield found
    found.close()


@pytest.fixture(scope="session")
def walked() -> Callable[[Grammar, random.Random], str | None]:
    return _walked


def _walked(grammar: Grammar, chance: random.Random) -> str | None:
    """A short text of the grammar by random steps, or None where it did not come to an end in time.

    Closing characters are preferred, so that it does; of wide ranges only the near end is used.
    """
    text, state = "", grammar.start()
    for _ in range(200):
        if grammar.is_final(state) and (not grammar.can_continue(state) or chance.random() < 0.3):
            return text
        closing = [char for char in '"}]' if grammar.allows_char(state, char)]
        low, high = chance.choice(grammar.first_ranges(state))
        near = chr(chance.randint(low, min(high, low + 0x200)))
        char = chance.choice(closing) if closing and chance.random() < 0.4 else near
        following = grammar.advance(state, char)
        assert following is not None, f"first_ranges allows what advance refuses: {text + char!r}"
        text, state = text + char, following
    return text if grammar.is_final(state) else None


@pytest.fixture(scope="session")
def in_some_order() -> Callable[[Grammar, Any], bool]:
    return takes_in_some_order


def takes_in_some_order(grammar: Grammar, value: Any) -> bool:
    """Whether the grammar takes the compact text of the value, with the properties of its objects in some order."""
    return any(map(grammar.is_final, _after(grammar, {grammar.start()}, value)))


def _after(grammar: Grammar, states: set[State], value: Any) -> set[State]:
    if isinstance(value, dict):
        return _stepped(grammar, _after_members(grammar, _stepped(grammar, states, "{"), value), "}")
    if isinstance(value, list):
        states = _stepped(grammar, states, "[")
        for index, item in enumerate(value):
            states = _after(grammar, _stepped(grammar, states, "," if index else ""), item)
        return _stepped(grammar, states, "]")
    return _stepped(grammar, states, compact_json(value))


def _after_members(grammar: Grammar, states: set[State], members: dict[str, Any]) -> set[State]:
    found = _after_members_at_once(grammar, states, members)
    return found if found or len(members) > _FEW else _after_members_tried(grammar, states, members)


def _after_members_at_once(grammar: Grammar, states: set[State], members: dict[str, Any]) -> set[State]:
    """A member is next where none of those that might have been is lost by it."""
    waiting, comma = dict(members), ""
    while waiting:
        possible = {name for name in waiting if _stepped(grammar, states, comma + _key(name))}
        for name in [name for name in waiting if name in possible]:
            after = _after(grammar, _stepped(grammar, states, comma + _key(name)), waiting[name])
            if after and all(_stepped(grammar, after, "," + _key(other)) for other in possible - {name}):
                break
        else:
            return set()
        del waiting[name]
        states, comma = after, ","
    return states


def _after_members_tried(grammar: Grammar, states: set[State], members: dict[str, Any]) -> set[State]:
    """By the set of members written so far, so that all orders cost 2**n steps and not n!."""
    reached: dict[frozenset[str], set[State]] = {frozenset(): states}
    for _ in members:
        following: dict[frozenset[str], set[State]] = {}
        for written, here in reached.items():
            for name in members.keys() - written:
                key = ("," if written else "") + _key(name)
                after = _after(grammar, _stepped(grammar, here, key), members[name])
                if after:
                    following.setdefault(written | {name}, set()).update(after)
        reached = following
    return reached.get(frozenset(members), set())


def _key(name: str) -> str:
    return compact_json(name) + ":"


def _stepped(grammar: Grammar, states: set[State], text: str) -> set[State]:
    found = (grammar.advance(state, text) for state in states)
    return {state for state in found if state is not None}
