"""Schemas that hold together, asked for one thing at a time: types, properties, items, bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jsonschema.exceptions import UnknownType
from referencing.exceptions import Unresolvable

from textcall.grammar.numbers import Bounds

_KINDS = ("object", "array", "string", "number", "boolean", "null")
# Beside these a schema may mean properties that it does not list.
_OPENING = frozenset(
    {"then", "else", "dependentSchemas", "dependentRequired", "dependencies", "extends", "propertyNames"}
    | {"$dynamicRef", "$recursiveRef"}
)


@dataclass(frozen=True, slots=True)
class Part:
    """One schema of a conjunction. path: JSON Pointer that names it. said: whether it is in the report."""

    schema: Any
    path: str
    said: bool = True

    def at(self, keyword: str, key: str | int | None = None) -> Part:
        """The schema under a keyword, or under a key of it."""
        inner = self.schema[keyword]
        path = f"{self.path}/{keyword}"
        if key is None:
            return Part(inner, path, self.said)
        return Part(inner[key], f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}", self.said)


@dataclass(frozen=True, slots=True)
class Other:
    """A property that is not listed. name: what its name must fit, () for anything; value: what its value must fit."""

    name: tuple[Part, ...] = ()
    value: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Members:
    """The properties of an object. listed: by name, in order. others: one of these each, [] for no more."""

    listed: Mapping[str, tuple[Part, ...]]
    needed: frozenset[str]
    others: list[Other]


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Schemas that all hold, each once. Only their plain keywords count: branches were multiplied out before."""

    parts: tuple[Part, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others of the same root schema."""
        return tuple(part.path if part.said else f"({part.path})" for part in self.parts)

    @property
    def _schemas(self) -> list[Mapping[str, Any]]:
        return [part.schema for part in self.parts]

    def and_also(self, other: Conjunction) -> Conjunction:
        """Both together."""
        return Conjunction(tuple({(part.path, part.said): part for part in self.parts + other.parts}.values()))

    def has(self, keyword: str) -> bool:
        """Whether any of them says it."""
        return any(keyword in schema for schema in self._schemas)

    def kinds(self) -> list[str]:
        """The types that are possible, in the order of the schema that lists them."""
        possible: list[str] = list(_KINDS)
        for schema in self._schemas:
            wanted = schema.get("type")
            wanted = [wanted] if isinstance(wanted, str) else wanted
            if not isinstance(wanted, list) or not set(map(str, wanted)) <= {*_KINDS, "integer"}:
                continue  # nothing said, or something of an old draft
            both = [_narrower(one, other) for one in wanted for other in possible]
            possible = [kind for kind in dict.fromkeys(both) if kind]
        return [kind for kind in possible if kind != "integer" or "number" not in possible]

    def choices(self) -> list[Any] | None:
        """The values of an enum or const, or None where there is neither."""
        for schema in self._schemas:
            if "const" in schema:
                return [schema["const"]]
        lists = [schema["enum"] for schema in self._schemas if isinstance(schema.get("enum"), list)]
        return min(lists, key=len) if lists else None

    def allows(self, value: Any, validator: Any) -> bool | None:
        """Whether every schema allows the value; None where that cannot be told."""
        try:
            return all(validator.evolve(schema=schema).is_valid(value) for schema in self._schemas)
        except (re.error, Unresolvable, UnknownType, RecursionError, ValueError, TypeError, ArithmeticError):
            return None

    def bounds(self, least: str, most: str) -> tuple[int | None, int | None]:
        """The closest counts under two keywords."""
        low, high = ([n for schema in self._schemas for n in _finite(schema.get(word))] for word in (least, most))
        return (math.ceil(max(low)) if low else None), (math.floor(min(high)) if high else None)

    def texts(self, keyword: str) -> list[str]:
        """The different texts under a keyword, in order."""
        found = (schema.get(keyword) for schema in self._schemas)
        return list(dict.fromkeys(text for text in found if isinstance(text, str)))

    def bounds_of_numbers(self) -> Bounds:
        """The closest bounds of a number. In draft 4 `exclusiveMinimum: true` opens the bound beside it.

        `-n` would round to the 28 digits of Decimal's context.
        """
        low = [(n, schema.get("exclusiveMinimum") is True) for schema, n in self._found("minimum")]
        low += [(n, True) for _, n in self._found("exclusiveMinimum")]
        high = [(n.copy_negate(), schema.get("exclusiveMaximum") is True) for schema, n in self._found("maximum")]
        high += [(n.copy_negate(), True) for _, n in self._found("exclusiveMaximum")]
        least, least_open = max(low, default=(None, False))
        most, most_open = max(high, default=(None, False))
        return Bounds(least, None if most is None else most.copy_negate(), least_open, most_open)

    def multiples(self) -> list[Decimal]:
        """What a number must be a multiple of, each once."""
        return list(dict.fromkeys(n for _, n in self._found("multipleOf") if n > 0))

    def _found(self, keyword: str) -> Iterator[tuple[Mapping[str, Any], Decimal]]:
        for schema in self._schemas:
            for number in _finite(schema.get(keyword)):
                yield schema, Decimal(str(number) if isinstance(number, float) else number)

    def items(self) -> tuple[list[tuple[Part, ...]], tuple[Part, ...]]:
        """What the first items must be, place by place, and what all after them must be."""
        prefixes: list[Sequence[Part]] = []
        rests: list[tuple[Part, ...]] = []
        for part in self.parts:
            key = "prefixItems" if "prefixItems" in part.schema else "items"
            listed = isinstance(part.schema.get(key), list)
            rest = "additionalItems" if listed and key == "items" else "items"
            prefixes.append([part.at(key, i) for i in range(len(part.schema[key]))] if listed else [])
            rests.append((part.at(rest),) if isinstance(part.schema.get(rest), Mapping | bool) else ())
        places = [
            tuple(
                p
                for prefix, rest in zip(prefixes, rests, strict=True)
                for p in ([prefix[i]] if i < len(prefix) else rest)
            )
            for i in range(max(map(len, prefixes), default=0))
        ]
        return places, tuple(part for rest in rests for part in rest)

    @property
    def _means_others(self) -> bool:
        """Whether a keyword would make no sense without properties that are not listed."""
        if any(_OPENING & set(schema) or schema.get("unevaluatedProperties", False) for schema in self._schemas):
            return True
        return not self.has("properties") and (self.has("minProperties") or self.has("maxProperties"))

    def members(self, open_objects: bool) -> Members:
        """The properties of an object that fits all. open_objects: whether those that nothing is said about may be."""
        names = dict.fromkeys(name for schema in self._schemas for name in schema.get("properties") or ())
        needed = dict.fromkeys(name for schema in self._schemas for name in _required(schema))
        listed: dict[str, tuple[Part, ...]] = {}
        limits = [limit for part in self.parts if (limit := _others(part)) is not None]
        for name in [*names, *(name for name in needed if name not in names)]:
            listed[name] = tuple(found for part in self.parts for found in _property(part, name))
        said = any("additionalProperties" in schema for schema in self._schemas)
        opened = open_objects or self._means_others
        patterned = any("patternProperties" in schema for schema in self._schemas)
        others: list[Other] = []
        if limits and all(len(limit) == 1 for limit in limits):
            alone = [limit[0] for limit in limits]
            others = [Other(tuple(p for o in alone for p in o.name), tuple(p for o in alone for p in o.value))]
        elif limits:
            others = min(limits, key=len)
        elif said or opened:
            others = [Other()]
        elif patterned:
            others = [other for part in self.parts for other in _patterns(part)]
        names_fit = tuple(part.at("propertyNames") for part in self.parts if "propertyNames" in part.schema)
        return Members(listed, frozenset(needed), [Other((*o.name, *names_fit), o.value) for o in others])


def _finite(value: Any) -> list[int | float]:
    if isinstance(value, int):
        return [] if isinstance(value, bool) else [value]
    return [value] if isinstance(value, float) and math.isfinite(value) else []


def _narrower(one: str, other: str) -> str | None:
    if one == other or (one, other) == ("integer", "number"):
        return one
    return other if (one, other) == ("number", "integer") else None


def _required(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return required if isinstance(required, list) else []  # a boolean in draft 3


def _patterns(part: Part) -> list[Other]:
    found = []
    for pattern in part.schema.get("patternProperties") or ():
        inside = part.at("patternProperties", pattern)
        found.append(Other((Part({"pattern": pattern}, f"{inside.path}#name", said=False),), (inside,)))
    return found


def _others(part: Part) -> list[Other] | None:
    """What one schema lets a property be that it does not list: one of these, None for anything."""
    extra = part.schema.get("additionalProperties", True)
    if extra is True:
        return None
    return _patterns(part) + ([] if extra is False else [Other((), (part.at("additionalProperties"),))])


def _property(part: Part, name: str) -> list[Part]:
    """What one schema says about the property of that name."""
    if name in (part.schema.get("properties") or ()):
        return [part.at("properties", name)]
    limit = _others(part)
    if limit is None or _patterns(part):  # with patterns it may be any of several: left to validation
        return []
    return [inside for other in limit for inside in other.value] or [part.at("additionalProperties")]
