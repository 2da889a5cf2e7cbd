"""Every keyword of the drafts 4 to 2020-12, by its definition: schemas with valid and with invalid instances.

The table is checked first, against jsonschema. Then the grammars: they never refuse what is valid, and where they take
what is not, their report says that something is left to validation. A valid instance of the table has its properties
in the schema's order; whole numbers are written without fraction (`1.0` in the table is the text `1`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from textcall.grammar import Grammar
from textcall.grammar.schema import schema_to_gbnf
from textcall.messages import compact_json

TABLE = Path(__file__).parents[1] / "data/grammar/keywords.jsonl"
DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019": "https://json-schema.org/draft/2019-09/schema",
    "2020": "https://json-schema.org/draft/2020-12/schema",
}


ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
CASES = [pytest.param(row["drafts"], row["schema"], row["valid"], row["invalid"], id=row["name"]) for row in ROWS]
each_case = pytest.mark.parametrize(("drafts", "schema", "valid", "invalid"), CASES)


def _by_draft(drafts: str, schema: Any) -> list[Any]:
    """The schema in each of the drafts "first-last". A boolean has no place to name its draft."""
    if not isinstance(schema, dict):
        return [schema]
    names = list(DRAFTS)
    first, last = map(names.index, drafts.split("-"))
    return [{"$schema": DRAFTS[name], **schema} for name in names[first : last + 1]]


def _text(value: Any) -> str:
    return compact_json(_whole(value))


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e16 else value


def _validator(schema: Any) -> Validator:
    draft = validator_for(schema)
    return draft(schema, format_checker=draft.FORMAT_CHECKER)


@each_case
def test_the_table_is_right(drafts: str, schema: Any, valid: list[Any], invalid: list[Any]) -> None:
    for one in _by_draft(drafts, schema):
        validator = _validator(one)
        assert [value for value in valid if not validator.is_valid(value)] == [], one
        assert [value for value in invalid if validator.is_valid(value)] == [], one


@each_case
def test_the_grammar_keeps_what_it_says(
    drafts: str, schema: Any, valid: list[Any], invalid: list[Any], oracle: Any
) -> None:
    loaded = set()
    for one in _by_draft(drafts, schema):
        compiled = schema_to_gbnf(one)
        grammar = Grammar(compiled.gbnf)
        assert [value for value in valid if not grammar.accepts(_text(value))] == [], one
        if all(entry.status == "enforced" for entry in compiled.report):
            assert [value for value in invalid if grammar.accepts(_text(value))] == [], one
        if compiled.gbnf not in loaded:
            assert oracle.loads(compiled.gbnf), one
        loaded.add(compiled.gbnf)
