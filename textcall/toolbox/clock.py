"""The current time."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from textcall.toolbox.weather import city_named
from textcall.tools import tool

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])\s*([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
_TIME = re.compile(r"\s*(?:\btime|时间)$", re.IGNORECASE)  # Beijing time


@tool(volatile=True)
def current_time(
    timezone: Annotated[str | None, Field(description="such as Europe/Paris or UTC+8")] = None,
) -> dict[str, Any]:
    """Current date and time."""
    zone = zone_named(timezone) if timezone and timezone.strip() else None
    now = datetime.now(zone) if zone else datetime.now().astimezone()
    return {"time": now.isoformat(timespec="seconds"), "weekday": f"{now:%A}", "timezone": str(now.tzinfo)}


def zone_named(name: str) -> tzinfo:
    """A time zone by its IANA name, an offset, or the name of a city. Raises ValueError."""
    text = unicodedata.normalize("NFKC", name[:200]).replace("−", "-").strip()
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    match = _OFFSET.fullmatch(text)
    if match:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    city = city_named(_TIME.sub("", text))
    key = city.zone if city else text.replace(" ", "_")
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _without_case(key, name)


def _without_case(key: str, name: str) -> tzinfo:
    """The zone where only capital letters were missing: europe/paris."""
    known = {zone.casefold(): zone for zone in available_timezones()}
    if not known:
        raise ValueError("this computer has no list of time zones; give UTC, or an offset such as UTC+8")
    if key.casefold() not in known:
        raise ValueError(f"unknown time zone {name[:60]!r}: give an IANA name such as Europe/Paris, or UTC+8")
    return ZoneInfo(known[key.casefold()])
