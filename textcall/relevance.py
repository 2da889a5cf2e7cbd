"""Which tools a question is about, by its words: for sets that do not fit into the context, only where asked for."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from textcall.tools import Tool, Toolset

# Name words weigh most: they say what a tool is for in the fewest words.
_NAME, _DESCRIPTION, _PARAMETERS = 3.0, 1.0, 0.5
_WORD = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-z]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")


def most_relevant(tools: Sequence[Tool], question: str, limit: int) -> Toolset:
    """The `limit` tools that share most with the question, in their own order; the first ones where nothing decides.

    A word counts the more, the fewer tools have it.
    """
    weights = [_weights(tool) for tool in tools]
    spread = Counter(word for words in weights for word in words)
    asked = set(words_of(question))

    def score(index: int) -> float:
        words = weights[index]
        return sum(words[word] * math.log(1 + len(weights) / spread[word]) for word in asked & words.keys())

    best = sorted(range(len(weights)), key=lambda index: (-score(index), index))[:limit]
    return Toolset(tools[index] for index in sorted(best))


def words_of(text: str) -> list[str]:
    """The words of a text, as they are compared: lower case, camelCase apart, no plural s; CJK in pairs of letters."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFKC", text))
    found: list[str] = []
    for word in _WORD.findall(apart.casefold()):
        if _WIDE.fullmatch(word):
            found += [a + b for a, b in pairwise(word)] or [word]
        elif len(word) > 1 or word.isdigit():
            found.append(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return found


def _weights(tool: Tool) -> dict[str, float]:
    parts = ((tool.name, _NAME), (tool.description, _DESCRIPTION), (_parameter_text(tool.parameters), _PARAMETERS))
    weights: dict[str, float] = {}
    for text, weight in parts:
        for word in words_of(text):
            weights[word] = max(weight, weights.get(word, 0.0))
    return weights


def _parameter_text(schema: object) -> str:
    """Names, descriptions and allowed values of the parameters."""
    if not isinstance(schema, Mapping):
        return ""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    said = []
    for name, inner in properties.items():
        said.append(str(name))
        if isinstance(inner, Mapping):
            said += [str(inner.get("description") or ""), " ".join(map(str, inner.get("enum") or ()))]
            said.append(_parameter_text(inner))
    return " ".join(said)
