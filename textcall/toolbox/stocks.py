"""Closing prices: fixed data, for demonstrations without a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from textcall.toolbox.weather import NOTE, letters
from textcall.tools import tool


@dataclass(frozen=True, slots=True)
class Share:
    """A share with the names that it is asked for by, and its closing price in CNY."""

    name: str
    english: str
    code: str
    close: float
    aliases: tuple[str, ...] = ()


SHARES = (
    Share("青岛啤酒", "Tsingtao Brewery", "600600", 67.92, ("tsingtao", "青啤", "qingdao brewery", "tsingtao beer")),
    Share("贵州茅台", "Kweichow Moutai", "600519", 1488.21, ("moutai", "maotai", "茅台", "guizhou moutai")),
)
# What may stand behind a name or a code, as `letters` writes it.
_TAILS = ("股份有限公司", "有限公司", "股份", "公司", "companylimited", "coltd", "ltd", "inc", "sh", "ss")


@tool
def stock_price(company: Annotated[str, Field(description="name or code of the company")]) -> dict[str, Any]:
    """Closing price of a company's share."""
    share = share_named(company)
    if share is None:
        known = ", ".join(f"{share.name} ({share.english})" for share in SHARES)
        raise ValueError(f"not found: {company[:60]!r}; known shares: {known}")
    return {"company": share.name, "code": share.code, "close": share.close, "currency": "CNY", "note": NOTE}


def share_named(company: str) -> Share | None:
    """A share by its Chinese or English name or its code, however it is written."""
    known = {letters(key): share for share in SHARES for key in (share.name, share.english, share.code, *share.aliases)}
    name = letters(company[:200].replace("（", "(").split("(")[0])
    wanted = (name, name.removeprefix("sh"), *(name.removesuffix(tail) for tail in _TAILS))
    return next((known[key] for key in wanted if key in known), None)
