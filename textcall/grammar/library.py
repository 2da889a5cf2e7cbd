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
    lines = [line for line in gbnf_file("json").splitlines() if "::=" in line]
    pairs = (line.split("::=", 1) for line in lines)
    return {name.strip(): body.strip() for name, body in pairs if name.strip() != "root"}
