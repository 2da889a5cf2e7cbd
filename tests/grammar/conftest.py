"""llama.cpp's own reader and runner of grammars, as the oracle."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator

import llama_cpp
import pytest

from textcall.engines.context import Context
from textcall.grammar import Grammar
from textcall.resolve import resolve_model


class Oracle:
    """What llama.cpp makes of a grammar, on the vocabulary of a real model."""

    def __init__(self, context: Context) -> None:
        self._words = context.vocab
        self._vocab = context.vocab._vocab

    def loads(self, gbnf: str) -> bool:
        sampler = self._sampler(gbnf)
        if sampler:
            llama_cpp.llama_sampler_free(sampler)
        return bool(sampler)

    def accepts(self, gbnf: str, text: str) -> bool:
        """Whether the whole text, token by token, and then the end, is allowed. An illegal accept aborts: ask first."""
        sampler = self._sampler(gbnf)
        assert sampler, f"llama.cpp refuses the grammar:\n{gbnf}"
        try:
            for token in self._words.tokenize(text):
                if not self._allowed(sampler, token):
                    return False
                llama_cpp.llama_sampler_accept(sampler, token)
            return self._allowed(sampler, self._words.eos)
        finally:
            llama_cpp.llama_sampler_free(sampler)

    def _sampler(self, gbnf: str) -> object:
        return llama_cpp.llama_sampler_init_grammar(self._vocab, gbnf.encode(), b"root")

    def _allowed(self, sampler: object, token: int) -> bool:
        candidate = (llama_cpp.llama_token_data * 1)(llama_cpp.llama_token_data(token, 0.0, 0.0))
        array = llama_cpp.llama_token_data_array(candidate, 1, -1, False)
        llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
        return candidate[0].logit > float("-inf")


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    context = Context(resolve_model("smollm2").path, vocab_only=True)
    yield Oracle(context)
    context.close()


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
