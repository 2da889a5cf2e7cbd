"""How well a model answers the questions of tests/data/questions.jsonl, by convention.

    python -m tests.benchmarks.questions --model FILE [--only default,no-example]

Every question runs through the real loop at temperature 0 with the built-in tools. It counts as right where exactly
the expected tools were called, in order, each with a result, and the answer holds what it must. `tuned` are the
questions that the prompt was written on, `held out` those that were written afterwards and never used for it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from textcall.agent import Agent
from textcall.block import Convention, Shape
from textcall.catalogue import convention_for
from textcall.engines.llama import LlamaEngine
from textcall.errors import TextcallError
from textcall.events import Run
from textcall.resolve import resolve_model
from textcall.toolbox import BUILTIN

QUESTIONS = Path(__file__).parents[1] / "data" / "questions.jsonl"


def variants(default: Convention) -> dict[str, tuple[Convention, bool]]:
    """By name: a convention, and whether the grammar holds the reply."""
    return {
        "default": (default, True),
        "no-threshold": (replace(default, answer_threshold=None), True),
        "no-example": (replace(default, example=False, answer_threshold=None), True),
        "no-question-repeated": (replace(default, repeat_question=False, answer_threshold=None), True),
        "json-tools": (replace(default, rendering="json", answer_threshold=None), True),
        "decide": (replace(default, shape=Shape.DECIDE, answer_threshold=None), True),
        "plain": (replace(default, shape=Shape.PLAIN, answer_threshold=None), True),
        "no-grammar": (replace(default, answer_threshold=None), False),
    }


def is_right(question: Mapping[str, Any], run: Run) -> bool:
    """Whether the run called what it should and answered what it must."""
    results = [result for step in run.steps for result in step.results]
    answer = run.text.replace(",", "")
    return (
        [result.name for result in results] == question["tools"]
        and all(result.ok for result in results)
        and bool(answer.strip())
        and run.finish_reason == "stop"
        and all(any(word in answer for word in words.split("|")) for words in question["answer"])
    )


def measure(agent: Agent, questions: list[dict[str, Any]], verbose: bool) -> str:
    """One line of the table."""
    right: dict[str, list[bool]] = {"tuned": [], "held out": []}
    needless = missed = 0
    seconds = []
    for question in questions:
        try:
            run = agent.run(question["q"])
        except TextcallError as error:
            right[question["set"]].append(False)
            print(f"    {question['q']}: {error}", file=sys.stderr)
            continue
        called = [result.name for step in run.steps for result in step.results]
        ok = is_right(question, run)
        right[question["set"]].append(ok)
        needless += bool(called) and not question["tools"]
        missed += bool(question["tools"]) and not called
        seconds.append(run.seconds)
        if verbose and not ok:
            calls = [f"{c.name}{dict(c.arguments)}" for s in run.steps for c in s.completion.calls]
            print(f"    {question['q']} | {calls} | {run.text!r} | {run.finish_reason}", file=sys.stderr, flush=True)
    counts = [f"{sum(values)}/{len(values)}" for values in right.values()]
    return f"{counts[0]:>7} {counts[1]:>9} {needless:>14} {missed:>11} {statistics.median(seconds):>8.1f} s"


def main() -> None:
    """Run the variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int, help="fewer than all, where something else runs beside")
    parser.add_argument("--only", default="", help="variants, with commas")
    parser.add_argument("--set", dest="which", choices=("tuned", "held out"))
    parser.add_argument("--verbose", action="store_true", help="show on stderr what went wrong")
    arguments = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    questions = [q for q in questions if arguments.which in (None, q["set"])]
    engine = LlamaEngine(resolve_model(arguments.model).path, n_ctx=4096, threads=arguments.threads)
    wanted = variants(convention_for(engine.name))
    print(f"{engine.name}\n{'variant':22}  tuned  held out  needless calls  no call made  seconds (median)")
    for name in arguments.only.split(",") if arguments.only else wanted:
        convention, constrained = wanted[name]
        agent = Agent(engine, BUILTIN, convention=convention, constrained=constrained)
        print(f"{name:22}{measure(agent, questions, arguments.verbose)}", flush=True)


if __name__ == "__main__":
    main()
