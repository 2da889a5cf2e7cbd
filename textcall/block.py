"""The wire format of a call, and the only file that knows it.

A call is one JSON object with a name key and an arguments key, canonically

    {"tool":"get_weather","args":{"city":"Paris"}}

Prompt, grammar and parser all take keys, names and shapes from here, so a change of the convention is a change of this
file. `Convention` says how a model is asked to reply; which one serves a model best is measured (see models/README.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from textcall.messages import compact_json

NAME_KEY = "tool"
ARGS_KEY = "args"

# Other spellings that models use. The first entry is the canonical one; the parser reports the rest as "renamed".
NAME_ALIASES = (NAME_KEY, "name", "function", "tool_name", "action")
ARGS_ALIASES = (
    ARGS_KEY,
    "arguments",
    "parameters",
    "params",
    "input",
    "action_input",
    "tool_arguments",
    "tool_input",
    "tool_args",
)


class Shape(StrEnum):
    """What a whole reply looks like.

    PLAIN   either text, or one call a line.
    DECIDE  opens with a JSON line: a call, or {"tool":"none"}, after which the text of the answer follows.
    REPLY   always calls; the answer is a call of a tool named `reply` with the text as its argument.
    """

    PLAIN = "plain"
    DECIDE = "decide"
    REPLY = "reply"


Rendering = Literal["signatures", "json"]


@dataclass(frozen=True, slots=True)
class Convention:
    """How a model is asked to write calls.

    rendering: tools as one-line signatures or as their JSON Schemas. example: whether the prompt shows one made-up
    exchange. repeat_question: whether the question stands beside every result again. none_name, reply_name: the
    reserved names of the shapes DECIDE and REPLY. answer_threshold: the probability from which on the reply to a
    question, before any result, is an answer instead of a call: small models give answers less than their due. None
    leaves it to them.
    """

    shape: Shape = Shape.REPLY
    rendering: Rendering = "signatures"
    example: bool = True
    repeat_question: bool = True
    none_name: str = "none"
    reply_name: str = "reply"
    answer_threshold: float | None = None

    def beside(self, names: Iterable[str]) -> Convention:
        """The same convention with reserved names that no tool in `names` bears."""
        taken = set(names)
        return replace(
            self,
            none_name=_free(self.none_name, taken),
            reply_name=_free(self.reply_name, taken),
        )

    @property
    def reserved(self) -> tuple[str, ...]:
        """The names that stand for no tool in this shape."""
        return {Shape.PLAIN: (), Shape.DECIDE: (self.none_name,), Shape.REPLY: (self.reply_name,)}[self.shape]


NAME_OPENING = f'{{"{NAME_KEY}":"'  # a call up to where the tool's name begins
REPLY_TEXT = "text"  # the one argument of the `reply` pseudo-tool


def render_call(name: str, arguments: Mapping[str, Any]) -> str:
    """The canonical text of a call: compact JSON, no optional white space, characters as they are.

    >>> render_call("get_weather", {"city": "Paris"})
    '{"tool":"get_weather","args":{"city":"Paris"}}'
    """
    return f'{{"{NAME_KEY}":{compact_json(name)},"{ARGS_KEY}":{compact_json(dict(arguments))}}}'


def render_none(convention: Convention) -> str:
    """The line that says 'no tool' in the shape DECIDE."""
    return f'{{"{NAME_KEY}":{compact_json(convention.none_name)}}}'


def render_reply(convention: Convention, text: str) -> str:
    """An answer in the shape REPLY."""
    return render_call(convention.reply_name, {REPLY_TEXT: text})


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
