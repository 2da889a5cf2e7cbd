"""One turn: messages and tools in, one `Completion` out. Shared by the loop and the server; it runs no tool.

prompt ─► grammar ─► generate ─► parse and validate ─► Completion
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from textcall.block import NAME_OPENING, Convention, Shape
from textcall.engines.base import (
    Decision,
    Engine,
    EngineEvent,
    Generation,
    Listener,
    Prompting,
    Sampling,
    Written,
    silent,
)
from textcall.grammar.calls import ReplyGrammar, reply_grammar
from textcall.messages import Completion, Message, Problem, ToolCall, Usage
from textcall.parsing import Parsed, parse
from textcall.prompting.render import FEEDBACK, conversation, system_prompt
from textcall.repetition import endless
from textcall.tools import ToolChoice, Toolset

REPETITION = "repetition"  # the kind of problem
_LOOK = 64  # characters between two looks at whether a reply repeats itself


class Cut(Exception):
    """For listeners to raise: the reply ends here, and what was written so far is read as a cut reply."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What stays the same over the turns of a run.

    system: the user's own system text. constrained: whether the grammar holds the reply (off to compare). parallel:
    whether the grammar lets one reply hold several calls; small models then call before they have seen a result.
    """

    tools: Toolset = field(default_factory=lambda: Toolset.of([]))
    convention: Convention = field(default_factory=Convention)
    sampling: Sampling = field(default_factory=Sampling)
    system: str | None = None
    constrained: bool = True
    parallel: bool = False


def prompt(messages: Sequence[Message], setup: Setup) -> list[Message]:
    """The messages of text that the engine is given: the system prompt with the tools, then the conversation.

    System messages in front belong to the system prompt; later ones stay where they are, as text of a user message.
    """
    leading = list(takewhile(lambda message: message.role == "system", messages))
    system = "\n\n".join(text for text in (setup.system, *(m.content for m in leading)) if text) or None
    written = system_prompt(setup.tools, setup.convention, system)
    rest = conversation(messages[len(leading) :], setup.tools, setup.convention)
    return [Message.system(written), *rest] if written else rest


def grammar_of(setup: Setup, choice: ToolChoice) -> ReplyGrammar | None:
    """The grammar of a reply, or None where there are no tools or it is switched off."""
    if not setup.tools or not setup.constrained:
        return None
    return reply_grammar(
        setup.tools, mode=choice.mode, name=choice.name, convention=setup.convention, parallel=setup.parallel
    )


def decision_of(messages: Sequence[Message], setup: Setup, choice: ToolChoice) -> Decision | None:
    """Where the reply turns out to be an answer or a call: the tool's name, before there is any result."""
    convention = setup.convention.beside(setup.tools.names)
    if choice.mode != "auto" or not convention.reserved or _has_result(messages):
        return None
    name = convention.reply_name if convention.shape is Shape.REPLY else convention.none_name
    return Decision(NAME_OPENING, f'{name}"', convention.answer_threshold)


def take_turn(
    engine: Engine, messages: Sequence[Message], setup: Setup, choice: ToolChoice, *, listener: Listener = silent
) -> Completion:
    """Let `engine` write one reply to `messages` and read it.

    A reply that repeats itself without end is cut there, and so is one whose listener raises `Cut`. Raises EngineError
    and ContextOverflow; what is wrong with the reply itself is in `Completion.problems`.
    """
    started = time.perf_counter()
    rules = grammar_of(setup, choice)
    heard = _Heard(listener)
    try:
        generation = engine.generate(
            prompt(messages, setup),
            grammar=rules.automaton() if rules else None,
            sampling=setup.sampling,
            decision=decision_of(messages, setup, choice),
            listener=heard,
        )
    except Cut:
        generation = heard.so_far(engine)
    parsed = read_reply(generation, setup, choice)
    return Completion(
        text=generation.text,
        content=parsed.content,
        reasoning=parsed.reasoning,
        calls=parsed.calls,
        problems=parsed.problems,
        finish_reason="tool_calls" if parsed.calls else generation.finish_reason,
        usage=replace(generation.usage, tool_tokens=tool_tokens(engine, setup)),
        seconds=time.perf_counter() - started,
        answer_probability=generation.answer_probability,
    )


def read_reply(generation: Generation, setup: Setup, choice: ToolChoice) -> Parsed:
    """What a reply holds under this choice. One that repeats itself without end is read up to there."""
    repeats_from = endless(generation.text) if generation.finish_reason == "length" else None
    parsed = parse(
        generation.text[:repeats_from],
        tuple(setup.tools),
        finish_reason=generation.finish_reason,
        convention=setup.convention.beside(setup.tools.names),
        thinking=generation.thinking,
    )
    calls, against = _held(parsed.calls, choice)
    if repeats_from is not None:
        against = (*against, Problem(REPETITION, "Your reply repeated the same text again and again."))
    content = _before_stop(parsed.content, setup.sampling.stop)
    return replace(parsed, content=content, calls=calls, problems=(*parsed.problems, *against))


class _Heard:
    """Listens to a reply: what was written so far; ends it where it repeats itself."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._prompting = Prompting(0, 0, 0)
        self._text = ""
        self._looked = 0

    def __call__(self, event: EngineEvent) -> None:
        self._listener(event)
        if isinstance(event, Prompting):
            self._prompting = event
        elif isinstance(event, Written):
            self._text += event.text
            if len(self._text) >= self._looked + _LOOK:
                self._looked = len(self._text)
                if endless(self._text) is not None:
                    raise Cut

    def so_far(self, engine: Engine) -> Generation:
        """What was written, as a cut reply."""
        usage = Usage(self._prompting.total, engine.count_tokens(self._text), cached_tokens=self._prompting.cached)
        return Generation(self._text, "length", usage)


def _before_stop(content: str | None, stops: Sequence[str]) -> str | None:
    """The answer up to a stop text: under a grammar it stands inside of a reply that must be whole."""
    places = [place for stop in stops if content and (place := content.find(stop)) >= 0]
    return content[: min(places)] if content and places else content


def _has_result(messages: Sequence[Message]) -> bool:
    """Whether a result came since the user's last question."""
    for message in reversed(messages):
        if message.role == "tool":
            return True
        if message.role == "user" and message.name != FEEDBACK:
            return False
    return False


def _held(calls: tuple[ToolCall, ...], choice: ToolChoice) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    """The calls that tool_choice allows, and what it refuses: without a grammar a model may write anything."""
    allowed = tuple(c for c in calls if choice.mode != "none" and choice.name in (None, c.name))
    why = "no tool may be called now: answer" if choice.mode == "none" else f"only {choice.name} may be called now"
    refused = [call for call in calls if call not in allowed]
    problems = [Problem("tool_choice", f"{call.name} was called, but {why}.", "", call.span) for call in refused]
    if choice.mode == "required" and not allowed and not problems:
        problems.append(Problem("tool_choice", f"a call of {choice.name or 'a tool'} is needed now, not an answer."))
    return allowed, tuple(problems)


def tool_tokens(engine: Engine, setup: Setup) -> int:
    """How many prompt tokens the tools cost: the system prompt with them, less the one without."""
    if not setup.tools:
        return 0
    written = system_prompt(setup.tools, setup.convention, setup.system)
    return max(0, engine.count_tokens(written) - engine.count_tokens(setup.system or ""))
