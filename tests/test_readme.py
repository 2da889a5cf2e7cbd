"""What the README promises: its Python runs, its commands and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from textcall.load import load_tools

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.model
def test_the_python_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TEXTCALL_MODEL", "smollm2")
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    names: dict[str, object] = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), names)
    assert "Usage(prompt_tokens=" in capsys.readouterr().out
    assert getattr(names["run"], "finish_reason", None)


def test_the_file_map_is_true() -> None:
    listed = re.findall(r"^    ((?:textcall|grammars|models|examples|scripts|tests)/\S*)", README, re.MULTILINE)
    assert len(listed) > 12
    for name in listed:
        assert (ROOT / name.rstrip(",")).exists(), name


def test_every_command_is_named() -> None:
    from textcall.cli import app

    for command in app.registered_commands:
        assert f"textcall {command.name}" in README, command.name


def test_the_example_tools_work() -> None:
    search, read = load_tools(str(ROOT / "examples" / "notes.py"))
    found = search.call({"word": "rome"})
    assert set(found) == {"books", "trip"}
    assert "Rome" in read.call({"name": "trip"})
    with pytest.raises(LookupError, match="kitchen"):
        read.call({"name": "../../README"})
