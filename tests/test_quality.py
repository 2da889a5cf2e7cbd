"""The demo's questions on the 1.5B, where its file is in a models folder: `pytest -m quality`."""

from __future__ import annotations

import pytest

from textcall import Agent
from textcall.cli.demo import SCENARIOS, Scenario, faults
from textcall.engines.llama import LlamaEngine
from textcall.toolbox import BUILTIN

pytestmark = pytest.mark.quality

ALL = [(language, scenario) for language, scenarios in SCENARIOS.items() for scenario in scenarios]


@pytest.mark.parametrize(("language", "scenario"), ALL, ids=[f"{language}: {s.title}" for language, s in ALL])
def test_the_demo_works(qwen: LlamaEngine, language: str, scenario: Scenario) -> None:
    run = Agent(qwen, BUILTIN).run(scenario.question)
    assert not faults(scenario, run), (language, run.text, [s.completion.text for s in run.steps])
    assert len(run.steps) == len(scenario.tools) + 1
