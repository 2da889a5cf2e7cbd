"""The rooms and their order: a module imports only from rooms above its own in this table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import textcall

PACKAGE = Path(textcall.__file__).parent

# From top to bottom. Modules of one line may import one another.
ROOMS = (
    ("errors",),
    ("messages",),
    ("docstring", "signature", "tools", "load"),
    ("block",),
    ("grammar",),
    ("parsing",),
    ("prompting",),
    ("catalogue", "download", "resolve"),
    ("engines",),
    ("repetition", "turn"),
    ("fitting",),
    ("result_text", "dispatch"),
    ("events", "budget", "approval", "repeats", "relevance"),
    ("agent",),
    ("trace",),
    ("toolbox",),
    ("compare",),
    ("serve",),
    ("testing",),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module] if node.module != "textcall" else [f"textcall.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: relative import"
        found |= {name.split(".")[1] for name in names if name.startswith("textcall.")}
    return found


ROOTS = (PACKAGE / "__init__.py", PACKAGE / "__main__.py")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path not in ROOTS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_upwards_only(path: Path) -> None:
    room = room_of(path)
    below = {other for other in imported_rooms(path) - {room} if LEVEL[other] > LEVEL[room]}
    assert not below, f"{room} must not import {sorted(below)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_stay_small(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{f.name}: {f.end_lineno - f.lineno + 1} lines" for f in functions if (f.end_lineno or 0) - f.lineno >= 60]
    assert not long


def test_only_block_knows_the_wire_format() -> None:
    """The keys of a call stand in no other file as literals (docstrings aside): they are imported."""
    for path in MODULES:
        if path.name == "block.py":
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docs = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
        strings = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in docs]
        assert not [s for s in strings if isinstance(s, str) and ('"tool"' in s or '"args"' in s or s == "args")], path
