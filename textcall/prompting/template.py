"""The GGUF's own chat template, rendered so that content never becomes control tokens.

Content is put into the template as a placeholder. What comes out is cut at the placeholders: template text is trusted
(tokenized with special tokens), content is not (tokenized as plain text, whatever it looks like).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from textcall.errors import EngineError
from textcall.messages import Message, compact_json

# For base models, which have no template: plain words at line starts, which every model has seen.
PLAIN_TEMPLATE = (
    "{% for m in messages %}{{ m.role | capitalize }}: {{ m.content }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)

_OPEN, _CLOSE = "\ue0f0", "\ue0f1"  # private use: in no template and in no model's training text
_PLACEHOLDER = re.compile(f"{_OPEN}(\\d+){_CLOSE}")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the rendered prompt. trusted: template text, in which control tokens count as such."""

    text: str
    trusted: bool


@dataclass(frozen=True)
class ChatTemplate:
    """A Jinja chat template. bos, eos: the written names of the vocabulary's begin and end tokens."""

    source: str = PLAIN_TEMPLATE
    bos: str = ""
    eos: str = ""

    def render(self, messages: Sequence[Message]) -> tuple[Fragment, ...]:
        """The prompt up to where the assistant's text begins.

        The content of every message is text; tool calls and tool results are text already (see `prompting.render`).
        Roles that the template lacks are folded first. Raises EngineError where the template cannot be rendered.
        """
        folded = fold(messages, system=self.takes_system)
        wire = [{"role": m.role, "content": f"{_OPEN}{i}{_CLOSE}"} for i, m in enumerate(folded)]
        rendered = self._render(wire)
        found = [int(number) for number in _PLACEHOLDER.findall(rendered)]
        if found != list(range(len(folded))):
            raise EngineError("the model's chat template drops, repeats or reorders messages")
        parts = _PLACEHOLDER.split(rendered)
        fragments = [
            Fragment(folded[int(part)].content or "" if index % 2 else part, trusted=index % 2 == 0)
            for index, part in enumerate(parts)
        ]
        return tuple(f for f in fragments if f.text)

    @cached_property
    def takes_system(self) -> bool:
        """Whether the template has a place for a system message in front of a user message."""
        wire = [{"role": "system", "content": f"{_OPEN}0{_CLOSE}"}, {"role": "user", "content": f"{_OPEN}1{_CLOSE}"}]
        try:
            return [int(n) for n in _PLACEHOLDER.findall(self._render(wire))] == [0, 1]
        except EngineError:
            return False

    def _render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        try:
            return self._compiled.render(
                messages=messages, add_generation_prompt=True, bos_token=self.bos, eos_token=self.eos
            )
        except (jinja2.TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise EngineError(f"the model's chat template failed: {error}") from error

    @cached_property
    def _compiled(self) -> jinja2.Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = lambda value, **_options: compact_json(value)
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().astimezone().strftime(form)
        return environment.from_string(self.source)


def fold(messages: Sequence[Message], *, system: bool) -> list[Message]:
    """Neighbours of one role made one, so that roles alternate.

    system: whether the template knows the role; else the system text goes in front of the first user message.
    """
    folded: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" and not system else message.role
        if folded and folded[-1].role == role:
            joined = "\n\n".join(text for text in (folded[-1].content, message.content) if text)
            folded[-1] = Message(role, joined)
        else:
            folded.append(Message(role, message.content or ""))
    return folded


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)
