"""Tables of replies with what they hold, and what came out against what was wanted.

`field_cases.jsonl` is this project's own; other tables are read from a folder where there is one, and never copied.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from textcall.parsing import (
    CallReady,
    CallStarted,
    Event,
    Parsed,
    ProblemFound,
    Restarted,
    StreamParser,
    TextCame,
    ThoughtCame,
    parse,
)

DATA = Path(__file__).parents[1] / "data"
FIELD, TEXTS = "field_cases", "tool_text_cases"
STAGES = ("parse", "validate", "stream")
_TYPES = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip

Call = tuple[str, Any]
Outcome = Literal["right", "content", "refused", "problem", "silent", "wrong"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reply should come to. problem, content: None and "" where nothing is said about them."""

    calls: tuple[Call, ...]
    problem: bool | None = None
    content: str | None = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A reply. group: the row of the report that counts it. wanted: any of these is right; none: it must not raise.

    subset: whether a call may have more arguments than are named. unfinished: the reply goes on, and what counts is
    what was announced. refuse: what is wanted is no call of a tool, so that refusing it with a problem is right.
    """

    id: str
    table: str
    group: str
    text: str
    tools: tuple[Mapping[str, Any], ...]
    wanted: tuple[Wanted, ...]
    finish_reason: Any = "stop"
    subset: bool = False
    unfinished: bool = False
    refuse: bool = False
    chunks: tuple[str, ...] = ()


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def field_cases(folder: Path = DATA) -> list[Case]:
    """Failures from the field, of the stages that parsing answers for."""
    return [_field(row) for row in rows(folder / f"{FIELD}.jsonl") if row["stage"] in STAGES]


def _field(row: Mapping[str, Any]) -> Case:
    wanted = [row["expected"], *([row["alt_expected"]] if row.get("alt_expected") else [])]
    return Case(
        id=row["id"],
        table=FIELD,
        group=f"{row['stage']} {row['strength']}",
        text=row["text"],
        tools=tuple(row["tools"]),
        wanted=tuple(_field_wanted(each, row["text"]) for each in wanted),
        finish_reason=row.get("finish_reason", "stop"),
        chunks=tuple(row.get("chunks") or ()),
    )


def _field_wanted(wanted: Mapping[str, Any], text: str) -> Wanted:
    calls = tuple((call["tool"], call["args"]) for call in wanted["calls"])
    content = text if wanted["content"] == "the whole text" else wanted["content"]
    return Wanted(calls, bool(wanted["error"]), content)


def text_cases(folder: Path) -> list[Case]:
    """Replies out of the tests of other parsers, with the calls that those find in them."""
    found = rows(folder / f"{TEXTS}.jsonl")
    everyone = [tool for row in found for tool in _tools(row)]
    return [_text(row, everyone) for row in found]


def _text(row: Mapping[str, Any], everyone: Iterable[Mapping[str, Any]]) -> Case:
    wanted: tuple[Wanted, ...] = ()
    if row["expected_calls"] is not None:
        calls = tuple((call["name"], call["arguments"]) for call in row["expected_calls"])
        wanted = (Wanted(calls, content=row["expected_content"] if row["content_stated"] else ""),)
    tools = tuple(_tools(row))
    if row["tier"] == "text_only":  # the more tools there are, the more can be called by mistake
        tools = tuple({_name(tool): tool for tool in (*everyone, *tools)}.values())
    return Case(
        id=row["id"],
        table=TEXTS,
        group=row["tier"],
        text=row["text"],
        tools=tools,
        wanted=wanted,
        subset=row["args_match"] == "subset",
        unfinished=bool(row.get("partial")),
        refuse=any(not call["name"] or (call["arguments"] or {}).keys() == {"__raw__"} for call in _calls(row)),
    )


def _calls(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return row["expected_calls"] or []


def _name(tool: Mapping[str, Any]) -> str:
    return str(tool.get("function", tool)["name"])


def _tools(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tools that a row states, else tools that take what its calls hold."""
    if row.get("tools"):
        return list(row["tools"])
    properties: dict[str, dict[str, set[str]]] = {name: {} for name in ("func", "test_function", "get_weather")}
    for call in _calls(row):
        known = properties.setdefault(call["name"], {})
        for key, value in (call["arguments"] or {}).items():
            if key != "__raw__":
                known.setdefault(key, set()).add(_TYPES[type(value)])
    closed = {} if row["args_match"] == "subset" or row["tier"] == "text_only" else {"additionalProperties": False}
    return [{"name": name, "parameters": {**_object(of), **closed}} for name, of in properties.items() if name]


def _object(properties: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"type": sorted(types)} for key, types in properties.items()}}


def outcome(case: Case, parsed: Parsed) -> Outcome:
    """right; content: the calls are right, the text or the problem is not; missed with a problem or silently; wrong.

    refused: no call of a tool is wanted, and a problem says so.
    """
    if case.unfinished:
        return _announced(case)
    got = [(call.name, dict(call.arguments)) for call in parsed.calls]
    with_calls = [wanted for wanted in case.wanted if _same_calls(got, wanted.calls, subset=case.subset)]
    if not case.wanted or any(_rest_is_right(parsed, wanted) for wanted in with_calls):
        return "right"
    if with_calls:
        return "content"
    if not any(_are_some_of(got, wanted.calls, subset=case.subset) for wanted in case.wanted):
        return "wrong"
    if case.refuse and parsed.problems:
        return "refused"
    return "problem" if parsed.problems else "silent"


def _announced(case: Case) -> Outcome:
    """Whether the calls that have begun where the text breaks off were announced."""
    names = [event.name for event in StreamParser(case.tools).feed(case.text) if isinstance(event, CallStarted)]
    wanted = [[name for name, _ in each.calls] for each in case.wanted]
    return "right" if names in wanted else "wrong" if names else "silent"


def _rest_is_right(parsed: Parsed, wanted: Wanted) -> bool:
    serious = {problem.kind for problem in parsed.problems} - {"not_a_call"}
    if wanted.problem is not None and bool(serious) != wanted.problem and serious != {"role_confusion"}:
        return False
    return wanted.content == "" or words(parsed.content) == words(wanted.content)


def words(text: str | None) -> str:
    """A text without regard to its white space."""
    return " ".join((text or "").split())


def _same_calls(got: list[Call], wanted: Iterable[Call], *, subset: bool) -> bool:
    pairs = list(itertools.zip_longest(got, wanted))
    return all(one is not None and other is not None and _fits(one, other, subset=subset) for one, other in pairs)


def _are_some_of(got: list[Call], wanted: Iterable[Call], *, subset: bool) -> bool:
    """Whether nothing was called that was not to be, or in another order."""
    left = iter(wanted)
    return all(any(_fits(call, other, subset=subset) for other in left) for call in got)


def _fits(got: Call, wanted: Call, *, subset: bool) -> bool:
    arguments = wanted[1] or {}
    if subset:
        return got[0] == wanted[0] and all(key in got[1] and same(got[1][key], arguments[key]) for key in arguments)
    return got[0] == wanted[0] and same(got[1], arguments)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# Streaming


def numbered() -> Callable[[], str]:
    """Ids that are the same every time."""
    numbers = itertools.count(1)
    return lambda: f"call_{next(numbers)}"


def read(case: Case, **options: Any) -> Parsed:
    """A case, read as a whole."""
    return parse(case.text, case.tools, **{"finish_reason": case.finish_reason, "ids": numbered(), **options})


def gathered(events: Iterable[Event]) -> Parsed:
    """What events come to."""
    text, thought = "", ""
    calls: list[Any] = []
    problems: list[Any] = []
    for event in events:
        match event:
            case TextCame():
                text += event.text
            case ThoughtCame():
                thought += event.text
            case CallReady():
                calls.append(event.call)
            case ProblemFound():
                problems.append(event.problem)
            case Restarted():
                text, thought, calls, problems = "", event.reasoning, [], []
            case _:
                pass
    return Parsed(text or None, thought or None, tuple(calls), tuple(problems))


def differs(case: Case, pieces: Iterable[str | bytes], whole: Parsed) -> bool:
    """Whether the events of the pieces, or what the parser says at the end, are not what the whole text gives."""
    parser = StreamParser(case.tools, ids=numbered())
    events = [event for piece in pieces for event in parser.feed(piece)]
    events += parser.close(case.finish_reason)
    return not gathered(events) == parser.parsed() == whole


def cuttings(text: str, chance: random.Random, *, singles: int, several: int) -> Iterator[list[str] | list[bytes]]:
    """Ways to cut a text: not at all, each character, each byte, one cut (`singles` places), `several` times some."""
    yield [text]
    yield list(text)
    yield [bytes([byte]) for byte in text.encode()]
    places = range(1, len(text))
    for at in chance.sample(places, min(singles, len(places))):
        yield [text[:at], text[at:]]
    for _ in range(several if len(text) > 2 else 0):
        edges = [0, *sorted(chance.sample(places, min(len(places), chance.randint(2, 8)))), len(text)]
        yield [text[start:end] for start, end in itertools.pairwise(edges)]


def without_surrogates(case: Case) -> Case:
    """The case with a text that can be sent as bytes."""
    return replace(case, text=case.text.encode("utf-8", "replace").decode())
