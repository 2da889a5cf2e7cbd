"""The loop: turn, dispatch, results into the conversation, turn … until there is an answer or a limit.

agent = Agent(model="models/qwen.gguf", tools=[get_weather, calculator])
run = agent.run("Will it rain in Paris tomorrow?")
print(run.text, run.usage)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from textcall.block import Convention, render_call
from textcall.catalogue import convention_for
from textcall.dispatch import dispatch
from textcall.engines.base import Engine, EngineEvent, Sampling
from textcall.errors import UsageError
from textcall.messages import Completion, Message, ToolCall, ToolResult, Usage
from textcall.prompting.render import FEEDBACK, feedback
from textcall.tools import ToolChoice, Toolset
from textcall.turn import Setup, prompt, take_turn

RunReason = Literal["stop", "length", "max_steps", "repeated_calls", "unusable_reply"]

# How often in a row a reply that cannot be used goes back to the model, before it is asked for an answer without tools.
RE_ASKS = 2
AUTO = ToolChoice("auto")
NONE = ToolChoice("none")


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of a run and what its calls gave, in order."""

    number: int
    completion: Completion
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    text: the answer ("" where the model gave none). messages: the whole conversation, system message excluded.
    finish_reason: "stop" where the model answered by itself; "length" where a reply was cut; otherwise what ended the
    run. But for "stop" and a cut answer, the answer was asked for with the tools switched off. seconds: wall clock,
    tools included.
    """

    text: str
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    finish_reason: RunReason
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins. choice: its tool_choice. request: the messages of text that the engine is given."""

    number: int
    choice: ToolChoice
    request: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TurnRead:
    """A reply was written and read."""

    number: int
    completion: Completion


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ResultCame:
    """A call has its result."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class FedBack:
    """The reply could not be used; this is what the model is told."""

    message: Message


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over."""

    run: Run


RunEvent: TypeAlias = EngineEvent | TurnStarted | TurnRead | CallStarted | ResultCame | FedBack | Finished
RunListener: TypeAlias = Callable[[RunEvent], None]


def unheard(_event: RunEvent) -> None:
    """A listener that does nothing."""


class Agent:
    """A model with tools.

    model: an `Engine`, or a GGUF file's path or name (None takes the default, see `textcall.resolve`), which is loaded
    at once. tools: Tools, plain functions, or a Toolset. tool_choice: "auto", "required" (the first turn must call),
    "none", or a tool's name (the first turn must call it). max_steps: turns in which tools may be called; one more,
    with the tools switched off, asks for an answer where the last still called. Raises ModelError and UsageError.
    """

    def __init__(
        self,
        model: Engine | Path | str | None = None,
        tools: Toolset | Iterable[Any] = (),
        *,
        system: str | None = None,
        convention: Convention | None = None,
        sampling: Sampling | None = None,
        tool_choice: Any = "auto",
        max_steps: int = 8,
        constrained: bool = True,
    ) -> None:
        if max_steps < 1:
            raise UsageError("max_steps must be at least 1")
        self.tools = tools if isinstance(tools, Toolset) else Toolset.of(tools)
        self.tool_choice = ToolChoice.parse(tool_choice, self.tools)
        self.max_steps = max_steps
        self.engine: Engine = _load(model) if model is None or isinstance(model, str | Path) else model
        self.setup = Setup(
            tools=self.tools,
            convention=convention or convention_for(self.engine.name),
            sampling=sampling or Sampling(),
            system=system,
            constrained=constrained,
        )

    def run(self, question: str | Sequence[Message], listener: RunListener = unheard) -> Run:
        """Answer a question, or carry on a conversation whose last message is not the assistant's.

        Raises UsageError for an empty question, EngineError and ContextOverflow from the engine. A tool that fails is
        no exception: its result says so to the model.
        """
        messages = _opening(question)
        progress = _Progress(self, messages, listener)
        return progress.to_the_end()


class _Progress:
    """A run on its way: the conversation so far, the steps, and what has been called before."""

    def __init__(self, agent: Agent, messages: list[Message], listener: RunListener) -> None:
        self._agent = agent
        self._messages = messages
        self._listener = listener
        self._steps: list[Step] = []
        self._started = time.perf_counter()
        self._called: dict[str, ToolResult] = {}
        self._repeats = 0
        self._failures = 0

    def to_the_end(self) -> Run:
        choice = self._agent.tool_choice
        while len(self._steps) < self._agent.max_steps:
            completion = self._turn(choice)
            if completion.calls:
                self._answer_calls(completion)
                choice = NONE if choice.mode == "none" else AUTO
                if self._repeats > 1:
                    return self._last_turn("repeated_calls")
            elif _is_answer(completion):
                return self._finish(completion, "length" if completion.finish_reason == "length" else "stop")
            elif completion.finish_reason == "length":  # told to write it again, the model would be cut again
                return self._last_turn("length")
            elif self._failures == RE_ASKS:
                return self._last_turn("unusable_reply")
            else:
                self._feed_back(completion)
        return self._last_turn("max_steps")

    def _turn(self, choice: ToolChoice) -> Completion:
        number, setup = len(self._steps) + 1, self._agent.setup
        self._listener(TurnStarted(number, choice, tuple(prompt(self._messages, setup))))
        completion = take_turn(self._agent.engine, self._messages, setup, choice, listener=self._listener)
        self._steps.append(Step(number, completion))
        self._listener(TurnRead(number, completion))
        return completion

    def _answer_calls(self, completion: Completion) -> None:
        """Run the calls in order: the assistant message first, then exactly one result a call."""
        self._failures = 0
        self._messages.append(Message.assistant(completion.content, completion.calls))
        results = []
        for call in completion.calls:
            self._listener(CallStarted(call))
            result = self._result(call)
            self._messages.append(Message.tool(result))
            self._listener(ResultCame(result))
            results.append(result)
        self._steps[-1] = replace(self._steps[-1], results=tuple(results))
        refused = [problem for problem in completion.problems if problem.kind not in _HARMLESS]
        if refused:
            self._tell(feedback(refused, beside_calls=True))

    def _result(self, call: ToolCall) -> ToolResult:
        """Run one call; the same call again is not run but answered with the result that it had."""
        key = render_call(call.name, call.arguments)
        tool = self._agent.tools.get(call.name)
        known = self._called.get(key)
        if known is not None and tool is not None and not tool.volatile:
            self._repeats += 1
            return replace(known, call_id=call.id, content=f"{known.content} (the same call as before)", seconds=0.0)
        result = dispatch(call, self._agent.tools)
        if result.ok:
            self._called[key] = result
        return result

    def _feed_back(self, completion: Completion) -> None:
        self._failures += 1
        self._messages.append(Message("assistant", completion.text, name=FEEDBACK))
        self._tell(feedback(completion.problems))

    def _tell(self, message: Message) -> None:
        self._messages.append(message)
        self._listener(FedBack(message))

    def _last_turn(self, reason: RunReason) -> Run:
        """Ask for an answer with the tools switched off, from what is known so far."""
        return self._finish(self._turn(NONE), reason)

    def _finish(self, completion: Completion, reason: RunReason) -> Run:
        text = completion.content or ""
        self._messages.append(Message.assistant(text))
        run = Run(
            text=text,
            messages=tuple(self._messages),
            steps=tuple(self._steps),
            finish_reason=reason,
            usage=sum((step.completion.usage for step in self._steps), Usage()),
            seconds=time.perf_counter() - self._started,
        )
        self._listener(Finished(run))
        return run


def _is_answer(completion: Completion) -> bool:
    """Whether the turn's text is meant for the user: there is some, and nothing in it was refused as a call."""
    refused = [p for p in completion.problems if p.kind not in _HARMLESS]
    return bool(completion.content and completion.content.strip()) and not refused


# Problems that leave an answer an answer.
_HARMLESS = frozenset({"truncated", "not_a_call", "role_confusion"})


def _opening(question: str | Sequence[Message]) -> list[Message]:
    messages = [Message.user(question)] if isinstance(question, str) else question
    if not isinstance(messages, list | tuple) or not all(isinstance(message, Message) for message in messages):
        raise UsageError("a question is a text or a list of Message values (Message.from_wire makes them of dicts)")
    messages = list(messages)
    last = messages[-1] if messages else None
    if last is None or not (last.content or "").strip():
        raise UsageError("the question is empty")
    if last.role == "assistant":
        raise UsageError("the last message is the assistant's: there is nothing to answer")
    return messages


def _load(model: Path | str | None) -> Engine:
    from textcall.engines.llama import LlamaEngine  # loads the native library: only where a file is run
    from textcall.resolve import cache_folder, resolve_model

    return LlamaEngine(resolve_model(model and str(model)).path, cache=cache_folder())
