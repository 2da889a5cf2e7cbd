"""A reply, read: what is meant for the user, what the model thought, which calls it holds, and what is wrong with it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from textcall.block import ARGS_ALIASES, ARGS_KEY, NAME_ALIASES, NAME_KEY, REPLY_TEXT, Convention, Shape, render_call
from textcall.messages import Problem, ToolCall
from textcall.parsing.extract import Candidate, candidates, split_reasoning
from textcall.parsing.validate import Described, problem_of, unknown_tool


@dataclass(frozen=True, slots=True)
class Parsed:
    """content: text for the user, None where there is none. calls: valid ones only, in order."""

    content: str | None
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    problems: tuple[Problem, ...]


def new_id() -> str:
    """An id for a call."""
    return f"call_{secrets.token_hex(4)}"


def parse(
    text: str,
    tools: Iterable[Described | Mapping[str, Any]],
    *,
    finish_reason: Literal["stop", "length"] = "stop",
    strict: bool = False,
    convention: Convention | None = None,
    ids: Callable[[], str] = new_id,
) -> Parsed:
    """Read a reply.

    finish_reason: "length" where it was cut; its last, unfinished part is never run. strict: only canonical calls count.
    convention: makes the reserved names of its shape count; without it they mean nothing.
    """
    known = {tool.name: tool for tool in map(_described, tools)}
    start, reasoning = split_reasoning(text)
    reading = _Reading(text, known, strict, convention.beside(known) if convention else None, ids)
    for candidate in candidates(text, start):
        reading.take(candidate, cut=finish_reason == "length" and candidate.span[1] >= len(text.rstrip()))
    if finish_reason == "length":
        reading.note_cut()
    return Parsed(reading.content(start), reasoning, tuple(reading.calls), tuple(reading.problems))


@dataclass(frozen=True, slots=True)
class _Plain:
    name: str
    parameters: Mapping[str, Any]


def _described(tool: Any) -> Described:
    if not isinstance(tool, Mapping):
        described: Described = tool
        return described
    inner = tool.get("function", tool)
    return _Plain(inner["name"], inner.get("parameters") or {})


@dataclass(slots=True)
class _Reading:
    text: str
    tools: Mapping[str, Described]
    strict: bool
    convention: Convention | None
    ids: Callable[[], str]
    calls: list[ToolCall] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _taken: list[tuple[int, int]] = field(default_factory=list)
    _replies: list[str] = field(default_factory=list)

    def take(self, candidate: Candidate, *, cut: bool) -> None:
        """Read one candidate: a call, the reply of a convention, a problem, or nothing of ours."""
        if candidate.error:
            self._broken(candidate, cut=cut)
            return
        values = candidate.value if isinstance(candidate.value, list) else [candidate.value]
        for value in values:
            self._value(value, candidate)

    def content(self, start: int) -> str | None:
        """What is left for the user: the text without what was taken, or what the reply-calls said."""
        rest, at = [], start
        for low, high in sorted(set(self._taken)):
            rest.append(self.text[at:low])
            at = max(at, high)
        rest.append(self.text[at:])
        said = "\n\n".join(part.strip() for part in [*rest, *self._replies] if part.strip())
        return said or None

    def note_cut(self) -> None:
        """Say that the reply was cut, where nothing else says it."""
        if not any(problem.kind == "truncated" for problem in self.problems):
            self.problems.append(Problem("truncated", "the reply was cut before its end", "", None))

    def _value(self, value: Any, candidate: Candidate) -> None:
        found = _name_and_arguments(value)
        convention = self.convention
        if found is None:
            if convention and convention.shape is Shape.DECIDE and value == {NAME_KEY: convention.none_name}:
                self._taken.append(candidate.span)
            return
        name, arguments, how = found
        if convention and convention.shape is Shape.REPLY and name == convention.reply_name and name not in self.tools:
            self._taken.append(candidate.span)
            self._replies.append(str(arguments.get(REPLY_TEXT, "") if isinstance(arguments, Mapping) else arguments))
            return
        if self.strict and (how or candidate.place != "line"):
            return
        self._call(name, arguments, how, candidate)

    def _call(self, name: str, arguments: Any, how: tuple[str, ...], candidate: Candidate) -> None:
        self._taken.append(candidate.span)
        tool = self.tools.get(name)
        if tool is None:
            self.problems.append(unknown_tool(name, self.tools, candidate.span))
            return
        if not isinstance(arguments, Mapping):
            shape = render_call(name, {})
            message = f"{name}: the arguments must be a JSON object, as in {shape}"
            self.problems.append(Problem("invalid_arguments", message, "", candidate.span))
            return
        wrong = problem_of(tool, arguments, candidate.span)
        if wrong is not None:
            self.problems.append(wrong)
            return
        if candidate.place != "line":
            how = (f"extracted({candidate.place})", *how)
        self.calls.append(ToolCall(self.ids(), name, dict(arguments), how or ("strict",), candidate.span))

    def _broken(self, candidate: Candidate, *, cut: bool) -> None:
        """A candidate that is no JSON: silent, unless it looks like a call."""
        if self._cut_reply(candidate, cut=cut) or not _LOOKS_LIKE_CALL.search(candidate.source):
            return
        self._taken.append(candidate.span)
        if cut:
            self.problems.append(Problem("truncated", "the call was cut before its end", "", candidate.span))
            return
        shape = render_call("NAME", {})
        message = f"a call was not valid JSON ({candidate.error}); write it as {shape}"
        self.problems.append(Problem("bad_json", message, "", candidate.span))

    def _cut_reply(self, candidate: Candidate, *, cut: bool) -> bool:
        """The readable part of a `reply` that was cut."""
        convention = self.convention
        if not cut or convention is None or convention.shape is not Shape.REPLY:
            return False
        before = render_call(convention.reply_name, {REPLY_TEXT: ""}).removesuffix('"}}')
        if not candidate.source.startswith(before):
            return False
        self._taken.append((candidate.span[0], len(self.text)))
        self._replies.append(_readable(self.text[candidate.span[0] + len(before) :]))
        self.problems.append(Problem("truncated", "the answer was cut before its end", "", candidate.span))
        return True


_LOOKS_LIKE_CALL = re.compile(rf'"(?:{"|".join(NAME_ALIASES)})"\s*:')


def _name_and_arguments(value: Any) -> tuple[str, Any, tuple[str, ...]] | None:
    """The name, the arguments, and the renamed keys, of an object that is a call; None where it is none."""
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("function"), Mapping):  # OpenAI's envelope
        return _name_and_arguments(value["function"])
    name_key = next((key for key in NAME_ALIASES if isinstance(value.get(key), str)), None)
    args_key = next((key for key in ARGS_ALIASES if key in value), None)
    if name_key is None or args_key is None:
        return None
    how = [f"renamed({key})" for key, canonical in ((name_key, NAME_KEY), (args_key, ARGS_KEY)) if key != canonical]
    return value[name_key], value[args_key], tuple(how)


def _readable(source: str) -> str:
    """The text of a JSON string that was cut: up to its last whole character."""
    import json

    for end in range(len(source), max(len(source) - 8, -1), -1):
        try:
            return str(json.loads(f'"{source[:end]}"', strict=False))
        except ValueError:
            continue
    return source
