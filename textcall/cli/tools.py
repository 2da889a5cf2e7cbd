"""`textcall tools`: what becomes of your tools' schemas."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from jsonschema.validators import Draft202012Validator, validator_for
from rich.table import Table
from rich.text import Text

from textcall.block import Convention
from textcall.cli.options import toolset
from textcall.cli.show import terminal
from textcall.grammar.calls import reply_grammar
from textcall.grammar.schema import KeywordReport
from textcall.messages import compact_json
from textcall.tools import Tool

app = typer.Typer(name="tools", help="Look at your tools.", no_args_is_help=True)

# By status of a report: the heading of its column, what that means, and its colour.
MEANING = {
    "enforced": ("guaranteed", "the model cannot write anything else", "green"),
    "approximated": ("partly", "the grammar holds some of it; the rest is checked after", "yellow"),
    "checked after": ("checked after", "a wrong value is refused and goes back to the model", "yellow"),
    "ignored": ("ignored", "neither the grammar nor the check knows it", "red"),
}
# Keywords whose meaning is part of another keyword's.
_HELPERS = frozenset({"then", "else", "minContains", "maxContains", "additionalItems", "nullable", "unevaluatedItems"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One keyword of a tool's parameters. path: JSON Pointer of the schema that holds it, "" for the whole."""

    path: str
    keyword: str
    status: str


@app.command("check")
def check_tools(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE|FILE.py|FILE.json|files|sheets|search]...",
            help="Your tools; without any the built-in ones.",
        ),
    ] = None,
    json_out: Annotated[bool, typer.Option("--json", help="Print one JSON object a tool.")] = False,
) -> None:
    """For each keyword of each tool's schema: does the grammar guarantee it, is it checked after, or is it ignored?"""
    tools = toolset(specs)
    rules = reply_grammar(tools, mode="auto", convention=Convention())
    console = terminal()
    for tool in tools:
        found = findings(tool, rules.report[tool.name])
        if json_out:
            sys.stdout.write(compact_json(_as_json(tool, found)) + "\n")
        else:
            console.print(_heading(tool, found), _table(found), "", sep="\n")
    if not json_out:
        console.print(_legend(MEANING))
    for problem in rules.problems:
        typer.echo(problem, err=True)


def findings(tool: Tool, report: Iterable[KeywordReport]) -> tuple[Finding, ...]:
    """The report of the grammar, with what validation does not know either marked as ignored."""
    return tuple(
        Finding(entry.path, entry.keyword, "ignored" if _is_ignored(tool.parameters, entry) else entry.status)
        for entry in report
    )


def _is_ignored(schema: Mapping[str, Any], entry: KeywordReport) -> bool:
    if entry.status != "checked after":
        return False
    draft = validator_for(schema, default=Draft202012Validator)
    if entry.keyword == "format":
        return _at(schema, entry.path).get("format") not in draft.FORMAT_CHECKER.checkers
    return entry.keyword not in draft.VALIDATORS and entry.keyword not in _HELPERS


def _at(schema: Any, pointer: str) -> Mapping[str, Any]:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        schema = schema[int(key)] if isinstance(schema, list) else schema[key]
    return schema if isinstance(schema, Mapping) else {}


def _heading(tool: Tool, found: Iterable[Finding]) -> Text:
    statuses = [entry.status for entry in found]
    counts = [Text(f"{statuses.count(s)} {MEANING[s][0]}", MEANING[s][2]) for s in MEANING if s in statuses]
    return Text.assemble((tool.name, "bold"), "  ", Text(" · ").join(counts or [Text("it takes anything", "dim")]))


def _table(found: Sequence[Finding]) -> Table:
    """One row for each place in the schema, one column for each status that comes up."""
    used = [status for status in MEANING if any(entry.status == status for entry in found)]
    table = Table("  in the schema at", *(MEANING[status][0] for status in used), box=None, pad_edge=False)
    table.header_style = "dim"
    table.columns[0].no_wrap = True
    for path in sorted({entry.path for entry in found}):
        cells = [
            Text(" ".join(e.keyword for e in found if (e.path, e.status) == (path, status)), MEANING[status][2])
            for status in used
        ]
        table.add_row(f"  {path or '/'}", *cells)
    return table


def _legend(statuses: Collection[str]) -> Text:
    lines = [f"{MEANING[status][0]}: {MEANING[status][1]}" for status in MEANING if status in statuses]
    return Text("\n".join(lines), "dim")


def _as_json(tool: Tool, found: Iterable[Finding]) -> dict[str, Any]:
    entries = [{"path": e.path, "keyword": e.keyword, "status": e.status} for e in found]
    return {"name": tool.name, "keywords": entries}
