"""Two other programs that run grammars, on the vocabulary of a real model: what they allow, `Cursor` must allow too.

`LlamaCpp` is the reader and the sampler of llama.cpp, whose notation GBNF is. `LLGuidance` has another algorithm
(Earley over bytes) and reads another notation, so that it is exact where llama.cpp is approximate; the grammar comes to
it from our own reader, which `LlamaCpp` checks.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from textcall.engines.vocabulary import Vocabulary
from textcall.grammar.gbnf_text import Alt, Chars, Node, Ref, Repeat, Seq, read_gbnf

_ROOT = Path(__file__).parents[2]
_PATIENCE = 20.0  # seconds for one answer


# llguidance counts the work of a step and gives up; terminals of one character are more work than it reckons with.
_LIMITS = LLParserLimits(step_max_items=200_000, max_items_in_row=100_000, initial_lexer_fuel=50_000_000)


class OracleFailed(AssertionError):
    """The other program ended or gave up instead of answering; the message names the grammar."""


class OracleSilent(OracleFailed):
    """The other program did not answer within its limits: its work grows with the ways to read a text."""


class LlamaCpp:
    """llama.cpp in a process of its own; see `llama_process`. A process that ends is replaced at the next grammar."""

    def __init__(self, model: Path, vocabulary: Vocabulary) -> None:
        self._model = model
        self._words = vocabulary
        self._process: subprocess.Popen[str] | None = None
        self._gbnf = ""

    def loads(self, gbnf: str) -> bool:
        """Whether llama.cpp takes the grammar. It is the one that `allowed` and `take` speak of from here on."""
        self._gbnf = gbnf
        return bool(self._asked("open", gbnf))

    def allowed(self, tokens: Sequence[int] | None = None) -> set[int]:
        """Those of `tokens` (None: of all) that may come next."""
        return set(self._asked("ask", tokens))

    def take(self, token: int) -> None:
        """Go on by a token. One that may not come ends the process: ask first."""
        self._asked("take", token)

    def accepts(self, gbnf: str, text: str) -> bool:
        """Whether the whole text, token by token, and then the end, is allowed."""
        assert self.loads(gbnf), f"llama.cpp refuses the grammar:\n{gbnf}"
        for token in self._words.tokenize(text):
            if not self.allowed([token]):
                return False
            self.take(token)
        return bool(self.allowed([self._words.eos]))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _asked(self, action: str, argument: object) -> Any:
        process = self._process or self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({action: argument}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._failed("ended") from None
        return self._answer(process)

    def _answer(self, process: subprocess.Popen[str]) -> Any:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], _PATIENCE)[0]:
            raise OracleSilent(str(self._failed("did not answer")))
        line = process.stdout.readline()
        if not line:
            raise self._failed("ended")
        return json.loads(line)

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.grammar.llama_process", str(self._model.resolve())]
        # its complaints about grammars go straight to standard error, and nobody reads them here
        self._process = process = subprocess.Popen(
            command, cwd=_ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._answer(process)
        return process

    def _failed(self, what: str) -> OracleFailed:
        process = self._process
        self.close()
        code = process.returncode if process else None
        return OracleFailed(f"llama.cpp {what} (exit status {code}) on the grammar:\n{self._gbnf}")


class LLGuidance:
    """llguidance, in this process: it reports what it cannot do and never ends it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._size = vocabulary.size
        self._tokenizer = LLTokenizer(
            TokenizerWrapper(_Tokens(vocabulary)), n_vocab=self._size, eos_token=sorted(vocabulary.ends), slices=[]
        )
        self._matcher: Any = None
        self._gbnf = ""

    def loads(self, gbnf: str) -> bool:
        """Whether llguidance takes the grammar. It is the one that `allowed` and `take` speak of from here on."""
        self._gbnf = gbnf
        self._matcher = LLMatcher(self._tokenizer, lark(gbnf), log_level=0, limits=_LIMITS)
        return not self._matcher.is_error()

    def allowed(self, tokens: Sequence[int] | None = None) -> set[int]:
        """Those of `tokens` (None: of all) that may come next."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check()
        found = np.flatnonzero(np.unpackbits(bits, bitorder="little")[: self._size])
        everything = {int(token) for token in found}
        return everything if tokens is None else everything.intersection(tokens)

    def take(self, token: int) -> None:
        """Go on by a token."""
        self._matcher.consume_token(token)
        self._check()

    @property
    def error(self) -> str:
        """Why it did not load."""
        return str(self._matcher.get_error())

    def _check(self) -> None:
        if self._matcher.is_error():
            kind = OracleSilent if "Too many items" in self.error else OracleFailed
            raise kind(f"llguidance gave up ({self.error}) on the grammar:\n{self._gbnf}")


class _Tokens:
    """A vocabulary as llguidance wants it. Control tokens have names there, which no text is taken for."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.eos_token_id = vocabulary.eos
        self.bos_token_id = vocabulary.bos
        pieces = vocabulary.pieces
        self.special_token_ids = [token for token, piece in enumerate(pieces) if not piece]
        self.tokens = [piece or vocabulary.written(token).encode() for token, piece in enumerate(pieces)]

    def __call__(self, text: bytes) -> list[int]:
        return self._vocabulary.tokenize(text.decode(errors="replace"))


def lark(gbnf: str) -> str:
    """The grammar in llguidance's notation, each of its terminals one character.

    llguidance's own converter makes terminals of whole rules, and its lexer takes the longest terminal: `"a" | "abc"`
    before `"bd"` then refuses "abd". Between terminals of one character nothing is to be chosen. `no_forcing`: without
    it a forced text may be written in one way only.
    """
    rules = read_gbnf(gbnf)
    names = {name: f"r{i}" for i, name in enumerate(rules)}
    lines = [f"{names[name]}: {_lark(node, names)}" for name, node in rules.items()]
    return "\n".join(['%llguidance {"no_forcing": true}', f"start: {names['root']}", *lines, ""])


def _lark(node: Node, names: dict[str, str]) -> str:
    if isinstance(node, Ref):
        return names[node.name]
    if isinstance(node, Chars):
        return f"/[{''.join(_bounds(node.ranges))}]/"
    if isinstance(node, Seq):
        return " ".join(_lark(part, names) for part in node.parts) or '""'
    if isinstance(node, Alt):
        return f"({' | '.join(_lark(option, names) for option in node.options)})"
    assert isinstance(node, Repeat)
    if node.most == 0:  # llguidance has no such count
        return '""'
    most = "" if node.most is None else node.most
    return f"({_lark(node.part, names)}){{{node.least},{most}}}"


def _bounds(ranges: Iterable[tuple[int, int]]) -> Iterable[str]:
    return (f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
