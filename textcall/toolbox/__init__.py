"""Built-in tools. Weather and prices are fixed data for demonstrations, and their results say so."""

from __future__ import annotations

from textcall.toolbox.calculator import calculator
from textcall.toolbox.clock import current_time
from textcall.toolbox.stocks import stock_price
from textcall.toolbox.weather import get_weather
from textcall.tools import Toolset

BUILTIN = Toolset([get_weather, stock_price, calculator, current_time])

__all__ = ["BUILTIN", "calculator", "current_time", "get_weather", "stock_price"]
