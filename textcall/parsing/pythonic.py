"""Calls written as Python: `[get_weather(city="Paris"), now()]`. Read with `ast`, never evaluated."""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any

from textcall.parsing.escapes import clean_surrogates
from textcall.parsing.forms import Shaped
from textcall.parsing.strict import MAX_DEPTH, depth

MAX_SOURCE = 100_000
OPENING = re.compile(r"\s*\[?\s*[A-Za-z_][\w.]*\s*\(")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_CONTROL = re.compile(r"(?<!\\)[\x00-\x1f]")
_WORDS = {"true": True, "false": False, "null": None}


def read_pythonic(source: str, *, bare: bool) -> tuple[Shaped, ...] | None:
    """The calls that `source` consists of, or None where it is anything else.

    bare: whether calls count that stand in no list, one a line or separated by commas.
    """
    if not OPENING.match(source) or len(source) > MAX_SOURCE:
        return None
    source = _STRING.sub(_escaped, source.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the model's escapes is nobody's concern
            tree = ast.parse(source, mode="exec")
        statements = [node.value for node in tree.body if isinstance(node, ast.Expr)]
        if len(statements) != len(tree.body):
            return None
        calls = [call for node in statements for call in _calls(node, bare=bare)]
        made = tuple(_shaped(call) for call in calls)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _NotLiteral):
        return None
    return made or None


def _escaped(string: re.Match[str]) -> str:
    """A string on one line: models write line breaks and control characters into it as they are."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", string[0])


class _NotLiteral(ValueError):
    """An expression that is no literal."""


def _calls(node: ast.expr, *, bare: bool) -> list[ast.expr]:
    if isinstance(node, ast.List):
        return node.elts
    if bare and isinstance(node, ast.Tuple):
        return node.elts
    if bare:
        return [node]
    raise _NotLiteral


def _shaped(node: ast.expr) -> Shaped:
    if not isinstance(node, ast.Call) or node.args:
        raise _NotLiteral
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise _NotLiteral
        arguments[keyword.arg] = _literal(keyword.value)
    if depth(arguments) > MAX_DEPTH:
        raise _NotLiteral
    return Shaped(_name(node.func), arguments, ("extracted(python)",))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise _NotLiteral


def _literal(node: ast.expr) -> Any:
    """JSON's values, in Python's or JSON's words."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return clean_surrogates(node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | None):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise _NotLiteral
        return node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _literal(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_literal(key) if key is not None else None for key in node.keys]
        if len({*map(str, keys)}) == len(keys) and all(isinstance(key, str) for key in keys):
            return {key: _literal(value) for key, value in zip(keys, node.values, strict=True)}
    raise _NotLiteral
