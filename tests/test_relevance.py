from __future__ import annotations

import pytest

from textcall.relevance import most_relevant, words_of
from textcall.tools import Tool


def made(name: str, description: str = "", *parameters: str) -> Tool:
    properties = {name: {"type": "string"} for name in parameters}
    return Tool(name=name, description=description, parameters={"type": "object", "properties": properties})


TOOLS = [
    made("get_weather", "Weather in a city on one day.", "city", "date"),
    made("stockPrice", "Closing price of a company's share.", "company"),
    made("calculator", "Value of an arithmetic expression.", "expression"),
    made("send_mail", "Send a mail to somebody.", "recipient", "subject", "body"),
    made("fahrplan", "列车时刻表：两个城市之间的火车", "from", "to"),
    made("get_city_population", "How many people live somewhere.", "city"),
]


@pytest.mark.parametrize(
    ("question", "limit", "names"),
    [
        ("What will the weather be like in Oslo?", 1, ["get_weather"]),
        ("closing prices of shares, please", 1, ["stockPrice"]),
        ("Send the weather to my boss", 2, ["get_weather", "send_mail"]),
        ("北京到上海的火车几点开？", 1, ["fahrplan"]),
        ("population of the city", 1, ["get_city_population"]),
        ("EXPRESSION!", 1, ["calculator"]),
        ("zzz", 2, ["get_weather", "stockPrice"]),
        ("", 1, ["get_weather"]),
        ("weather", 99, [tool.name for tool in TOOLS]),
    ],
)
def test_which_tools_a_question_is_about(question: str, limit: int, names: list[str]) -> None:
    assert list(most_relevant(TOOLS, question, limit).names) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getStockPrices v2", ["get", "stock", "price", "2"]),
        ("snake_case-and.dots", ["snake", "case", "and", "dot"]),
        ("今天天气", ["今天", "天天", "天气"]),
        ("雨", ["雨"]),
        ("Straße", ["strasse"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words
