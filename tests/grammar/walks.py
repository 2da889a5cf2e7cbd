"""Random walks over the tokens of a real vocabulary, each verdict of `Cursor` compared with those of the oracles.

What is compared: at each step, for each candidate token, whether it may come next. We allow a token with bytes where
`Cursor.step` takes its piece, a token that ends a reply where `Cursor.is_final`, a control token never.

Where an oracle may differ, with reasons (`_excused`); each of them is counted, none is walked over:

* llama.cpp, control tokens: it reads their names as text, `<|im_start|>` as twelve characters. For us they are no text.
* llama.cpp, NUL: it ends strings with it, so that no token that begins with it is ever allowed, and what comes after it
  in a token is not looked at.
* llama.cpp, what is no UTF-8: continuation bytes inside a token, overlong forms, surrogates, code points beyond
  U+10FFFF and lead bytes F5 to FF are not checked. We and llguidance refuse them.
* llama.cpp, half a character: under `[^é]` it refuses each half character that could become é, although it could also
  become another one. We and llguidance allow it.
* llguidance: none.

A grammar that repeats something empty without end, such as `("a" | "")*`, llama.cpp may refuse as left recursion: it
rewrites x* to a rule that begins with x. That is counted too, and llguidance alone is asked.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from tests.grammar.oracles import LlamaCpp, LLGuidance, OracleFailed, OracleSilent
from textcall.engines.cursor import Cursor, code_points_from, split_utf8
from textcall.engines.vocabulary import Vocabulary
from textcall.grammar import Grammar
from textcall.grammar.emptiness import can_be_empty, is_empty
from textcall.grammar.gbnf_text import Alt, Chars, Node, Repeat, Seq, read_gbnf

T = TypeVar("T")


class Oracle(Protocol):
    """What `LlamaCpp` and `LLGuidance` have in common."""

    def loads(self, gbnf: str) -> bool: ...

    def allowed(self, tokens: list[int] | None = None) -> set[int]: ...

    def take(self, token: int) -> None: ...


@dataclass
class Tally:
    """What was compared. verdicts: by oracle; excused: by reason; walks, steps: how many."""

    verdicts: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    walks: int = 0
    steps: int = 0

    def add(self, other: Tally) -> None:
        self.verdicts.update(other.verdicts)
        self.excused.update(other.excused)
        self.walks += other.walks
        self.steps += other.steps


@dataclass(eq=False)
class Difference(Exception):
    """A verdict that no reason excuses."""

    oracle: str
    gbnf: str
    before: bytes
    token: int
    piece: bytes
    ours: bool

    def __str__(self) -> str:
        verdicts = ("allow", "refuses") if self.ours else ("refuse", "allows")
        return (
            f"we {verdicts[0]} and {self.oracle} {verdicts[1]} token {self.token} {self.piece!r} "
            f"after {self.before!r} in\n{self.gbnf}"
        )


class Words:
    """A vocabulary and the oracles on it; and the tokens that are worth asking for."""

    def __init__(self, vocabulary: Vocabulary, oracles: Mapping[str, Oracle]) -> None:
        self.vocabulary = vocabulary
        self.oracles = oracles

    @cached_property
    def _structured(self) -> list[int]:
        """Tokens of several characters with JSON's punctuation or a new line among them."""
        return [
            token
            for token, piece in enumerate(self.vocabulary.pieces)
            if len(piece) > 1 and any(byte in b'{}[]":,\\\n' for byte in piece)
        ]

    @cached_property
    def _halves(self) -> list[int]:
        """Tokens that are no whole characters."""
        return [token for token, piece in enumerate(self.vocabulary.pieces) if piece and not _is_text(piece)]

    @cached_property
    def _beyond_ascii(self) -> list[int]:
        pieces = enumerate(self.vocabulary.pieces)
        return [token for token, piece in pieces if not piece.isascii() and _is_text(piece)]

    @cached_property
    def _control(self) -> list[int]:
        pieces = enumerate(self.vocabulary.pieces)
        return [token for token, piece in pieces if not piece and not self.vocabulary.is_end(token)]

    def candidates(self, cursor: Cursor, chance: random.Random) -> list[int]:
        """A few hundred tokens: any, those that may begin right, structure, other alphabets, halves, ends, control."""
        likely = [int(token) for token in self.vocabulary.beginning(cursor.first_bytes())]
        found = set(self.vocabulary.ends)
        for tokens, count in [
            (range(self.vocabulary.size), 100),
            (likely, 100),
            (self._structured, 50),
            (self._beyond_ascii, 20),
            (self._halves, 30),
            (self._control, 3),
        ]:
            found.update(chance.sample(tokens, min(count, len(tokens))))
        return sorted(found)

    def walk(self, gbnf: str, chance: random.Random, *, steps: int, masks: int = 0) -> Tally:
        """Compare along one walk. masks: at how many of its steps the whole vocabulary is asked for.

        Raises Difference, and OracleFailed.
        """
        tally = Tally(walks=1)
        asked = self._opened(gbnf, tally)
        cursor, before = Cursor.at_start(Grammar(gbnf)), b""
        whole = set(chance.sample(range(steps), masks))
        for step in range(steps):
            tokens = list(range(self.vocabulary.size)) if step in whole else self.candidates(cursor, chance)
            agreed = self._compared(cursor, tokens, asked, before, tally)
            taken = _chosen(sorted(agreed), self.vocabulary, chance)
            if taken is None:
                break
            _each(asked, tally, lambda oracle, token=taken: oracle.take(token))
            following = cursor.step(self.vocabulary.piece(taken))
            assert following is not None
            cursor, before = following, before + self.vocabulary.piece(taken)
            tally.steps += 1
        return tally

    def _opened(self, gbnf: str, tally: Tally) -> dict[str, Oracle]:
        """The oracles that take the grammar. Raises OracleFailed where one refuses it without a reason."""
        opened = {}
        for name, oracle in self.oracles.items():
            if oracle.loads(gbnf):
                opened[name] = oracle
            elif name == "llama.cpp" and repeats_nothing(read_gbnf(gbnf)):
                tally.excused["llama.cpp: a grammar with an endless repetition of nothing"] += 1
            else:
                raise OracleFailed(f"{name} refuses the grammar:\n{gbnf}")
        return opened

    def _compared(
        self, cursor: Cursor, tokens: list[int], asked: dict[str, Oracle], before: bytes, tally: Tally
    ) -> set[int]:
        """The tokens that all allow. Raises Difference."""
        ours = {token for token in tokens if self._allows(cursor, token)}
        agreed = ours
        asking = None if len(tokens) == self.vocabulary.size else tokens
        for name, theirs in _each(asked, tally, lambda oracle: oracle.allowed(asking)).items():
            tally.verdicts[name] += len(tokens)
            for token in ours ^ theirs:
                piece = self.vocabulary.piece(token)
                reason = _excused(name, cursor, piece, token in ours)
                if reason is None:
                    raise Difference(name, cursor.grammar.gbnf, before, token, piece, token in ours)
                tally.excused[f"{name}: {reason}"] += 1
            agreed = agreed & theirs
        return agreed

    def _allows(self, cursor: Cursor, token: int) -> bool:
        if self.vocabulary.is_end(token):
            return cursor.is_final
        return cursor.step(self.vocabulary.piece(token)) is not None


def _each(asked: dict[str, Oracle], tally: Tally, ask: Callable[[Oracle], T]) -> dict[str, T]:
    """The answers of all. Who gives up is asked no more in this walk, and counted."""
    answers = {}
    for name, oracle in list(asked.items()):
        try:
            answers[name] = ask(oracle)
        except OracleSilent:
            del asked[name]
            tally.excused[f"{name}: gave up within a walk"] += 1
    return answers


def _excused(oracle: str, cursor: Cursor, piece: bytes, ours: bool) -> str | None:
    """Why the oracle's verdict on a token may be another one than ours, or None."""
    if oracle != "llama.cpp":
        return None
    if b"\0" in piece:
        return "NUL"
    if not ours:
        if not piece:
            return "control token"
        return "no UTF-8" if split_utf8(cursor.pending + piece) is None else None
    following = cursor.step(piece)
    return "half a character" if following and following.pending and _may_go_wrong(following) else None


def repeats_nothing(rules: Mapping[str, Node]) -> bool:
    """Whether something that may be empty is repeated without an upper end."""
    empty = can_be_empty(rules)
    waiting = list(rules.values())
    while waiting:
        node = waiting.pop()
        if isinstance(node, Repeat):
            if node.most is None and is_empty(node.part, empty):
                return True
            waiting.append(node.part)
        elif isinstance(node, Seq | Alt):
            waiting.extend(node.parts if isinstance(node, Seq) else node.options)
    return False


def _may_go_wrong(cursor: Cursor) -> bool:
    """Whether some class takes some, but not all characters that the pending bytes can become."""
    low, high = code_points_from(cursor.pending)
    nodes = [stack.node for stack in cursor.state.stacks]
    classes = [node.ranges for node in nodes if isinstance(node, Chars)]
    return any(
        any(a <= high and low <= b for a, b in ranges) and not any(a <= low and high <= b for a, b in ranges)
        for ranges in classes
    )


def _chosen(agreed: list[int], vocabulary: Vocabulary, chance: random.Random) -> int | None:
    """A token to go on by: as often as not one of several bytes, now and then half a character."""
    going = [token for token in agreed if vocabulary.piece(token) and not vocabulary.is_end(token)]
    if not going:
        return None
    wanted = chance.random()
    pool = going
    if wanted < 0.5:
        pool = [token for token in going if len(vocabulary.piece(token)) > 1] or going
    elif wanted < 0.65:
        pool = [token for token in going if not vocabulary.piece(token).isascii()] or going
    return chance.choice(pool)


def _is_text(piece: bytes) -> bool:
    split = split_utf8(piece)
    return split is not None and not split[1]


def all_of(tallies: Iterable[Tally]) -> Tally:
    """The sum."""
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total


def oracles(llama: LlamaCpp, guidance: LLGuidance) -> dict[str, Oracle]:
    """Both, by the names that the reasons use."""
    return {"llama.cpp": llama, "llguidance": guidance}
