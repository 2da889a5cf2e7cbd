"""Our automaton against llama.cpp and llguidance, token by token. A long run: `python -m tests.grammar.differential`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.grammar.corpus import Named, package_grammars, random_grammar, reply_grammars, schema_grammar
from tests.grammar.oracles import LlamaCpp, LLGuidance
from tests.grammar.walks import Words, all_of, oracles
from textcall.engines.context import Context
from textcall.errors import ModelError
from textcall.resolve import resolve_model

FIXED = [*package_grammars(), *reply_grammars()]


@pytest.fixture(scope="module")
def words(oracle: Any, vocabulary: Any) -> Words:
    return Words(vocabulary, oracles(oracle, LLGuidance(vocabulary)))


def _walked(words: Words, grammars: list[Named], *, walks: int, steps: int, masks: int) -> None:
    tallies = []
    for name, gbnf in grammars:
        for number in range(walks):
            tallies.append(words.walk(gbnf, random.Random(f"{name} {number}"), steps=steps, masks=masks if number == 0 else 0))
    total = all_of(tallies)
    assert total.verdicts["llguidance"] > 100 * total.steps


@pytest.mark.parametrize("named", FIXED, ids=[name for name, _ in FIXED])
def test_our_own_grammars(words: Words, named: Named) -> None:
    _walked(words, [named], walks=3, steps=20, masks=1)


@pytest.mark.parametrize("seed", range(8))
def test_grammars_of_schemas(words: Words, seed: int) -> None:
    _walked(words, [schema_grammar(f"{seed} {i}") for i in range(4)], walks=2, steps=15, masks=0)


@pytest.mark.parametrize("seed", range(12))
def test_made_up_grammars(words: Words, seed: int) -> None:
    _walked(words, [random_grammar(f"{seed} {i}") for i in range(4)], walks=2, steps=15, masks=0)
