"""The hand-written grammars of the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def gbnf_file(name: str) -> str:
    """The text of `grammars/NAME.gbnf`: inside an installed package, or beside it in a checkout."""
    packaged = files("textcall") / "grammars" / f"{name}.gbnf"
    checkout = Path(__file__).parents[2] / "grammars" / f"{name}.gbnf"
    return (packaged if packaged.is_file() else checkout).read_text(encoding="utf-8")


@cache
def json_rules() -> dict[str, str]:
    """The rules of `json.gbnf` but its root, by name."""
    return _rules("json")


@cache
def format_rules() -> dict[str, str]:
    """The rules of `formats.gbnf` but its root, by name: `format-NAME` and what they use."""
    return _rules("formats")


@cache
def text_rules() -> dict[str, str]:
    """The rules of `text.gbnf` but its root, by name."""
    return _rules("text")


def shared_rules() -> dict[str, str]:
    """What the rules of any schema may use."""
    return {**json_rules(), **format_rules()}


def _rules(name: str) -> dict[str, str]:
    """One rule a line, as these files are written."""
    lines = [line for line in gbnf_file(name).splitlines() if "::=" in line and not line.startswith("#")]
    pairs = (line.split("::=", 1) for line in lines)
    return {rule.strip(): body.strip() for rule, body in pairs if rule.strip() != "root"}
