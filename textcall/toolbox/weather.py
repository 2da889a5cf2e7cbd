"""Weather: fixed data for a list of cities, for demonstrations without a network."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from textcall.tools import tool

NOTE = "fixed demo data"


@dataclass(frozen=True, slots=True)
class City:
    """A city with its names, its time zone, and the weather of three days: (word, high °C, low °C)."""

    name: str
    chinese: str
    zone: str
    days: tuple[tuple[str, int, int], ...]


def _city(name: str, chinese: str, zone: str, *days: tuple[str, int, int]) -> City:
    return City(name, chinese, zone, days)


CITIES = (
    _city("Shanghai", "上海", "Asia/Shanghai", ("cloudy", 16, 11), ("light rain", 14, 10), ("overcast", 15, 9)),
    _city("Beijing", "北京", "Asia/Shanghai", ("sunny", 8, -3), ("sunny", 7, -4), ("windy", 5, -6)),
    _city("Guangzhou", "广州", "Asia/Shanghai", ("sunny", 24, 15), ("cloudy", 23, 16), ("showers", 21, 15)),
    _city("Shenzhen", "深圳", "Asia/Shanghai", ("sunny", 25, 17), ("sunny", 24, 17), ("cloudy", 23, 16)),
    _city("Hangzhou", "杭州", "Asia/Shanghai", ("light rain", 13, 9), ("moderate rain", 12, 8), ("cloudy", 14, 7)),
    _city("Nanjing", "南京", "Asia/Shanghai", ("cloudy", 13, 6), ("light rain", 11, 6), ("sunny", 13, 4)),
    _city("Qingdao", "青岛", "Asia/Shanghai", ("windy", 9, 3), ("sunny", 10, 2), ("sunny", 11, 4)),
    _city("Chengdu", "成都", "Asia/Shanghai", ("overcast", 13, 8), ("overcast", 12, 8), ("light rain", 11, 7)),
    _city("Xi'an", "西安", "Asia/Shanghai", ("haze", 9, 0), ("sunny", 10, -1), ("sunny", 9, 0)),
    _city("Hong Kong", "香港", "Asia/Hong_Kong", ("sunny", 24, 18), ("cloudy", 23, 18), ("cloudy", 22, 17)),
    _city("Taipei", "台北", "Asia/Taipei", ("showers", 20, 16), ("light rain", 19, 16), ("cloudy", 21, 15)),
    _city("Tokyo", "东京", "Asia/Tokyo", ("sunny", 14, 6), ("sunny", 13, 5), ("cloudy", 12, 6)),
    _city("Seoul", "首尔", "Asia/Seoul", ("sunny", 6, -3), ("snow", 2, -5), ("cloudy", 3, -4)),
    _city("Singapore", "新加坡", "Asia/Singapore", ("thunderstorms", 31, 25), ("showers", 30, 25), ("cloudy", 31, 25)),
    _city("Sydney", "悉尼", "Australia/Sydney", ("sunny", 27, 18), ("cloudy", 25, 18), ("showers", 23, 17)),
    _city("London", "伦敦", "Europe/London", ("cloudy", 9, 5), ("light rain", 9, 6), ("overcast", 8, 4)),
    _city("Paris", "巴黎", "Europe/Paris", ("showers", 10, 5), ("cloudy", 9, 4), ("sunny", 8, 2)),
    _city("Berlin", "柏林", "Europe/Berlin", ("overcast", 5, 1), ("snow", 2, -2), ("cloudy", 3, -1)),
    _city("Madrid", "马德里", "Europe/Madrid", ("sunny", 14, 4), ("sunny", 13, 3), ("cloudy", 12, 5)),
    _city("Rome", "罗马", "Europe/Rome", ("sunny", 16, 8), ("light rain", 15, 9), ("showers", 14, 9)),
    _city("Moscow", "莫斯科", "Europe/Moscow", ("snow", -4, -9), ("snow", -5, -11), ("cloudy", -6, -12)),
    _city("Cairo", "开罗", "Africa/Cairo", ("sunny", 23, 14), ("sunny", 23, 13), ("sunny", 22, 13)),
    _city("New York", "纽约", "America/New_York", ("sunny", 8, 2), ("moderate rain", 9, 4), ("windy", 6, 1)),
    _city("San Francisco", "旧金山", "America/Los_Angeles", ("fog", 15, 10), ("cloudy", 15, 10), ("sunny", 16, 9)),
)
DAYS = ("today", "tomorrow", "day after tomorrow")
_WET = ("rain", "showers", "thunderstorms")


@tool
def get_weather(
    city: Annotated[str, Field(description="name of the city")],
    date: Literal["today", "tomorrow", "day after tomorrow"] = "today",
) -> dict[str, Any]:
    """Weather in a city on one day."""
    found = city_named(city)
    if found is None:
        known = ", ".join(known.name for known in CITIES)
        raise ValueError(f"no weather for {city[:60]!r}; known cities: {known}")
    if date not in DAYS:
        raise ValueError(f"no weather for {date[:60]!r}; known days: {', '.join(DAYS)}")
    weather, high, low = found.days[DAYS.index(date)]
    rain = any(word in weather for word in _WET)
    result = {"city": found.name, "date": date, "weather": weather, "rain": rain}
    return {**result, "high_c": high, "low_c": low, "note": NOTE}


def city_named(name: str) -> City | None:
    """A city by its English or Chinese name; case, spaces, 市, and a country after a comma do not matter."""
    first = unicodedata.normalize("NFKC", name[:200]).split(",")[0].split("(")[0]
    wanted = {letters(first), letters(first).removesuffix("市"), letters(first).removesuffix("city")}
    return next((city for city in CITIES if wanted & {letters(city.name), city.chinese}), None)


def letters(name: str) -> str:
    """The letters and digits of a name, to find it however it is written: Xi'an, XIAN, Hong-Kong."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))
