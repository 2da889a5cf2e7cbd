"""The values that pass between the stages: frozen, without I/O, in the field's wire shape.

`Message.to_wire` / `Message.from_wire` speak OpenAI's chat-completions shape: roles system, user, assistant (with
`tool_calls`, each with an id) and tool (with `tool_call_id`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "tool_calls", "length"]
Span = tuple[int, int]


def compact_json(value: Any) -> str:
    """`value` as JSON without optional white space and without `\\u` escapes for readable characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reply, said so that the model can mend it.

    kind: a stable word (`unknown_tool`, `invalid_arguments`, `truncated`, `not_a_call`, `bad_json`, …).
    message: one or two sentences for the model, with the allowed values.
    path: JSON Pointer into the arguments ("" for the whole).
    span: (start, end) in code points of the reply's text, where there is one.
    """

    kind: str
    message: str
    path: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that was read out of a reply and validated.

    how: how it was read, in order: ("strict",) for canonical text, else any of "extracted(where)", "repaired(name)",
    "renamed(key)", "coerced(/path)". span: (start, end) in code points of the reply's text.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    how: tuple[str, ...] = ("strict",)
    span: Span | None = None

    def to_wire(self) -> dict[str, Any]:
        """The entry of an assistant message's `tool_calls`."""
        function = {"name": self.name, "arguments": compact_json(dict(self.arguments))}
        return {"id": self.id, "type": "function", "function": function}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> ToolCall:
        """The inverse of `to_wire`. Raises KeyError or ValueError where the shape is another."""
        function = wire["function"]
        arguments = function["arguments"] or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            raise ValueError(f"arguments of {function['name']!r} are no JSON object")
        return cls(id=wire["id"], name=function["name"], arguments=arguments)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back of one call. content: the text that goes to the model. seconds: how long the tool ran.

    error: "" where the tool ran, else the kind of failure (`exception`, `timeout`, `unknown_tool`, `refused`, …).
    traceback: of an exception, for a person; the model does not see it.
    """

    call_id: str
    name: str
    content: str
    error: str = ""
    seconds: float = 0.0
    traceback: str = ""

    @property
    def ok(self) -> bool:
        """Whether the tool ran and returned."""
        return not self.error


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of the model's own tokenizer.

    prompt_tokens: all tokens of the prompt. cached_tokens: those of them that were in the context already.
    tool_tokens: those of them that the tool definitions cost. completion_tokens: all tokens written, of which
    reasoning_tokens stand in think blocks and forced_tokens were given by the grammar and evaluated without sampling.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    tool_tokens: int = 0
    forced_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def to_wire(self) -> dict[str, Any]:
        """OpenAI's `usage` object; what it has no name for stands under `textcall`."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
            "textcall": {"tool_tokens": self.tool_tokens, "forced_tokens": self.forced_tokens},
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    content may be None only where an assistant message holds tool calls. name: the tool's name in a tool message.
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    @classmethod
    def system(cls, content: str) -> Message:
        """A system message."""
        return cls("system", content)

    @classmethod
    def user(cls, content: str) -> Message:
        """A user message."""
        return cls("user", content)

    @classmethod
    def assistant(cls, content: str | None = None, tool_calls: Sequence[ToolCall] = ()) -> Message:
        """An assistant message: text, tool calls, or both."""
        return cls("assistant", content, tuple(tool_calls))

    @classmethod
    def tool(cls, result: ToolResult) -> Message:
        """The message that carries a tool's result back."""
        return cls("tool", result.content, tool_call_id=result.call_id, name=result.name)

    def to_wire(self) -> dict[str, Any]:
        """The message as OpenAI's chat-completions API writes it."""
        wire: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            wire["tool_calls"] = [call.to_wire() for call in self.tool_calls]
        if self.tool_call_id is not None:
            wire["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            wire["name"] = self.name
        return wire

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Message:
        """The inverse of `to_wire`; content may also be a list of text parts, which are joined by a line break.

        Raises KeyError or ValueError where the shape is another.
        """
        if wire["role"] not in ("system", "user", "assistant", "tool"):
            raise ValueError(f"unknown role {wire['role']!r}")
        return cls(
            role=wire["role"],
            content=_content(wire.get("content")),
            tool_calls=tuple(ToolCall.from_wire(call) for call in wire.get("tool_calls") or ()),
            tool_call_id=wire.get("tool_call_id"),
            name=wire.get("name"),
        )


def _content(wire: Any) -> str | None:
    if isinstance(wire, str | None):
        return wire
    if not isinstance(wire, list):
        raise ValueError("the content is neither a text nor a list of parts")
    return "\n".join(_part(part) for part in wire)


def _part(wire: Any) -> str:
    kind = wire.get("type") if isinstance(wire, Mapping) else None
    if not isinstance(wire, Mapping) or kind is None:
        raise ValueError("a content part is no object with a type")
    if kind != "text":
        raise ValueError(f"content parts of type {kind!r} cannot be read: only text")
    if not isinstance(wire.get("text"), str):
        raise ValueError("a content part of type 'text' has no text")
    return str(wire["text"])


@dataclass(frozen=True, slots=True)
class Completion:
    """One turn of the model, read.

    text: the raw reply, as generated (bytes that are no UTF-8 replaced). content: what is meant for the user (None
    where there is none).
    finish_reason: tool_calls where `calls` is not empty, length where the reply was cut, else stop.
    answer_probability: what the model gave the answer where it chose between an answer and a call, None elsewhere.
    """

    text: str
    content: str | None
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    problems: tuple[Problem, ...]
    finish_reason: FinishReason
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    answer_probability: float | None = None

    @property
    def message(self) -> Message:
        """The assistant message that belongs into the conversation."""
        return Message.assistant(self.content, self.calls)
