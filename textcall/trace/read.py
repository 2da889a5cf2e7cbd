"""A trace read back as the events that it was written from: what listens to a run can listen to a trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from textcall.block import Convention, Shape
from textcall.engines.base import Noticed, Rendered, Sampling, Written
from textcall.errors import TextcallError, UsageError
from textcall.events import (
    CallStarted,
    FedBack,
    Finished,
    ResultCame,
    Run,
    RunEvent,
    RunStarted,
    Step,
    TurnRead,
    TurnStarted,
)
from textcall.messages import Completion, Message, Problem, Span, ToolCall, ToolResult, Usage
from textcall.prompting.render import FEEDBACK
from textcall.tools import Tool, ToolChoice, Toolset
from textcall.trace.as_json import VERSION
from textcall.turn import Setup


def read_trace(path: Path) -> list[RunEvent]:
    """The events of a trace file. A last line that was cut (the process died while writing it) is left out.

    Raises UsageError for a file that cannot be read or is no trace, naming the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path}: cannot be read: {why}") from error
    return list(_Reader(str(path)).events(lines))


class _Reader:
    """Turns lines into events; keeps the steps of the run that is being read, which its end sums up."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._steps: list[Step] = []

    def events(self, lines: Sequence[str]) -> Iterator[RunEvent]:
        written = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        if not written:
            raise UsageError(f"{self._name}: is empty, so it is no trace")
        for number, line in written:
            try:
                event = self._event(json.loads(line))
            except json.JSONDecodeError as error:
                if number == len(lines):  # every whole line ends in a line break: this one was cut
                    return
                raise UsageError(f"{self._name}, line {number}: no JSON: {error}") from error
            except (KeyError, TypeError, ValueError, AttributeError, TextcallError) as error:
                said = str(error) if isinstance(error, TextcallError) else f"{type(error).__name__}: {error}"
                raise UsageError(f"{self._name}, line {number}: not a line of a trace: {said}") from error
            if event is not None:
                yield event

    def _event(self, line: Mapping[str, Any]) -> RunEvent | None:
        """One event; None for a kind that this version does not know."""
        kind = line["event"]
        if kind == "run_started":
            self._steps = []
        event = _FROM_JSON[kind](line) if kind in _FROM_JSON else None
        match event:
            case TurnRead():
                self._steps.append(Step(event.number, event.completion))
            case ResultCame() if self._steps:
                last = self._steps[-1]
                self._steps[-1] = replace(last, results=(*last.results, event.result))
            case Finished():
                event = Finished(replace(event.run, steps=tuple(self._steps)))
        return event


def _run_started(line: Mapping[str, Any]) -> RunStarted:
    if line["version"] > VERSION:
        raise UsageError(f"a trace of version {line['version']}; this textcall reads version {VERSION}")
    convention = {**line["convention"], "shape": Shape(line["convention"]["shape"])}
    sampling = {**line["sampling"], "stop": tuple(line["sampling"]["stop"])}
    setup = Setup(
        tools=Toolset(Tool.from_wire(tool) for tool in line["tools"]),
        convention=Convention(**convention),
        sampling=Sampling(**sampling),
        system=line["system"],
        constrained=line["constrained"],
        parallel=line["parallel_tool_calls"],
    )
    return RunStarted(line["model"], line["n_ctx"], setup, _messages(line["messages"]))


def _turn_started(line: Mapping[str, Any]) -> TurnStarted:
    mode = line["tool_choice"]
    choice = ToolChoice(mode) if mode in ("auto", "required", "none") else ToolChoice("required", mode)
    return TurnStarted(line["turn"], choice, _messages(line["request"]))


def _turn_read(line: Mapping[str, Any]) -> TurnRead:
    completion = Completion(
        text=line["text"],
        content=line["content"],
        reasoning=line["reasoning"],
        calls=tuple(_call(call) for call in line["calls"]),
        problems=tuple(_problem(problem) for problem in line["problems"]),
        finish_reason=line["finish_reason"],
        usage=_usage(line["usage"]),
        seconds=line["seconds"],
        answer_probability=line.get("answer_probability"),
    )
    return TurnRead(line["turn"], completion)


def _finished(line: Mapping[str, Any]) -> Finished:
    run = Run(
        text=line["text"],
        messages=_messages(line["messages"]),
        steps=(),
        finish_reason=line["finish_reason"],
        usage=_usage(line["usage"]),
        seconds=line["seconds"],
    )
    return Finished(run)


def _result_came(line: Mapping[str, Any]) -> ResultCame:
    result = ToolResult(
        call_id=line["tool_call_id"],
        name=line["name"],
        content=line["content"],
        error=line["error"],
        seconds=line["seconds"],
        traceback=line.get("traceback", ""),
    )
    return ResultCame(result)


_FROM_JSON: dict[str, Callable[[Mapping[str, Any]], RunEvent]] = {
    "run_started": _run_started,
    "turn_started": _turn_started,
    "prompt": lambda line: Rendered(line["text"], line["tokens"]),
    "written": lambda line: Written(line["text"], line["forced"], line["overruled"]),
    "notice": lambda line: Noticed(line["text"]),
    "turn": _turn_read,
    "call": lambda line: CallStarted(_call(line)),
    "result": _result_came,
    "feedback": lambda line: FedBack(Message("user", line["content"], name=FEEDBACK)),
    "finished": _finished,
}


def _messages(wires: Iterable[Mapping[str, Any]]) -> tuple[Message, ...]:
    return tuple(Message.from_wire(wire) for wire in wires)


def _call(line: Mapping[str, Any]) -> ToolCall:
    return ToolCall(line["id"], line["name"], line["arguments"], tuple(line["how"]), _span(line))


def _problem(line: Mapping[str, Any]) -> Problem:
    return Problem(line["kind"], line["message"], line["path"], _span(line))


def _span(line: Mapping[str, Any]) -> Span | None:
    span = line["span"]
    return (span[0], span[1]) if span else None


def _usage(wire: Mapping[str, Any]) -> Usage:
    return Usage(
        prompt_tokens=wire["prompt_tokens"],
        completion_tokens=wire["completion_tokens"],
        reasoning_tokens=wire["completion_tokens_details"]["reasoning_tokens"],
        cached_tokens=wire["prompt_tokens_details"]["cached_tokens"],
        tool_tokens=wire["textcall"]["tool_tokens"],
        forced_tokens=wire["textcall"]["forced_tokens"],
    )
