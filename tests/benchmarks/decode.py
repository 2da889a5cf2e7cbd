"""What a grammar costs and what it saves, as ratios within one run.

    python -m tests.benchmarks.decode --model FILE [--rounds 7] [--questions bfcl.jsonl]

Each row compares two ways of doing the same, in turns, so that whatever else the machine does hits both; the ratio is
the median of the ratios of neighbours. --questions: also answers each question of a file (rows with `messages`, `tools`
and `ground_truth`) with and without jumping forward, and counts the same texts and the right calls of both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import llama_cpp
from rich.console import Console
from rich.table import Table

from textcall.block import Convention
from textcall.engines.base import Generation, Sampling
from textcall.engines.llama import LlamaEngine
from textcall.grammar import Grammar
from textcall.grammar.calls import reply_grammar
from textcall.messages import Message
from textcall.prompting.render import system_prompt
from textcall.toolbox import BUILTIN
from textcall.tools import Tool, ToolChoice, Toolset
from textcall.turn import Setup, prompt, take_turn

QUESTION = "How will the weather be in Shanghai tomorrow?"
LONG = "Write a long story about a lighthouse keeper and the sea."


@dataclass(frozen=True, slots=True)
class Row:
    """What was compared: seconds (or what `unit` says) of both, the ratio and what it should be at most."""

    what: str
    one: float
    other: float
    ratio: float
    goal: float
    note: str = ""


def in_turns(one: Callable[[], float], other: Callable[[], float], rounds: int) -> tuple[float, float, float]:
    """The medians of both, and the median of the ratios one / other of neighbours. The first round is a warm-up."""
    pairs = [(one(), other()) for _ in range(rounds + 1)][1:]
    firsts, seconds = zip(*pairs, strict=True)
    return median(firsts), median(seconds), median(a / b for a, b in pairs)


def many_tools(count: int, mark: str = "") -> list[Tool]:
    """Tools with three arguments each, no two alike. mark: makes them new to every cache."""
    kinds: list[dict[str, Any]] = [{"type": "string"}, {"type": "integer", "minimum": 0}, {"enum": ["low", "high"]}]
    return [
        Tool(
            name=f"tool_{index}{mark}",
            parameters={
                "type": "object",
                "properties": {f"value_{index}{mark}": kinds[index % 3], "unit": kinds[2], "note": kinds[0]},
                "required": [f"value_{index}{mark}"],
            },
        )
        for index in range(count)
    ]


def held(tools: Sequence[Tool], name: str | None = None) -> Grammar:
    """The grammar of one call."""
    return reply_grammar(tools, mode="required", name=name, convention=Convention(), parallel=False).automaton()


class Bench:
    """One model: `generate` gives the seconds after the prompt and the reply."""

    def __init__(self, model: Path, rounds: int) -> None:
        self.engine = LlamaEngine(model, n_ctx=4096)
        self.model, self.rounds = model, rounds

    def generate(self, messages: Sequence[Message], grammar: Grammar | None, *, jump: bool, most: int) -> Generation:
        self.engine._jump = jump
        return self.engine.generate(messages, grammar=grammar, sampling=Sampling(max_tokens=most))

    def per_token(self, messages: Sequence[Message], grammar: Grammar | None, most: int = 48) -> float:
        done = self.generate(messages, grammar, jump=False, most=most)
        return (done.seconds - done.prompt_seconds) / done.usage.completion_tokens

    def constrained_tokens(self) -> Row:
        """The grammar checked at every token against no grammar at all."""
        messages = [Message.system(system_prompt(Toolset(BUILTIN), Convention(), None)), Message.user(LONG)]
        text = Tool(
            name="reply",
            parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        )
        grammar = held([text])
        found = in_turns(lambda: self.per_token(messages, grammar), lambda: self.per_token(messages, None), self.rounds)
        return Row(
            "a token, grammar : no grammar, no jumps", *found, 1.05, f"vocabulary {self.engine.context.vocab.size}"
        )

    def more_tools(self) -> Row:
        """The same with two hundred tools instead of two."""
        messages = [Message.user(QUESTION)]
        few, many = held(many_tools(2)), held(many_tools(200))
        found = in_turns(lambda: self.per_token(messages, many), lambda: self.per_token(messages, few), self.rounds)
        return Row("a token, 200 tools : 2 tools, no jumps", *found, 1.1)

    def jumps(self) -> Row:
        """A whole call with and without jumping over what is forced."""
        ways = {jump: self.whole_call(jump=jump) for jump in (True, False)}
        found = in_turns(lambda: ways[True]().seconds, lambda: ways[False]().seconds, self.rounds)
        done, plain = ways[True](), ways[False]()
        forced = f"{done.usage.forced_tokens} of {done.usage.completion_tokens} tokens forced"
        return Row("a call, jumps : no jumps", *found, 0.7, forced + _same(done.text, plain.text))

    def against_the_library(self) -> Row:
        """A whole call against llama-cpp-python's own grammar on the same tokens."""
        grammar, messages = self.call_grammar(), self.call_messages()
        tokens = self.engine.tokenize(messages)
        with redirect_stderr(StringIO()):
            threads = self.engine.context.threads  # by itself the library takes half of the processors
            library = llama_cpp.Llama(
                str(self.model), n_ctx=4096, n_threads=threads, n_threads_batch=threads, verbose=False
            )
            rules = llama_cpp.LlamaGrammar.from_string(grammar.gbnf, verbose=False)
        texts: list[str] = []

        def theirs() -> float:
            started = time.perf_counter()
            done: Any = library.create_completion(tokens, grammar=rules, temperature=0.0, max_tokens=128)
            texts.append(done["choices"][0]["text"])
            return time.perf_counter() - started

        ours = self.whole_call(jump=True)
        found = in_turns(lambda: ours().seconds, theirs, self.rounds)
        library.close()
        return Row("a call, ours : llama-cpp-python's grammar", *found, 0.5, _same(ours().text, texts[-1]).strip(" ,"))

    def whole_call(self, *, jump: bool) -> Callable[[], Generation]:
        grammar, messages = self.call_grammar(), self.call_messages()
        return lambda: self.generate(messages, grammar, jump=jump, most=128)

    def call_grammar(self) -> Grammar:
        return held(BUILTIN)

    def call_messages(self) -> list[Message]:
        return prompt([Message.user(QUESTION)], Setup(tools=Toolset(BUILTIN)))


def _same(one: str, other: str) -> str:
    return ", same text" if one == other else f", other text: {one} | {other}"


def compile_rows(rounds: int) -> list[Row]:
    """Compiling the grammar of 200 tools that no cache knows, up to the arguments of one of them."""

    def seconds(number: int) -> float:
        tools = many_tools(200, f"_{number}_{time.monotonic_ns()}")
        opening = f'{{"tool":"{tools[77].name}","args":{{'
        started = time.perf_counter()
        grammar = held(tools)
        assert grammar.advance(grammar.start(), opening) is not None
        return time.perf_counter() - started

    found = median([seconds(i) for i in range(rounds + 1)][1:])
    return [Row("compiling 200 tools : 150 ms", found, 0.15, found / 0.15, 1.0)]


SECOND_PROCESS = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from textcall.engines.base import Written
from textcall.engines.llama import LlamaEngine
from textcall.engines.base import Sampling
from textcall.messages import Message
from textcall.toolbox import BUILTIN
from textcall.tools import Toolset
from textcall.turn import Setup, prompt
engine = LlamaEngine(sys.argv[1], n_ctx=4096, cache=Path(sys.argv[2]))
messages = prompt([Message.user(sys.argv[3])], Setup(tools=Toolset(BUILTIN)))
asked = time.perf_counter()
first = []
engine.generate(messages, sampling=Sampling(max_tokens=1),
                listener=lambda event: first.append(time.perf_counter()) if isinstance(event, Written) else None)
print(first[0] - asked, first[0] - started)
"""


def second_process(model: Path, rounds: int) -> list[Row]:
    """The time to the first token of a process that finds the tools evaluated, and of one that does not."""

    def first_token(folder: str) -> tuple[float, float]:
        command = [sys.executable, "-c", SECOND_PROCESS, str(model), folder, QUESTION]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        asked, started = map(float, done.stdout.split())
        return asked, started

    pairs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cold = first_token(folder)
            pairs.append((first_token(folder), cold))
    rows = []
    for index, what in enumerate(("asked", "the process started, model loaded")):
        warm, cold_ = [a[index] for a, _ in pairs], [b[index] for _, b in pairs]
        ratio = median(a / b for a, b in zip(warm, cold_, strict=True))
        goal = 0.25 if index == 0 else 1.0
        rows.append(Row(f"first token since {what}, second : first process", median(warm), median(cold_), ratio, goal))
    return rows


def questions_table(bench: Bench, path: Path, limit: int) -> Table:
    """Each question's call with and without jumping: the texts, and what was right."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:limit]
    same = right = right_plain = jumped = plainly = 0
    console = Console(stderr=True)
    for number, row in enumerate(rows, 1):
        texts = {}
        for jump in (True, False):
            bench.engine._jump = jump
            tools = Toolset.of(row["tools"])
            messages = [Message.from_wire(message) for message in row["messages"]]
            done = take_turn(bench.engine, messages, Setup(tools=tools), ToolChoice.parse("auto", tools))
            texts[jump] = (done.text, expected(row, done.calls))
            jumped, plainly = (jumped + done.seconds, plainly) if jump else (jumped, plainly + done.seconds)
        same += texts[True][0] == texts[False][0]
        right, right_plain = right + texts[True][1], right_plain + texts[False][1]
        console.print(f"{number}/{len(rows)} {row['id']}", style="dim", end="\r")
        if texts[True][0] != texts[False][0]:
            console.print(f"{row['id']}\n  jumps    {texts[True]}\n  no jumps {texts[False]}", markup=False)
    table = Table("questions", "same text", "right with jumps", "right without", box=None)
    table.add_row(str(len(rows)), str(same), str(right), str(right_plain))
    return table


def expected(row: Mapping[str, Any], calls: Iterable[Any]) -> bool:
    """Whether the first of `calls` is the first expected one: its name, and each argument one of the allowed values.

    A question that expects no call wants none. The order of several calls is not looked at: one reply holds one here.
    """
    made = list(calls)
    wanted = row["ground_truth"]
    if not wanted:
        return not made
    if not made:
        return False
    return any(_fits(dict(entry), made[0]) for entry in wanted)


def _fits(entry: Mapping[str, Mapping[str, Sequence[Any]]], call: Any) -> bool:
    ((name, allowed),) = entry.items()
    return name == call.name and _fits_object(dict(call.arguments), allowed)


def _fits_object(given: Mapping[str, Any], allowed: Mapping[str, Sequence[Any]]) -> bool:
    """An object whose keys have lists of allowed values; "" among them: the key may be left out."""
    return set(given) <= set(allowed) and all(
        any(_fits_value(given[key], option) for option in options) if key in given else "" in options
        for key, options in allowed.items()
    )


def _fits_value(value: Any, option: Any) -> bool:
    if isinstance(value, Mapping) and isinstance(option, Mapping):
        return _fits_object(value, option)
    if isinstance(value, list) and isinstance(option, list):
        return len(value) == len(option) and all(map(_fits_value, value, option))
    if isinstance(value, str) and isinstance(option, str):
        return _plain(value) == _plain(option)
    return (type(value) is not bool and type(option) is not bool and value == option) or value is option


def _plain(text: str) -> str:
    """Text as the comparison takes it: letters and digits only."""
    return "".join(char for char in text.lower() if char.isalnum())


def table_of(rows: Iterable[Row], title: str) -> Table:
    table = Table("what", "ms", "ms", "ratio", "goal", "", title=title, box=None, title_justify="left")
    for row in rows:
        colour = "green" if row.ratio <= row.goal else "red"
        table.add_row(
            row.what,
            f"{row.one * 1e3:.1f}",
            f"{row.other * 1e3:.1f}",
            f"[{colour}]{row.ratio:.2f}[/]",
            f"≤ {row.goal}",
            row.note,
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--only-questions", action="store_true")
    options = parser.parse_args()
    console = Console()
    bench = Bench(options.model, options.rounds)
    if not options.only_questions:
        rows = [bench.constrained_tokens(), bench.more_tools(), bench.jumps(), bench.against_the_library()]
        rows += compile_rows(options.rounds) + second_process(options.model, min(5, options.rounds))
        console.print(table_of(rows, options.model.name))
    if options.questions:
        console.print(questions_table(bench, options.questions, options.limit))


if __name__ == "__main__":
    main()
