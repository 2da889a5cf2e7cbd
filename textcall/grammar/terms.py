"""Pieces of GBNF text: literals, constants, names, lists, numbers. Pure functions from values to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from textcall.messages import compact_json

# llama.cpp refuses counts above 2000 and expands all of them, so that long ones are written as repeated blocks.
_BLOCK = 256
MOST_REPEATS = 2000 * _BLOCK
# From 1e16 on Python writes a float with an exponent; below 1e-7 everybody does.
_EXPONENTS_FROM, _FLOAT_END, _TINY_END = Decimal("1e16"), Decimal("1.7e308"), Decimal("1e-7")
_SHORT_COUNTS = {(0, 1): "?", (1, 1): ""}
_EMPTY = '""'
_MOST_NAME_CHARS = 2000
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")

NewRule = Callable[[str], str]


def literal(text: str) -> str:
    """`text` as a GBNF literal."""
    escaped = "".join(_ESCAPES.get(char) or _written(char) for char in text)
    return f'"{escaped}"'


def either(bodies: Iterable[str]) -> str:
    """One of the bodies, each named once; at least one must be given."""
    options = list(dict.fromkeys(bodies))
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def constant(value: Any) -> str:
    """The compact JSON of one value. A whole number may be written as 1 or as 1.0: to JSON Schema they are the same."""
    if isinstance(value, list):
        return (
            f'"[" {_joined(constant(item) for item in value)} "]"'
            if _has_number(value)
            else literal(compact_json(value))
        )
    if isinstance(value, Mapping):
        if not _has_number(value):
            return literal(compact_json(value))
        members = (f"{literal(compact_json(key) + ':')} {constant(item)}" for key, item in value.items())
        return f'"{{" {_joined(members)} "}}"'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number_constant(value)
    return literal(compact_json(value))


def counted(body: str, least: int, most: int | None) -> str:
    """`body`, `least` to `most` times; `body` is one element. Bounds beyond `MOST_REPEATS` are left open."""
    least = min(least, MOST_REPEATS)
    if most is None or most > MOST_REPEATS:
        return {0: f"{body}*", 1: f"{body}+"}.get(least) or _joined_elements(_exactly(body, least), f"{body}*")
    if (least, most) in _SHORT_COUNTS:
        return body + _SHORT_COUNTS[least, most]
    if most <= _BLOCK:
        return f"{body}{{{least},{most}}}" if least < most else f"{body}{{{most}}}" if most else _EMPTY
    return _joined_elements(_exactly(body, least), _up_to(body, most - least))


def fits(bound: int) -> bool:
    """Whether `counted` keeps this bound."""
    return bound <= MOST_REPEATS


def _exactly(body: str, count: int) -> str:
    blocks, rest = divmod(count, _BLOCK)
    return _joined_elements(_times(f"({body}{{{_BLOCK}}})", blocks), _times(body, rest))


def _times(body: str, count: int) -> str:
    return "" if count == 0 else body if count == 1 else f"{body}{{{count}}}"


def _up_to(body: str, count: int) -> str:
    """Whole blocks, then up to almost two: each number of times in at most two ways."""
    if count <= 2 * _BLOCK:
        return f"{body}{{0,{count}}}" if count else ""
    blocks = (count + 1) // _BLOCK - 1
    return f"({body}{{{_BLOCK}}}){{0,{blocks}}} {body}{{0,{count - blocks * _BLOCK}}}"


def _joined_elements(*elements: str) -> str:
    return " ".join(filter(None, elements))


def items_text(prefix: Sequence[str], tail: str | None, least: int, most: int | None, new_rule: NewRule) -> str:
    """An array: the items of `prefix` in their places, then `tail` (None: no more), `least` to `most` in all."""
    size = len(prefix)
    if tail is not None and not _WORD.fullmatch(tail):
        tail = new_rule(tail)  # llama.cpp multiplies a count by the groups inside what is counted
    if tail is None:
        most = size if most is None else min(most, size)
    upper = None if most is None else most - size
    more = ""
    if tail is not None and (upper is None or upper > 0):
        if size == 0:
            later = counted(f'("," {tail})', max(least - 1, 0), None if upper is None else upper - 1)
            inner = f"{tail} {later}" if later != '""' else tail
            return f'"[" {inner if least else f"({inner})?"} "]"'
        more = counted(f'("," {tail})', max(least - size, 0), upper)
    for index in reversed(range(size)):
        if most is not None and index >= most:
            continue
        comma = '"," ' if index else ""
        step = f"{comma}{prefix[index]} {more}".rstrip()
        more = new_rule(step if index < least else f'{step} | ""')
    return f'"[" {more} "]"' if more else '"[" "]"'


def members_text(
    members: Sequence[tuple[str, bool]], others: str | None, new_rule: NewRule, least: int = 0, most: int | None = None
) -> str:
    """An object: members in order, each (text, needed), then any number of `others`. Linear in their number.

    least, most: how many there are in all; beside members only whether `least` is zero counts.
    """
    if not members:
        return f'"{{" {_list_of(others, least, most)} "}}"' if others else '"{" "}"'
    # first: the members from here on where none was written before; more: where one was
    more = f'("," {others})*' if others else ""
    none = "" if least else _EMPTY
    first = _alternatives(f"{others} {more}" if others else "", none) if others else ""
    for body, needed in reversed(members):
        rest = new_rule(more) if more else ""
        taken, added = f"{body} {rest}".rstrip(), f'"," {body} {rest}'.rstrip()
        first = taken if needed else _alternatives(taken, new_rule(first) if first else none)
        more = added if needed else _alternatives(added, rest or _EMPTY)
    return f'"{{" ({first}) "}}"'


def _alternatives(*bodies: str) -> str:
    return " | ".join(filter(None, bodies))


def _list_of(item: str, least: int, most: int | None) -> str:
    if most == 0:
        return _EMPTY
    later = counted(f'("," {item})', max(least - 1, 0), None if most is None else most - 1)
    return f"{item} {later}" if least else f"({item} {later})?"


def other_name(names: Iterable[str], new_rule: NewRule) -> str:
    """A JSON string that is none of `names` (written without needless escapes): a rule for each place in their trie."""
    plain = [name for name in names if _is_plain(name)]
    if not plain or sum(map(len, plain)) > _MOST_NAME_CHARS:
        return "string"
    trie: dict[str, Any] = {}
    for name in plain:
        node = trie
        for char in name:
            node = node.setdefault(char, {})
        node[""] = {}
    return f'"\\"" {_trie_rule(trie, new_rule)} "\\""'


def leaves_out(names: Iterable[str]) -> bool:
    """Whether `other_name` leaves out each of `names`: they need no escapes and are not too long together."""
    names = list(names)
    return all(map(_is_plain, names)) and sum(map(len, names)) <= _MOST_NAME_CHARS


def used_rules(rules: Mapping[str, str], start: str = "root") -> dict[str, str]:
    """The rules that `start` leads to, in the order given."""
    used, waiting = {start}, [start]
    while waiting:
        for name in _WORD.findall(rules[waiting.pop()]):
            if name in rules and name not in used:
                used.add(name)
                waiting.append(name)
    return {name: body for name, body in rules.items() if name in used}


def _written(char: str) -> str:
    """The character, or its code where it is a control or half a pair of surrogates, which UTF-8 cannot hold."""
    if "\ud800" <= char <= "\udfff":
        return f"\\u{ord(char):04X}"
    return char if ord(char) >= 32 else f"\\x{ord(char):02X}"


def _is_plain(name: str) -> bool:
    return compact_json(name)[1:-1] == name


def _joined(bodies: Iterable[str]) -> str:
    return ' "," '.join(bodies)


def _has_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_number, value))
    if isinstance(value, Mapping):
        return any(map(_has_number, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_constant(value: float) -> str:
    """Its spellings: 1 and 1.0; 1e+16 and 10000000000000000; 1e-05 and 0.00001. Serializers differ in them."""
    number = Decimal(repr(value))
    spelled = [literal(repr(value))]
    if number == 0:
        spelled = ['"-"? "0" ".0"?']
    elif value == int(value):
        spelled = [f'{literal(str(int(value)))} ".0"?']
        as_float = float(value) if abs(number) < _FLOAT_END else 0.0
        if abs(number) >= _EXPONENTS_FROM and as_float == value:
            mantissa, exponent = repr(as_float).split("e+")
            spelled.append(f'{literal(mantissa)} "e" "+"? {literal(exponent)}')
    elif _TINY_END <= abs(number) < 1:
        spelled.append(literal(f"{number:f}"))
    return f"({' | '.join(dict.fromkeys(spelled))})"


def _trie_rule(root: Mapping[str, Any], new_rule: NewRule) -> str:
    """Without recursion: names may be long. Children come before their parents."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(child for char, child in node.items() if char)
    made: dict[int, str] = {}
    for node in reversed(order):
        edges = sorted(char for char in node if char)
        outside = "".join(
            f"\\{char}" if char in "]\\[" else f"\\x{ord(char):02X}" if char in "^-" else _written(char)
            for char in edges
        )
        options = [f'[^"\\\\\\x00-\\x1F{outside}] char*', "escape char*"]
        options += [f"{literal(char)} {made[id(node[char])]}" for char in edges]
        options += [] if "" in node else ['""']
        made[id(node)] = new_rule(" | ".join(options))
    return made[id(root)]
