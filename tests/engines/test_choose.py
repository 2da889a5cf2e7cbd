"""The chooser against the plain way: mask the whole vocabulary, then softmax."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from textcall.engines.base import Sampling
from textcall.engines.choose import Chooser
from textcall.engines.vocabulary import Ids

SIZE = 400
ENDS = frozenset({399})


def vocabulary() -> Any:
    """400 tokens; token t begins with byte t % 100."""

    def beginning(first_bytes: frozenset[int]) -> Ids:
        return np.array([t for t in range(SIZE) if t % 100 in first_bytes and t not in ENDS], dtype=np.int32)

    return SimpleNamespace(ends=ENDS, beginning=beginning)


LOGITS = np.random.default_rng(1).normal(scale=3, size=SIZE).astype(np.float32)
ALL = frozenset(range(100))


@pytest.mark.parametrize("seed", range(20))
def test_at_temperature_0_the_likeliest_allowed_token(seed: int) -> None:
    allowed = set(np.random.default_rng(seed).integers(0, SIZE, size=1 + seed * 7).tolist())
    chooser = Chooser(vocabulary(), Sampling())
    bytes_ = frozenset(t % 100 for t in allowed)
    token = chooser.allowed(LOGITS, allowed.__contains__, bytes_)
    assert token == max(allowed, key=lambda t: LOGITS[t])
    assert chooser.first(LOGITS) == int(LOGITS.argmax())


def test_the_first_candidate_alone_is_tested_where_it_fits() -> None:
    tested: list[int] = []

    def allows(token: int) -> bool:
        tested.append(token)
        return True

    Chooser(vocabulary(), Sampling()).allowed(LOGITS, allows, ALL)
    assert tested == [int(LOGITS.argmax())]


def frequencies(sampling: Sampling, allowed: set[int], draws: int = 4000) -> Counter[int | None]:
    chooser = Chooser(vocabulary(), sampling)
    return Counter(chooser.allowed(LOGITS, allowed.__contains__, ALL) for _ in range(draws))


def test_with_temperature_the_masked_softmax() -> None:
    likely = np.argsort(LOGITS)[-60:]
    allowed = {int(t) for t in likely[::3]}
    counts = frequencies(Sampling(temperature=1.5, min_p=0, seed=7), allowed)
    weights = {t: float(np.exp(LOGITS[t] / 1.5)) for t in allowed}
    total = sum(weights.values())
    assert set(counts) <= allowed
    for token, weight in weights.items():
        assert counts[token] / 4000 == pytest.approx(weight / total, abs=0.03)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0, min_p=0.2, seed=3),
        Sampling(temperature=1.0, min_p=0, top_k=3, seed=3),
        Sampling(temperature=1.0, min_p=0, top_p=0.4, seed=3),
    ],
)
def test_cut_offs_keep_likely_tokens_only(sampling: Sampling) -> None:
    order = np.argsort(LOGITS)[::-1].tolist()
    drawn = set(frequencies(sampling, set(range(SIZE)), 800))
    assert order[0] in drawn
    assert drawn <= set(order[:12])


def test_where_the_cut_offs_leave_nothing_allowed_the_likely_allowed_ones_are_drawn() -> None:
    order = np.argsort(LOGITS)[::-1].tolist()
    allowed = set(order[200:])
    drawn = set(frequencies(Sampling(temperature=1.0, min_p=0.5, seed=3), allowed, 400))
    assert drawn <= {t for t in allowed if LOGITS[t] >= LOGITS[order[200]] + np.log(0.5)}
    assert len(drawn) > 1


def test_one_seed_one_result() -> None:
    runs = [frequencies(Sampling(temperature=1.2, seed=11), set(range(50)), 50) for _ in range(2)]
    assert runs[0] == runs[1]


def test_nothing_allowed() -> None:
    assert Chooser(vocabulary(), Sampling()).allowed(LOGITS, lambda _t: False, ALL) is None
    assert Chooser(vocabulary(), Sampling(temperature=1)).allowed(LOGITS, lambda _t: False, frozenset()) is None


def test_probability_among_the_allowed() -> None:
    chooser = Chooser(vocabulary(), Sampling())
    among = [1, 2, 3]
    weights = np.exp(LOGITS[among].astype(float))
    assert chooser.probability(LOGITS, [2], among) == pytest.approx(float(weights[1] / weights.sum()))
