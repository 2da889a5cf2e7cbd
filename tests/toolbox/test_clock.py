from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.toolbox import BUILTIN, clock
from textcall.toolbox.clock import current_time, zone_named

NOON = datetime(2024, 1, 15, 12, tzinfo=UTC)  # no summer time in the north
OFFSETS = [
    ("UTC", 0),
    ("utc", 0),
    ("GMT", 0),
    ("Z", 0),
    ("UTC+8", 480),
    ("UTC + 8", 480),
    ("UTC＋８", 480),
    ("UTC+08:00", 480),
    ("+0530", 330),
    ("GMT-3", -180),
    ("UTC−5", -300),
    ("Europe/Paris", 60),
    ("europe/paris", 60),
    ("America/New York", -300),
    ("Shanghai", 480),
    ("上海", 480),
    ("北京时间", 480),
    ("Beijing time", 480),
    ("Paris, France", 60),
]


@pytest.mark.parametrize(("name", "minutes"), OFFSETS)
def test_zone(name: str, minutes: int) -> None:
    assert NOON.astimezone(zone_named(name)).utcoffset() == timedelta(minutes=minutes)


UNKNOWN = ["", " ", "8", "CST", "UTC+24", "UTC+0:99", "UTC+٨", "Europe", "Asia/", "../../etc/passwd", "/etc/passwd"]


@pytest.mark.parametrize("name", [*UNKNOWN, "Atlantis", "\x00", "\ud800", "a" * 10**6])
def test_what_is_no_zone(name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown time zone .*Europe/Paris, or UTC\+8") as caught:
        zone_named(name)
    assert len(str(caught.value)) < 400


@given(st.text(st.characters(codec=None), max_size=30))
def test_any_text_is_a_zone_or_a_value_error(text: str) -> None:
    try:
        zone = zone_named(text)
    except ValueError as error:
        assert "time zone" in str(error)
    else:
        assert NOON.astimezone(zone).utcoffset() is not None


def test_a_computer_without_time_zones_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(key: str) -> None:
        raise clock.ZoneInfoNotFoundError(key)

    monkeypatch.setattr(clock, "ZoneInfo", missing)
    monkeypatch.setattr(clock, "available_timezones", set)
    with pytest.raises(ValueError, match="no list of time zones; give UTC"):
        zone_named("Europe/Paris")
    assert zone_named("UTC+8") is not None


@pytest.mark.parametrize(("timezone", "offset"), [("UTC+8", 8), ("Z", 0), ("Tokyo", 9)])
def test_now_in_a_zone(timezone: str, offset: int) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    result = current_time(timezone)
    told = datetime.fromisoformat(result["time"])
    assert before <= told <= datetime.now(UTC)
    assert told.utcoffset() == timedelta(hours=offset)
    assert result["weekday"] == told.strftime("%A")


@pytest.mark.parametrize("timezone", [None, "", "  "])
def test_without_a_zone_it_is_local_time(timezone: str | None) -> None:
    told = datetime.fromisoformat(current_time(timezone)["time"])
    assert told.utcoffset() == datetime.now().astimezone().utcoffset()


def test_the_time_is_never_answered_from_memory() -> None:
    assert [tool.name for tool in BUILTIN if tool.volatile] == ["current_time"]
