"""Arithmetic, by simpleeval with bounds: numbers, operators, a few functions and constants, no large powers."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Annotated, Any

import simpleeval
from pydantic import Field

from textcall.tools import tool

MAX_LENGTH = 300  # characters of an expression
MAX_DIGITS = 400  # decimal digits of a result
_DEEP = 40  # brackets within brackets

# What models and people write for an operator or a digit.
_SIGNS = str.maketrans("×✕·÷−–—（）［］，。．＋－＊／％＾＝？", "***/---()[],..+-*/%^=?")
_SPELLED = str.maketrans({"²": "**2", "³": "**3", "π": "pi", "\u3000": " "})
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_TIMES_X = re.compile(r"(?<=[\d)])(?<!\b0)\s*[xX]\s*(?=[\d(])")  # 5 x 3, but 0x10 is no product
_PERCENT_OF = re.compile(r"%\s*(?:of\b|的)\s*")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?!\s*[\d(])")
_STRANGE = re.compile(r"[^\w\s.,+\-*/%()]")
_WORD = re.compile(r"[^\W\d]+")
_HINT = 'write numbers and operators only, for example "(17+4)*3"'


@tool
def calculator(
    question: Annotated[
        str, Field(description='the part of the question that this answers, like "How much are 7 pens at 2.50?"')
    ],
    expression: Annotated[str, Field(description="only numbers and operators, like 7*2.5")],
) -> dict[str, Any]:
    """Work out arithmetic with known numbers."""
    # `question` is not used: a small model that has put the question into words writes the right expression for it
    # far more often (measured: models/README.md).
    return {"question": question, "expression": expression, "result": evaluate(expression)}


def evaluate(expression: str) -> int | float:
    """The value of an arithmetic expression. Raises ValueError, in words that a model can act on."""
    text = normalized(expression)
    if not text:
        raise ValueError(f"the expression is empty: {_HINT}")
    if text.count("(") > _DEEP:
        raise ValueError(f"too many brackets: {_HINT}")
    return _tidy(_evaluated(_parsed(text)))


def normalized(expression: str) -> str:
    """The expression as Python writes it: `×`, `^`, full-width signs, `1,234`, `15%`, a trailing `=` are understood.

    Raises ValueError where it is no text or longer than MAX_LENGTH.
    """
    if not isinstance(expression, str):
        raise ValueError(f"the expression must be text: {_HINT}")
    text = expression.strip()
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the expression has {len(text)} characters, {MAX_LENGTH} are allowed: {_HINT}")
    text = text.translate(_SIGNS).translate(_DIGITS).translate(_SPELLED)
    text = text.rstrip("?").rstrip().strip("=").strip()
    text = text if re.search(r"[A-Za-z]\s*\(", text) else _THOUSANDS.sub(lambda m: m[0].replace(",", ""), text)
    text = _TIMES_X.sub("*", text)
    text = _PERCENT_OF.sub("/100*", text)
    text = _PERCENT.sub(r"(\1/100)", text)
    return text.replace("^", "**")


def _parsed(text: str) -> ast.expr:
    """The syntax tree. Only the characters and words of arithmetic get as far as Python's parser."""
    strange = _STRANGE.search(text)
    if strange is not None:
        raise ValueError(f"{strange[0]!r} is not allowed: {_HINT}")
    unknown = next((word for word in _WORD.findall(text) if word not in _WORDS), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is no number: {_HINT}")
    try:
        return ast.parse(" ".join(text.split()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"this is no arithmetic expression: {_HINT}") from None


def _evaluated(tree: ast.expr) -> Any:
    evaluator = simpleeval.SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=_NAMES)
    evaluator.nodes = {kind: do for kind, do in evaluator.nodes.items() if kind in _NODES}
    try:
        return evaluator.eval("", previously_parsed=tree)
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except OverflowError:
        raise ValueError("the result is too large") from None
    except ValueError:  # sqrt(-1)
        raise ValueError("a function is not defined for this number") from None
    except simpleeval.FeatureNotAvailable:
        separated = any(isinstance(node, ast.Tuple) for node in ast.walk(tree))
        hint = "write 1234, not 1,234" if separated else f"write every multiplication with *; {_HINT}"
        raise ValueError(f"this is no arithmetic expression: {hint}") from None
    except (simpleeval.InvalidExpression, TypeError, KeyError, RecursionError):
        raise ValueError(f"this is no arithmetic expression: {_HINT}") from None


def _tidy(value: Any) -> int | float:
    """Floats without the noise of binary fractions: 0.1 + 0.2 is 0.3. Whole numbers stay as they are."""
    if not _is_number(value):
        raise ValueError(f"the result is no number: {_HINT}")
    if isinstance(value, int):
        if abs(value) >= 10**MAX_DIGITS:
            raise ValueError("the result is too large")
        return value
    if not math.isfinite(value):
        raise ValueError("the result is too large")
    # Twelve digits, but never fewer than four decimals: 9999999999999/3 is a whole number of thirteen.
    return float(f"{value:.12g}") if abs(value) < 1e8 else round(value, 4)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, for numbers only: `'%9999999999s' % 5` must not get through."""

    def checked(*values: Any) -> Any:
        if not all(map(_is_number, values)):
            raise TypeError
        return function(*values)

    return checked


def _sum(a: Any, b: Any) -> Any:
    """As spreadsheets add: what is left of 0.3 - 0.1 - 0.2 in the last binary digit is nothing."""
    result = a + b
    return 0.0 if isinstance(result, float) and abs(result) < 1e-15 * abs(a) else result


def _power(base: Any, exponent: Any) -> float:
    whole = (
        all(isinstance(number, int) for number in (base, exponent)) and abs(base) > 1
    )  # only these grow without an end
    if whole and base.bit_length() * exponent > MAX_DIGITS * 4:
        raise OverflowError
    result: Any = base**exponent
    if isinstance(result, complex):
        raise ValueError  # the root of a negative number
    return float(result) if isinstance(result, float) else int(result)


def _round(number: float, digits: Any = 0) -> float:
    if not isinstance(digits, int) or abs(digits) > MAX_DIGITS:
        raise ValueError  # Python takes minutes for round(1, -10**9)
    return round(number, digits) if digits else round(number)


def _factorial(n: Any) -> int:
    if not isinstance(n, int) or n < 0:
        raise ValueError
    if n > 150:
        raise OverflowError
    return math.factorial(n)


def _wave(function: Callable[[float], float]) -> Callable[[float], float]:
    """sin(pi) is 0: pi itself has 15 good digits only."""
    return lambda x: round(function(x), 15)


_NODES = (ast.BinOp, ast.Call, ast.Constant, ast.Name, ast.UnaryOp)
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _numeric(_sum),
    ast.Sub: _numeric(lambda a, b: _sum(a, -b)),
    ast.Mult: _numeric(operator.mul),
    ast.Div: _numeric(operator.truediv),
    ast.FloorDiv: _numeric(operator.floordiv),
    ast.Mod: _numeric(operator.mod),
    ast.Pow: _numeric(_power),
    ast.USub: _numeric(operator.neg),
    ast.UAdd: _numeric(operator.pos),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _numeric(abs),
    "ceil": _numeric(math.ceil),
    "cos": _numeric(_wave(math.cos)),
    "factorial": _numeric(_factorial),
    "floor": _numeric(math.floor),
    "log": _numeric(math.log),
    "log10": _numeric(math.log10),
    "max": _numeric(lambda *values: max(values)),
    "min": _numeric(lambda *values: min(values)),
    "pow": _numeric(_power),
    "round": _numeric(_round),
    "sin": _numeric(_wave(math.sin)),
    "sqrt": _numeric(math.sqrt),
    "tan": _numeric(_wave(math.tan)),
}
_NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}
_WORDS = {*_NAMES, *(name.rstrip("0123456789") for name in _FUNCTIONS), "E"}
