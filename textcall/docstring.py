"""What a docstring says of a function and its parameters: Google, NumPy and reST styles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

_PARAMETERS = r"(?:(?:Keyword|Other) )?(?:Args|Arguments|Parameters|Params)"
_GOOGLE = re.compile(rf"^{_PARAMETERS}:\s*$")
_NUMPY = re.compile(rf"^{_PARAMETERS}\s*$")
_SECTION = re.compile(rf"^(?:{_PARAMETERS}|Returns?|Raises|Yields?|Examples?|Notes?|Attributes|See Also):?\s*$")
_GOOGLE_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_ENTRY = re.compile(r"^:param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The first paragraph, on one line, and the description of each parameter that has one."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    summary = " ".join(" ".join(_until(lines, lambda line: not line.strip() or _SECTION.match(line))).split())
    summary = re.sub(r"\s*:param\s.*", "", summary)
    return summary, {name: " ".join(text.split()) for name, text in _entries(lines).items() if text.strip()}


def _until(lines: Iterable[str], stop: object) -> list[str]:
    taken = []
    for line in lines:
        if callable(stop) and stop(line):
            break
        taken.append(line)
    return taken


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, line in enumerate(lines):
        rest = lines[index + 1 :]
        if (match := _REST_ENTRY.match(line.strip())) is not None:
            more = _until(rest, lambda text: not text.strip() or text.lstrip().startswith(":"))
            found[match[1]] = " ".join([match[2], *more])
        elif _GOOGLE.match(line):
            found |= _google(rest)
        elif _NUMPY.match(line) and rest and re.fullmatch(r"-{3,}", rest[0].strip()):
            found |= _numpy(rest[1:])
    return found


def _google(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, indent = "", 0
    for line in lines:
        if line.strip() and not line[0].isspace():
            break
        match = _GOOGLE_ENTRY.match(line)
        if match and (not name or len(match[1]) <= indent):
            name, indent = match[2], len(match[1])
            found[name] = match[3]
        elif name:
            found[name] += " " + line
    return found


def _numpy(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for index, line in enumerate(lines):
        underlined = index + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[index + 1].strip())
        if underlined:
            break
        match = _NUMPY_ENTRY.match(line)
        if match:
            names = re.findall(r"\w+", match[1])  # x, y : float
            found |= dict.fromkeys(names, "")
        else:
            found |= {name: f"{found[name]} {line}" for name in names}
    return found
