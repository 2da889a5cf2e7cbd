"""Tools and tool_choice to the grammar of a reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from textcall.block import ARGS_KEY, NAME_OPENING, REPLY_TEXT, Convention, Shape, render_none
from textcall.errors import SchemaError, UsageError
from textcall.grammar.library import shared_rules
from textcall.grammar.schema import Compiler, KeywordReport, check_schema
from textcall.grammar.terms import literal, used_rules
from textcall.messages import compact_json
from textcall.tools import Tool

Mode = Literal["auto", "required", "none"]

# The text of an answer. It never begins as a call does: with `{`, `[`, `<`, a fence, or white space before one.
_TEXT = "[^{\\[<`\\x00-\\x20] [^\\x00]*"
_FREE = "[^\\x00]+"
# A `reply` that says nothing, or begins with white space, is none; it may begin with a quotation mark.
_REPLY_STRING = '"\\"" ([^"\\\\\\x00-\\x20] | "\\\\" ["\\\\/]) char* "\\""'


@dataclass(frozen=True, slots=True)
class ReplyGrammar:
    """The grammar of a whole reply. report: by tool, what is enforced. problems: what could not be compiled."""

    gbnf: str
    report: Mapping[str, tuple[KeywordReport, ...]]
    problems: tuple[str, ...] = ()


def reply_grammar(
    tools: Sequence[Tool], *, mode: Mode, name: str | None = None, convention: Convention, parallel: bool = True
) -> ReplyGrammar:
    """What a model may write for these tools.

    mode: "auto" (an answer or calls), "required" (calls only), "none" (an answer only). name: the only tool that may be
    called. parallel: whether one reply may hold several calls, one a line. Raises UsageError for an unknown name.
    """
    convention = convention.beside(tool.name for tool in tools)
    callable_tools = [tool for tool in tools if name is None or tool.name == name]
    if name is not None and not callable_tools:
        raise UsageError(f"there is no tool {name!r}; there are {', '.join(tool.name for tool in tools)}")
    answer = _answer(convention, mode)
    if mode == "none" or not callable_tools:
        return ReplyGrammar(_written({"root": answer}), {})
    compiled = [_compiled_args(json.dumps(t.parameters), f"t{i}") for i, t in enumerate(callable_tools)]
    rules = {"root": answer + " | calls" if mode == "auto" else "calls"}
    rules["calls"] = 'call ("\\n" call)*' if parallel and name is None else "call"
    rules["call"] = f"{literal(NAME_OPENING)} ({' | '.join(f't{i}' for i in range(len(compiled)))}) {literal('}')}"
    for index, (tool, args) in enumerate(zip(callable_tools, compiled, strict=True)):
        between = f'{compact_json(tool.name)[1:]},"{ARGS_KEY}":'
        rules[f"t{index}"] = f"{literal(between)} {args.body}"
        rules |= args.rules
    report = {tool.name: args.report for tool, args in zip(callable_tools, compiled, strict=True)}
    problems = tuple(f"{t.name}: {a.problem}" for t, a in zip(callable_tools, compiled, strict=True) if a.problem)
    return ReplyGrammar(_written(rules), report, problems)


def _answer(convention: Convention, mode: Mode) -> str:
    if convention.shape is Shape.PLAIN:
        return _FREE if mode == "none" else _TEXT
    if convention.shape is Shape.DECIDE:
        return f"{literal(render_none(convention))} {literal(chr(10))} {_FREE}"
    before = f'{NAME_OPENING}{compact_json(convention.reply_name)[1:]},"{ARGS_KEY}":{{"{REPLY_TEXT}":'
    return f"{literal(before)} {_REPLY_STRING} {literal('}}')}"


def _written(rules: Mapping[str, str]) -> str:
    """The rules as GBNF, with those of json.gbnf that they use."""
    used = used_rules({**rules, **shared_rules()})
    return "\n".join(f"{name} ::= {body}" for name, body in used.items()) + "\n"


@dataclass(frozen=True, slots=True)
class _Args:
    """One tool's arguments as rules. body: what the others belong to."""

    body: str
    rules: Mapping[str, str]
    report: tuple[KeywordReport, ...]
    problem: str = ""


@lru_cache(maxsize=1024)
def _compiled_args(parameters: str, prefix: str) -> _Args:
    """The arguments of a tool, as rules. What cannot be compiled is any JSON object: validation still holds it.

    That the schema is one was checked when the tool was made. To check it again takes most of the time, so that is done
    only where it turns out to be none after all.
    """
    schema = json.loads(parameters)
    try:
        compiler, body = _compiled(schema, prefix)
    except (SchemaError, RecursionError) as error:
        return _Args("object", {}, (), f"its parameters cannot be compiled, so any JSON object is taken: {error}")
    return _Args(body, compiler.rules, compiler.report)


def _compiled(schema: Any, prefix: str) -> tuple[Compiler, str]:
    try:
        compiler = Compiler(schema, open_objects=False, prefix=prefix)
        return compiler, compiler.body({"type": "object", "properties": {}})
    except (TypeError, ValueError, LookupError, AttributeError):
        check_schema(schema)
        raise  # a valid schema: a fault of textcall
