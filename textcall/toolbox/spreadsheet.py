"""Spreadsheets: a part of a table as text, and the sum of a column, which small models cannot add up."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from textcall.toolbox.rooted import Rooted
from textcall.toolbox.tables import Cell, Sheet, open_sheet
from textcall.toolbox.weather import letters
from textcall.tools import Tool, tool

CHARACTERS = 12_000  # of a table, in one answer
COLUMNS = 60
CELL = 200  # characters
_NAMED = 40  # columns in an error
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_LONGEST = 100  # characters of a number
_DIGITS = 1_000  # of a sum, which is exact therefore

_PATH = Field(description="such as reports/sales.xlsx; .csv, .tsv, .xls, .ods too")
_SHEET = Field(description="its name; without one the first")


def spreadsheet_tools(root: Path) -> tuple[Tool, ...]:
    """`read_spreadsheet` and `column_summary` for what lies below `root`. Raises ToolsError where that is no folder."""
    rooted = Rooted(root)

    @tool(parallel_safe=True, volatile=True)
    def read_spreadsheet(
        path: Annotated[str, _PATH],
        sheet: Annotated[str | None, _SHEET] = None,
        start_row: Annotated[int, Field(ge=1, description="1 is the first below the header")] = 1,
        rows: Annotated[int, Field(ge=1, le=1000, description="how many at most")] = 50,
    ) -> str:
        """Read rows of a spreadsheet as a table."""
        with open_sheet(rooted, path, sheet) as found:
            return _table(found, max(1, start_row), max(1, rows))

    @tool(parallel_safe=True, volatile=True)
    def column_summary(
        path: Annotated[str, _PATH],
        column: Annotated[str, Field(description="its name in the header, or its letter")],
        sheet: Annotated[str | None, _SHEET] = None,
    ) -> dict[str, Any]:
        """Count, sum, mean, smallest and largest of the numbers in one column of a spreadsheet."""
        with open_sheet(rooted, path, sheet) as found:
            return _summary(found, column)

    return read_spreadsheet, column_summary


def letter(index: int) -> str:
    """What spreadsheets call a column: 0 is A, 26 is AA."""
    text = ""
    while index >= 0:
        index, rest = index // 26 - 1, index % 26
        text = chr(65 + rest) + text
    return text


def _opened(sheet: Sheet) -> tuple[list[str], Iterator[list[Cell]]]:
    """The header, and the rows below it. A first row without any text is no header: the columns have letters then."""
    for row in sheet.rows:
        if not any(cell != "" for cell in row):
            continue
        if any(isinstance(cell, str) and cell.strip() and _number(cell, sheet.comma) is None for cell in row):
            return [_shown(cell) or letter(sheet.left + index) for index, cell in enumerate(row)], sheet.rows
        return [letter(sheet.left + index) for index in range(len(row))], itertools.chain([row], sheet.rows)
    return [], iter(())


def _table(sheet: Sheet, start: int, rows: int) -> str:
    header, below = _opened(sheet)
    if not header:
        return f"{_place(sheet)} is empty"
    width = len(header)
    taken: list[str] = []
    room = CHARACTERS - len("\t".join(header[:COLUMNS]))
    open_for_more = True
    total = number = 0
    for number, row in enumerate(below, 1):
        if any(cell != "" for cell in row):
            total, width = number, max(width, len(row))
        if number < start or not open_for_more:
            continue
        line = "\t".join(_shown(cell) for cell in row[:COLUMNS])
        room -= len(line) + 1
        open_for_more = (room >= 0 or not taken) and len(taken) < rows
        if open_for_more:
            taken.append(line)
    del taken[max(0, total - start + 1) :]  # empty rows at the end
    if start > max(1, total):
        raise ValueError(f"{_place(sheet)} has only {total} rows: start_row={start} is behind its end")
    header += [letter(sheet.left + index) for index in range(len(header), width)]
    last = start + len(taken) - 1
    columns = f"{width} columns" if width <= COLUMNS else f"{width} columns, of which {COLUMNS} are shown"
    part = f"; rows {start}-{last} below the header" if taken else ""
    more = f"; the next: start_row={last + 1}" if last < total else ""
    head = f"{_place(sheet)}: {total} rows, {columns}{part}{more}"
    return "\n".join([head, "\t".join(header[:COLUMNS]), *taken])


def _place(sheet: Sheet) -> str:
    if not sheet.name:
        return sheet.file
    others = [name for name in sheet.sheets if name != sheet.name]
    beside = f" (other sheets: {', '.join(others)})" if others else ""
    return f"{sheet.file}, sheet {sheet.name}{beside}"


def _shown(cell: Cell) -> str:
    """A cell on one line, without tabs."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    text = " ".join(str(cell).split())
    return text if len(text) <= CELL else text[:CELL] + "…"


@dataclass(slots=True)
class _Column:
    """What is known of a column so far."""

    numbers: int = 0
    empty: int = 0
    total: Decimal = Decimal()
    least: Decimal | None = None
    most: Decimal | None = None
    others: int = 0
    examples: list[str] = field(default_factory=list)

    def take(self, cell: Cell, comma: bool) -> None:
        if isinstance(cell, str) and not cell.strip():
            self.empty += 1
            return
        number = _number(cell, comma)
        if number is None:
            self.others += 1
            if len(self.examples) < 3 and _shown(cell) not in self.examples:
                self.examples.append(_shown(cell))
            return
        self.numbers += 1
        self.total += number
        self.least = number if self.least is None else min(self.least, number)
        self.most = number if self.most is None else max(self.most, number)


def _summary(sheet: Sheet, column: str) -> dict[str, Any]:
    header, below = _opened(sheet)
    index = _index(header, column, sheet)
    found = _Column()
    blank = 0  # empty rows at the end are none
    with localcontext() as context:
        context.prec = _DIGITS
        for row in below:
            blank = 0 if any(cell != "" for cell in row) else blank + 1
            found.take(row[index] if index < len(row) else "", sheet.comma)
        if found.least is None or found.most is None:
            held = f"; it holds {', '.join(map(repr, found.examples))}" if found.examples else ""
            raise ValueError(f"there are no numbers in column {header[index]!r} of {_place(sheet)}{held}")
        mean = Decimal(f"{found.total / found.numbers:.12g}")
        values = {"sum": found.total, "mean": mean, "min": found.least, "max": found.most}
        plain = {key: _plain(value) for key, value in values.items()}
    result = {"file": sheet.file, "sheet": sheet.name, "column": header[index], "count": found.numbers, **plain}
    if found.others:
        result["not_numbers"] = f"{found.others} cells, such as {', '.join(map(repr, found.examples))}"
    if found.empty > blank:
        result["empty"] = found.empty - blank
    return {key: value for key, value in result.items() if value != ""}


def _index(header: Sequence[str], column: str, sheet: Sheet) -> int:
    """Which column is meant: by its name, then by its letter."""
    place = _place(sheet)
    if not header:
        raise ValueError(f"{place} is empty")
    called = [letter(sheet.left + index) for index in range(len(header))]
    same = [index for index, name in enumerate(header) if name == column.strip()]
    if not same and letters(column):
        same = [index for index, name in enumerate(header) if letters(name) == letters(column)]
    if not same:
        same = [index for index in range(len(header)) if called[index] == column.strip().upper()]
    known = ", ".join(f"{called[index]} {name}" for index, name in enumerate(header[:_NAMED]))
    if not same:
        raise ValueError(f"{place} has no column {column[:60]!r}; the columns are: {known}")
    if len(same) > 1:
        which = " or ".join(called[index] for index in same)
        raise ValueError(f"{place} has {len(same)} columns {column[:60]!r}: give the letter, {which}")
    return same[0]


def _number(cell: Cell, comma: bool) -> Decimal | None:
    """The number in a cell, exactly; None for all else. Text is one where it has one reading only."""
    if isinstance(cell, bool):
        return None
    if not isinstance(cell, str):
        return Decimal(repr(cell))
    text = cell.strip()
    if len(text) > _LONGEST:
        return None
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    return Decimal(text.replace(",", "")) if comma and _THOUSANDS.fullmatch(text) else None


def _plain(number: Decimal) -> int | float | str:
    """As JSON writes it, where that is exact; else as text."""
    if number == number.to_integral_value():
        return int(number)
    return float(number) if Decimal(repr(float(number))) == number else format(number.normalize(), "f")
