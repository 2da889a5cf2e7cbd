"""The loop, on scripted replies."""

from __future__ import annotations

from typing import Any

import pytest

from textcall import Agent, Convention, Message, Run, Shape, TextcallError, tool
from textcall.agent import RE_ASKS, CallStarted, FedBack, Finished, ResultCame, TurnRead, TurnStarted
from textcall.block import render_call, render_reply
from textcall.engines.base import Generation, Sampling
from textcall.errors import ContextOverflow, EngineError, UsageError
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


def test_the_same_call_again_is_answered_from_memory_and_ends_the_run() -> None:
    call = render_call("add", {"a": 1, "b": 2})
    result, _ = run(call, call, call, answer("3"))
    assert [m.content for m in result.messages if m.role == "tool"] == ["3"] + ["3 (the same call as before)"] * 2
    assert (result.finish_reason, result.text) == ("repeated_calls", "3")


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
