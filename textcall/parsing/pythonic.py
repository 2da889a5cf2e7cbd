"""Calls written as Python: `[get_weather(city="Paris"), now()]`. Read with `ast`, never evaluated."""

from __future__ import annotations

import ast
import math
import re
import warnings
from dataclasses import replace
from typing import Any

from textcall.parsing.escapes import clean_surrogates
from textcall.parsing.forms import Shaped
from textcall.parsing.strict import MAX_DEPTH, MAX_DIGITS, depth

MAX_SOURCE = 100_000
_TOO_LARGE = 10**MAX_DIGITS
OPENING = re.compile(r"\s*\[?\s*[A-Za-z_][\w.]*\s*\(")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ZEROS = re.compile(rf"{_STRING.pattern}|(?<![\w.])0+([0-9])(?![\w.])", re.DOTALL)
_ONE_STRING = re.compile(
    r"""(?P<before>\[?\s*[\w.]+\(\s*\w+\s*=\s*)(?P<quote>['"])(?P<text>.*)(?P=quote)(?P<after>\s*\)\s*\]?)""", re.DOTALL
)
_CONTROL = re.compile(r"(?<!\\)[\x00-\x1f]")
_WORDS = {"true": True, "false": False, "null": None}


def read_pythonic(source: str, *, bare: bool) -> tuple[Shaped, ...] | None:
    """The calls that `source` consists of, or None where it is anything else.

    bare: whether calls count that stand in no list, one a line or separated by commas.
    """
    if not OPENING.match(source) or len(source) > MAX_SOURCE:
        return None
    source = source.strip()
    tree = _tree(source)
    if tree is not None:
        return _of_tree(tree, bare=bare)
    for name, mend in _MENDS.items():
        mended = mend(source)
        tree = None if mended == source else _tree(mended)
        found = None if tree is None else _of_tree(tree, bare=bare)
        if found:
            return tuple(replace(call, how=(*call.how, f"repaired({name})")) for call in found)
    return None


def _tree(source: str) -> ast.Module | None:
    """The syntax of what is Python; None where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the model's escapes is nobody's concern
            return ast.parse(_STRING.sub(_escaped, source), mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_tree(tree: ast.Module, *, bare: bool) -> tuple[Shaped, ...] | None:
    statements = [node.value for node in tree.body if isinstance(node, ast.Expr)]
    if len(statements) != len(tree.body):
        return None
    try:
        calls = [call for node in statements for call in _calls(node, bare=bare)]
        return tuple(_shaped(call) for call in calls) or None
    except (_NotLiteral, RecursionError):
        return None


def _without_zeros(source: str) -> str:
    """`month=07`: one digit behind zeros is the same number in every notation."""
    return _ZEROS.sub(lambda match: match[0] if match[1] is None else match[1], source)


def _inner_quotes(source: str) -> str:
    """`[f(a='it's')]`: a call whose only argument is one string, where no quote in it could be the last."""
    match = _ONE_STRING.fullmatch(source)
    if match is None or re.search(rf"{match['quote']}\s*(?:,\s*\w+\s*=|\)\s*[,\]\n])", match["text"]):
        return source
    text = re.sub(rf"\\(?:.|\Z)|{match['quote']}", _quoted, match["text"], flags=re.DOTALL)
    return f"{match['before']}{match['quote']}{text}{match['quote']}{match['after']}"


def _quoted(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == "\\" else "\\" + match[0]


_MENDS = {"leading_zeros": _without_zeros, "inner_quotes": _inner_quotes}


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
        if isinstance(node.value, int) and abs(node.value) >= _TOO_LARGE:
            raise _NotLiteral  # only in hexadecimal and its kin: Python itself does not print it in decimal
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
