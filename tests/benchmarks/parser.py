"""How right and how quick the parser is.

    python -m tests.benchmarks.parser [DIR] [--verbose] [--cuts N] [--only cases,speed,worst]

DIR holds field_cases.jsonl and tool_text_cases.jsonl; without it only this project's own table is measured.

Cases. right: the calls are those that are wanted, and in the field cases the text and whether something was refused as
well. text: the calls are right, the text is another. refused: the table wants a call without a name, or the pieces of
one that was cut; that is no call here, and a problem says so. problem: a call was missed, and something is said about
it. silent: missed without a word. wrong: a call came out that is none. Speed: strict calls, medians of five, against
json.loads of the same text. Worst: one megabyte of what is hard to read.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.parsing.tables import DATA, TEXTS, Case, cuttings, differs, field_cases, outcome, read, text_cases
from textcall.block import render_call
from textcall.parsing import parse

TOOLS = [
    {"name": "save", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {
        "name": "ferry",
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "seats": {"type": "integer", "minimum": 1}},
            "required": ["port"],
            "additionalProperties": False,
        },
    },
]
FERRY = render_call("ferry", {"port": "Oban", "seats": 2})
HARD = {
    "braces": "{",
    "brackets": "[",
    "double quotes": '"',
    "single quotes": "'",
    "backticks": "`",
    "objects begun": '{"',
    "braces on lines": "{\n",
    "quotes on lines": '{"\n',
    "smart quotes on lines": "{“\n",
    "keys of a call": '{"tool":',
    "fences": "```\n",
    "json fences": "```json\n",
    "fences inside fences": "````json\n```json\n{\n",
    "tags by turns": "<tool_call><function_call>",
    "tags by turns, filled": '<tool_call>{"</tool_call>',
    "tags on lines": "<tool_call>\n",
    "tokens": "[TOOL_CALLS]",
    "tokens and braces": "[TOOL_CALLS]{",
    "think blocks": "<think>",
    "ends of think blocks": "</think>",
    "functions": "<function=ferry><parameter=port>",
    "Python": "[ferry(",
    "comments": "{/*",
    "backslashes": '{"a":"\\',
    "Action": "Action: ferry\nAction Input: ",
    "invented results": "Observation: x\n",
    "less than": "<",
    "blank lines": "\n",
    "blanks": " ",
    "prose": "The ferry <b>leaves</b> [at](noon), “sharp”.\n",
    "prose on one line": "The ferry <b>leaves</b> [at](noon), “sharp”. ",
    "objects on lines": '{"port":"Oban"}\n',
    "calls inside sentences": f"Write {FERRY} to ask.\n",
    "calls that are mended": '{"tool":"ferry","args":{"port": "O" ban"}}\n',
    "calls of no tool": '{"tool":"submarine","args":{}}\n',
    "calls that do not fit": '{"tool":"ferry","args":{"seats":0}}\n',
    "calls on lines": FERRY + "\n",
    "calls in fences": f"```json\n{FERRY}\n```\n",
    "calls in tags": f"<tool_call>{FERRY}</tool_call>\n",
    "a list of calls": f"[{FERRY}],",
}
_COLUMNS = ("right", "content", "refused", "problem", "silent", "wrong")
_SHORT = {"content": "text"}
_MEGABYTE = 1_000_000


def main() -> None:
    """Measure and print; exit code 1 where something is wrong: a wrong call, or a stream that differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, metavar="DIR")
    parser.add_argument("--verbose", action="store_true", help="show each case that is not right")
    parser.add_argument("--cuts", type=int, default=10, help="cuttings of each kind for each case")
    parser.add_argument("--only", default="cases,speed,worst")
    arguments = parser.parse_args()
    only = arguments.only.split(",")
    bad = cases(arguments.folder, arguments.cuts, verbose=arguments.verbose) if "cases" in only else 0
    if "speed" in only:
        speed()
    if "worst" in only:
        worst()
    sys.exit(1 if bad else 0)


def cases(folder: Path, cuts: int, *, verbose: bool) -> int:
    """Both tables of counts; how many wrong calls and differences there were."""
    every = [*field_cases(folder), *(text_cases(folder) if (folder / f"{TEXTS}.jsonl").exists() else [])]
    counts: dict[tuple[str, str], Counter[str]] = {}
    chance = random.Random(1)
    tried = 0
    for case in every:
        count = counts.setdefault((case.table, case.group), Counter())
        parsed = read(case)
        result = outcome(case, parsed)
        count["not stated" if not case.wanted else result] += 1
        count["false calls"] += bool(parsed.calls) and case.group == "text_only"
        if verbose and result != "right":
            print(_shown(case, result), file=sys.stderr)
        for pieces in cuttings(case.text, chance, singles=cuts, several=cuts):
            tried += 1
            count["streams that differ"] += differs(case, pieces, parsed)
    _print_counts(counts)
    differing = sum(count["streams that differ"] for count in counts.values())
    print(f"streaming: {differing} of {tried} cuttings differ from the whole\n", flush=True)
    return differing + sum(count["wrong"] + count["false calls"] for count in counts.values())


def _print_counts(counts: dict[tuple[str, str], Counter[str]]) -> None:
    names = ("of", *_COLUMNS, "not stated")
    print(f"{'':34}" + "".join(f"{_SHORT.get(name, name):>{max(7, len(name) + 2)}}" for name in names))
    for (table, group), count in sorted(counts.items()):
        _print_row(f"{table} {group}", count)
    three = sum((count for (_, group), count in counts.items() if group in _THREE), Counter())
    if three:
        _print_row("json + text_only + pythonic", three)
        calls_right = three["right"] + three["content"]
        stated = sum(three[column] for column in _COLUMNS)
        with_refused = f"with those refused as they should be {_percent(calls_right + three['refused'], stated)}"
        false = f"false calls on text_only: {three['false calls']}"
        print(f"  calls right: {_percent(calls_right, stated)}, {with_refused}; {false}")


def _percent(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %"


_THREE = ("json", "text_only", "pythonic")


def _print_row(name: str, count: Counter[str]) -> None:
    values = {**count, "of": sum(count[column] for column in _COLUMNS)}
    names = ("of", *_COLUMNS, "not stated")
    print(f"{name:34}" + "".join(f"{values.get(each, 0):{max(7, len(each) + 2)}}" for each in names))


def _shown(case: Case, result: str) -> str:
    parsed = read(case)
    lines = [f"{result}: {case.id} ({case.table} {case.group})", f"    text     {case.text[:400]!r}"]
    lines += [f"    wanted   {wanted}"[:400] for wanted in case.wanted]
    lines += [f"    call     {call.name} {dict(call.arguments)}"[:300] for call in parsed.calls]
    lines += [f"    problem  {problem.kind}: {problem.message}"[:300] for problem in parsed.problems]
    return "\n".join([*lines, f"    content  {parsed.content!r}"[:300]])


def median(action: Callable[[], Any], repeat: int) -> float:
    """Seconds of one run of the action: the median of five measurements of `repeat` runs each."""
    measured = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(repeat):
            action()
        measured.append((time.perf_counter() - started) / repeat)
    return statistics.median(measured)


def _strict(size: int) -> dict[str, str]:
    """Calls of about that many characters: one long text, and, where it is short, a call of several arguments."""
    line = "One line, and a second.\n"
    long = render_call("save", {"text": (line * (size // len(line) + 1))[: max(1, size - 40)]})
    return {"text": long, **({"two arguments": FERRY} if size == 100 else {})}


def speed() -> None:
    """Strict single calls against json.loads."""
    print(f"{'strict single call':34}{'bytes':>9}{'MB/s':>9}{'µs':>10}{'json.loads MB/s':>18}{'ratio':>8}")
    for size in (100, 1_000, 10_000, _MEGABYTE):
        for name, text in _strict(size).items():
            if not parse(text, TOOLS).calls:
                raise SystemExit(f"a strict call of {size} bytes was not read")
            repeat = max(1, min(2_000, 2_000_000 // size))
            ours = median(lambda text=text: parse(text, TOOLS), repeat)
            floor = median(lambda text=text: json.loads(text), repeat)
            of = len(text.encode())
            rates = f"{of / ours / 1e6:9.1f}{ours * 1e6:10.1f}{of / floor / 1e6:18.1f}{ours / floor:8.1f}"
            print(f"{name:34}{of:9}{rates}", flush=True)
    print()


def worst() -> None:
    """One megabyte of each of the patterns."""
    print(f"{'one megabyte of':34}{'seconds':>9}{'MB/s':>8}{'calls':>8}{'problems':>10}")
    for name, piece in HARD.items():
        text = piece * (_MEGABYTE // len(piece.encode()))
        started = time.perf_counter()
        parsed = parse(text, TOOLS)
        seconds = time.perf_counter() - started
        counts = f"{len(parsed.calls):8}{len(parsed.problems):10}"
        print(f"{name:34}{seconds:9.2f}{len(text.encode()) / seconds / 1e6:8.1f}{counts}", flush=True)


if __name__ == "__main__":
    main()
