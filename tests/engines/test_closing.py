"""Closing and calling an engine while it writes: never a crash, never a spoilt reply."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from textcall.engines.base import EngineEvent, Sampling, Written
from textcall.engines.context import _noted_interrupts
from textcall.engines.llama import LlamaEngine
from textcall.errors import EngineError
from textcall.messages import Message
from textcall.resolve import resolve_model

pytestmark = pytest.mark.model

ASK = [Message.user("Count to twenty, please.")]
SHORT = Sampling(max_tokens=24)


@pytest.fixture
def engine() -> Iterator[LlamaEngine]:
    made = LlamaEngine(resolve_model("smollm2").path, n_ctx=256, threads=1)
    yield made
    made.close()


def test_a_listener_that_closes_ends_the_reply(engine: LlamaEngine) -> None:
    def close(event: EngineEvent) -> None:
        if isinstance(event, Written):
            engine.close()

    with pytest.raises(EngineError, match="closed"):
        engine.generate(ASK, sampling=SHORT, listener=close)
    with pytest.raises(EngineError, match="closed"):
        engine.generate(ASK, sampling=SHORT)
    engine.close()


def test_a_listener_that_lets_it_write_is_told_and_spoils_nothing(engine: LlamaEngine) -> None:
    alone = engine.generate(ASK, sampling=SHORT).text
    refused: list[str] = []

    def again(event: EngineEvent) -> None:
        if isinstance(event, Written):
            engine.count_tokens("counting is allowed")
            with pytest.raises(EngineError) as raised:
                engine.generate([Message.user("Something else")], sampling=SHORT)
            refused.append(str(raised.value))

    assert engine.generate(ASK, sampling=SHORT, listener=again).text == alone
    assert set(refused) == {"the engine is in use: a listener must not call it"}


def test_another_thread_that_closes_waits_for_the_reply(engine: LlamaEngine) -> None:
    threads: list[threading.Thread] = []

    def close_elsewhere(event: EngineEvent) -> None:
        if isinstance(event, Written) and not threads:
            threads.append(threading.Thread(target=engine.close))
            threads[0].start()

    assert engine.generate(ASK, sampling=SHORT, listener=close_elsewhere).text
    threads[0].join(20)
    with pytest.raises(EngineError, match="closed"):
        engine.count_tokens("x")


def test_closing_while_other_threads_count_tokens(engine: LlamaEngine) -> None:
    ended: list[str] = []

    def count() -> None:
        try:
            while True:
                engine.count_tokens("one two three " * 50)
        except EngineError as error:
            ended.append(str(error))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    engine.close()
    for thread in threads:
        thread.join(20)
    assert len(ended) == 4
    assert all("closed" in text for text in ended)


def test_ctrl_c_in_between_is_raised_at_the_end() -> None:
    def between() -> None:
        with _noted_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("went on")

    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        between()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
