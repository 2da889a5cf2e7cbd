"""Traces: written while a run goes on, read back as the same events, parsed again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from textcall import Agent, Convention, Message, Sampling, Shape, Tool, tool
from textcall.block import render_call, render_reply
from textcall.engines.base import Generation, Loading, Noticed, Prompting, Rendered, Written
from textcall.errors import UsageError
from textcall.events import CallRunning, Finished, RunEvent, RunStarted, TurnRead
from textcall.testing import ScriptedEngine
from textcall.trace import TraceWriter, event_json, read_trace
from textcall.trace.reparse import reparse

CONVENTION = Convention()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(reason: str) -> str:
    """Always fails."""
    raise LookupError(reason)


def answer(text: str) -> str:
    return render_reply(CONVENTION, text)


RUNS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "an answer": ([answer("Hello, 世界 \u2028 🌊")], {}),
    "calls": ([render_call("add", {"a": 1, "b": 2}), answer("3")], {"tool_choice": "required"}),
    "a named tool": ([render_call("add", {"a": 1, "b": 2}), answer("3")], {"tool_choice": "add"}),
    "a failure": ([render_call("fail", {"reason": "x"}), answer("no")], {}),
    "feedback": ([render_call("sub", {}), answer("3")], {"constrained": False}),
    "thought": (["<think>\nhm\n</think>\n" + answer("yes")], {"constrained": False, "system": "Be brief."}),
    "cut": ([Generation(answer("long")[:-4], "length")], {"sampling": Sampling(stop=("x", "y"), seed=3)}),
    "a limit": ([render_call("add", {"a": 1, "b": 2}), answer("3")], {"max_steps": 1}),
    "another shape": (["Text."], {"convention": Convention(shape=Shape.PLAIN, rendering="json", answer_threshold=0.1)}),
    "several calls": (
        ["\n".join(render_call("add", {"a": n, "b": n}) for n in range(3)), answer("x")],
        {"parallel_tool_calls": True},
    ),
}


def events_of(replies: list[Any], options: dict[str, Any]) -> list[RunEvent]:
    events: list[RunEvent] = []
    Agent(ScriptedEngine(replies), [add, fail], **options).run("What is 1 + 2?", events.append)
    return events


def written(path: Path, events: list[RunEvent]) -> Path:
    with TraceWriter(path) as trace:
        for event in events:
            trace(event)
    return path


@pytest.mark.parametrize("name", RUNS)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    events = events_of(*RUNS[name])
    read = read_trace(written(tmp_path / "t.jsonl", events))
    kept = [event for event in events if event_json(event) is not None]
    assert [event_json(event) for event in read] == [event_json(event) for event in kept]
    assert [type(event) for event in read] == [type(event) for event in kept]
    last, told = read[-1], events[-1]
    assert isinstance(last, Finished)
    assert isinstance(told, Finished)
    assert [s.number for s in last.run.steps] == [s.number for s in told.run.steps]
    assert [[r.content for r in s.results] for s in last.run.steps] == [
        [r.content for r in s.results] for s in told.run.steps
    ]
    assert [m.to_wire() for m in last.run.messages] == [m.to_wire() for m in told.run.messages]


@pytest.mark.parametrize("name", RUNS)
def test_todays_parser_reads_what_todays_parser_read(name: str, tmp_path: Path) -> None:
    found = list(reparse(read_trace(written(tmp_path / "t.jsonl", events_of(*RUNS[name])))))
    assert found
    assert [one.differences for one in found] == [()] * len(found)


def test_progress_is_left_out() -> None:
    for event in (Loading(0.5), Prompting(1, 2, 0)):
        assert event_json(event) is None
    running = [e for e in events_of(*RUNS["calls"]) if isinstance(e, CallRunning)]
    assert [event_json(event) for event in running] == [None] * len(running)


def test_several_runs_in_one_file(tmp_path: Path) -> None:
    events = [event for name in ("calls", "an answer") for event in events_of(*RUNS[name])]
    read = read_trace(written(tmp_path / "t.jsonl", events))
    finished = [event.run for event in read if isinstance(event, Finished)]
    assert [len(run.steps) for run in finished] == [2, 1]
    assert [(one.run, one.turn) for one in reparse(read)] == [(1, 1), (1, 2), (2, 1)]


def test_tokens_are_joined_where_their_kind_stays(tmp_path: Path) -> None:
    pieces = [
        Written("a"),
        Written("b"),
        Written("{", forced=True),
        Written(":", forced=True),
        Written("c", False, "d"),
    ]
    read = read_trace(written(tmp_path / "t.jsonl", [*pieces, Written("e"), Noticed("x")]))
    assert read == [Written("ab"), Written("{:", forced=True), Written("ce", False, "d"), Noticed("x")]


def test_every_event_is_on_the_disk_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as trace:
        trace(Rendered("prompt", 1))
        assert json.loads(path.read_text(encoding="utf-8")) == {"event": "prompt", "tokens": 1, "text": "prompt"}
        for _ in range(100):
            trace(Written("word "))
        assert path.read_text(encoding="utf-8").count("word") > 80


KILLED = """
import os, signal, sys
from pathlib import Path
from textcall import Agent, tool
from textcall.block import Convention, render_call
from textcall.testing import ScriptedEngine
from textcall.trace import TraceWriter

@tool
def die() -> str:
    "Ends the process at once."
    os.kill(os.getpid(), signal.SIGKILL)

with TraceWriter(Path(sys.argv[1])) as trace:
    Agent(ScriptedEngine([render_call("die", {})]), [die]).run("Go", trace)
"""


def test_a_killed_process_leaves_all_that_happened(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    named = [type(event).__name__ for event in read_trace(path)]
    assert named == ["RunStarted", "TurnStarted", "Rendered", "Written", "TurnRead", "CallStarted"]


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", events_of(*RUNS["calls"]))
    whole = read_trace(path)
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    assert len(read_trace(path)) == len(whole) - 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("hello\nworld\n", "line 1: no JSON"),
        ('{"a":1}\n', "line 1: not a line of a trace: KeyError: 'event'"),
        ("[]\n", "line 1: not a line of a trace"),
        ("1\n", "line 1: not a line of a trace"),
        ('{"event":"written"}\n', "line 1: not a line of a trace: KeyError: 'text'"),
        ('{"event":"run_started","version":99}\n', "version 99"),
        ('{"event":"prompt","text":"x","tokens":1}\n{"event":\n{}\n', "line 2: no JSON"),
    ],
)
def test_what_is_no_trace(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_trace(path)
    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_cannot_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_trace(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be written"):
        TraceWriter(tmp_path / "no" / "such" / "folder")


def test_kinds_that_a_later_version_adds_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"event":"weather","sky":"blue"}\n{"event":"notice","text":"x"}\n', encoding="utf-8")
    assert read_trace(path) == [Noticed("x")]


def changed(path: Path, **values: Any) -> Path:
    """The same trace with another text of the first reply, or with other calls read out of it."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    first = next(line for line in lines if line["event"] == "turn")
    first.update(values)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_what_is_read_otherwise_now_is_shown(tmp_path: Path) -> None:
    path = changed(
        written(tmp_path / "t.jsonl", events_of(*RUNS["calls"])), calls=[], content="text", finish_reason="stop"
    )
    first, second = reparse(read_trace(path))
    assert [(d.what, d.before, d.now) for d in first.differences] == [
        ("call 1", "", render_call("add", {"a": 1, "b": 2}) + " (strict)"),
        ("content", "text", ""),
    ]
    assert second.differences == ()


def test_a_reply_whose_prompt_opened_the_think_block(tmp_path: Path) -> None:
    call = render_call("add", {"a": 1, "b": 2})
    reply = Generation(f"perhaps\n{call}\n", "stop", thinking=True)
    events: list[RunEvent] = []

    def as_thinking(event: RunEvent) -> None:
        events.append(Rendered(event.text + "<think>\n", event.tokens) if isinstance(event, Rendered) else event)

    Agent(ScriptedEngine([reply, answer("x")]), [add], constrained=False).run("Go", as_thinking)
    first = next(event.completion for event in events if isinstance(event, TurnRead))
    assert first.calls == ()
    found = list(reparse(read_trace(written(tmp_path / "t.jsonl", events))))
    assert found[0].differences == ()


def test_a_part_of_a_trace_cannot_be_parsed_again(tmp_path: Path) -> None:
    lines = written(tmp_path / "t.jsonl", events_of(*RUNS["calls"])).read_text(encoding="utf-8").splitlines()
    part = tmp_path / "part.jsonl"
    part.write_text("\n".join(line for line in lines if '"turn"' in line[:20]) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="not a whole trace"):
        list(reparse(read_trace(part)))


def test_a_conversation_that_is_carried_on_is_kept_whole(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    engine = ScriptedEngine(
        [render_call("add", {"a": 1}), answer("x"), '{"tool": "add", "args": {"a": "a\nb', answer("y")]
    )
    agent = Agent(engine, [add], constrained=False)
    run = agent.run("Go", events.append)
    again = agent.run([*run.messages, Message.user("again")], events.append)
    assert again.text == "y"
    read = [e.run for e in read_trace(written(tmp_path / "t.jsonl", events)) if isinstance(e, Finished)]
    assert [r.messages for r in read] == [run.messages, again.messages]
    assert any("a\nb" in (m.content or "") for m in again.messages)  # what was written stays as it was


def test_tools_come_back_as_they_were_described(tmp_path: Path) -> None:
    odd = Tool(name="odd.name", description="Ends in \u2028", parameters={"type": "object", "properties": {"ä": {}}})
    events: list[RunEvent] = []
    Agent(ScriptedEngine([answer("x")]), [odd]).run("Go", events.append)
    started = read_trace(written(tmp_path / "t.jsonl", events))[0]
    assert isinstance(started, RunStarted)
    assert list(started.setup.tools) == [odd]
