"""What was found against what there is: tools, convention, schema. A call or a problem comes out."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from textcall.block import ARGS_ALIASES, ARGS_KEY, NAME_ALIASES, NAME_KEY, REPLY_TEXT, Convention, Shape, render_call
from textcall.messages import Problem, Span, ToolCall
from textcall.parsing.coerce import Path, coerce, typed
from textcall.parsing.forms import Shaped, shaped
from textcall.parsing.places import place_of
from textcall.parsing.validate import (
    Described,
    is_proven,
    is_valid,
    not_an_object,
    problem_of,
    unknown_tool,
    validator_of,
)

_PREFIXES = re.compile(r"(?:functions|tools|tool|default_api)[.:]")
_QUOTE = "[\"'“”]?"
_LOOKS = re.compile(rf"{_QUOTE}\b({'|'.join(NAME_ALIASES)}){_QUOTE}\s*[:：=]\s*[\"'“]([\w.:/-]*)")
_ARGS = re.compile(rf"{_QUOTE}\b(?:{'|'.join(ARGS_ALIASES)}){_QUOTE}\s*[:：]")
_LOOKED_AT = 4000  # code points of a broken call in which its keys are looked for
_MAX_MENTIONS = 3


class Plain(NamedTuple):
    """A tool that came as a mapping."""

    name: str
    parameters: Mapping[str, Any]


def described(tools: Iterable[Any]) -> dict[str, Described]:
    """Tools by name, from Tools, OpenAI's wire form, or `{"name","description","parameters"}`."""
    found: dict[str, Described] = {}
    for tool in tools:
        if isinstance(tool, (dict, Mapping)):  # a dict is quickly told
            inner = tool.get("function")
            inner = inner if isinstance(inner, Mapping) else tool
            tool = Plain(inner["name"], inner.get("parameters") or {})
        found[tool.name] = tool
    return found


def new_id() -> str:
    """An id for a call."""
    return f"call_{os.urandom(4).hex()}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of a pseudo-call of the shape REPLY."""

    text: str


class Mention(NamedTuple):
    """The beginning of a call that stands as text. place: in what it stands."""

    name: str
    span: Span
    place: str


class Judge:
    """Knows the tools and the convention; the scan asks it what a value is, the reading what comes of it."""

    def __init__(
        self, tools: Iterable[Any], *, strict: bool, convention: Convention | None, ids: Callable[[], str] = new_id
    ) -> None:
        self.tools = described(tools)
        self.strict = strict
        self.ids = ids
        self.convention = convention.beside(self.tools) if convention else None
        shape = self.convention.shape if self.convention else None
        self.reply_name = self.convention.reply_name if self.convention and shape is Shape.REPLY else None
        self.none_name = self.convention.none_name if self.convention and shape is Shape.DECIDE else None
        self.names: Collection[str] = {*self.tools, self.reply_name} - {None} if self.reply_name else self.tools.keys()
        self.reply_opening = _reply_opening(self.reply_name) if self.reply_name else None

    def shape(self, value: Any, *, wrapped: bool) -> tuple[Shaped, ...] | None:
        """The calls in a value; none of them for DECIDE's "no tool"; None where the value is an answer."""
        if (
            self.none_name
            and isinstance(value, Mapping)
            and value.get(NAME_KEY) == self.none_name
            and value.keys() <= {NAME_KEY, ARGS_KEY}
        ):
            return ()
        if self.strict and not _is_canonical(value):
            return None
        return shaped(value, self.names, wrapped=wrapped)

    def looks_like_call(self, source: str) -> bool:
        """Whether broken text was meant as a call: it has a call's keys, or names a tool where a call does."""
        for match in _LOOKS.finditer(source[:_LOOKED_AT]):
            if match[1] == NAME_KEY or match[2] in self.names or _ARGS.search(source[:_LOOKED_AT]):
                return True
        return any(f"<function={name}" in source or f'name="{name}"' in source for name in self.names) or any(
            name in source and re.search(rf"(?<!\w){re.escape(name)}\s*(?:[(\[{{]|<arg_key>)", source)
            for name in self.names
        )

    def verdict(
        self, found: Shaped, how: tuple[str, ...], duplicates: tuple[str, ...], span: Span
    ) -> ToolCall | Problem | Answer:
        """A call that can be run, an answer of the shape REPLY, or what is wrong."""
        if found.doubt:
            return Problem(
                "ambiguous",
                f"A call can be read in two ways: {found.doubt}. Write {render_call(found.name, {})}.",
                "",
                span,
            )
        name = found.name
        if found.definition and self._defines(found):
            message = f"This describes the tool {name}, it does not call it. To call it, write {render_call(name, {})}."
            return Problem("not_a_call", message, "", span)
        if name == self.reply_name and name not in self.tools:
            return Answer(_answer_text(found.arguments))
        tool = self.tools.get(name)
        if tool is None:
            tool = self._folded(name)
            if tool is None:
                return unknown_tool(name, self.tools, span)
            how = (*how, f"renamed({name})")
        if duplicates:
            names = ", ".join(dict.fromkeys(duplicates))
            return Problem(
                "duplicate_key",
                f"{tool.name}: {names} came twice with two values. Write each once.",
                f"/{duplicates[0]}",
                span,
            )
        arguments = found.arguments
        if not isinstance(arguments, Mapping):
            return not_an_object(tool.name, arguments, span)
        if found.raw:
            arguments = typed(validator_of(tool), arguments, found.raw)
        return self._checked(tool, arguments, (*how, *found.how), span)

    def _checked(
        self, tool: Described, arguments: Mapping[str, Any], how: tuple[str, ...], span: Span
    ) -> ToolCall | Problem:
        made: dict[str, Any] = dict(arguments)
        if is_proven(tool, made):
            return ToolCall(self.ids(), tool.name, made, how or ("strict",), span)
        changed: tuple[Path, ...] = ()
        fits = is_valid(tool, made)
        if not self.strict and (not fits or _has_whole_float(made)):
            made, changed = coerce(validator_of(tool), made)
            fits = fits or is_valid(tool, made)
        if not fits:
            problem = problem_of(tool, arguments, span)
            if problem is not None:
                return problem
        how = (*how, *(f"coerced(/{'/'.join(map(str, path))})" for path in changed))
        return ToolCall(self.ids(), tool.name, made, how or ("strict",), span)

    def _defines(self, found: Shaped) -> bool:
        """Whether what may be the description of a tool is one: not where the tool takes such arguments itself."""
        tool = self.tools.get(found.name) or self._folded(found.name)
        properties = tool.parameters.get("properties") if tool is not None else None
        return found.definition == "sure" or not isinstance(properties, Mapping) or "properties" not in properties

    def _folded(self, name: str) -> Described | None:
        """The one tool whose name differs only in case, `-` for `_`, or a known prefix."""
        if self.strict:
            return None
        wanted = _fold(name)
        fitting = [tool for tool in self.tools.values() if _fold(tool.name) == wanted]
        return fitting[0] if len(fitting) == 1 else None

    def mentions(self, text: str, start: int) -> list[Problem]:
        """Calls of tools that stand in the text as text, the first ones. start: position of `text` in the reply."""
        found = []
        for mention in itertools.islice(self.mentioned(text, start), _MAX_MENTIONS):
            alone = render_call(mention.name, {})
            message = (
                f"A call of {mention.name} stands {mention.place} and was not run. To run it, write it alone: {alone}"
            )
            found.append(Problem("not_a_call", message, "", mention.span))
        return found

    def mentioned(self, text: str, start: int) -> Iterator[Mention]:
        """All of them."""
        if not self.tools or not any(name in text for name in self.tools):
            return
        for match in _mention(tuple(self.tools)).finditer(text):
            name = match["quoted"] or match["tag"] or match["python"]
            yield Mention(name, (start + match.start(), start + match.end()), place_of(text, match.start()))


def _is_canonical(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {NAME_KEY, ARGS_KEY}
        and isinstance(value[NAME_KEY], str)
        and isinstance(value[ARGS_KEY], dict)
    )


def _answer_text(arguments: Any) -> str:
    value = arguments.get(REPLY_TEXT, "") if isinstance(arguments, Mapping) else arguments
    return value if isinstance(value, str) else "" if value is None else str(value)


def _fold(name: str) -> str:
    match = _PREFIXES.match(name)
    return (name[match.end() :] if match else name).lower().replace("-", "_")


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, Mapping):
        return any(map(_has_whole_float, value.values()))
    return isinstance(value, list) and any(map(_has_whole_float, value))


def _reply_opening(name: str) -> re.Pattern[str]:
    keys = [re.escape(part) for part in (NAME_KEY, name, ARGS_KEY, REPLY_TEXT)]
    return re.compile(r'\{{\s*"{}"\s*:\s*"{}"\s*,\s*"{}"\s*:\s*\{{\s*"{}"\s*:\s*"'.format(*keys))


_PATTERNS: dict[tuple[str, ...], re.Pattern[str]] = {}


def _mention(names: tuple[str, ...]) -> re.Pattern[str]:
    known = _PATTERNS.get(names)
    if known is None:
        any_name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        known = re.compile(
            rf"[{{<｛]\s*{_QUOTE}(?:{'|'.join(NAME_ALIASES)}){_QUOTE}\s*[:：]\s*[\"'“](?P<quoted>{any_name})[\"'”]\s*[,，]\s*"
            rf"{_QUOTE}(?:{'|'.join(ARGS_ALIASES)}){_QUOTE}\s*[:：]"
            rf"|<(?:｜DSML｜)?(?:function=|(?:function|invoke) name=\")(?P<tag>{any_name})\"?>"
            rf"|\[\s*(?P<python>{any_name})\((?=\s*(?:\w+\s*=|\)))"
        )
        if len(_PATTERNS) > 64:
            _PATTERNS.clear()
        _PATTERNS[names] = known
    return known
