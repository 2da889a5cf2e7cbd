"""Traces on the command line: kept by run, shown by replay, read again by reparse; no model but for the first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import at_a_terminal, textcall

pytestmark = pytest.mark.model

TOOLS = """
from textcall import tool

@tool
def shelf(book: str) -> dict[str, int]:
    "Number of the shelf that a book stands on."
    return {"shelf": len(book)}
"""
NO_MODEL = {"TEXTCALL_MODEL": "nowhere.gguf"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "library.py").write_text(TOOLS)
    question = ("run", "Where is Ulysses?", "-t", "library.py", "--tool-choice", "shelf", "--max-tokens", "60")
    done = textcall(*question, "--max-steps", "1", "--trace", "run.jsonl", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return folder / "run.jsonl"


def test_a_trace_holds_what_happened(trace: Path) -> None:
    events = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    by_name = {event["event"]: event for event in events}
    assert events[0]["event"] == "run_started"
    assert events[-1]["event"] == "finished"
    prompts = [event for event in events if event["event"] == "prompt"]
    turns = [event for event in events if event["event"] == "turn"]
    assert [p["tokens"] for p in prompts] == [t["usage"]["prompt_tokens"] for t in turns]
    assert "<|im_start|>system" in prompts[0]["text"]
    assert by_name["result"]["name"] == "shelf"
    first = events.index(turns[0])
    written = [event for event in events[:first] if event["event"] == "written"]
    assert "".join(piece["text"] for piece in written) == turns[0]["text"]
    assert any(piece["forced"] for piece in written)
    assert turns[1]["usage"]["prompt_tokens_details"]["cached_tokens"] > 0


@pytest.mark.parametrize("option", [(), ("--plain",)])
def test_replay_shows_the_run_without_a_model(trace: Path, option: tuple[str, ...]) -> None:
    done = textcall("replay", str(trace), *option, cwd=trace.parent, **NO_MODEL)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("Where is Ulysses?", "shelf(book=", '{"shelf":', "tokens read"):
        assert text in done.stdout


def test_replay_waits_for_enter_where_it_is_told_to(trace: Path) -> None:
    code, shown = at_a_terminal("replay", str(trace), "--plain", "--step", cwd=trace.parent, answers=[("", "\n" * 40)])
    assert code == 0
    assert "tokens read" in shown


def test_a_run_that_broke_off_says_so(trace: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.jsonl"
    lines = trace.read_text(encoding="utf-8").splitlines(keepends=True)
    part.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:30], encoding="utf-8")
    done = textcall("replay", str(part), cwd=tmp_path, **NO_MODEL)
    assert done.returncode == 0
    assert "the run broke off" in done.stdout


def test_reparse_finds_nothing_in_a_trace_of_today(trace: Path) -> None:
    done = textcall("reparse", str(trace), cwd=trace.parent, **NO_MODEL)
    assert done.returncode == 0, done.stdout
    assert "2 replies, 0 read otherwise than then" in done.stdout


def test_reparse_shows_what_is_read_otherwise(trace: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    next(line for line in lines if line["event"] == "turn")["calls"] = []
    old = tmp_path / "old.jsonl"
    old.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = textcall("reparse", str(old), cwd=tmp_path, **NO_MODEL)
    assert done.returncode == 1
    assert "turn 1: call 1" in done.stdout
    assert "1 read otherwise than then" in done.stdout
    as_json = textcall("reparse", str(old), "--json", cwd=tmp_path, **NO_MODEL)
    first = json.loads(as_json.stdout.splitlines()[0])
    assert first["differences"][0]["what"] == "call 1"
    assert '"tool":"shelf"' in first["differences"][0]["now"]


@pytest.mark.parametrize("command", ["replay", "reparse"])
@pytest.mark.parametrize(("text", "said"), [("", "is empty"), ("# Notes\n", "line 1: no JSON"), (None, "No such file")])
def test_what_is_no_trace_is_a_line(command: str, text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "t.jsonl").write_text(text)
    done = textcall(command, "t.jsonl", cwd=tmp_path, **NO_MODEL)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_that_cannot_be_written_is_a_line(trace: Path) -> None:
    done = textcall("run", "hi", "--trace", "no/such/folder/t.jsonl", cwd=trace.parent)
    assert done.returncode == 2
    assert "the trace cannot be written" in done.stderr
