"""A trace as one HTML page that can be shown and sent around: no network, no script, every text escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from textcall.events import RunEvent
from textcall.messages import compact_json
from textcall.trace.diagram import LIFELINES, WIDTH, Arrow, call_line, diagram, read_as, seconds_text
from textcall.trace.marked import marked_prompt, marked_reply
from textcall.trace.story import stories

_LONG = 1200  # characters from which on a text stands in a box of its own that scrolls
_LINES = 20


def report(events: Sequence[RunEvent], title: str) -> str:
    """The page about the runs of a trace: for each its figures, a sequence diagram, and every turn in full."""
    css = _packaged("report.css")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    template = _environment().get_template("report.html.jinja")
    return template.render(title=title, runs=stories(events), css=Markup(css), css_hash=digest)


def visible(value: Any) -> Any:
    """A text without anything that is not seen but obeyed: control characters, bidirectional overrides, halves of
    surrogate pairs (which no file can hold) become escapes such as `\\x1b`. Other values stay as they are.
    """
    if not isinstance(value, str) or not _UNSEEN.search(value):
        return value
    shown = _UNSEEN.sub(lambda match: _escape(match[0]), value)
    return type(value)(shown)  # what is markup already stays it


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_packaged),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        call_line=call_line,
        compact_json=compact_json,
        head=_head,
        is_long=_is_long,
        number="{:,}".format,
        plural=_plural,
        read_as=read_as,
        seconds=seconds_text,
        token=_token,
    )
    environment.globals.update(
        diagram=diagram,
        lifelines=LIFELINES,
        marked_prompt=marked_prompt,
        marked_reply=marked_reply,
        width=WIDTH,
    )
    return environment


def _packaged(name: str) -> str:
    return (files("textcall.trace") / name).read_text(encoding="utf-8")


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _is_long(text: str) -> bool:
    return len(text) > _LONG or text.count("\n") >= _LINES


def _token(text: str) -> str:
    """A token in a line of text: its white space is shown."""
    return text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "␣")


def _head(arrow: Arrow) -> str:
    """The corners of an arrow's head."""
    x, y = arrow.end, arrow.y
    if arrow.to_itself:
        y += 22
    back = x - 15 if arrow.end > arrow.start else x + 15
    return f"{x},{y} {back},{y - 8} {back},{y + 8}"
