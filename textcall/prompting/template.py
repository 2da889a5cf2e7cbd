"""The GGUF's own chat template, rendered so that content never becomes control tokens.

Content is put into the template as a placeholder. What comes out is cut at the placeholders: template text is trusted
(tokenized with special tokens), content is not (tokenized as plain text, whatever it looks like).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from textcall.errors import EngineError
from textcall.messages import Message, Role

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


@dataclass(frozen=True, slots=True)
class _Way:
    """How a template takes its messages.

    system: it has a place for a system message. parts: it reads content as a list of parts, not as a text.
    system_leads: the system text stands in front of every other content.
    """

    system: bool = False
    parts: bool = False
    system_leads: bool = False


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
        if _opens(folded) == "assistant" and not self._takes_assistant_first:
            folded.insert(int(folded[0].role == "system"), Message.user(""))
        rendered = self._render(_wire(folded, parts=self._way.parts))
        if not _in_order(_landed(rendered), folded):
            raise EngineError("the model's chat template drops, repeats or reorders messages")
        return _fragments(rendered, folded)

    @property
    def takes_system(self) -> bool:
        """Whether the template has a place for a system message."""
        return self._way.system

    @property
    def system_leads(self) -> bool:
        """Whether a system message stands in front of every other content, so that all prompts with it begin alike.

        Some templates have it in the last user message instead.
        """
        return self._way.system_leads

    @cached_property
    def _way(self) -> _Way:
        """Found out by trying, as templates differ in what they refuse and in what they drop without a word."""
        for roles in (_LONG, _SHORT):
            for parts in (False, True):
                for system in (True, False):
                    found = self._try(roles if system else roles[1:], parts=parts)
                    if found is not None:
                        return _Way(system, parts, system_leads=system and found[0] == 0)
        return _Way()  # no way is one: the fault shows when the conversation itself is rendered

    @cached_property
    def _takes_assistant_first(self) -> bool:
        roles: tuple[Role, ...] = ("assistant", "user")
        return self._try(("system", *roles) if self.takes_system else roles, parts=self._way.parts) is not None

    def _try(self, roles: Sequence[Role], *, parts: bool) -> list[int] | None:
        """The order in which messages of `roles` come out, or None where that is no conversation any more."""
        messages = [Message(role, "x") for role in roles]
        try:
            landed = _landed(self._render(_wire(messages, parts=parts)))
        except EngineError:
            return None
        return landed if _in_order(landed, messages) else None

    def _render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        try:
            return self._compiled.render(
                messages=messages,
                tools=None,  # they stand in the prompt's text
                documents=None,
                add_generation_prompt=True,
                bos_token=self.bos,
                eos_token=self.eos,
            )
        except Exception as error:  # a template is foreign code: anything may come out of it
            raise EngineError(f"the model's chat template failed: {_named(error)}") from error

    @cached_property
    def _compiled(self) -> jinja2.Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do", _Generation],
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().astimezone().strftime(form)
        return environment.from_string(self.source)


def fold(messages: Sequence[Message], *, system: bool) -> list[Message]:
    """Neighbours of one role made one, so that roles alternate, and no roles but user, assistant, one system in front.

    system: whether the template knows that role; else the system text goes in front of the first user message. System
    messages further back are text of the user message that they stand beside.
    """
    folded: list[Message] = []
    for message in messages:
        leads = not folded or folded[-1].role == "system"
        role: Role = message.role
        if role == "tool" or (role == "system" and not (system and leads)):
            role = "user"
        if folded and folded[-1].role == role:
            joined = "\n\n".join(text for text in (folded[-1].content, message.content) if text)
            folded[-1] = Message(role, joined)
        else:
            folded.append(Message(role, message.content or ""))
    return folded


# The conversations that a template is tried with; their first message is left out to try it without a system message.
_LONG: tuple[Role, ...] = ("system", "user", "assistant", "user")
_SHORT: tuple[Role, ...] = ("system", "user")


def _opens(folded: Sequence[Message]) -> str:
    """The role of the first message that is not the system's."""
    return next((message.role for message in folded if message.role != "system"), "")


def _wire(messages: Sequence[Message], *, parts: bool) -> list[dict[str, Any]]:
    """The messages as the template sees them: placeholders for content."""
    texts = [_placeholder(index, message.content or "") for index, message in enumerate(messages)]
    return [
        {"role": message.role, "content": [{"type": "text", "text": text}] if parts else text}
        for message, text in zip(messages, texts, strict=True)
    ]


def _placeholder(index: int, content: str) -> str:
    """White space around the content stands around the placeholder, so that a template can trim it."""
    lead, _, trail = _blanks(content)
    return f"{lead}{_OPEN}{index}{_CLOSE}{trail}"


def _blanks(content: str) -> tuple[str, str, str]:
    """The white space in front, the text, the white space behind."""
    body = content.lstrip()
    lead = content[: len(content) - len(body)]
    text = body.rstrip()
    return lead, text, body[len(text) :]


def _landed(rendered: str) -> list[int]:
    """Which contents stand in the rendered text, in its order."""
    return [int(number) for number in _PLACEHOLDER.findall(rendered)]


def _in_order(landed: Sequence[int], messages: Sequence[Message]) -> bool:
    """Whether every content is there once and the conversation in its order; the system text may stand anywhere."""
    if sorted(landed) != list(range(len(messages))):
        return False
    talk = [index for index in landed if messages[index].role != "system"]
    return talk == sorted(talk)


def _fragments(rendered: str, messages: Sequence[Message]) -> tuple[Fragment, ...]:
    """The rendered text, cut at the placeholders; white space that the template left goes back into its content."""
    pieces = _PLACEHOLDER.split(rendered)
    for place in range(1, len(pieces), 2):
        lead, text, trail = _blanks(messages[int(pieces[place])].content or "")
        if lead and pieces[place - 1].endswith(lead):
            pieces[place - 1], text = pieces[place - 1].removesuffix(lead), lead + text
        if trail and pieces[place + 1].startswith(trail):
            pieces[place + 1], text = pieces[place + 1].removeprefix(trail), text + trail
        pieces[place] = text
    return tuple(Fragment(text, trusted=place % 2 == 0) for place, text in enumerate(pieces) if text)


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks what is trained on; to render it is its inside alone."""

    tags = {"generation"}  # noqa: RUF012  Jinja's own interface

    def parse(self, parser: Parser) -> Node | list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes HTML, which no chat template wants."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _named(error: Exception) -> str:
    """The exception with its kind, and its line where the template cannot be read."""
    where = f" (line {error.lineno})" if isinstance(error, jinja2.TemplateSyntaxError) else ""
    return f"{type(error).__name__}: {error}{where}"
