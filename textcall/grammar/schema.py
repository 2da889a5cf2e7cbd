"""JSON Schema to GBNF: one function a keyword, one table, a report a keyword.

The grammar is never narrower than the schema, except that it writes properties in the schema's order, without white
space. What it cannot express is looser and reported as `checked after`: validation holds it, see `parsing.validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jsonschema.exceptions import SchemaError as InvalidSchema
from jsonschema.validators import validator_for

from textcall.errors import SchemaError
from textcall.grammar.library import json_rules
from textcall.messages import compact_json

Status = Literal["enforced", "approximated", "checked after"]

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
        "contentEncoding",
        "contentMediaType",
    ]
)
_EMPTY = '""'
_TYPES = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": '("true" | "false")',
    "null": '"null"',
    "array": "array",
    "object": "object",
}


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
    body = compiler.value(schema, "")
    rules = {"root": body, **compiler.rules, **json_rules()}
    return Compiled("\n".join(f"{name} ::= {text}" for name, text in rules.items()) + "\n", tuple(compiler.report))


def check_schema(schema: Any) -> None:
    """Raise SchemaError, with the path, where `schema` is no valid JSON Schema of its draft (2020-12 where unsaid)."""
    if not isinstance(schema, Mapping | bool):
        raise SchemaError(f"a JSON Schema is an object or a boolean, not {type(schema).__name__}")
    try:
        validator_for(schema).check_schema(schema)
    except InvalidSchema as error:
        path = "/".join(["", *(str(part) for part in error.absolute_path)])
        raise SchemaError(f"not a valid JSON Schema at {path or 'the top'}: {error.message}") from error


def literal(text: str) -> str:
    """`text` as a GBNF literal."""
    escaped = "".join(_ESCAPES.get(char) or (char if ord(char) >= 32 else f"\\x{ord(char):02X}") for char in text)
    return f'"{escaped}"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(slots=True)
class Compiler:
    """One schema on its way into rules. prefix: of the names of its rules, so that several share one grammar."""

    root: Any
    open_objects: bool = True
    prefix: str = "s"
    rules: dict[str, str] = field(default_factory=dict)
    report: list[KeywordReport] = field(default_factory=list)
    _named: dict[str, str] = field(default_factory=dict)

    def value(self, schema: Any, path: str) -> str:
        """The body of a rule for `schema`, which stands at `path`."""
        if schema is False:
            self._say(path, "false", "checked after")
            return "value"
        if not isinstance(schema, Mapping):
            return "value"
        for keyword, compile_keyword in _WHOLE.items():
            if keyword in schema:
                body = compile_keyword(self, schema, path)
                if body is not None:
                    self._say(path, keyword, "enforced")
                    self._rest(schema, path, {keyword, "type"} if keyword in ("enum", "const") else {keyword})
                    return body
        return self._by_type(schema, path)

    def rule(self, body: str) -> str:
        """The name of a new rule with this body."""
        name = f"{self.prefix}-{len(self.rules)}"
        self.rules[name] = body
        return name

    def _by_type(self, schema: Mapping[str, Any], path: str) -> str:
        kinds = schema.get("type", _guess(schema))
        options = [self._one_type(kind, schema, path) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        if schema.get("nullable") is True and '"null"' not in options:
            options.append('"null"')
        if "type" in schema:
            self._say(path, "type", "enforced")
        used = {"type", "nullable"}
        used |= {"properties", "required", "additionalProperties"} if "object" in kinds else set()
        used |= {"items"} if "array" in kinds else set()
        self._rest(schema, path, used)
        return options[0] if len(options) == 1 else f"({' | '.join(options)})"

    def _one_type(self, kind: str, schema: Mapping[str, Any], path: str) -> str:
        if kind == "object" and ("properties" in schema or schema.get("additionalProperties") is not None):
            return self.rule(self._object(schema, path))
        if kind == "array" and isinstance(schema.get("items"), Mapping):
            self._say(path, "items", "enforced")
            item = self.rule(self.value(schema["items"], f"{path}/items"))
            return f'"[" ({item} ("," {item})*)? "]"'
        return _TYPES.get(kind, "value")

    def _object(self, schema: Mapping[str, Any], path: str) -> str:
        """Properties in order, each optional one with or without: linear in their number by one rule a place."""
        properties = schema.get("properties") or {}
        required = set(schema.get("required") or ())
        for keyword in ("properties", "required", "additionalProperties"):
            if keyword in schema:
                self._say(path, keyword, "enforced")
        members = []
        for key, sub in properties.items():
            body = self.value(sub, f"{path}/properties/{_pointer(key)}")
            members.append((f"{literal(compact_json(key) + ':')} {body}", key in required))
        return self._members(members, self._others(schema, path))

    def _members(self, members: Sequence[tuple[str, bool]], others: str | None) -> str:
        # first[i]: the members from i on where none was written before; more[i]: where one was
        first = f'({others} ("," {others})*)?' if others else ""
        more = f'("," {others})*' if others else ""
        for body, needed in reversed(members):
            rest = self.rule(more) if more else ""
            taken, added = f"{body} {rest}".rstrip(), f'"," {body} {rest}'.rstrip()
            skipped_first, skipped_more = first, rest
            first = taken if needed else f"{taken} | {self.rule(skipped_first) if skipped_first else _EMPTY}"
            more = added if needed else f"{added} | {skipped_more or _EMPTY}"
        return f'"{{" ({first}) "}}"' if first else '"{" "}"'

    def _others(self, schema: Mapping[str, Any], path: str) -> str | None:
        extra = schema.get("additionalProperties", self.open_objects)
        if "patternProperties" in schema and extra is False:
            extra = True  # looser: names that match the patterns are allowed, validation looks at the rest
        if extra is False:
            return None
        body = self.value(extra, f"{path}/additionalProperties") if isinstance(extra, Mapping) else "value"
        return self.rule(f'string ":" {body}')

    def _enum(self, schema: Mapping[str, Any], _path: str) -> str | None:
        options = dict.fromkeys(literal(compact_json(value)) for value in schema["enum"])
        return f"({' | '.join(options)})" if options else None

    def _const(self, schema: Mapping[str, Any], _path: str) -> str:
        return literal(compact_json(schema["const"]))

    def _ref(self, schema: Mapping[str, Any], path: str) -> str | None:
        reference = schema["$ref"]
        target = self._resolve(reference)
        if target is None:
            return None
        if reference not in self._named:
            name = self._named[reference] = self.rule("value")  # named before it is compiled: it may use itself
            self.rules[name] = self.value(target, f"{path}/$ref")
        return self._named[reference]

    def _any_of(self, schema: Mapping[str, Any], path: str, keyword: str = "anyOf") -> str | None:
        options = [self.value(sub, f"{path}/{keyword}/{index}") for index, sub in enumerate(schema[keyword])]
        return f"({' | '.join(dict.fromkeys(options))})" if options else None

    def _one_of(self, schema: Mapping[str, Any], path: str) -> str | None:
        return self._any_of(schema, path, "oneOf")

    def _all_of(self, schema: Mapping[str, Any], path: str) -> str | None:
        if len(schema["allOf"]) != 1:
            return None
        return self.value(schema["allOf"][0], f"{path}/allOf/0")

    def _resolve(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        found = self.root
        for part in reference[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                return None
        return found

    def _rest(self, schema: Mapping[str, Any], path: str, used: set[str]) -> None:
        for keyword in schema:
            if keyword not in used and keyword not in ANNOTATIONS:
                self._say(path, keyword, "checked after")

    def _say(self, path: str, keyword: str, status: Status) -> None:
        self.report.append(KeywordReport(path, keyword, status))


# Keywords that give the whole value, in the order in which they are looked for.
_WHOLE: dict[str, Callable[[Compiler, Mapping[str, Any], str], str | None]] = {
    "const": Compiler._const,
    "enum": Compiler._enum,
    "$ref": Compiler._ref,
    "anyOf": Compiler._any_of,
    "oneOf": Compiler._one_of,
    "allOf": Compiler._all_of,
}


def _guess(schema: Mapping[str, Any]) -> Any:
    """All types: a keyword for one type says nothing about values of another."""
    return list(_TYPES) if {"properties", "items"} & set(schema) else ["any"]


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
