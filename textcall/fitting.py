"""Whether a conversation fits into the context, before the model is asked; what is left out of it, or why it cannot.

The prompt is counted as the engine's template renders it, tools and all, and room is kept for the reply.
"""

from __future__ import annotations

from collections.abc import Sequence

from textcall.engines.base import Engine
from textcall.errors import ContextOverflow
from textcall.messages import Message
from textcall.prompting.render import tool_text
from textcall.prompting.window import droppable, without
from textcall.turn import Setup, prompt, tool_tokens

REPLY_SHARE = 4  # a reply gets a quarter of the context, where it may be as long as that
RESULT_SHARE = 4  # and so do the results of one turn
ROOM = 0.8  # once something must go, so much goes that this part is full: else every turn would begin anew
_NAMED = 5  # tools that an error names


def reply_room(engine: Engine, setup: Setup) -> int:
    """How many tokens are kept free for the reply."""
    return min(setup.sampling.max_tokens, engine.n_ctx // REPLY_SHARE)


def result_tokens(engine: Engine, count: int) -> int:
    """How many tokens each of `count` results may have."""
    return max(16, engine.n_ctx // RESULT_SHARE // max(1, count))


def leave_out(
    engine: Engine,
    messages: Sequence[Message],
    setup: Setup,
    left_out: frozenset[int] = frozenset(),
    hidden: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Which messages to leave out of the prompt, by index: those that were already, and as many more as it takes.

    hidden: those that are not shown anyway. Raises ContextOverflow where nothing more may go, with the numbers.
    """

    def needed(without_these: frozenset[int]) -> int:
        return engine.count_prompt(prompt(without(messages, without_these, hidden), setup))

    limit = engine.n_ctx - reply_room(engine, setup)
    if needed(left_out) <= limit:
        return left_out
    for part in droppable(messages):
        more = {index for index in part if messages[index].role != "system"}
        if more <= left_out | hidden:
            continue
        left_out |= more
        if needed(left_out) <= limit * ROOM:
            break
    if needed(left_out) > limit:
        raise ContextOverflow(_too_long(engine, setup, needed(left_out)))
    return left_out


def _too_long(engine: Engine, setup: Setup, needed: int) -> str:
    """The numbers, and which tools cost most where they are a good part of it."""
    room = reply_room(engine, setup)
    said = f"the conversation needs {needed} tokens; the context holds {engine.n_ctx}, {room} of them for the reply"
    cost = tool_tokens(engine, setup)
    if cost * 4 < needed:
        return said
    sizes = tool_costs(engine, setup)
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_NAMED]
    listed = ", ".join(f"{name} {sizes[name]}" for name in largest)
    more = f", {len(sizes) - len(largest)} more" if len(sizes) > len(largest) else ""
    return f"{said}; the tools and how to call them take {cost} (largest: {listed}{more})"


def tool_costs(engine: Engine, setup: Setup) -> dict[str, int]:
    """How many tokens of the prompt each tool costs."""
    return {tool.name: engine.count_tokens(tool_text(tool, setup.convention) + "\n") for tool in setup.tools}
