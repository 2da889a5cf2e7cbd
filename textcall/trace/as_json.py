"""The events of a run as JSON objects, for `textcall run --json` and for traces. `read` is the inverse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import singledispatch
from typing import Any

from textcall.engines.base import Noticed, Rendered, Written
from textcall.events import (
    CallStarted,
    FedBack,
    Finished,
    ResultCame,
    RunEvent,
    RunStarted,
    TurnRead,
    TurnStarted,
)
from textcall.messages import Completion, Message, Problem, ToolCall, ToolResult

VERSION = 1  # of what is written; a reader refuses a newer one


@singledispatch
def _as_json(_event: object) -> Mapping[str, Any] | None:
    """Progress is left out: a trace holds what happened, not how it trickled in."""
    return None


def event_json(event: RunEvent) -> Mapping[str, Any] | None:
    """The event as a JSON object with its name under `event`; None for events that a trace leaves out."""
    return _as_json(event)


@_as_json.register
def _run_started(event: RunStarted) -> Mapping[str, Any]:
    setup = event.setup
    return {
        "event": "run_started",
        "version": VERSION,
        "model": event.model,
        "n_ctx": event.n_ctx,
        "tools": [tool.to_wire() for tool in setup.tools],
        "convention": asdict(setup.convention),
        "sampling": asdict(setup.sampling),
        "system": setup.system,
        "constrained": setup.constrained,
        "parallel_tool_calls": setup.parallel,
        "messages": [message_json(message) for message in event.messages],
    }


@_as_json.register
def _rendered(event: Rendered) -> Mapping[str, Any]:
    return {"event": "prompt", "tokens": event.tokens, "text": event.text}


@_as_json.register
def _written(event: Written) -> Mapping[str, Any]:
    return {"event": "written", "text": event.text, "forced": event.forced, "overruled": event.overruled}


@_as_json.register
def _turn_started(event: TurnStarted) -> Mapping[str, Any]:
    request = [message.to_wire() for message in event.request]
    choice = event.choice.name or event.choice.mode
    return {"event": "turn_started", "turn": event.number, "tool_choice": choice, "request": request}


@_as_json.register
def _noticed(event: Noticed) -> Mapping[str, Any]:
    return {"event": "notice", "text": event.text}


@_as_json.register
def _turn_read(event: TurnRead) -> Mapping[str, Any]:
    return {"event": "turn", "turn": event.number, **completion_json(event.completion)}


@_as_json.register
def _call_started(event: CallStarted) -> Mapping[str, Any]:
    return {"event": "call", **call_json(event.call)}


@_as_json.register
def _result_came(event: ResultCame) -> Mapping[str, Any]:
    return {"event": "result", **result_json(event.result)}


@_as_json.register
def _fed_back(event: FedBack) -> Mapping[str, Any]:
    return {"event": "feedback", "content": event.message.content}


@_as_json.register
def _finished(event: Finished) -> Mapping[str, Any]:
    run = event.run
    return {
        "event": "finished",
        "text": run.text,
        "finish_reason": run.finish_reason,
        "turns": len(run.steps),
        "usage": run.usage.to_wire(),
        "seconds": round(run.seconds, 3),
        "messages": [message_json(message) for message in run.messages],
    }


def completion_json(completion: Completion) -> dict[str, Any]:
    """One turn: the raw text, and what was read out of it."""
    probability = completion.answer_probability
    return {
        "text": completion.text,
        "content": completion.content,
        "reasoning": completion.reasoning,
        "calls": [call_json(call) for call in completion.calls],
        "problems": [problem_json(problem) for problem in completion.problems],
        "finish_reason": completion.finish_reason,
        "answer_probability": None if probability is None else round(probability, 6),
        "usage": completion.usage.to_wire(),
        "seconds": round(completion.seconds, 3),
    }


def call_json(call: ToolCall) -> dict[str, Any]:
    """A call with how it was read and where it stood."""
    return {
        "id": call.id,
        "name": call.name,
        "arguments": dict(call.arguments),
        "how": list(call.how),
        "span": list(call.span) if call.span else None,
    }


def result_json(result: ToolResult) -> dict[str, Any]:
    """A result."""
    return {
        "tool_call_id": result.call_id,
        "name": result.name,
        "content": result.content,
        "error": result.error,
        "seconds": round(result.seconds, 6),
        **({"traceback": result.traceback} if result.traceback else {}),
    }


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem."""
    span = list(problem.span) if problem.span else None
    return {"kind": problem.kind, "message": problem.message, "path": problem.path, "span": span}


def message_json(message: Message) -> dict[str, Any]:
    """A message in the field's wire shape."""
    return message.to_wire()
