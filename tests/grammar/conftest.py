"""A real vocabulary, llama.cpp's own reader and runner of grammars on it, and random texts of a grammar."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from tests.grammar.oracles import LlamaCpp
from textcall.engines.context import Context
from textcall.engines.vocabulary import Vocabulary
from textcall.grammar import Grammar
from textcall.resolve import resolve_model


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
