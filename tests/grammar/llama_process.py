"""llama.cpp's reader and runner of grammars, in a process of its own: requests and answers are lines of JSON.

    python -m tests.grammar.llama_process MODEL

There a bad grammar, or a token that may not come, can end the process; here that ends nobody else's. One grammar is
open at a time. Requests: {"open": GBNF} -> whether llama.cpp takes it; {"ask": [TOKEN, …]} -> those that may come next
(null: of the whole vocabulary); {"take": TOKEN} -> true. The first line, unasked, says that the vocabulary is loaded.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

from textcall.engines.context import Context

_DATA = np.dtype(llama_cpp.llama_token_data)


class _Sampler:
    def __init__(self, context: Context) -> None:
        self._vocab = context.vocab
        self._sampler: Any = None

    def open(self, gbnf: str) -> bool:
        if self._sampler:
            llama_cpp.llama_sampler_free(self._sampler)
        self._sampler = llama_cpp.llama_sampler_init_grammar(self._vocab.pointer, gbnf.encode(), b"root")
        return bool(self._sampler)

    def ask(self, tokens: list[int] | None) -> list[int]:
        asked = np.arange(self._vocab.size) if tokens is None else np.array(tokens, dtype=np.int64)
        data = np.zeros(len(asked), dtype=_DATA)
        data["id"] = asked
        pointer = data.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
        array = llama_cpp.llama_token_data_array(pointer, len(asked), -1, False)
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return [int(token) for token in data["id"][data["logit"] > -np.inf]]

    def take(self, token: int) -> bool:
        llama_cpp.llama_sampler_accept(self._sampler, token)
        return True


def _serve(model: Path) -> None:
    context = Context(model, vocab_only=True)
    sampler = _Sampler(context)
    actions = {"open": sampler.open, "ask": sampler.ask, "take": sampler.take}
    _say(True)
    for line in sys.stdin:
        ((action, argument),) = json.loads(line).items()
        _say(actions[action](argument))
    context.close()


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
