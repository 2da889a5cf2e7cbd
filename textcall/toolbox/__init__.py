"""Built-in tools. Weather and prices are fixed data for demonstrations, and their results say so.

`BUILTIN` are the four that a run has without being told. `GROUPS` are others, by name: each makes its tools for a
folder; None is the current directory, and for the search the pages that come with textcall. Raises ToolsError where
there is no such folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from textcall.toolbox.calculator import calculator
from textcall.toolbox.clock import current_time
from textcall.toolbox.stocks import stock_price
from textcall.toolbox.weather import get_weather
from textcall.tools import Tool, Toolset

BUILTIN = Toolset([get_weather, stock_price, calculator, current_time])


def _files(folder: Path | None) -> tuple[Tool, ...]:
    from textcall.toolbox.files import file_tools

    return file_tools(folder or Path())


def _sheets(folder: Path | None) -> tuple[Tool, ...]:
    from textcall.toolbox.spreadsheet import spreadsheet_tools

    return spreadsheet_tools(folder or Path())


def _search(folder: Path | None) -> tuple[Tool, ...]:
    from textcall.toolbox.search import search_tools

    return search_tools(folder)


GROUPS: Mapping[str, Callable[[Path | None], tuple[Tool, ...]]] = {
    "files": _files,
    "sheets": _sheets,
    "search": _search,
}
__all__ = ["BUILTIN", "GROUPS", "calculator", "current_time", "get_weather", "stock_price"]
