"""Which token comes next: sampling that a grammar can look further down in.

Sampling is the Gumbel-max trick: adding Gumbel noise to logits / temperature and taking the largest draws from the
softmax, and walking down the noisy scores draws again without replacement. So 'the first candidate that the grammar
takes' is a draw from the softmax over the allowed tokens, without touching the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from textcall.engines.base import Sampling
from textcall.engines.vocabulary import Ids, Vocabulary

Scores = npt.NDArray[np.float32]

_FEW = 48  # so many candidates are looked at before all are sorted


class Chooser:
    """Draws tokens. One for a reply: it holds the random generator."""

    def __init__(self, vocab: Vocabulary, sampling: Sampling) -> None:
        self._vocab = vocab
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def first(self, logits: Scores) -> int:
        """A token without any grammar."""
        return next(self._ordered(logits, np.arange(len(logits), dtype=np.int32)))

    def allowed(self, logits: Scores, allows: Callable[[int], bool], first_bytes: frozenset[int]) -> int | None:
        """A token that `allows`, or None where there is none.

        first_bytes: bytes that an allowed token must begin with; ends of reply are always tried.
        """
        if self._sampling.temperature == 0:
            likeliest = int(logits.argmax())
            if allows(likeliest):
                return likeliest
        candidates = self._candidates(first_bytes)
        kept = self._ordered(logits, candidates, whole=logits)
        token = next((t for t in kept if allows(t)), None)
        if token is None:  # all that min_p, top_k and top_p had kept are refused: cut again, among the allowed ones
            those = np.fromiter((t for t in candidates if allows(int(t))), dtype=np.int32)
            token = next(self._ordered(logits, those), None)
        return token

    def probability(self, logits: Scores, these: Iterable[int], among: Iterable[int]) -> float:
        """How likely one of `these` is, among `among`, at temperature 1."""
        among_list = list(among)
        weights = _softmax(logits[among_list])
        chosen = set(these)
        return float(sum(w for t, w in zip(among_list, weights, strict=True) if t in chosen))

    def candidates(self, first_bytes: frozenset[int]) -> Iterator[int]:
        """The tokens that may be allowed: those with the first bytes, and the ends of reply."""
        return map(int, self._candidates(first_bytes))

    def _candidates(self, first_bytes: frozenset[int]) -> Ids:
        ends = np.fromiter(self._vocab.ends, dtype=np.int32)
        return np.concatenate([self._vocab.beginning(first_bytes), ends])

    def _ordered(self, logits: Scores, ids: Ids, *, whole: Scores | None = None) -> Iterator[int]:
        """`ids` in the order in which they are drawn. whole: all logits, where the cut-offs refer to all tokens."""
        if self._sampling.temperature == 0:
            return _descending(logits[ids], ids)
        scaled = logits[ids] / self._sampling.temperature
        reference = scaled if whole is None else whole / self._sampling.temperature
        kept = scaled >= self._cutoff(reference)
        ids, scaled = ids[kept], scaled[kept]
        return _descending(scaled + self._random.gumbel(size=len(ids)).astype(np.float32), ids)

    def _cutoff(self, scaled: Scores) -> float:
        """The score below which min_p, top_k and top_p drop a token."""
        sampling, cutoff = self._sampling, -np.inf
        if len(scaled) == 0:
            return cutoff
        if sampling.min_p > 0:
            cutoff = max(cutoff, float(scaled.max()) + float(np.log(sampling.min_p)))
        if 0 < sampling.top_k < len(scaled):
            cutoff = max(cutoff, float(np.partition(scaled, -sampling.top_k)[-sampling.top_k]))
        if sampling.top_p < 1:
            descending = np.sort(scaled)[::-1]
            inside = np.cumsum(_softmax(descending)) < sampling.top_p
            cutoff = max(cutoff, float(descending[min(int(inside.sum()), len(descending) - 1)]))
        return cutoff


def _softmax(scores: Scores) -> npt.NDArray[np.float64]:
    weights = np.exp(scores.astype(np.float64) - float(scores.max()))
    result: npt.NDArray[np.float64] = weights / weights.sum()
    return result


def _descending(scores: Scores, ids: Ids) -> Iterator[int]:
    """`ids` by falling score; sorts the first few alone, all only if they do not suffice."""
    if len(ids) > _FEW:
        top = np.argpartition(scores, -_FEW)[-_FEW:]
        top = top[np.argsort(scores[top], kind="stable")[::-1]]
        yield from map(int, ids[top])
        rest = np.ones(len(ids), dtype=bool)
        rest[top] = False
        ids, scores = ids[rest], scores[rest]
    yield from map(int, ids[np.argsort(scores, kind="stable")[::-1]])
