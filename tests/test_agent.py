"""The loop, on scripted replies."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import pytest

from textcall import Agent, Convention, Message, Run, Shape, TextcallError, Usage, tool
from textcall.agent import RE_ASKS
from textcall.block import render_call, render_reply
from textcall.engines.base import Generation, Noticed, Sampling, Written
from textcall.errors import Cancelled, ContextOverflow, EngineError, UsageError
from textcall.events import CallRunning, CallStarted, FedBack, Finished, ResultCame, TurnRead, TurnStarted
from textcall.testing import ScriptedEngine

CONVENTION = Convention(shape=Shape.REPLY)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(reason: str) -> str:
    """Always fails."""
    raise LookupError(reason)


TICKS: list[int] = []


@tool(volatile=True)
def tick() -> int:
    """Counts."""
    TICKS.append(1)
    return len(TICKS)


def answer(text: str) -> str:
    return render_reply(CONVENTION, text)


def run(
    *replies: Any, question: Any = "How much?", tools: Any = (add, fail), **options: Any
) -> tuple[Run, ScriptedEngine]:
    engine = ScriptedEngine(replies, obey_grammar=options.pop("obey_grammar", True))
    return Agent(engine, tools, **options).run(question), engine


def test_an_answer_without_a_call() -> None:
    result, _ = run(answer("Nothing."))
    assert (result.text, result.finish_reason, len(result.steps)) == ("Nothing.", "stop", 1)
    assert result.messages == (Message.user("How much?"), Message.assistant("Nothing."))


def test_two_calls_then_the_answer() -> None:
    result, engine = run(render_call("add", {"a": 1, "b": 2}), render_call("add", {"a": 3, "b": 4}), answer("10"))
    assert result.text == "10"
    assert [m.role for m in result.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [m.content for m in result.messages if m.role == "tool"] == ["3", "7"]
    calls = [call for m in result.messages for call in m.tool_calls]
    assert [m.tool_call_id for m in result.messages if m.role == "tool"] == [call.id for call in calls]
    assert len({call.id for call in calls}) == 2
    assert engine.prompts[1][-1].content == (
        "Result of add: 3\nThe question was: How much?\n"
        "Call the next tool that is still needed, or reply if nothing is open."
    )
    assert [m.role for m in engine.prompts[2]] == ["system", "user", "assistant", "user", "assistant", "user"]


def test_several_calls_in_one_reply_run_in_order() -> None:
    both = "\n".join(render_call("add", {"a": n, "b": n}) for n in (1, 2))
    result, _ = run(both, answer("done"), obey_grammar=False)
    assert [m.content for m in result.messages if m.role == "tool"] == ["2", "4"]
    assert [r.content for r in result.steps[0].results] == ["2", "4"]
    assert len(result.messages[1].tool_calls) == 2


def test_a_tool_that_fails_is_a_result() -> None:
    result, _ = run(render_call("fail", {"reason": "gone"}), answer("It failed."))
    assert result.steps[0].results[0].error == "exception"
    assert result.messages[2].content == '{"error":"LookupError: gone"}'
    assert result.text == "It failed."


def test_usage_is_the_sum_of_the_steps() -> None:
    result, _ = run(render_call("add", {"a": 1, "b": 2}), answer("3"))
    assert result.usage.prompt_tokens == sum(s.completion.usage.prompt_tokens for s in result.steps) > 0
    assert result.steps[0].completion.usage.tool_tokens > 20
    assert result.usage.to_wire()["total_tokens"] == result.usage.prompt_tokens + result.usage.completion_tokens


def test_max_steps_ends_with_an_answer_turn_without_tools() -> None:
    calls = [render_call("add", {"a": n, "b": 0}) for n in range(2)]
    result, engine = run(*calls, answer("So far: 1."), max_steps=2)
    assert (result.text, result.finish_reason, len(result.steps)) == ("So far: 1.", "max_steps", 3)
    last = engine.grammars[-1]
    assert last is not None
    assert not last.accepts(calls[0])


def test_the_same_call_again_and_again_ends_the_run_step_by_step() -> None:
    call = render_call("add", {"a": 1, "b": 2})
    result, engine = run(*[call] * 5, answer("3"))
    assert [m.content for m in result.messages if m.role == "tool"] == ["3"] + ["3 (the same call as before)"] * 4
    assert (result.finish_reason, result.text) == ("repeated_calls", "3")
    shown = [[m.content or "" for m in prompt[1:]] for prompt in engine.prompts]
    made = [sum(text == call for text in texts) for texts in shown]
    nudged = [sum("Do not make it again" in text for text in texts) for texts in shown]
    assert made == [0, 1, 2, 3, 1, 2]  # with the third repeat all of them leave the prompt
    assert nudged == [0, 0, 0, 1, 1, 1]
    last = engine.grammars[-1]
    assert last is not None
    assert not last.accepts(call)


def test_a_circle_of_two_calls_ends_too() -> None:
    calls = [render_call("add", {"a": n % 2, "b": 0}) for n in range(6)]
    result, _ = run(*calls, answer("enough"))
    assert (result.finish_reason, result.text, len(result.steps)) == ("repeated_calls", "enough", 7)


def test_after_a_nudge_the_model_may_go_on() -> None:
    call = render_call("add", {"a": 1, "b": 2})
    result, engine = run(call, call, call, render_call("add", {"a": 3, "b": 4}), answer("3 and 7"))
    assert (result.finish_reason, result.text) == ("stop", "3 and 7")
    assert "Do not make it again" in (engine.prompts[3][-1].content or "")


def test_a_volatile_tool_may_be_called_again() -> None:
    TICKS.clear()
    call = render_call("tick", {})
    result, _ = run(call, call, call, answer("3"), tools=[tick])
    assert [m.content for m in result.messages if m.role == "tool"] == ["1", "2", "3"]
    assert result.finish_reason == "stop"


def test_a_failed_call_may_be_tried_again() -> None:
    call = render_call("fail", {"reason": "x"})
    result, _ = run(call, call, answer("no"))
    assert result.finish_reason == "stop"


def test_duplicates_in_one_reply_run_once() -> None:
    TICKS.clear()
    calls: list[str] = []

    @tool
    def look(where: str) -> str:
        """Look somewhere."""
        calls.append(where)
        return f"{where} #{len(calls)}"

    both = "\n".join([render_call("look", {"where": "here"})] * 9 + [render_call("look", {"where": "there"})])
    result, _ = run(both, answer("seen"), tools=[look], parallel_tool_calls=True)
    assert calls == ["here", "there"]
    assert [r.content for r in result.steps[0].results] == ["here #1"] * 9 + ["there #2"]
    assert len({r.call_id for r in result.steps[0].results}) == 10


def test_parallel_safe_calls_of_one_reply_run_beside_one_another() -> None:
    barrier = threading.Barrier(3, timeout=10)

    @tool(parallel_safe=True)
    def meet(who: str) -> str:
        """Wait for the others."""
        barrier.wait()
        return who

    reply = "\n".join(render_call("meet", {"who": who}) for who in "abc")
    events: list[Any] = []
    engine = ScriptedEngine([reply, answer("met")], obey_grammar=True)
    result = Agent(engine, [meet], parallel_tool_calls=True).run("Meet", events.append)
    assert [r.content for r in result.steps[0].results] == ["a", "b", "c"]
    named = [type(event).__name__ for event in events if isinstance(event, CallStarted | ResultCame)]
    assert named == ["CallStarted"] * 3 + ["ResultCame"] * 3


def test_other_calls_wait_for_one_another() -> None:
    running: list[str] = []

    @tool
    def alone(who: str) -> str:
        """Must be alone."""
        running.append(who)
        assert running == [who]
        time.sleep(0.02)
        running.remove(who)
        return who

    reply = "\n".join(render_call("alone", {"who": who}) for who in "abc")
    result, _ = run(reply, answer("done"), tools=[alone], parallel_tool_calls=True)
    assert [r.content for r in result.steps[0].results] == ["a", "b", "c"]


def test_a_listener_can_cancel_while_a_tool_runs() -> None:
    stop = threading.Event()

    @tool
    def hang() -> str:
        """Never ends by itself."""
        stop.wait(20)
        return "late"

    def cancel(event: Any) -> None:
        if isinstance(event, CallRunning):
            raise Cancelled("the client is gone")

    with pytest.raises(Cancelled):
        Agent(ScriptedEngine([render_call("hang", {})]), [hang]).run("Go", cancel)
    stop.set()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(4)])
def test_what_ends_a_program_ends_the_run(error: BaseException) -> None:
    @tool
    def leave() -> str:
        """Ends the program."""
        raise error

    with pytest.raises(type(error)):
        run(render_call("leave", {}), answer("x"), tools=[leave])


def test_max_calls_leaves_the_rest_with_a_result_each() -> None:
    reply = "\n".join(render_call("add", {"a": n, "b": 0}) for n in range(4))
    result, engine = run(reply, answer("0 and 1"), max_calls=2, parallel_tool_calls=True)
    assert (result.finish_reason, result.text) == ("max_calls", "0 and 1")
    assert [(r.content[:12], r.error) for r in result.steps[0].results] == [
        ("0", ""),
        ("1", ""),
        ('{"error":"ad', "not_run"),
        ('{"error":"ad', "not_run"),
    ]
    assert engine.grammars[-1] is not None
    assert not engine.grammars[-1].accepts(reply)


def test_max_calls_that_suffice_are_no_limit() -> None:
    result, _ = run(render_call("add", {"a": 1, "b": 2}), answer("3"), max_calls=1)
    assert result.finish_reason == "stop"


def test_max_tokens_is_what_the_whole_run_may_write() -> None:
    @tool
    def tell(what: str) -> str:
        """Tell something."""
        return what

    long = render_call("tell", {"what": "word " * 20})
    result, engine = run(long, answer("in short"), tools=[tell], max_tokens=15)
    assert (result.finish_reason, result.text) == ("max_tokens", "in short")
    assert [s.max_tokens for s in engine.samplings] == [15, 256]


def test_an_answer_that_is_cut_by_the_runs_tokens_says_which_limit() -> None:
    cut = Generation(answer("one two three four")[:-10], "length", Usage(5, 10))
    result, _ = run(cut, max_tokens=10)
    assert result.finish_reason == "max_tokens"
    assert result.text.startswith("one two")


class Slow(ScriptedEngine):
    """Takes its time: so many seconds for every word that it writes."""

    def __init__(self, *args: Any, seconds: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds = seconds

    def generate(self, *args: Any, **options: Any) -> Generation:
        listener = options["listener"]

        def words(event: Any) -> None:
            if not isinstance(event, Written):
                listener(event)
                return
            for word in event.text.split(" "):
                time.sleep(self.seconds)
                listener(Written(f"{word} "))

        return super().generate(*args, **{**options, "listener": words})


def test_max_seconds_cuts_a_reply_on_its_way_and_asks_for_an_answer() -> None:
    call = render_call("fail", {"reason": "word " * 200})
    engine = Slow([call, answer("As far as I got.")], seconds=0.01)
    result = Agent(engine, [fail], max_seconds=0.3).run("Go")
    assert (result.finish_reason, result.text.strip()) == ("max_seconds", "As far as I got.")
    first = result.steps[0].completion
    assert (first.finish_reason, first.calls) == ("length", ())
    assert 0 < first.usage.completion_tokens < 200
    assert first.usage.prompt_tokens > 20
    assert engine.samplings[-1].max_tokens == 256


def test_an_answer_that_the_clock_cuts_is_the_answer_so_far() -> None:
    engine = Slow([answer("word " * 200)], seconds=0.01)
    result = Agent(engine, [add], max_seconds=0.3).run("Go")
    assert result.finish_reason == "max_seconds"
    assert result.text.startswith("word word")
    assert len(result.text) < 900


def test_max_seconds_holds_for_tools_too() -> None:
    stop = threading.Event()

    @tool
    def hang() -> str:
        """Hangs."""
        stop.wait(20)
        return "late"

    two = "\n".join([render_call("hang", {}), render_call("add", {"a": 1, "b": 2})])
    result, _ = run(two, answer("It took too long."), tools=[hang, add], max_seconds=0.3, parallel_tool_calls=True)
    stop.set()
    assert [r.error for r in result.steps[0].results] == ["timeout", "not_run"]
    assert (result.finish_reason, result.text) == ("max_seconds", "It took too long.")
    assert result.seconds < 5


def test_a_dangerous_tool_asks_and_its_refusal_is_a_result() -> None:
    ran: list[str] = []
    answers = ["no", "once", "never"]

    @tool(dangerous=True)
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return "gone"

    calls = [render_call("delete", {"path": path}) for path in "abcd"]
    result, _ = run(*calls, answer("b is gone"), tools=[delete], approve=lambda _call, _tool: answers.pop(0))
    assert ran == ["b"]
    assert [r.error for step in result.steps for r in step.results] == ["refused", "", "refused", "refused"]
    assert result.finish_reason == "stop"


def test_without_anybody_to_ask_a_dangerous_tool_does_not_run() -> None:
    @tool(dangerous=True)
    def delete(path: str) -> str:
        """Delete a file."""
        raise AssertionError(path)

    result, _ = run(render_call("delete", {"path": "a"}), answer("I may not."), tools=[delete])
    (refusal,) = result.steps[0].results
    assert (refusal.error, "approval" in refusal.content) == ("refused", True)


@pytest.mark.parametrize(
    ("choice", "modes"),
    [
        ("auto", ["auto", "auto", "auto"]),
        ("none", ["none", "none", "none"]),
        ("required", ["required", "auto", "auto"]),
        ("add", ["add", "auto", "auto"]),
        (["add", "fail"], ["add", "fail", "fail"]),
        (["required", "required", "none"], ["required", "required", "none"]),
        (["auto"], ["auto", "auto", "auto"]),
        ([{"type": "function", "function": {"name": "add"}}, "auto"], ["add", "auto", "auto"]),
    ],
)
def test_tool_choice_step_by_step(choice: Any, modes: list[str]) -> None:
    events: list[Any] = []
    replies = [render_call("add", {"a": 1, "b": 2}), render_call("fail", {"reason": "x"}), answer("3")]
    options = {"tool_choice": choice, "constrained": False, "max_steps": 3}
    with contextlib.suppress(EngineError):  # "none" refuses the calls and asks again: the script runs out
        Agent(ScriptedEngine(replies), [add, fail], **options).run("1 + 2?", events.append)
    chosen = [event.choice.name or event.choice.mode for event in events if isinstance(event, TurnStarted)]
    assert chosen[:3] == modes


def test_tool_choice_of_one_run() -> None:
    engine = ScriptedEngine([answer("x"), answer("y")], obey_grammar=True)
    agent = Agent(engine, [add, fail])
    agent.run("1", tool_choice="none")
    agent.run("2")
    first, second = engine.grammars
    assert first is not None
    assert second is not None
    call = render_call("add", {"a": 1, "b": 2})
    assert (first.accepts(call), second.accepts(call)) == (False, True)


@pytest.mark.parametrize("choice", [[], ["auto", "sub"], 5])
def test_wrong_tool_choices(choice: Any) -> None:
    with pytest.raises(UsageError, match="tool_choice"):
        run(tool_choice=choice)


ENDLESS = "I do not know. " * 100


def test_an_endless_repetition_is_cut_and_goes_back_once() -> None:
    engine = Slow([answer(ENDLESS), answer("3")], seconds=0)
    result = Agent(engine, [add]).run("1 + 2?")
    assert (result.text, result.finish_reason) == ("3", "stop")
    first = result.steps[0].completion
    assert [p.kind for p in first.problems if p.kind != "truncated"] == ["repetition"]
    assert len(first.text) < 1300
    assert "again and again" in (engine.prompts[1][-1].content or "")
    assert all((m.content or "").count("do not know") <= 2 for m in engine.prompts[1])


def test_a_model_that_repeats_itself_again_answers_with_what_stands_before() -> None:
    engine = Slow([answer(ENDLESS), answer("Well. " + ENDLESS)], seconds=0)
    result = Agent(engine, [add]).run("1 + 2?")
    assert result.finish_reason == "repetition"
    assert result.text.strip() == "Well. I do not know."


def test_a_call_in_an_endless_repetition_is_not_run() -> None:
    @tool
    def save(text: str) -> str:
        """Save a text."""
        raise AssertionError(text)

    engine = Slow([render_call("save", {"text": ENDLESS}), answer("No.")], seconds=0)
    assert Agent(engine, [save]).run("Save").text.strip() == "No."


def test_of_many_tools_those_are_shown_that_the_question_is_about() -> None:
    events: list[Any] = []
    engine = ScriptedEngine([answer("3")])
    Agent(engine, [fail, add, tick], tool_limit=1).run("Add 1 and 2, two numbers", events.append)
    system = engine.prompts[0][0].content or ""
    assert ("add(" in system, "fail(" in system, "tick(" in system) == (True, False, False)
    assert [e.text for e in events if isinstance(e, Noticed)] == ["of 3 tools the model is shown 1: add"]


def test_a_named_tool_is_shown_whatever_the_question_is_about() -> None:
    engine = ScriptedEngine([render_call("tick", {}), answer("1")], obey_grammar=True)
    result = Agent(engine, [fail, add, tick], tool_limit=1, tool_choice="tick").run("Add numbers")
    assert result.steps[0].results[0].ok


BAD_REPLIES = [
    render_call("add", {"a": 1}),
    render_call("add", {"a": "one", "b": 2}),
    render_call("subtract", {"a": 1, "b": 2}),
    render_call("add", {"a": 1, "b": 2})[:-5],
    "",
]


@pytest.mark.parametrize("bad", BAD_REPLIES)
def test_what_cannot_be_used_goes_back_to_the_model(bad: str) -> None:
    result, engine = run(bad, render_call("add", {"a": 1, "b": 2}), answer("3"), obey_grammar=False)
    assert result.text == "3"
    told = engine.prompts[1][-1]
    assert told.role == "user"
    assert told.content is not None
    assert told.content.startswith("Your last message could not be used:")
    assert "The question was: How much?" in (engine.prompts[2][-1].content or "")


def test_re_asks_are_bounded_and_end_with_an_answer_turn() -> None:
    bad = [render_call("add", {"a": 1})] * (RE_ASKS + 1)
    result, _ = run(*bad, answer("I cannot."), obey_grammar=False)
    assert (result.finish_reason, result.text) == ("unusable_reply", "I cannot.")
    assert len(result.steps) == RE_ASKS + 2


def test_a_cut_answer_says_so() -> None:
    cut = Generation(answer("A long answ")[:-3], "length")
    result, _ = run(cut)
    assert (result.text, result.finish_reason) == ("A long answ", "length")


def test_a_cut_call_is_never_run() -> None:
    ran: list[str] = []

    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return "gone"

    cut = Generation(render_call("delete", {"path": "/home/me/old"})[:-8], "length")
    result, _ = run(cut, answer("Not done."), tools=[delete])
    assert ran == []
    assert result.text == "Not done."


@pytest.mark.parametrize(
    ("choice", "accepted", "refused"),
    [
        ("auto", [answer("x"), render_call("add", {"a": 1, "b": 2})], ["text"]),
        ("required", [render_call("add", {"a": 1, "b": 2})], [answer("x")]),
        ("none", [answer("x")], [render_call("add", {"a": 1, "b": 2})]),
        ("fail", [render_call("fail", {"reason": "r"})], [answer("x"), render_call("add", {"a": 1, "b": 2})]),
    ],
)
def test_tool_choice_is_held_by_the_grammar(choice: str, accepted: list[str], refused: list[str]) -> None:
    _, engine = run(accepted[0], answer("end"), tool_choice=choice)
    grammar = engine.grammars[0]
    assert grammar is not None
    assert all(grammar.accepts(text) for text in accepted)
    assert not any(grammar.accepts(text) for text in refused)


def test_required_holds_for_the_first_turn_only() -> None:
    _, engine = run(render_call("add", {"a": 1, "b": 2}), answer("3"), tool_choice="required")
    assert engine.grammars[1] is not None
    assert engine.grammars[1].accepts(answer("3"))


def test_without_tools_the_model_just_talks() -> None:
    result, engine = run("Hello.", tools=[])
    assert result.text == "Hello."
    assert engine.grammars == [None]
    assert engine.prompts[0] == (Message.user("How much?"),)


@pytest.mark.parametrize("shape", [Shape.PLAIN, Shape.DECIDE, Shape.REPLY])
def test_every_shape_runs_to_an_answer(shape: Shape) -> None:
    convention = Convention(shape=shape)
    texts = {Shape.PLAIN: "It is 3.", Shape.DECIDE: '{"tool":"none"}\nIt is 3.', Shape.REPLY: answer("It is 3.")}
    result, engine = run(render_call("add", {"a": 1, "b": 2}), texts[shape], convention=convention)
    assert result.text == "It is 3."
    assert "add(a: integer, b: integer)" in (engine.prompts[0][0].content or "")


def test_a_conversation_is_carried_on() -> None:
    first, _ = run(render_call("add", {"a": 1, "b": 2}), answer("3"))
    second, engine = run(answer("4"), question=[*first.messages, Message.user("And one more?")])
    assert second.messages[: len(first.messages)] == first.messages
    assert [m.role for m in engine.prompts[0]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert engine.prompts[0][-2].content == answer("3")


def test_the_users_own_system_text_comes_first() -> None:
    _, engine = run(answer("x"), system="Speak like a pirate.")
    assert (engine.prompts[0][0].content or "").startswith("Speak like a pirate.")


@pytest.mark.parametrize(
    "question",
    [
        "",
        "  \n",
        [],
        [Message.assistant("Hi")],
        [Message.user("")],
        None,
        5,
        b"hi",
        ["hi"],
        [{"role": "user", "content": "hi"}],
    ],
)
def test_nothing_to_answer(question: Any) -> None:
    with pytest.raises(UsageError):
        run(question=question)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tool_choice": "sub"}, "no tool 'sub'; the tools are: add, fail"), ({"max_steps": 0}, "max_steps")],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(**options)


@pytest.mark.parametrize("error", [EngineError("broken"), ContextOverflow("9 tokens, 8 fit")])
def test_the_engines_errors_pass_through(error: TextcallError) -> None:
    with pytest.raises(type(error)):
        run(error)


def test_events_come_in_order() -> None:
    events: list[Any] = []
    engine = ScriptedEngine([render_call("add", {"a": 1}), render_call("add", {"a": 1, "b": 2}), answer("3")])
    result = Agent(engine, [add]).run("1 + 2?", events.append)
    kinds = (TurnStarted, TurnRead, CallStarted, ResultCame, FedBack, Finished)
    named = [type(event).__name__ for event in events if isinstance(event, kinds)]
    turn = ["TurnStarted", "TurnRead"]
    assert named == [*turn, "FedBack", *turn, "CallStarted", "ResultCame", *turn, "Finished"]
    assert events[-1].run == result


def test_sampling_reaches_the_engine() -> None:
    sampling = Sampling(temperature=0.7, seed=3)
    _, engine = run(answer("x"), sampling=sampling)
    assert engine.samplings == [sampling]


def test_a_long_question_is_not_repeated_beside_every_result() -> None:
    _, engine = run(render_call("add", {"a": 1, "b": 2}), answer("3"), question="word " * 500)
    assert (engine.prompts[1][-1].content or "").count("word") == 0


def test_a_refused_call_beside_a_valid_one_is_told() -> None:
    both = render_call("add", {"a": 1, "b": 2}) + "\n" + render_call("subtract", {"a": 1})
    result, engine = run(both, answer("3"), obey_grammar=False)
    assert [r.content for r in result.steps[0].results] == ["3"]
    told = engine.prompts[1][-1].content or ""
    assert "A part of your message could not be used:" in told
    assert "subtract" in told


def test_an_unusable_reply_goes_back_as_it_was_written() -> None:
    bad = render_call("subtract", {"a": 1})
    _, engine = run(bad, answer("x"), obey_grammar=False)
    assert engine.prompts[1][-2] == Message.assistant(bad)


NOT_ALLOWED = [
    ("none", render_call("add", {"a": 1, "b": 2}), answer("x")),
    ("required", answer("x"), render_call("add", {"a": 1, "b": 2})),
    ("fail", render_call("add", {"a": 1, "b": 2}), render_call("fail", {"reason": "r"})),
    ("fail", answer("x"), render_call("fail", {"reason": "r"})),
]


@pytest.mark.parametrize(("choice", "first", "second"), NOT_ALLOWED)
def test_tool_choice_holds_without_a_grammar(choice: str, first: str, second: str) -> None:
    result, engine = run(first, second, answer("end"), tool_choice=choice, constrained=False)
    assert result.steps[0].results == ()
    assert "could not be used" in (engine.prompts[1][-1].content or "")
    assert result.finish_reason == "stop"


def test_the_threshold_holds_only_before_any_result() -> None:
    from textcall.tools import ToolChoice, Toolset
    from textcall.turn import Setup, decision_of

    setup = Setup(tools=Toolset.of([add]), convention=Convention(answer_threshold=0.01))
    result, _ = run(render_call("add", {"a": 1}), render_call("add", {"a": 1, "b": 2}), answer("3"), obey_grammar=False)
    auto = ToolChoice("auto")
    decided = [decision_of(result.messages[: n + 1], setup, auto) is not None for n in range(len(result.messages) - 1)]
    assert [m.role for m in result.messages[:-1]] == ["user", "assistant", "user", "assistant", "tool"]
    assert (decided[0], decided[2], decided[4]) == (True, True, False)
    assert decision_of(result.messages[:1], setup, ToolChoice("none")) is None


@pytest.mark.parametrize(
    ("stop", "text"), [(("dogs",), "Cats and "), (("mice", " and"), "Cats"), (("birds",), "Cats and dogs.")]
)
def test_a_stop_text_cuts_the_answer_and_no_call(stop: tuple[str, ...], text: str) -> None:
    call = render_call("fail", {"reason": "no dogs and mice"})
    result, _ = run(call, answer("Cats and dogs."), sampling=Sampling(stop=stop))
    assert result.steps[0].completion.calls[0].arguments == {"reason": "no dogs and mice"}
    assert result.text == text


@pytest.mark.parametrize("stop", ["end", ("",)])
def test_stop_texts_are_a_list_of_texts(stop: Any) -> None:
    with pytest.raises(UsageError, match="stop"):
        Sampling(stop=stop)
