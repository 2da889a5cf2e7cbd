"""Grammars: JSON Schema to GBNF, GBNF to an automaton, tools to the grammar of a reply."""

from __future__ import annotations

from textcall.grammar.gbnf import Grammar

__all__ = ["Grammar"]
