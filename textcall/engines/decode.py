"""The token loop: one token at a time, checked against the grammar, with the text that the grammar forces jumped over.

* Check first: the likeliest token is tested alone; only where the grammar refuses it the next candidates are looked at,
  in order. That is the same choice as masking the whole vocabulary, at the price of one test instead of 150,000.
* Jump forward: text that the grammar leaves no choice about is evaluated as one batch, without sampling. Its last
  tokens stay open where one longer token could hold them and what follows, so that no token of the model is split.
* Evaluate late: tokens are evaluated when their scores are needed. So a chosen token goes into one batch with what the
  grammar forces after it, and the end of the prompt with what it forces first; what ends a reply is never evaluated.
* The beginning of the prompt that never changes is evaluated apart and kept, so that a later process can read it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from textcall.engines.base import Decision, Generation, Listener, Noticed, Prompting, Sampling, Written
from textcall.engines.choose import Chooser
from textcall.engines.context import Context, Logits
from textcall.engines.cursor import Cursor
from textcall.engines.snapshot import WORTH, Snapshots
from textcall.errors import ContextOverflow
from textcall.grammar import Grammar
from textcall.messages import Usage

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
_TAIL = 16  # tokens of the prompt that are evaluated together with what the grammar forces first
_MANY = 512  # a token that so many longer ones begin with is taken as open without looking at them


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reply is written under.

    thinking: whether the prompt ends inside a think block. A model may also open one itself, before anything else; the
    grammar begins after it. jump: whether forced text is jumped over (off only to measure what it brings). prefix: how
    many tokens at the beginning of the prompt are the same in every prompt, and kept in `snapshots`.
    """

    grammar: Grammar | None = None
    sampling: Sampling = field(default_factory=Sampling)
    decision: Decision | None = None
    thinking: bool = False
    jump: bool = True
    prefix: int = 0
    snapshots: Snapshots | None = None


def generate(context: Context, prompt: Sequence[int], plan: Plan, listener: Listener) -> Generation:
    """Evaluate `prompt` and write a reply. Raises ContextOverflow where the prompt leaves no room for one."""
    started = time.perf_counter()
    room = min(plan.sampling.max_tokens, context.n_ctx - len(prompt))
    if room <= 0:
        raise ContextOverflow(f"the prompt has {len(prompt)} tokens, the context holds {context.n_ctx}")
    cached = read_prompt(context, prompt, plan, listener)
    reply = _Reply(context, plan, listener, room, _Prompt(tuple(prompt), cached))
    reply.think()
    ended = reply.free() if plan.grammar is None else reply.constrained(Cursor.at_start(plan.grammar))
    reply.tell_rest()
    finished = time.perf_counter()
    finish_reason: Literal["stop", "length"] = "stop" if ended else "length"
    usage = Usage(
        prompt_tokens=len(prompt),
        completion_tokens=reply.tokens,
        reasoning_tokens=reply.reasoning,
        cached_tokens=cached,
        forced_tokens=reply.forced,
    )
    return Generation(
        text=reply.data.decode("utf-8", errors="replace"),
        finish_reason=finish_reason,
        usage=usage,
        prompt_seconds=(reply.prompted or finished) - started,
        seconds=finished - started,
        answer_probability=reply.answer_probability,
        thinking=plan.thinking,
    )


def read_prompt(context: Context, prompt: Sequence[int], plan: Plan, listener: Listener) -> int:
    """Evaluate `prompt`, but for its last few tokens (one at least): the reply begins with them.

    Returns how many did not need to be: the context or a snapshot had them.
    """
    cached = context.reuse(prompt)
    prefix = plan.prefix if WORTH <= plan.prefix < len(prompt) else 0
    snapshots = plan.snapshots if cached < prefix else None
    if snapshots is not None and snapshots.restore(context, prompt[:prefix], lambda text: listener(Noticed(text))):
        snapshots = None
    cached = len(context.tokens)  # a snapshot that could not be used has cleared the context
    listener(Prompting(cached, len(prompt), cached))
    # in two parts, whether the first is kept or not: the same pieces give the same scores to the last bit
    begun = max(cached, prefix)
    for part in (prompt[cached:prefix], prompt[begun : max(begun, len(prompt) - _TAIL)]):
        before = len(context.tokens)
        for done in context.decode(part):
            listener(Prompting(before + done, len(prompt), cached))
        if snapshots is not None:
            snapshots.save(context, lambda text: listener(Noticed(text)))
            snapshots = None
    return cached


@dataclass(frozen=True, slots=True)
class _Prompt:
    """The tokens of the prompt, and how many of them were known before."""

    tokens: tuple[int, ...]
    cached: int


class _Reply:
    """A reply while it is being written. data: its bytes; the counts are tokens; prompted: when the prompt was read.

    prompted is 0 until then, and stays 0 where the grammar forces all of the reply.
    """

    def __init__(self, context: Context, plan: Plan, listener: Listener, room: int, prompt: _Prompt) -> None:
        self._context = context
        self._vocab = context.vocab
        self._plan = plan
        self._listener = listener
        self._room = room
        self._chooser = Chooser(context.vocab, plan.sampling)
        self._stops: tuple[bytes, ...] = ()
        self._told = 0
        self._begin = 0  # where the reply proper begins, behind a think block
        self._prompt = prompt
        self._waiting = list(prompt.tokens[len(context.tokens) :])  # to be evaluated before there are scores
        self.prompted = 0.0
        self.data = bytearray()
        self.tokens = self.forced = self.reasoning = 0
        self.answer_probability: float | None = None

    def think(self) -> None:
        """Let a thinking model think, for half of the room at most, then close the block."""
        if not self._plan.thinking:
            opening = self._vocab.tokenize(THINK_OPEN, special=True)
            if len(opening) > 1 or self._chooser.first(self._logits()) != opening[0]:
                return
            self._take(*opening)
        closing = self._vocab.tokenize(f"\n{THINK_CLOSE}\n\n", special=True)
        while THINK_CLOSE.encode() not in self.data[-32:]:
            token = self._chooser.first(self._logits())
            if self._vocab.is_end(token) or self.tokens >= min(self._room // 2, self._room - len(closing)):
                self._take(*closing[: max(0, self._room - self.tokens)], forced=True)
                break
            self._take(token)
        self.reasoning = self.tokens
        self._begin = len(self.data)

    def free(self) -> bool:
        """Write until the model ends or a stop text comes. Returns False where the room is used up before."""
        self._stops = tuple(stop.encode() for stop in self._plan.sampling.stop)
        while self.tokens < self._room:
            token = self._chooser.first(self._logits())
            if self._vocab.is_end(token):
                return True
            self._take(token)
            if self._stopped():
                return True
        return False

    def _stopped(self) -> bool:
        """Whether a stop text was written; it and what follows it are taken back."""
        places = [place for stop in self._stops if (place := self.data.find(stop, self._begin)) >= 0]
        if places:
            del self.data[min(places) :]
        return bool(places)

    def constrained(self, cursor: Cursor) -> bool:
        """Write under the grammar. Returns False where the room is used up before the text is complete."""
        while cursor.can_continue:
            if self._plan.jump:
                tokens, cursor = self._jump(cursor)
                room = max(0, self._room - self.tokens)
                self._take(*tokens[:room], forced=True)
                if len(tokens) > room:
                    return False
                if not cursor.can_continue:
                    break
            if self.tokens >= self._room:
                return False
            token, following, overruled = self._choose(cursor)
            if following is None:
                return self._vocab.is_end(token)
            cursor = following
            self._take(token, overruled=overruled)
        return cursor.is_final

    def _jump(self, cursor: Cursor) -> tuple[list[int], Cursor]:
        """The tokens that the grammar forces from `cursor` on, and the cursor after them."""
        text = "" if cursor.pending else cursor.grammar.forced(cursor.state)
        tokens = self._vocab.tokenize(text)
        if b"".join(map(self._vocab.piece, tokens)) != text.encode():
            return [], cursor  # tokenizers that put a space in front of every text: leave it to the loop
        cursors = [cursor]
        for token in tokens:
            following = cursors[-1].step(self._vocab.piece(token))
            assert following is not None, text
            cursors.append(following)
        closed = self._closed(tokens, cursors)
        return tokens[:closed], cursors[closed]

    def _closed(self, tokens: Sequence[int], cursors: Sequence[Cursor]) -> int:
        """How many of the forced tokens stand, whatever follows.

        A token of the model may hold the end of the forced text and more: `":{"` where the text ends in `":` and `{`.
        cursors: before each token, and after the last.
        """
        rest, closed = b"", len(tokens)
        for at in range(len(tokens) - 1, -1, -1):
            rest = self._vocab.piece(tokens[at]) + rest
            if len(rest) >= self._vocab.longest:
                break
            if self._is_open(cursors[at], rest):
                closed = at
        return closed

    def _is_open(self, cursor: Cursor, piece: bytes) -> bool:
        """Whether the grammar takes a longer token that begins with `piece`."""
        longer = list(islice(self._vocab.longer(piece), _MANY))
        return len(longer) == _MANY or any(cursor.step(other) is not None for other, _token in longer)

    def _choose(self, cursor: Cursor) -> tuple[int, Cursor | None, str]:
        """A token that the grammar takes, the cursor after it (None: the reply ends), and what it was taken instead of.

        The latter is the likeliest token's text where the grammar refuses it, else "".
        """
        steps: dict[int, Cursor | None] = {}

        def allows(token: int) -> bool:
            if self._vocab.is_end(token):
                return cursor.is_final
            steps[token] = cursor.step(self._vocab.piece(token))
            return steps[token] is not None

        logits, first_bytes = self._logits(), cursor.first_bytes()
        test: Callable[[int], bool] = allows
        decision = self._plan.decision
        if decision is not None and self.data[self._begin :] == decision.prefix.encode():
            test = self._decide(decision, cursor, [t for t in self._chooser.candidates(first_bytes) if allows(t)])
        token = self._chooser.allowed(logits, test, first_bytes)
        if token is None:
            raise RuntimeError(f"no token fits the grammar after {bytes(self.data)!r}")  # a fault of textcall
        likeliest = int(logits.argmax())
        overruled = "" if token == likeliest or allows(likeliest) else self._vocab.written(likeliest)
        return token, steps.get(token), overruled

    def _decide(self, decision: Decision, cursor: Cursor, allowed: list[int]) -> Callable[[int], bool]:
        """Leave only the tokens that answer, or only those that call, whichever the threshold says."""
        answer = decision.answer.encode()
        answering = {t for t in allowed if _answers(cursor, self._vocab.piece(t), answer)}
        self.answer_probability = self._chooser.probability(self._logits(), answering, allowed)
        if decision.threshold is None:
            return set(allowed).__contains__
        wanted = self.answer_probability >= decision.threshold
        return (answering if wanted else set(allowed) - answering or answering).__contains__

    def _logits(self) -> Logits:
        """The scores of the next token."""
        before = len(self._context.tokens)
        for done in self._context.decode(self._waiting):
            if not self.prompted:
                read = min(before + done, len(self._prompt.tokens))
                self._listener(Prompting(read, len(self._prompt.tokens), self._prompt.cached))
        self._waiting.clear()
        self.prompted = self.prompted or time.perf_counter()
        return self._context.logits()

    def _take(self, *tokens: int, forced: bool = False, overruled: str = "") -> None:
        """Add tokens to the reply and tell the listener."""
        for token in tokens:
            self.data += self._vocab.piece(token) or self._vocab.written(token).encode()
        self.tokens += len(tokens)
        self.forced += len(tokens) if forced else 0
        self._waiting += tokens
        self._tell(forced, overruled)

    def _tell(self, forced: bool, overruled: str = "") -> None:
        """Tell what is new, but for what may be the beginning of a stop text."""
        end = len(self.data) - _begun(self.data[self._begin :], self._stops)
        text = self.data[:end].decode("utf-8", errors="ignore")
        if len(text) > self._told:
            self._listener(Written(text[self._told :], forced, overruled))
            self._told = len(text)

    def tell_rest(self) -> None:
        """Tell what was held back, now that nothing follows."""
        self._stops = ()
        self._tell(forced=False)


def _begun(data: bytes | bytearray, stops: Sequence[bytes]) -> int:
    """How many bytes at the end of `data` may be the beginning of a stop text, or are behind one."""
    whole = [len(data) - place for stop in stops if (place := data.find(stop)) >= 0]
    ends = [n for stop in stops for n in range(1, min(len(stop), len(data)) + 1) if data.endswith(stop[:n])]
    return max(*whole, *ends, 0, 0)


def _answers(cursor: Cursor, piece: bytes, answer: bytes) -> bool:
    """Whether `piece` settles for `answer`: it holds the whole of it, or the grammar then forces the rest."""
    if piece.startswith(answer):
        return True
    after = cursor.step(piece) if piece and answer.startswith(piece) else None
    if after is None or after.pending:
        return False
    return after.grammar.forced(after.state).encode().startswith(answer[len(piece) :])
