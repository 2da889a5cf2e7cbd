"""How well the grammars of real schemas tell valid instances from invalid ones.

    python -m tests.benchmarks.schemas FILE [--verbose] [--no-llama-cpp]

FILE is .jsonl or .jsonl.gz; a line is {"id", "schema", "tests": [{"valid", "data"}]}. Each schema is compiled, its
grammar read by llama.cpp too, and each instance tried as compact JSON. An instance may be annotated with `needs_open`
(it has properties that the schema does not list) and `in_order` (whether its properties are in the schema's order);
one in another order counts apart, annotated or not: the grammar takes one order on purpose. An invalid instance is
refused only where the grammar refuses it in every order.

The exit code is 1 where a valid instance is refused although its properties are in order, or anything raised.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.grammar.conftest import takes_in_some_order
from tests.grammar.oracles import LlamaCpp
from textcall.engines.context import Context
from textcall.errors import SchemaError
from textcall.grammar import Grammar
from textcall.grammar.schema import Compiled, schema_to_gbnf
from textcall.messages import compact_json
from textcall.parsing.validate import is_valid
from textcall.resolve import resolve_model

ACCEPTED, REFUSED = "valid accepted", "valid refused"
OTHER_ORDER, NEEDS_OPEN = "valid refused: another order of keys", "valid refused: properties not listed"
CAUGHT, LEFT, UNTOLD = "invalid refused", "invalid accepted, validation refuses", "invalid accepted by validation too"
RIGHT = frozenset({ACCEPTED, CAUGHT})
# An order that was not asked for says nothing against the grammar.
FAIR = RIGHT | {OTHER_ORDER}


@dataclass(frozen=True, slots=True)
class Arguments:
    """An instance's schema, as validation asks for it."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """One schema. crash: what raised, "" where nothing did; verdicts: one for each instance."""

    id: str
    seconds: float = 0.0
    loaded: bool | None = None
    crash: str = ""
    loose: str = ""
    verdicts: tuple[tuple[str, Any], ...] = ()


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The schemas of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def measured(case: Mapping[str, Any], loads: Callable[[str], bool] | None) -> Measured:
    """What becomes of one schema and its instances."""
    started = time.perf_counter()
    try:
        compiled = schema_to_gbnf(case["schema"])
        grammar = Grammar(compiled.gbnf)
        seconds = time.perf_counter() - started
        asked = Arguments(str(case["id"]), case["schema"])
        verdicts = tuple((_verdict(grammar, asked, test), test["data"]) for test in case["tests"])
    except Exception as error:  # noqa: BLE001 - a crash is what is counted here
        return Measured(case["id"], time.perf_counter() - started, crash=f"{type(error).__name__}: {error}")
    loaded = loads(compiled.gbnf) if loads else None
    return Measured(case["id"], seconds, loaded, "", _loose(compiled), verdicts)


def _verdict(grammar: Grammar, asked: Arguments, test: Mapping[str, Any]) -> str:
    instance = test["data"]
    taken = grammar.accepts(compact_json(instance))
    if test["valid"]:
        if taken:
            return ACCEPTED
        if test.get("needs_open"):
            return NEEDS_OPEN
        reordered = test.get("in_order") is False or takes_in_some_order(grammar, instance)
        return OTHER_ORDER if reordered else REFUSED
    if not taken and not takes_in_some_order(grammar, instance):
        return CAUGHT
    return UNTOLD if _validates(asked, instance) else LEFT


def _validates(asked: Arguments, instance: Any) -> bool:
    try:
        return is_valid(asked, instance)
    except SchemaError:  # a reference that leads elsewhere: the call would be refused
        return False


def _loose(compiled: Compiled) -> str:
    """The keywords that the grammar leaves to validation."""
    found = Counter(f"{entry.keyword} ({entry.status})" for entry in compiled.report if entry.status != "enforced")
    return ", ".join(found)


def table_of(all_measured: list[Measured]) -> Table:
    """The figures, one a row."""
    verdicts = Counter(verdict for one in all_measured for verdict, _ in one.verdicts)
    valid = sum(verdicts[name] for name in (ACCEPTED, REFUSED, OTHER_ORDER, NEEDS_OPEN))
    invalid = sum(verdicts[name] for name in (CAUGHT, LEFT, UNTOLD))
    done = [one for one in all_measured if not one.crash]
    total = len(all_measured)
    table = Table("figure", "value")
    table.add_row("schemas compiled", f"{len(done)}/{total}")
    if any(one.loaded is not None for one in done):
        table.add_row("loaded by llama.cpp", f"{sum(bool(one.loaded) for one in done)}/{total}")
    table.add_row(ACCEPTED, f"{verdicts[ACCEPTED]}/{valid}")
    for name in (REFUSED, OTHER_ORDER, NEEDS_OPEN):
        table.add_row(name, str(verdicts[name]))
    table.add_row("invalid refused by the grammar", f"{verdicts[CAUGHT]}/{invalid}")
    for name in (LEFT, UNTOLD):
        table.add_row(name, str(verdicts[name]))
    table.add_row("every instance right, by the grammar alone", _share(done, RIGHT, total))
    table.add_row("… with another order of keys left out", _share(done, FAIR, total))
    table.add_row("… and with validation after it", _share(done, FAIR | {LEFT}, total))
    table.add_row("crashes", str(total - len(done)))
    seconds = sorted(one.seconds for one in done) or [0.0]
    table.add_row("compile, median", f"{statistics.median(seconds) * 1000:.1f} ms")
    table.add_row("compile, 99 of 100", f"{seconds[int(len(seconds) * 0.99)] * 1000:.1f} ms")
    table.add_row("compile, all", f"{sum(seconds):.1f} s")
    return table


def _share(done: list[Measured], right: frozenset[str], total: int) -> str:
    count = sum(all(verdict in right for verdict, _ in one.verdicts) for one in done)
    return f"{count}/{total} ({100 * count / max(total, 1):.1f} %)"


def show_wrong(one: Measured) -> None:
    """Each instance that was not told right, and what the grammar says it leaves to validation."""
    if one.crash:
        print(f"{one.id}: {one.crash}")
    if one.loaded is False:
        print(f"{one.id}: llama.cpp does not load the grammar")
    for verdict, instance in one.verdicts:
        if verdict not in RIGHT:
            print(f"{one.id}: {verdict}: {compact_json(instance)[:300]} | looser: {one.loose or 'nothing'}")


def measure_all(cases: list[dict[str, Any]], *, llama_cpp: bool, verbose: bool) -> list[Measured]:
    """All schemas, with progress on stderr."""
    model = resolve_model("smollm2").path
    context = Context(model, vocab_only=True) if llama_cpp else None
    oracle = LlamaCpp(model, context.vocab) if context else None
    loads = oracle.loads if oracle else None
    found = []
    for index, case in enumerate(cases, 1):
        one = measured(case, loads)
        found.append(one)
        if verbose:
            show_wrong(one)
        if index % 25 == 0 or index == len(cases):
            print(f"\r{index}/{len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if oracle:
        oracle.close()
    if context:
        context.close()
    return found


def main() -> int:
    """Measure, print the table, and say by the exit code whether anything was refused that should not be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--verbose", action="store_true", help="list each wrong instance")
    parser.add_argument("--no-llama-cpp", action="store_true", help="do not load the grammars in llama.cpp")
    arguments = parser.parse_args()
    cases = list(lines_of(arguments.file))
    found = measure_all(cases, llama_cpp=not arguments.no_llama_cpp, verbose=arguments.verbose)
    Console().print(table_of(found))
    refused = any(verdict == REFUSED for one in found for verdict, _ in one.verdicts)
    return int(refused or any(one.crash for one in found))


if __name__ == "__main__":
    sys.exit(main())
