"""What stands behind a place where a string seems to have ended, and whether it speaks for a string that goes on."""

from __future__ import annotations

import re

BRACKET = re.compile(r"[{\[｛［]|[}\]｝］]")
OPEN = frozenset("{[｛［")
FENCE = re.compile(r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)$", re.MULTILINE)
_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_TAG = re.compile(
    r"<(?P<end>/?)(?:｜DSML｜)?(?P<name>tool_calls?|function_calls?|tools|TOOLCALL|\w+:tool_call|function|invoke|"
    r"parameter|param|arg_key|arg_value)\b",
)
_CLOSERS = re.compile(r"[\s;,]*(?:</[^>\n]{1,40}>\s*|`{3,}\s*|~{3,}\s*)*")
_MAX = 20_000  # code points; with more of them nothing is certain


def surely_over(src: str, pos: int) -> bool:
    """Whether nothing behind `pos` closes what could still be open there: a bracket, a string, a tag, a fence."""
    if len(src) - pos > _MAX or quotes(src, pos, len(src)) % 2 or src.count("`", pos) % 2:
        return False
    depth = 0
    for bracket in BRACKET.finditer(src, pos):
        depth += 1 if bracket[0] in OPEN else -1
        if depth < 0:
            return False
    levels: dict[str, int] = {}
    for tag in _TAG.finditer(src, pos):
        level = levels[tag["name"]] = levels.get(tag["name"], 0) + (-1 if tag["end"] else 1)
        if level < 0:
            return False
    return len(FENCE.findall(src, pos)) % 2 == 0


def behind_closers(src: str, pos: int) -> int:
    """Past the tags and the fence that close what a value at `pos` stood in."""
    match = _CLOSERS.match(src, pos)
    return match.end() if match else pos


def quotes(src: str, start: int, end: int) -> int:
    """How many quotes there are that are not escaped."""
    return sum(1 for match in _QUOTE.finditer(src, start, end) if match[0] == '"')
