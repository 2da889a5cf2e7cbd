"""What a conversation can do without, where it no longer fits: whole exchanges, the least missed first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from textcall.messages import Message
from textcall.prompting.render import FEEDBACK


def droppable(messages: Sequence[Message]) -> Iterator[range]:
    """Ranges of messages that may be left out, in the order in which they should go.

    First the calls of earlier questions with their results, then those questions with their answers, then the earlier
    calls of this question with theirs; each oldest first. Never a system message, this question, and the newest
    exchange: what the model has to go on with.
    """
    asked = [index for index, message in enumerate(messages) if is_question(message)]
    now = asked[-1] if asked else 0
    yield from _exchanges(messages, 0, now)
    for start, end in pairwise(asked):
        yield range(start, end)
    yield from list(_exchanges(messages, now + 1, len(messages)))[:-1]


def is_question(message: Message) -> bool:
    """Whether the user asks here; textcall's own words to the model have that role too."""
    return message.role == "user" and message.name != FEEDBACK


def without(
    messages: Sequence[Message], left_out: frozenset[int], hidden: frozenset[int] = frozenset()
) -> list[Message]:
    """The messages but for those. left_out: with a line in the first gap that says so; hidden: without a word."""
    kept: list[Message] = []
    said = False
    for index, message in enumerate(messages):
        if index not in left_out | hidden:
            kept.append(message)
        elif index in left_out and not said:
            said = True
            kept.append(Message("user", _gap(len(left_out)), name=FEEDBACK))
    return kept


def _gap(count: int) -> str:
    messages = "1 earlier message is" if count == 1 else f"{count} earlier messages are"
    return f"[{messages} left out here: there is no room for more]"


def _exchanges(messages: Sequence[Message], start: int, end: int) -> Iterator[range]:
    """Each assistant message that called or could not be used, with what came back of it."""
    index = start
    while index < end:
        message = messages[index]
        first, index = index, index + 1
        if message.role != "assistant" or not (message.tool_calls or message.name == FEEDBACK):
            continue
        while index < end and (messages[index].role == "tool" or messages[index].name == FEEDBACK):
            if messages[index].role == "assistant":
                break
            index += 1
        yield range(first, index)
