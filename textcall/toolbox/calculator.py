"""Arithmetic, by simpleeval with bounds: no names but constants, no attributes, no large powers."""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import simpleeval
from pydantic import Field

from textcall.tools import tool

MAX_LENGTH = 300  # characters of an expression
MAX_DIGITS = 400  # decimal digits of a result
MAX_EXPONENT = 1000
_DEEP = 40  # brackets within brackets

# What models and people write for an operator.
_SIGNS = str.maketrans("×✕·÷−–—（）［］，。＋－＊／％＾", "***/---()[],.+-*/%^")
_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_PERCENT_OF = re.compile(r"%\s*(?:of|的)\s*")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%(?!\s*[\d(])")
_HINT = 'write numbers and operators only, for example "(17+4)*3"'


@tool
def calculator(
    question: Annotated[str, Field(description='like "How much are 7 pens at 2.50?"')],
    expression: Annotated[str, Field(description="only numbers and operators, like 7*2.5")],
) -> dict[str, Any]:
    """Work out arithmetic."""
    # `question` is not used: a small model that has put the question into words writes the right expression for it
    # far more often (measured: models/README.md).
    return {"question": question, "expression": expression, "result": evaluate(expression)}


def evaluate(expression: str) -> int | float:
    """The value of an arithmetic expression. Raises ValueError, in words that a model can act on."""
    text = normalized(expression)
    if not text:
        raise ValueError(f"the expression is empty: {_HINT}")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"the expression has {len(text)} characters, {MAX_LENGTH} are allowed: {_HINT}")
    if text.count("(") + text.count("[") > _DEEP:
        raise ValueError(f"too many brackets: {_HINT}")
    return _tidy(_evaluated(text))


def normalized(expression: str) -> str:
    """The expression as Python writes it: `×`, `^`, full-width signs, `1,234`, `15%`, a trailing `=` are understood."""
    text = expression.translate(_SIGNS).translate(_DIGITS).strip()
    text = re.sub(r"\s*=\s*\??\s*$", "", text)
    text = text if re.search(r"[A-Za-z]\s*\(", text) else _THOUSANDS.sub(lambda m: m[0].replace(",", ""), text)
    text = _PERCENT_OF.sub("/100*", text)
    text = _PERCENT.sub(r"(\1/100)", text)
    return text.replace("^", "**")


def _evaluated(text: str) -> Any:
    evaluator = simpleeval.SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names=_NAMES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `5(3)` makes Python warn before it fails
            return evaluator.eval(text)
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except (simpleeval.NameNotDefined, simpleeval.FunctionNotDefined) as error:
        name = getattr(error, "name", None) or getattr(error, "func_name", "")
        raise ValueError(f"{name!r} is no number: {_HINT}") from None
    except OverflowError:
        raise ValueError("the result is too large") from None
    except (SyntaxError, TypeError, KeyError, AttributeError, IndexError, RecursionError, MemoryError):
        raise ValueError(f"this is no arithmetic expression: {_HINT}") from None
    except simpleeval.InvalidExpression as error:
        raise ValueError(f"{str(error).rstrip('.') or 'not allowed'}: {_HINT}") from None


def _tidy(value: Any) -> int | float:
    """Whole numbers whole, and floats without the noise of binary fractions: 0.1 + 0.2 is 0.3."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the result is no number: {_HINT}")
    if isinstance(value, int):
        if value.bit_length() > MAX_DIGITS * 4:
            raise ValueError("the result is too large")
        return value
    if not math.isfinite(value):
        raise ValueError("the result is too large")
    return float(f"{value:.12g}")


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > MAX_EXPONENT or (isinstance(base, int) and base.bit_length() * abs(exponent) > MAX_DIGITS * 4):
        raise OverflowError
    result = base**exponent
    if isinstance(result, complex):
        raise TypeError
    return result


def _product(a: Any, b: Any) -> Any:
    if not (isinstance(a, int | float) and isinstance(b, int | float)):
        raise TypeError  # "a" * 1000000
    return a * b


def _factorial(n: Any) -> int:
    if not isinstance(n, int) or not 0 <= n <= 150:
        raise OverflowError
    return math.factorial(n)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "factorial": _factorial,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "max": max,
    "min": min,
    "pow": _power,
    "round": round,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}
_NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}
