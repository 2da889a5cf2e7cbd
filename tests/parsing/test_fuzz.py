"""Cases broken at random: nothing but documented exceptions, no hang, no invalid call, the same in pieces as in one.

And the rule that decides: a text whose every part that looks like a call stands in a quotation, in inline code, in a
foreign fence, in a think block or in a string holds no call.

TEXTCALL_FUZZ_SECONDS sets how long it goes on (about twice as long in all), TEXTCALL_FUZZ_SEED where it begins;
TEXTCALL_CASES names a folder with further tables of cases.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.parsing.tables import TEXTS, Case, cuttings, differs, field_cases, read, text_cases, without_surrogates
from textcall.block import Convention, Shape
from textcall.errors import SchemaError
from textcall.parsing import Parsed, markers
from textcall.parsing.judge import described
from textcall.parsing.validate import is_valid

SECONDS = float(os.environ.get("TEXTCALL_FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("TEXTCALL_FUZZ_SEED", "4"))
FOLDER = os.environ.get("TEXTCALL_CASES", "")
ROUNDS = 2_000 if "TEXTCALL_FUZZ_SECONDS" not in os.environ else 10**9  # the bound where the machine is quick
LONGEST = 3_000  # code points of a text
SLOW = 5.0  # seconds for one text: far above what any takes, far below a hang
CONVENTIONS = (None, None, Convention(shape=Shape.REPLY), Convention(shape=Shape.DECIDE))

BITS = (
    *"\"'\\{}[]<>,:;`#|=()/\n ",
    *(
        "“",
        "”",
        "«",
        "「",
        "\x00",
        "\ud83d",
        "\u3000",
        "｛",
        "：",
        "\ufeff",
        "é",
        "🌊",
        "\r\n",
        "\n\n",
        "//",
        "/*",
        "*/",
    ),
    *("NaN", "1e999", "-", "0x1", "07", "True", "null", "\\u12", "\\ud83c", "\\x", "\\_", "]}", "}}", "> ", "- "),
    *("```", "```json\n", "~~~\n", "\n```\n", "<think>", "</think>", "<tool_call>", "</tool_call>", "<function="),
    *("[TOOL_CALLS]", "[ARGS]", "<|im_end|>", "</s>", "<|", "<|tool_call>", "<|channel|>", "to=functions."),
    *("Observation: ", "Action: ", '"tool":', '"args":'),
)


def every_case() -> list[Case]:
    found = field_cases()
    folder = Path(FOLDER) if FOLDER else None
    if folder is not None and (folder / f"{TEXTS}.jsonl").exists():
        found += text_cases(folder)
    return [without_surrogates(case) for case in found if len(case.text) <= LONGEST]


CASES = every_case()


def mutated(chance: random.Random) -> Case:
    """A case with some changes: something put in, taken out, doubled, swapped, or a piece of another case."""
    case = chance.choice(CASES)
    text = case.text
    for _ in range(chance.randint(1, 5)):
        at = chance.randint(0, len(text))
        other = chance.choice(CASES).text
        start = chance.randint(0, len(other))
        text = chance.choice(
            (
                text[:at] + chance.choice(BITS) + text[at:],
                text[:at] + chance.choice(BITS) + text[at + 1 :],
                text[:at] + text[at + chance.randint(1, 6) :],
                text[:at] + text[max(0, at - chance.randint(1, 60)) : at] + text[at:],
                text[:at] + other[start : start + chance.randint(1, 120)] + text[at:],
                text[:at],
            )
        )
    return replace(case, text=text[:LONGEST], finish_reason=chance.choice(("stop", "stop", "length")))


def rounds(share: float, *, salt: int) -> Iterator[random.Random]:
    """Sources of chance, one a round, until the share of the time is over."""
    started = time.monotonic()
    for number in range(int(ROUNDS * share)):
        if time.monotonic() - started > SECONDS * share:
            return
        yield random.Random(f"{SEED}/{salt}/{number}")


def check_calls(case: Case, parsed: Parsed, text: str) -> None:
    """Every call is one that may be run, and can be sent anywhere."""
    tools = described(case.tools)
    for call in parsed.calls:
        assert is_valid(tools[call.name], call.arguments), (call, text)
        json.dumps(dict(call.arguments), allow_nan=False, ensure_ascii=False).encode()
        low, high = call.span or (-1, -1)
        assert 0 <= low < high <= len(text), (call, text)
    (parsed.content or "").encode()
    assert all(problem.message and problem.kind for problem in parsed.problems)


def test_cases_broken_at_random() -> None:
    for chance in rounds(0.6, salt=1):
        case = mutated(chance)
        started = time.perf_counter()
        try:
            parsed = read(
                case,
                strict=chance.random() < 0.1,
                thinking=chance.random() < 0.1,
                convention=chance.choice(CONVENTIONS),
            )
        except SchemaError:  # the one exception that is documented: the tool's schema is broken, not the text
            continue
        assert time.perf_counter() - started < SLOW, case.text
        check_calls(case, parsed, case.text)


def test_cases_broken_at_random_in_pieces() -> None:
    for chance in rounds(0.6, salt=2):
        case = mutated(chance)
        case = without_surrogates(replace(case, text=case.text[:400]))
        whole = read(case)
        for pieces in cuttings(case.text, chance, singles=2, several=1):
            assert not differs(case, pieces, whole), (case.text, pieces if len(pieces) < 20 else len(pieces))


# Places in which everything is text. `{}` is where it stands; a text that would end the place itself is left out.


def _string(text: str) -> str:
    return json.dumps({"answer": text})


def _strings(text: str) -> str:
    return json.dumps([text, {"log": text}], indent=1, ensure_ascii=False)


BLANK_LINE = "\n\n"  # ends a paragraph, and with it inline code and quotations
HIDDEN: dict[str, tuple[Callable[[str], str], tuple[str, ...]]] = {
    "inline code": ("Write `{}` for that.".format, ("`", BLANK_LINE)),
    "inline code alone": ("`{}`".format, ("`", BLANK_LINE)),
    "double inline code": ("So ``{}`` it is.".format, ("`", BLANK_LINE)),
    "quotation": ("He wrote “{}” there.".format, ("”", "“", "`", BLANK_LINE)),
    "corner brackets": ("他写了「{}」。".format, ("」", "「", "`", BLANK_LINE)),
    "block quote": (lambda text: "\n".join(f"> {line}" for line in text.split("\n")), ()),
    "Python fence": ("```python\n{}\n```\nWell.".format, ("```",)),
    "longer fence": ("Look:\n`````text\n{}\n`````\nWell.".format, ("`````",)),
    "tilde fence": ("~~~~xml\n{}\n~~~~".format, ("~~~~",)),
    "thought": ("<think>{}</think>Well.".format, ("think",)),
    "thought on lines": ("<think>\nI could\n{}\n</think>\nWell.".format, ("think",)),
    "open thought": ("<think>{}".format, ("think",)),
    "string": (_string, ()),
    "strings": (_strings, ()),
}  # fmt: skip


# Marks of a template that end what stands around them, wherever they are written.
CONTROL = (*markers.CONTROL, *markers.LINE_ENDS, *markers.THINK, *markers.THINK.values())


def stays_inside(text: str, enders: tuple[str, ...]) -> bool:
    """Whether nothing in a text ends the place that it is put in."""
    if BLANK_LINE in enders and re.search(r"\n[ \t\r\ufeff\u3000]*\n", text):
        return False
    return bool(text.strip()) and not any(end in text for end in (*enders, *CONTROL))


@pytest.mark.parametrize("place", HIDDEN)
def test_no_call_from_where_everything_is_text(place: str) -> None:
    hide, enders = HIDDEN[place]
    tried = 0
    for chance in rounds(0.05, salt=len(place)):
        case = mutated(chance) if chance.random() < 0.7 else chance.choice(CASES)
        case = without_surrogates(case)
        if not stays_inside(case.text, enders):
            continue
        hidden = replace(case, text=hide(case.text), finish_reason="stop")
        parsed = read(hidden)
        assert parsed.calls == (), hidden.text
        tried += 1
    assert tried > 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_case_hidden(case: Case) -> None:
    for place, (hide, enders) in HIDDEN.items():
        if stays_inside(case.text, enders):
            hidden = replace(case, text=hide(case.text), finish_reason="stop")
            assert read(hidden).calls == (), (place, hidden.text)


def test_schemas_that_are_broken_raise_what_is_documented() -> None:
    tool: dict[str, Any] = {"name": "a", "parameters": {"$ref": "#/nowhere"}}
    with pytest.raises(SchemaError):
        read(Case("x", "", "", '{"tool":"a","args":{"b":1}}', (tool,), ()))
