"""Our automaton against llama.cpp and llguidance, token by token; see walks.py for what is compared.

Much longer, with new grammars: `python -m tests.grammar.differential`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.grammar.corpus import Named, package_grammars, random_grammar, reply_grammars, schema_grammar
from tests.grammar.oracles import LlamaCpp, LLGuidance, OracleFailed
from tests.grammar.walks import Difference, Words, all_of, oracles
from textcall.engines.context import Context
from textcall.engines.vocabulary import Vocabulary
from textcall.errors import ModelError
from textcall.resolve import resolve_model

FIXED = [*package_grammars(), *reply_grammars()]


@pytest.fixture(scope="module")
def words(oracle: LlamaCpp, vocabulary: Vocabulary) -> Words:
    return Words(vocabulary, oracles(oracle, LLGuidance(vocabulary)))


@pytest.fixture(scope="module")
def many_words() -> Iterator[Words]:
    """A vocabulary of 152,000 tokens, many of them Chinese or of several lines."""
    try:
        path = resolve_model("qwen2.5-coder-1.5b").path
    except ModelError as error:
        pytest.skip(f"the 1.5B is not here: {error}")
    context = Context(path, vocab_only=True)
    llama = LlamaCpp(path, context.vocab)
    yield Words(context.vocab, oracles(llama, LLGuidance(context.vocab)))
    llama.close()
    context.close()


def _compare(words: Words, grammars: list[Named], *, walks: int, masks: int) -> None:
    total = all_of(
        words.walk(gbnf, random.Random(f"{name} {number}"), steps=12, masks=0 if number else masks)
        for name, gbnf in grammars
        for number in range(walks)
    )
    assert sum(total.verdicts.values()) > 200 * total.steps


@pytest.mark.parametrize("number", range(len(FIXED)), ids=[name for name, _ in FIXED])
def test_our_own_grammars(words: Words, number: int) -> None:
    _compare(words, [FIXED[number]], walks=2, masks=int(number % 4 == 0))


@pytest.mark.parametrize("seed", range(6))
def test_grammars_of_schemas(words: Words, seed: int) -> None:
    _compare(words, [schema_grammar(f"{seed} {i}") for i in range(3)], walks=1, masks=0)


@pytest.mark.parametrize("seed", range(10))
def test_made_up_grammars(words: Words, seed: int) -> None:
    _compare(words, [random_grammar(f"{seed} {i}") for i in range(3)], walks=1, masks=0)


@pytest.mark.quality
@pytest.mark.parametrize("number", range(0, len(FIXED), 12))
def test_a_large_vocabulary(many_words: Words, number: int) -> None:
    _compare(many_words, [FIXED[number], random_grammar(f"large {number}")], walks=1, masks=0)


# --- the comparison itself -------------------------------------------------------------------------------------------


class _Wrong:
    """An oracle that refuses one token which llama.cpp allows."""

    def __init__(self, oracle: Any, token: int) -> None:
        self._oracle = oracle
        self._token = token

    def loads(self, gbnf: str) -> bool:
        return bool(self._oracle.loads(gbnf))

    def allowed(self, tokens: list[int] | None = None) -> set[int]:
        return set(self._oracle.allowed(tokens)) - {self._token}

    def take(self, token: int) -> None:
        self._oracle.take(token)


def test_a_difference_names_the_token_and_the_grammar(words: Words) -> None:
    (token,) = words.vocabulary.tokenize("[")
    wrong = Words(words.vocabulary, {"llama.cpp": _Wrong(words.oracles["llama.cpp"], token)})
    with pytest.raises(Difference) as caught:
        wrong.walk('root ::= "[" "]"', random.Random(0), steps=1, masks=1)
    assert str(caught.value) == f"we allow and llama.cpp refuses token {token} b'[' after b'' in\nroot ::= \"[\" \"]\""


def test_an_end_of_the_other_process_is_a_failure_and_not_ours(vocabulary: Vocabulary) -> None:
    llama = LlamaCpp(resolve_model("smollm2").path, vocabulary)
    assert llama.loads('root ::= "a"')
    with pytest.raises(OracleFailed, match=r"llama.cpp ended \(exit status -\d+\) on the grammar:\nroot ::= \"a\""):
        llama.take(vocabulary.tokenize("b")[0])
    assert llama.accepts('root ::= "b"', "b"), "the next grammar has a new process"
    llama.close()
