"""JSON Schema to GBNF, with a report by keyword.

A schema is taken as alternatives of conjunctions: `anyOf`, `allOf` and `$ref` are multiplied out (`_expand`), and each
conjunction of plain schemas becomes one body (`_plain`). So what stands beside a `$ref` or an `anyOf` holds too.

The grammar is never narrower than the schema, except that a value has its compact text (no white space, no needless
escapes, whole numbers without fraction) and objects write the listed properties first, in the schema's order. Formats
hold, and so do `const`, `propertyNames` and `prefixItems` in a draft that does not know them yet. What the grammar
cannot express is looser and reported as `approximated` or `checked after`: validation holds it, see `parsing.validate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from jsonschema import FormatChecker
from jsonschema.exceptions import SchemaError as InvalidSchema
from jsonschema.validators import validator_for

from textcall.errors import SchemaError
from textcall.grammar.conjunction import Conjunction, Other, Part
from textcall.grammar.library import shared_rules
from textcall.grammar.numbers import numbers, whole_multiple, whole_numbers
from textcall.grammar.references import References
from textcall.grammar.regex import read_regex
from textcall.grammar.strings import string_rule
from textcall.grammar.terms import (
    constant,
    either,
    fits,
    items_text,
    leaves_out,
    literal,
    members_text,
    other_name,
    used_rules,
)
from textcall.messages import compact_json

Status = Literal["enforced", "approximated", "checked after"]
_LOOSENESS: tuple[Status, ...] = ("enforced", "approximated", "checked after")

# Keywords that say nothing about which values are valid.
ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "example",
        "$schema",
        "$id",
        "id",
        "$comment",
        "$defs",
        "definitions",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    ]
)
_BRANCHES = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_BY_TYPE = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties"}
        | {"propertyNames", "minProperties", "maxProperties"}
    ),
    "array": frozenset({"items", "prefixItems", "additionalItems", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
_TEXTS = {"boolean": '("true" | "false")', "null": '"null"'}
_MOST_ALTERNATIVES = 64
_MOST_RULES = 20_000
_DEEPEST = 40
# A conjunct that could not be taken along: whatever it lists must stay possible.
_LOOSE = Part({"then": True}, "", said=False)
_NULL = Part({"type": "null"}, "#null", said=False)
_A_STRING = Part({"type": "string"}, "#string", said=False)


@dataclass(frozen=True, slots=True)
class KeywordReport:
    """What the grammar makes of one keyword. path: JSON Pointer of the schema that holds it."""

    path: str
    keyword: str
    status: Status


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema as a grammar. gbnf: a whole grammar, its rule `root` the value. report: by keyword, in order."""

    gbnf: str
    report: tuple[KeywordReport, ...]


def schema_to_gbnf(schema: Any, *, open_objects: bool = True) -> Compiled:
    """The grammar of the compact JSON values that `schema` allows.

    open_objects: whether objects may hold properties that the schema does not list, where it does not forbid them.
    Raises SchemaError, with the path, where `schema` is no valid JSON Schema.
    """
    check_schema(schema)
    compiler = Compiler(schema, open_objects=open_objects)
    rules = {"root": compiler.body(), **compiler.rules, **shared_rules()}
    text = "\n".join(f"{name} ::= {body}" for name, body in used_rules(rules).items()) + "\n"
    return Compiled(text, compiler.report)


def check_schema(schema: Any) -> None:
    """Raise SchemaError, with the path, where `schema` is no valid JSON Schema of its draft (2020-12 where unsaid)."""
    if not isinstance(schema, Mapping | bool):
        raise SchemaError(f"a JSON Schema is an object or a boolean, not {type(schema).__name__}")
    if isinstance(schema, Mapping) and not isinstance(schema.get("$schema", ""), str):
        raise SchemaError("not a valid JSON Schema at /$schema: it is the address of a draft, a string")
    try:
        _check(schema)
    except InvalidSchema as error:
        path = "/".join(["", *(str(part) for part in error.absolute_path)])
        raise SchemaError(f"not a valid JSON Schema at {path or 'the top'}: {error.message}") from error
    except RecursionError as error:
        raise SchemaError("the JSON Schema is nested too deeply to be read") from error


def _check(schema: Any) -> None:
    """jsonschema tries patterns with Python's `re`, which does not know all that ECMA-262 does."""
    draft = cast(Any, validator_for(schema))
    try:
        draft.check_schema(schema)
    except InvalidSchema as error:
        if error.validator != "format" or read_regex(str(error.instance)) is None:
            raise
        draft.check_schema(schema, format_checker=FormatChecker(formats=()))


@dataclass(slots=True)
class Compiler:
    """One schema on its way into rules. prefix: of the names of its rules, so that several share one grammar."""

    schema: Any
    open_objects: bool = True
    prefix: str = "s"
    rules: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _statuses: dict[tuple[str, str], Status] = field(default_factory=dict)
    _bodies: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    _references: References = field(init=False)
    _depth: int = 0

    def __post_init__(self) -> None:
        self._references = References(self.schema)

    @property
    def report(self) -> tuple[KeywordReport, ...]:
        """What became of each keyword, in the order in which they were met."""
        return tuple(KeywordReport(path, keyword, status) for (path, keyword), status in self._statuses.items())

    def body(self, *also: Mapping[str, Any]) -> str:
        """The body of a rule for the whole schema, which holds together with the schemas `also`."""
        parts = (Part(self._references.root, ""), *(Part(s, f"#{i}", said=False) for i, s in enumerate(also)))
        found = self._value(parts)
        if found is None:
            self._say("", "false", "checked after")
        return found or "value"

    def _rule(self, body: str) -> str:
        """The name of a rule with this body; the same body has one rule."""
        if body not in self._names:
            self._names[body] = self._name(body)
        return self._names[body]

    def _name(self, body: str) -> str:
        name = f"{self.prefix}-{len(self.rules)}"
        self.rules[name] = body
        return name

    def _value(self, parts: tuple[Part, ...]) -> str | None:
        """The body for a value that fits all of `parts`; None where no value does."""
        if self._depth >= _DEEPEST or len(self.rules) > _MOST_RULES:
            for part in parts:
                self._say_all(part, "checked after")
            return "value"
        self._depth += 1
        alternatives: list[Conjunction] = [Conjunction()]
        for part in parts:
            more = _both(alternatives, self._expand(part, ()))
            if more is None:
                self._say_all(part, "checked after")
                more = [one.and_also(Conjunction((_LOOSE,))) for one in alternatives]
            alternatives = more
        bodies = [body for body in map(self._plain, alternatives) if body is not None]
        self._depth -= 1
        if not bodies:
            return None
        return "value" if "value" in bodies else either(bodies)

    def _expand(self, part: Part, above: tuple[str, ...]) -> list[Conjunction]:
        """The alternatives of one schema, each a conjunction of schemas of which only the plain keywords count.

        OpenAPI's `nullable` allows null whatever stands beside it, as `parsing.validate` has it.
        """
        schema = part.schema
        if not isinstance(schema, Mapping):
            return [] if schema is False else [Conjunction()]
        found = self._branched(part, above)
        if schema.get("nullable") is True:
            found = [*found, Conjunction((_NULL,))]
        return found

    def _branched(self, part: Part, above: tuple[str, ...]) -> list[Conjunction]:
        schema = part.schema
        if len(above) > _DEEPEST:
            self._say_all(part, "checked after")
            return [Conjunction((_LOOSE,))]
        above = (*above, part.path)
        if self._references.ref_stands_alone and isinstance(schema.get("$ref"), str):
            return self._follow(part, above)
        plain = set(schema) - ANNOTATIONS - _BRANCHES
        found = [Conjunction((part,) if plain else ())]
        if isinstance(schema.get("$ref"), str):
            found = self._joined(found, self._follow(part, above), part, "$ref")
        for index, _ in enumerate(schema.get("allOf") or ()):
            found = self._joined(found, self._expand(part.at("allOf", index), above), part, "allOf")
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                places = range(len(schema[keyword]))
                options = [one for i in places for one in self._expand(part.at(keyword, i), above)]
                found = self._joined(found, options, part, keyword)
        return found

    def _joined(
        self, found: list[Conjunction], options: list[Conjunction], part: Part, keyword: str
    ) -> list[Conjunction]:
        together = _both(found, options)
        if together is None:
            self._say(part.path, keyword, "checked after")
            return _both(found, [Conjunction((_LOOSE,))]) or found
        self._say(part.path, keyword, "approximated" if keyword == "oneOf" else "enforced")
        return together

    def _follow(self, part: Part, above: tuple[str, ...]) -> list[Conjunction]:
        target = self._references.find(part.schema["$ref"])
        if target is None or target[1] in above:
            self._say(part.path, "$ref", "checked after")
            return [Conjunction((_LOOSE,))]
        self._say(part.path, "$ref", "enforced")
        return self._expand(Part(*target), above)

    def _plain(self, together: Conjunction) -> str | None:
        """The body for one conjunction; what needs rules of its own is compiled once."""
        if together.key in self._bodies:
            return self._bodies[together.key]
        choices = together.choices()
        if choices is not None:
            return self._chosen(together, choices)
        kinds = together.kinds()
        possible = {*kinds, "number"} if "integer" in kinds else set(kinds)
        used = {word for kind in possible for word in _BY_TYPE.get(kind, ()) if together.has(word)}
        if not together.has("type") and not used:
            self._say_plain(together, set(), {})
            return "value"
        if not used & (_BY_TYPE["object"] | _BY_TYPE["array"]):
            return self._of_kinds(together, kinds)
        name = self._name("value")  # named before it is compiled: it may use itself
        self._bodies[together.key] = name
        body = self._of_kinds(together, kinds)
        if body is None:
            self._bodies[together.key] = None
            return None
        self.rules[name] = body
        return name

    def _chosen(self, together: Conjunction, choices: list[Any]) -> str | None:
        """One of the values that fit the whole schema; formats are not tried."""
        told = [(value, together.allows(value, self._references.validator)) for value in choices]
        bodies = [constant(value) for value, allowed in told if allowed is not False]
        tried = {word for part in together.parts for word in part.schema} - {"format"}
        used = {"enum", "const"} if any(allowed is None for _, allowed in told) else tried
        self._say_plain(together, used, {})
        return (either(bodies) if len(bodies) < 4 else self._rule(either(bodies))) if bodies else None

    def _of_kinds(self, together: Conjunction, kinds: list[str]) -> str | None:
        statuses: dict[str, Status] = {}
        bodies = [self._kind(kind, together, statuses) for kind in kinds]
        used = {"type", "nullable"}
        for words in _BY_TYPE.values():
            used |= words  # what is said of a type that is not possible holds anyway
        self._say_plain(together, used | set(statuses), statuses)
        possible = [body for body in bodies if body is not None]
        return either(possible) if possible else None

    def _kind(self, kind: str, together: Conjunction, statuses: dict[str, Status]) -> str | None:
        if kind == "object":
            return self._object(together, statuses)
        if kind == "array":
            return self._array(together, statuses)
        if kind == "string":
            return _string(together, statuses)
        if kind in ("integer", "number"):
            return _number(kind, together, statuses)
        return _TEXTS[kind]

    def _object(self, together: Conjunction, statuses: dict[str, Status]) -> str | None:
        if not any(together.has(word) for word in _BY_TYPE["object"]):
            return "object"
        members = together.members(self.open_objects)
        if together.has("patternProperties"):
            statuses["patternProperties"] = "approximated"
        written = []
        for name, parts in members.listed.items():
            body = self._value(parts)
            if body is not None:
                written.append((f"{literal(compact_json(name) + ':')} {body}", name in members.needed))
            elif name in members.needed:
                return None
        found = (self._other(list(members.listed), other) for other in members.others)
        others = list(dict.fromkeys(body for body in found if body is not None))
        least, most = together.bounds("minProperties", "maxProperties")
        if most is not None and most < max(least or 0, len(members.needed)):
            return None
        if least and not written and not others:
            return None
        if others and not leaves_out(members.listed):
            statuses["properties"] = "approximated"
        if together.has("minProperties") and written and (least or 0) > max(1, len(members.needed)):
            statuses["minProperties"] = "approximated"
        if together.has("maxProperties") and written:
            statuses["maxProperties"] = "checked after"
        if together.has("propertyNames") and members.listed:
            statuses["propertyNames"] = "approximated"
        return members_text(written, self._rule(either(others)) if others else None, self._rule, least or 0, most)

    def _other(self, names: list[str], other: Other) -> str | None:
        """One property that is not listed. A name that must fit a pattern may be a listed one: validation says so."""
        value = self._value(other.value)
        name = self._value((*other.name, _A_STRING)) if other.name else other_name(names, self._rule)
        return None if value is None or name is None else f'{name} ":" {value}'

    def _array(self, together: Conjunction, statuses: dict[str, Status]) -> str | None:
        least, most = together.bounds("minItems", "maxItems")
        for keyword, bound in (("minItems", least), ("maxItems", most)):
            if bound is not None and not fits(bound):
                statuses[keyword] = "approximated"
        prefix: list[str] = []
        places, tail_parts = together.items()
        tail = self._value(tail_parts)
        for parts in places:
            body = self._value(parts)
            if body is None:  # an array must end before this place
                tail = None
                break
            prefix.append(body)
        if (tail is None and (least or 0) > len(prefix)) or (most is not None and (least or 0) > most):
            return None
        if not prefix and tail == "value" and not least and most is None:
            return "array"
        return items_text(prefix, tail, least or 0, most, self._rule)

    def _say_plain(self, together: Conjunction, used: set[str], statuses: Mapping[str, Status]) -> None:
        for part in together.parts:
            for keyword in part.schema if part.said else ():
                if keyword not in ANNOTATIONS and keyword not in _BRANCHES:
                    said = statuses.get(keyword, "enforced" if keyword in used else "checked after")
                    self._say(part.path, keyword, said)

    def _say_all(self, part: Part, status: Status) -> None:
        for keyword in part.schema if part.said and isinstance(part.schema, Mapping) else ():
            if keyword not in ANNOTATIONS:
                self._say(part.path, keyword, status)

    def _say(self, path: str, keyword: str, status: Status) -> None:
        """A keyword that is met more than once counts as what is loosest."""
        before = self._statuses.get((path, keyword), "enforced")
        self._statuses[path, keyword] = max(before, status, key=_LOOSENESS.index)


def _both(left: list[Conjunction], right: list[Conjunction]) -> list[Conjunction] | None:
    """Each of one side with each of the other; None where these are too many."""
    if len(left) * len(right) > max(_MOST_ALTERNATIVES, len(left), len(right)):
        return None
    together = (one.and_also(other) for one in left for other in right)
    return [one for one in together if _NULL not in one.parts or one.kinds()]


def _string(together: Conjunction, statuses: dict[str, Status]) -> str | None:
    least, most = together.bounds("minLength", "maxLength")
    rule = string_rule(least or 0, most, together.texts("pattern"), together.texts("format"))
    statuses |= {keyword: kept for keyword, kept in rule.kept.items() if together.has(keyword)}
    return rule.body


def _number(kind: str, together: Conjunction, statuses: dict[str, Status]) -> str | None:
    bounds, multiples = together.bounds_of_numbers(), together.multiples()
    if kind == "number":
        body, exact = numbers(bounds, min(multiples, default=None))
    else:
        body, exact = whole_numbers(*bounds.whole(), whole_multiple(multiples))
    kept: Status = "enforced" if exact else "approximated" if body != kind else "checked after"
    for keyword in _BY_TYPE["number"]:
        if together.has(keyword):
            statuses[keyword] = max(statuses.get(keyword, kept), kept, key=_LOOSENESS.index)
    return body or None
