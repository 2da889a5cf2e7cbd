"""The current time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from textcall.toolbox.weather import city_named
from textcall.tools import tool

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])\s*(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


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
    text = name.strip()
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    match = _OFFSET.fullmatch(text)
    if match:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    city = city_named(text)
    try:
        return ZoneInfo(city.zone if city else text.replace(" ", "_"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name!r}: give an IANA name such as Europe/Paris, or UTC+8") from None
