"""Where a `$ref` leads: pointers, anchors and embedded `$id`s, inside the schema itself. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from jsonschema.validators import Draft3Validator, Draft4Validator, Draft6Validator, Draft7Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

# In these drafts what stands beside a `$ref` counts for nothing.
_REF_STANDS_ALONE = (Draft3Validator, Draft4Validator, Draft6Validator, Draft7Validator)
_DATA = frozenset({"const", "enum", "default", "examples", "example"})
# What these hold is schemas by name, whatever the names: a property may be called `default`.
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})


class References:
    """The references of one schema. root: the schema with each `$ref` made absolute: it means the same anywhere then.

    ref_stands_alone: whether what stands beside a `$ref` counts for nothing in the schema's draft.
    """

    def __init__(self, schema: Any) -> None:
        validator = validator_for(schema)
        dialect = str(validator.META_SCHEMA.get("$schema", ""))
        specification = specification_with(dialect)
        self.ref_stands_alone = validator in _REF_STANDS_ALONE
        self._id_key = "id" if validator in (Draft3Validator, Draft4Validator) else "$id"
        found = schema.get(self._id_key) if isinstance(schema, Mapping) else None
        self._base = urldefrag(found).url if isinstance(found, str) else ""
        self.root = self._absolute(schema, "")
        registry: Registry[Any] = Registry().with_resource(self._base, specification.create_resource(self.root))
        self._resolver = registry.crawl().resolver(self._base)
        self.validator = validator(self.root, registry=registry)

    def find(self, reference: str) -> tuple[Any, str] | None:
        """What a reference leads to and a path that names it, or None where it leads to no schema here."""
        try:
            found = self._resolver.lookup(reference).contents
        except (Unresolvable, ValueError, TypeError, AttributeError):
            return None
        if not isinstance(found, Mapping | bool):
            return None
        url, fragment = urldefrag(reference)
        inside = url in ("", self._base) and (fragment == "" or fragment.startswith("/"))
        return found, unquote(fragment) if inside else reference

    def _absolute(self, node: Any, base: str, *, by_name: bool = False) -> Any:
        if isinstance(node, list):
            return [self._absolute(item, base) for item in node]
        if not isinstance(node, Mapping):
            return node
        if by_name:
            return {name: self._absolute(schema, base) for name, schema in node.items()}
        own = node.get(self._id_key)
        if isinstance(own, str) and not own.startswith("#") and not (self.ref_stands_alone and "$ref" in node):
            base = urldefrag(urljoin(base, own)).url
        made = {
            key: value if key in _DATA else self._absolute(value, base, by_name=key in _BY_NAME)
            for key, value in node.items()
        }
        if isinstance(node.get("$ref"), str):
            made["$ref"] = _joined(base, node["$ref"])
        return made


def _joined(base: str, reference: str) -> str:
    """`urljoin` knows hierarchical addresses only: a fragment beside `urn:x` would lose its base."""
    return base + reference if reference.startswith("#") else urljoin(base, reference)
