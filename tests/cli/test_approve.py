"""Dangerous tools on the command line: asked about at a terminal, refused where nobody is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import at_a_terminal, textcall

pytestmark = pytest.mark.model

TOOLS = """
from pathlib import Path
from textcall import tool

@tool(dangerous=True)
def wipe() -> str:
    "Wipe the disk."
    Path("ran").touch()
    return "wiped"
"""
ASK = ("run", "Wipe it", "-t", "tools.py", "--tool-choice", "wipe", "--max-steps", "1", "--max-tokens", "40")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "ran", "said"),
    [
        ((), False, "nobody can be asked"),
        (("--approve", "never"), False, "did not allow"),
        (("--approve", "always"), True, "wiped"),
    ],
)
def test_without_a_terminal(folder: Path, options: tuple[str, ...], ran: bool, said: str) -> None:
    done = textcall(*ASK, *options, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    assert said in done.stderr
    assert (folder / "ran").exists() is ran


@pytest.mark.parametrize(
    ("typed", "ran"), [("y\n", True), ("n\n", False), ("\n", False), ("what?\nalways\n", True), ("\x04", False)]
)
def test_at_a_terminal(folder: Path, typed: str, ran: bool) -> None:
    code, shown = at_a_terminal(*ASK, cwd=folder, answers=[("never [n]", typed)])
    assert code in (0, 1), shown
    assert "allow?" in shown
    assert "wipe()" in shown
    assert (folder / "ran").exists() is ran
