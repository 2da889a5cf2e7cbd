"""Tools and tool_choice to the grammar of a reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

from textcall.block import ARGS_KEY, NAME_OPENING, REPLY_TEXT, Convention, Shape, render_none
from textcall.errors import SchemaError, UsageError
from textcall.grammar.gbnf import Grammar
from textcall.grammar.library import shared_rules, text_rules
from textcall.grammar.schema import Compiler, KeywordReport, check_schema
from textcall.grammar.terms import literal, used_rules
from textcall.messages import compact_json
from textcall.tools import Tool

Mode = Literal["auto", "required", "none"]

_PLACE = '"{"'  # what stands for a tool's arguments until they are compiled
_FREE = "[^\\x00]+"
# A `reply` that says nothing, or begins with white space, is none; it may begin with a quotation mark.
_REPLY_STRING = '"\\"" ([^"\\\\\\x00-\\x20] | "\\\\" ["\\\\/]) char* "\\""'


@dataclass(frozen=True, slots=True)
class ReplyGrammar:
    """The grammar of a whole reply. outline: its rules, name and body, with places for the arguments of the tools.

    Those are rules too, and compiled only where somebody asks for them: a reply comes to those of the tool that it
    calls.
    """

    outline: tuple[tuple[str, str], ...]
    tools: tuple[_Arguments, ...] = ()

    @property
    def gbnf(self) -> str:
        """The grammar as text, all arguments in it."""
        rules = dict(self.outline)
        for tool in self.tools:
            rules |= {**tool.compiled.rules, tool.rule: tool.compiled.body}
        return _written(rules)

    @property
    def report(self) -> Mapping[str, tuple[KeywordReport, ...]]:
        """By tool, what is enforced."""
        return {tool.name: tool.compiled.report for tool in self.tools}

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be compiled."""
        return tuple(f"{tool.name}: {tool.compiled.problem}" for tool in self.tools if tool.compiled.problem)

    def automaton(self) -> Grammar:
        """The grammar, ready to run. The same object for the same grammar: it remembers what it has seen."""
        return _automaton(self)


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
    if mode == "none" or not callable_tools:
        return ReplyGrammar((("root", _answer(convention, free=True)),))
    many = parallel and name is None
    rules = {
        "root": f"{_answer(convention)} | calls" if mode == "auto" else "calls",
        "calls": 'call ("\\n" call)*' if many else "call",
        "call": f"{literal(NAME_OPENING)} ({' | '.join(f't{i}' for i in range(len(callable_tools)))}) {literal('}')}",
    }
    if convention.shape is Shape.PLAIN and mode == "auto":  # a text may lead to calls, on lines of their own
        rules["root"] = f'{_answer(convention)} ("\\n" calls)? | calls'
    arguments = []
    for index, tool in enumerate(callable_tools):
        between = f'{compact_json(tool.name)[1:]},"{ARGS_KEY}":'
        arguments.append(_Arguments(tool.name, json.dumps(tool.parameters), f"a{index}"))
        rules[f"t{index}"] = f"{literal(between)} {arguments[-1].rule}"
        rules[arguments[-1].rule] = _PLACE
    return ReplyGrammar(tuple(rules.items()), tuple(arguments))


@lru_cache(maxsize=64)
def _automaton(rules: ReplyGrammar) -> Grammar:
    later = {tool.rule: partial(_grammar_of, tool) for tool in rules.tools}
    return Grammar(_written(dict(rules.outline)), later=later, whole=lambda: rules.gbnf)


def _grammar_of(tool: _Arguments) -> str:
    return _written({"root": tool.compiled.body, **tool.compiled.rules})


def _answer(convention: Convention, *, free: bool = False) -> str:
    """The body for an answer. free: whether a text may look like a call, there being none."""
    if convention.shape is Shape.PLAIN:
        return _FREE if free else "text"
    if convention.shape is Shape.DECIDE:
        return f"{literal(render_none(convention))} {literal(chr(10))} {_FREE}"
    before = f'{NAME_OPENING}{compact_json(convention.reply_name)[1:]},"{ARGS_KEY}":{{"{REPLY_TEXT}":'
    return f"{literal(before)} {_REPLY_STRING} {literal('}}')}"


def _written(rules: Mapping[str, str]) -> str:
    """The rules as GBNF, with those of the package's grammars that they use."""
    used = used_rules({**rules, **shared_rules(), **text_rules()})
    return "\n".join(f"{name} ::= {body}" for name, body in used.items()) + "\n"


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of the tool `name`: their schema as JSON text, and the name of their rule."""

    name: str
    schema: str
    rule: str

    @property
    def compiled(self) -> _Compiled:
        """As rules; compiled once."""
        return _compiled_arguments(self.schema, self.rule)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One tool's arguments as rules. body: what the others belong to."""

    body: str
    rules: Mapping[str, str]
    report: tuple[KeywordReport, ...]
    problem: str = ""


@lru_cache(maxsize=1024)
def _compiled_arguments(parameters: str, prefix: str) -> _Compiled:
    """The arguments of a tool, as rules. What cannot be compiled is any JSON object: validation still holds it.

    That the schema is one was checked when the tool was made. To check it again takes most of the time, so that is done
    only where it turns out to be none after all.
    """
    schema = json.loads(parameters)
    try:
        compiler, body = _in_rules(schema, prefix)
    except (SchemaError, RecursionError) as error:
        return _Compiled("object", {}, (), f"its parameters cannot be compiled, so any JSON object is taken: {error}")
    return _Compiled(body, compiler.rules, compiler.report)


def _in_rules(schema: Any, prefix: str) -> tuple[Compiler, str]:
    try:
        compiler = Compiler(schema, open_objects=False, prefix=prefix)
        return compiler, compiler.body({"type": "object", "properties": {}})
    except (TypeError, ValueError, LookupError, AttributeError):
        check_schema(schema)
        raise  # a valid schema: a fault of textcall
