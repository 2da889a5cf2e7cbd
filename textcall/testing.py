"""An engine for tests, shipped for users' tests too: replies are queued, prompts are recorded. No model is needed.

engine = ScriptedEngine([render_call("add", {"a": 1, "b": 2}), "3"])
Agent(model=engine, tools=[add], convention=Convention(shape=Shape.PLAIN)).run("1 + 2?")
assert engine.prompts[1][-1].content.startswith("Result of add: 3")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textcall.engines.base import Decision, Generation, Listener, Prompting, Rendered, Sampling, Written, silent
from textcall.errors import ContextOverflow, EngineError
from textcall.grammar import Grammar
from textcall.messages import Message, Usage


class ScriptedEngine:
    """An `Engine` that says what it was told to.

    replies: texts, whole `Generation` values, or exceptions to raise, one a turn; EngineError when they run out.
    obey_grammar: a text that the grammar of its turn refuses is an AssertionError, so that a test cannot script what
    a real engine could not write. n_ctx: how many words prompt and reply may have together. prompts, grammars: what
    each turn was given.
    """

    name = "scripted"

    def __init__(
        self, replies: Iterable[str | Generation | Exception], *, obey_grammar: bool = False, n_ctx: int = 1_000_000
    ) -> None:
        self._replies = list(replies)
        self.n_ctx = n_ctx
        self._obey = obey_grammar
        self.prompts: list[tuple[Message, ...]] = []
        self.grammars: list[Grammar | None] = []
        self.samplings: list[Sampling] = []

    def generate(
        self,
        messages: Sequence[Message],
        *,
        grammar: Grammar | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008  a frozen value
        decision: Decision | None = None,
        listener: Listener = silent,
    ) -> Generation:
        """The next reply. Tokens are counted as words."""
        self.prompts.append(tuple(messages))
        self.grammars.append(grammar)
        self.samplings.append(sampling)
        if not self._replies:
            raise EngineError("the scripted engine has no reply left")
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        size = self.count_prompt(messages)
        if size >= self.n_ctx:
            raise ContextOverflow(f"the prompt has {size} words, the context holds {self.n_ctx}")
        listener(Rendered("\n".join(f"{m.role}: {m.content}" for m in messages), size))
        listener(Prompting(size, size, 0))
        if isinstance(reply, str):
            reply = Generation(reply, "stop", Usage(size, self.count_tokens(reply)))
        if self._obey and grammar is not None and reply.finish_reason == "stop":
            assert grammar.accepts(reply.text), f"the grammar of this turn refuses {reply.text!r}"
        listener(Written(reply.text))
        return reply

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """The number of words of all messages."""
        return sum(self.count_tokens(m.content or "") for m in messages)
