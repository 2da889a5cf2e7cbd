"""Grammars: JSON Schema to GBNF, GBNF to an automaton, tools to the grammar of a reply."""

from __future__ import annotations

from textcall.grammar.gbnf import Grammar
from textcall.grammar.schema import schema_to_gbnf

__all__ = ["Grammar", "schema_to_gbnf"]
