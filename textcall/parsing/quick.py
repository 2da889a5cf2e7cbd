"""A quick proof that arguments fit a simple schema: most schemas of tools are, and jsonschema takes its time.

A proof says yes or "ask jsonschema", never no; and there is none for a schema with a keyword that is not listed here.
So it can be too careful but not wrong; a property test holds it against jsonschema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, le
from typing import Any

Proof = Callable[[Any], bool]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),  # 5.0 is one as well, and jsonschema says so
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_NOTHING = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
_MAX_LEVEL = 20


def proof_of(schema: Any, level: int = 0) -> Proof | None:
    """The proof for a schema, or None where it is not simple."""
    if schema is True:
        return _anything
    if not isinstance(schema, Mapping) or level > _MAX_LEVEL:
        return None
    makers = {_KEYWORDS.get(keyword) for keyword in schema.keys() - _NOTHING}
    proofs = [None if make is None else make(schema, level) for make in makers]
    known = [proof for proof in proofs if proof is not None]
    if len(known) < len(proofs):
        return None
    return known[0] if len(known) == 1 else lambda value: all(proof(value) for proof in known)


def _anything(_: Any) -> bool:
    return True


def _type(schema: Mapping[str, Any], level: int) -> Proof | None:
    named = schema["type"]
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    types = frozenset(each for name in names for each in _TYPES[name])
    return lambda value: type(value) in types


def _enum(schema: Mapping[str, Any], level: int) -> Proof | None:
    allowed = schema["enum"]
    if not isinstance(allowed, list) or not all(isinstance(value, str) for value in allowed):
        return None
    return lambda value: type(value) is str and value in allowed


def _items(schema: Mapping[str, Any], level: int) -> Proof | None:
    item = proof_of(schema["items"], level + 1)
    return None if item is None else lambda value: type(value) is list and all(map(item, value))


def _bound(
    keyword: str, types: tuple[type, ...], size: Callable[[Any], Any], holds: Callable[[Any, Any], bool]
) -> Callable[[Mapping[str, Any], int], Proof | None]:
    """The maker of a lower or upper bound."""

    def made(schema: Mapping[str, Any], level: int) -> Proof | None:
        bound = schema[keyword]
        if type(bound) not in _NUMBERS:
            return None
        return lambda value: type(value) in types and holds(size(value), bound)

    return made


def _object(schema: Mapping[str, Any], level: int) -> Proof | None:
    required, extra = schema.get("required", []), schema.get("additionalProperties", True)
    properties = schema.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, Mapping):
        return None
    known = {key: proof_of(sub, level + 1) for key, sub in properties.items()}
    other = proof_of(extra, level + 1) if extra is not False else _nothing
    if other is None:
        return None
    proofs: dict[str, Proof] = {key: proof or _nothing for key, proof in known.items()}

    def proof(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in required:
            if name not in value:
                return False
        return all(proofs.get(key, other)(inner) for key, inner in value.items())

    return proof


def _nothing(_: Any) -> bool:
    """Nothing is known about the value: jsonschema must say."""
    return False


def _itself(value: Any) -> Any:
    return value


_NUMBERS = (int, float)
_KEYWORDS: dict[str, Callable[[Mapping[str, Any], int], Proof | None]] = {
    "type": _type,
    "enum": _enum,
    "items": _items,
    "properties": _object,
    "required": _object,
    "additionalProperties": _object,
    "minimum": _bound("minimum", _NUMBERS, _itself, ge),
    "maximum": _bound("maximum", _NUMBERS, _itself, le),
    "minLength": _bound("minLength", (str,), len, ge),
    "maxLength": _bound("maxLength", (str,), len, le),
    "minItems": _bound("minItems", (list,), len, ge),
    "maxItems": _bound("maxItems", (list,), len, le),
}
