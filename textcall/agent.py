"""The loop: turn, dispatch, results into the conversation, turn … until there is an answer or a limit.

agent = Agent(model="models/qwen.gguf", tools=[get_weather, calculator])
run = agent.run("Will it rain in Paris tomorrow?")
print(run.text, run.usage)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from textcall.approval import Approvals, Approve
from textcall.block import Convention
from textcall.budget import LAST_WORDS, Budget, Limits
from textcall.catalogue import convention_for
from textcall.dispatch import Running, refused, start
from textcall.engines.base import Engine, Noticed, Prompting, Sampling, Written
from textcall.errors import UsageError
from textcall.events import (
    CallRunning,
    CallStarted,
    FedBack,
    Finished,
    ResultCame,
    Run,
    RunEvent,
    RunListener,
    RunReason,
    RunStarted,
    Step,
    TurnRead,
    TurnStarted,
    unheard,
)
from textcall.fitting import leave_out, result_tokens
from textcall.messages import Completion, Message, ToolCall, ToolResult, Usage
from textcall.prompting.render import FEEDBACK, feedback, nudge
from textcall.prompting.window import is_question, without
from textcall.relevance import most_relevant
from textcall.repeats import FORCE, LEAVE_OUT, NOT_RUN, NUDGE, CallMemory, call_key
from textcall.result_text import cut_to_tokens
from textcall.tools import ToolChoice, Toolset
from textcall.turn import REPETITION, Cut, Setup, prompt, take_turn

# How often in a row a reply that cannot be used goes back to the model, before it is asked for an answer without tools.
RE_ASKS = 2
NONE = ToolChoice("none")


class Agent:
    """A model with tools.

    model: an `Engine`, or a GGUF file's path or name (None takes the default, see `textcall.resolve`), which is loaded
    at once. tools: Tools, plain functions, or a Toolset. tool_choice: "auto", "required" (the first step must call),
    "none", a tool's name (the first step must call it), or a list of them, one a step, of which the last one stays.
    max_steps: turns in which tools may be called. max_calls, max_tokens, max_seconds: tools run, tokens written and
    wall clock of one run (None: no limit); `Sampling.max_tokens` is the limit of one reply. Whatever limit is reached,
    one more turn, with the tools switched off, asks for an answer. parallel_tool_calls: whether the grammar lets one
    reply hold several calls. tool_limit: so many tools at most are shown to the model, those whose words are nearest
    to the question. approve: asked before a tool marked dangerous runs; without it such tools are refused.
    Raises ModelError and UsageError.
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
        parallel_tool_calls: bool = False,
        max_steps: int = 8,
        max_calls: int | None = 32,
        max_tokens: int | None = None,
        max_seconds: float | None = None,
        tool_limit: int | None = None,
        approve: Approve | None = None,
        constrained: bool = True,
    ) -> None:
        if tool_limit is not None and tool_limit < 1:
            raise UsageError("tool_limit must be at least 1")
        self.tools = tools if isinstance(tools, Toolset) else Toolset.of(tools)
        self.tool_choice = tool_choice
        self.choices = choices_of(tool_choice, self.tools)
        self.limits = Limits(max_steps, max_calls, max_tokens, max_seconds)
        self.tool_limit = tool_limit
        self.approvals = Approvals(approve)
        self.engine: Engine = _load(model) if model is None or isinstance(model, str | Path) else model
        self.setup = Setup(
            tools=self.tools,
            convention=convention or convention_for(self.engine.name),
            sampling=sampling or Sampling(),
            system=system,
            constrained=constrained,
            parallel=parallel_tool_calls,
        )

    def run(
        self, question: str | Sequence[Message], listener: RunListener = unheard, *, tool_choice: Any = None
    ) -> Run:
        """Answer a question, or carry on a conversation whose last message is not the assistant's.

        tool_choice: for this run, instead of the agent's own. Raises UsageError for an empty question, EngineError and
        ContextOverflow from the engine. A tool that fails is no exception: its result says so to the model; but
        KeyboardInterrupt and SystemExit from a tool end the run.
        """
        messages = _opening(question)
        choices = self.choices if tool_choice is None else choices_of(tool_choice, self.tools)
        return _Progress(self, messages, choices, listener).to_the_end()


def choices_of(value: Any, tools: Toolset) -> tuple[ToolChoice, ...]:
    """tool_choice as one choice a step, of which the last stays: "required" alone holds for the first step only.

    Raises UsageError.
    """
    if isinstance(value, list | tuple):
        if not value:
            raise UsageError("tool_choice is an empty list")
        return tuple(ToolChoice.parse(one, tools) for one in value)
    choice = ToolChoice.parse(value, tools)
    return (choice, ToolChoice("auto")) if choice.mode == "required" else (choice,)


class _Progress:
    """A run on its way: the conversation so far, the steps, what was called before, what is used of the limits."""

    def __init__(
        self, agent: Agent, messages: list[Message], choices: tuple[ToolChoice, ...], listener: RunListener
    ) -> None:
        self._agent = agent
        self._engine = agent.engine
        self._messages = messages
        self._choices = choices
        self._listener = listener
        self._setup = self._shown_tools(agent.setup)
        self._steps: list[Step] = []
        self._started = time.perf_counter()
        self._budget = Budget(agent.limits)
        self._memory = CallMemory()
        self._called = 0  # steps that called: which choice is next
        self._failures = 0
        self._left_out: frozenset[int] = frozenset()  # messages that do not fit, by index
        self._repeats: set[int] = set()  # messages of turns that only repeated calls
        self._hidden: frozenset[int] = frozenset()  # those of them that have left the prompt
        self._closing = False

    def to_the_end(self) -> Run:
        started = RunStarted(self._engine.name, self._engine.n_ctx, self._setup, tuple(self._messages))
        self._listener(started)
        while (reason := self._budget.used_up()) is None:
            completion = self._turn(self._choices[min(self._called, len(self._choices) - 1)])
            if completion.calls:
                self._answer_calls(completion)
                if self._repeated() >= FORCE:
                    return self._last_turn("repeated_calls")
            elif _is_answer(completion) or self._caught_again(completion):
                return self._finish(completion, self._why_cut(completion))
            elif ended := self._beyond_mending(completion):
                return self._last_turn(ended)
            else:
                self._feed_back(completion)
        return self._last_turn(reason)

    def _turn(self, choice: ToolChoice) -> Completion:
        number, setup = len(self._steps) + 1, self._turn_setup()
        messages = self._fitting(setup)
        self._listener(TurnStarted(number, choice, tuple(prompt(messages, setup))))
        completion = take_turn(self._engine, messages, setup, choice, listener=self._listen)
        self._budget.steps += 1
        self._budget.tokens += completion.usage.completion_tokens
        self._steps.append(Step(number, completion))
        self._listener(TurnRead(number, completion))
        return completion

    def _turn_setup(self) -> Setup:
        """What this turn is taken under: its reply may not be longer than what is left of the run's tokens."""
        sampling = self._setup.sampling
        used_up = self._closing and self._budget.used_up() in ("max_tokens", "max_seconds")
        tokens = min(sampling.max_tokens, LAST_WORDS) if used_up else self._budget.reply_tokens(sampling.max_tokens)
        return replace(self._setup, sampling=replace(sampling, max_tokens=tokens))

    def _listen(self, event: RunEvent) -> None:
        """Passes on what the engine tells, and ends the reply where the run's time is over."""
        self._listener(event)
        if isinstance(event, Written | Prompting) and not self._closing and self._budget.seconds_left <= 0:
            raise Cut

    def _fitting(self, setup: Setup) -> list[Message]:
        """The messages that are shown to the model: all but what does not fit and what only repeats."""
        before = self._left_out
        self._left_out = leave_out(self._engine, self._messages, setup, self._left_out, self._hidden)
        if more := len(self._left_out - before):
            text = f"{more} earlier message{'s' if more != 1 else ''} left out of the prompt: the context is full"
            self._listener(Noticed(text))
        return without(self._messages, self._left_out, self._hidden)

    def _answer_calls(self, completion: Completion) -> None:
        """Run the calls: the assistant message first, then exactly one result a call, in order."""
        self._failures = 0
        self._called += 1
        first = len(self._messages)
        self._messages.append(Message.assistant(completion.content, completion.calls))
        results: list[ToolResult] = []
        for group in _groups(completion.calls, self._setup.tools):
            results += self._run_group(group, len(completion.calls))
        self._steps[-1] = replace(self._steps[-1], results=tuple(results))
        before = self._memory.turns
        if self._memory.end_turn() > before:
            self._repeats |= set(range(first, len(self._messages)))
        refusals = [problem for problem in completion.problems if problem.kind not in _HARMLESS]
        if refusals:
            self._tell(feedback(refusals, beside_calls=True))

    def _run_group(self, calls: Sequence[ToolCall], of: int) -> list[ToolResult]:
        """Run calls beside one another, where there are several; their results come in order."""
        begun = [self._begin(call) for call in calls]
        results = []
        for call, running in zip(calls, begun, strict=True):
            result = running if isinstance(running, ToolResult) else self._wait(running)
            limit = result_tokens(self._engine, of)
            result = replace(result, content=cut_to_tokens(result.content, limit, self._engine.count_tokens))
            if isinstance(running, Running) or result.error in NOT_RUN:
                self._memory.remember(call, self._setup.tools.get(call.name), result)
            self._messages.append(Message.tool(result))
            self._listener(ResultCame(result))
            results.append(result)
        return results

    def _begin(self, call: ToolCall) -> Running | ToolResult:
        """Start a call, or say at once what comes of it: it was made before, or must not run."""
        self._listener(CallStarted(call))
        tool = self._setup.tools.get(call.name)
        if (known := self._memory.recall(call, tool)) is not None:
            return known
        if (why := self._budget.refusal()) is not None:
            return refused(call, "not_run", why)
        with self._budget.waiting_for_somebody():
            why = self._agent.approvals.refusal(call, tool) if tool else None
        if why is not None:
            return refused(call, "refused", why)
        self._budget.calls += 1
        return start(call, self._setup.tools, longest=self._budget.seconds_left)

    def _wait(self, running: Running) -> ToolResult:
        return running.result(lambda seconds: self._listener(CallRunning(running.call, seconds)))

    def _repeated(self) -> int:
        """What repeated calls lead to, step by step; how many turns in a row only repeated."""
        turns = self._memory.turns
        if turns == 0:
            self._repeats.clear()
        elif turns == NUDGE:
            self._tell(nudge(self._steps[-1].completion.calls))
        elif turns == LEAVE_OUT:
            self._hidden |= self._repeats
        return turns

    def _beyond_mending(self, completion: Completion) -> RunReason | None:
        """Why a reply that cannot be used does not go back to the model; None where it does."""
        if used_up := self._budget.used_up():
            return used_up if used_up != "max_steps" else self._unusable(completion)
        return self._unusable(completion)

    def _unusable(self, completion: Completion) -> RunReason | None:
        if _repeats_itself(completion):
            return "repetition" if self._failures else None
        if completion.finish_reason == "length":  # told to write it again, it would be cut again
            return "length"
        return "unusable_reply" if self._failures == RE_ASKS else None

    def _caught_again(self, completion: Completion) -> bool:
        """Whether the reply repeats itself although the model was told: what stands before that is the answer then."""
        return bool(completion.content and self._failures and _repeats_itself(completion))

    def _feed_back(self, completion: Completion) -> None:
        self._failures += 1
        self._messages.append(Message("assistant", _as_written(completion), name=FEEDBACK))
        self._tell(feedback(completion.problems))

    def _tell(self, message: Message) -> None:
        self._messages.append(message)
        self._listener(FedBack(message))

    def _why_cut(self, completion: Completion) -> RunReason:
        """How a run with this answer ends: a cut one says which limit cut it."""
        if _repeats_itself(completion):
            return "repetition"
        if completion.finish_reason != "length":
            return "stop"
        used_up = self._budget.used_up()
        return used_up if used_up in ("max_tokens", "max_seconds") else "length"

    def _last_turn(self, reason: RunReason) -> Run:
        """Ask for an answer with the tools switched off, from what is known so far."""
        self._closing = True
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

    def _shown_tools(self, setup: Setup) -> Setup:
        """The setup with those tools that the question is about, where there is a limit."""
        limit = self._agent.tool_limit
        if limit is None or limit >= len(setup.tools):
            return setup
        asked = next((m.content for m in reversed(self._messages) if is_question(m)), None)
        named = {choice.name for choice in self._choices if choice.name}
        picked = most_relevant(setup.tools, asked or "", limit)
        shown = Toolset(tool for tool in setup.tools if tool in picked or tool.name in named)
        self._listener(
            Noticed(f"of {len(setup.tools)} tools the model is shown {len(shown)}: {', '.join(shown.names)}")
        )
        return replace(setup, tools=shown)


def _groups(calls: Sequence[ToolCall], tools: Toolset) -> Iterator[list[ToolCall]]:
    """The calls in order; neighbours that may run beside one another, and are not the same, together."""
    group: list[ToolCall] = []
    for call in calls:
        tool = tools.get(call.name)
        keys = {call_key(other.name, other.arguments) for other in group}
        if not (tool and tool.parallel_safe) or call_key(call.name, call.arguments) in keys:
            if group:
                yield group
            group = []
        group.append(call)
        if not (tool and tool.parallel_safe):
            yield group
            group = []
    if group:
        yield group


def _as_written(completion: Completion) -> str:
    """An unusable reply as it goes into the conversation: an endless repetition is not shown to the model again."""
    return completion.content or "" if _repeats_itself(completion) else completion.text


def _repeats_itself(completion: Completion) -> bool:
    return any(problem.kind == REPETITION for problem in completion.problems)


def _is_answer(completion: Completion) -> bool:
    """Whether the turn's text is meant for the user: there is some, and nothing in it was refused as a call."""
    refusals = [p for p in completion.problems if p.kind not in _HARMLESS]
    return bool(completion.content and completion.content.strip()) and not refusals


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
