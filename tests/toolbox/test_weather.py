from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.dispatch import dispatch
from textcall.messages import ToolCall
from textcall.toolbox import BUILTIN
from textcall.toolbox.weather import CITIES, DAYS, city_named, get_weather

WRITTEN = [
    ("shanghai", "Shanghai"),
    ("  SHANGHAI ", "Shanghai"),
    ("上海", "Shanghai"),
    ("上海市", "Shanghai"),
    ("上海 市", "Shanghai"),
    ("上海，中国", "Shanghai"),
    ("Shanghai, China", "Shanghai"),
    ("Shanghai City", "Shanghai"),
    ("Beijing (北京)", "Beijing"),
    ("北京（首都）", "Beijing"),
    ("Ｐａｒｉｓ", "Paris"),
    ("paris.", "Paris"),
    ("Xi'an", "Xi'an"),
    ("Xi’an", "Xi'an"),
    ("xian", "Xi'an"),
    ("hongkong", "Hong Kong"),
    ("New-York", "New York"),
    ("new  york city", "New York"),
]


@pytest.mark.parametrize(("written", "name"), WRITTEN)
def test_city_however_it_is_written(written: str, name: str) -> None:
    city = city_named(written)
    assert city is not None
    assert city.name == name


@pytest.mark.parametrize(
    "written", ["", "市", "city", ",", "(Paris)", "Atlantis", "Par", "Parisian", "\ud800", "a" * 10**6]
)
def test_what_is_no_known_city(written: str) -> None:
    assert city_named(written) is None


@given(st.text(st.characters(codec=None)))
def test_any_text_is_a_city_or_none(text: str) -> None:
    assert city_named(text) in (None, *CITIES)


def test_every_city_has_its_names_its_zone_and_three_days() -> None:
    assert len({city.name for city in CITIES}) == len(CITIES) >= 20
    for city in CITIES:
        assert city_named(city.name) is city_named(city.chinese) is city
        assert ZoneInfo(city.zone)
        assert len(city.days) == len(DAYS)
        assert all(high > low for _, high, low in city.days)


def test_rain_in_shanghai_tomorrow_and_marked_as_fixed_data() -> None:
    assert get_weather("上海", "tomorrow") == {
        "city": "Shanghai",
        "date": "tomorrow",
        "weather": "light rain",
        "rain": True,
        "high_c": 14,
        "low_c": 10,
        "note": "fixed demo data",
    }


@pytest.mark.parametrize(
    ("city", "rain"), [("Paris", True), ("Singapore", True), ("Beijing", False), ("Moscow", False)]
)
def test_rain_is_said_apart(city: str, rain: bool) -> None:
    assert get_weather(city)["rain"] is rain


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"city": "Atlantis"}, "known cities: Shanghai, Beijing"),
        ({"city": "Paris", "date": "yesterday"}, "'tomorrow'"),
        ({}, "city"),
        ({"city": 5}, "city"),
        ({"city": "Paris", "when": "today"}, "when"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_known(arguments: dict[str, object], said: str) -> None:
    result = dispatch(ToolCall("1", "get_weather", arguments), BUILTIN)
    assert result.error == "exception"
    assert said in result.content


def test_a_day_that_python_code_may_ask_for() -> None:
    with pytest.raises(ValueError, match="known days: today, tomorrow"):
        get_weather("Paris", "yesterday")


def test_the_message_stays_short_for_a_long_name() -> None:
    with pytest.raises(ValueError, match="known cities") as caught:
        get_weather("x" * 100_000)
    assert len(str(caught.value)) < 600
