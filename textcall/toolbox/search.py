"""Search over saved pages, without a network: SQLite's full-text index in memory, and words of any script.

Chinese and Japanese have no spaces between words. Such text is indexed as pairs of characters, so that words of two are
found; SQLite's own trigram tokenizer finds none of those.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import Field

from textcall.toolbox.corpus import PAGES, Page, Saved, parts, read_pages, saved_files
from textcall.toolbox.rooted import Rooted
from textcall.tools import Tool, tool

PART = 6_000  # characters of a page, in one answer
SNIPPET = 240
_LONGEST = 500  # characters of a query
_MOST = 60  # words of a query
_PAIRED = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(rf"[{_PAIRED}]+|(?:(?![{_PAIRED}])[^\W_])+")
_IS_PAIRED = re.compile(f"[{_PAIRED}]")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a about an and are at be by can could did do does for from give had has have how i in is it me my of on or "
        "our please show tell that the their there they this to was we were what when where which who whose why "
        "will with would you your",
    )
)


def search_tools(folder: Path | None = None) -> tuple[Tool, ...]:
    """`web_search` and `web_fetch` over the pages saved in `folder`; without one over a few invented pages.

    Raises ToolsError where it is no folder.
    """
    library = _Library(Rooted(PAGES if folder is None else folder))

    @tool(parallel_safe=True, volatile=True)
    def web_search(
        query: Annotated[str, Field(description="a few words")],
        limit: Annotated[int, Field(ge=1, le=20)] = 5,
    ) -> dict[str, Any]:
        """Search the web pages that are saved on this computer; web_fetch gives what a page says."""
        return library.search(query, max(1, limit))

    @tool(parallel_safe=True, volatile=True)
    def web_fetch(
        url: Annotated[str, Field(description="as web_search gives it")],
        part: Annotated[int, Field(ge=1, description="of a long page")] = 1,
    ) -> str:
        """Read a saved web page."""
        return library.fetch(url, max(1, part))

    return web_search, web_fetch


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found, and a piece of its text around the words."""

    page: Page
    snippet: str


class Index:
    """Pages by their words; titles weigh more. May be used from any thread."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = tuple(pages)
        self._lock = threading.Lock()
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        self._base.execute(
            "CREATE VIRTUAL TABLE pages USING fts5(title, text, content='', "
            "tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = ((number, _spaced(page.title), _spaced(page.text)) for number, page in enumerate(self._pages))
        self._base.executemany("INSERT INTO pages(rowid, title, text) VALUES (?, ?, ?)", rows)

    def __del__(self) -> None:
        self._base.close()

    def search(self, query: str, limit: int) -> tuple[list[Hit], bool]:
        """The best pages that have all words of the query, else those that have any; and whether they have all."""
        runs = _runs(query)
        words = [word for run in runs for word in _looked_for(run)][:_MOST]
        phrases, singles = [_phrase(run) for run in runs], [_phrase(word) for word in words]
        for terms, joint in ((phrases, " AND "), (singles, " AND "), (singles, " OR ")):
            found = self._matches(joint.join(terms), limit) if terms else []
            if found:
                return [Hit(page, snippet(page.text, words)) for page in found], joint == " AND "
        return [], False

    def _matches(self, expression: str, limit: int) -> list[Page]:
        with self._lock:
            rows = self._base.execute(
                "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 5.0, 1.0), rowid LIMIT ?",
                (expression, limit),
            ).fetchall()
        return [self._pages[number] for (number,) in rows]


class _Library:
    """The pages of a folder, read when they are first asked for, and again when files change."""

    def __init__(self, rooted: Rooted) -> None:
        self._rooted = rooted
        self._lock = threading.Lock()
        self._files: tuple[Saved, ...] | None = None
        self._pages: tuple[Page, ...] = ()
        self._failed: tuple[str, ...] = ()
        self._index: Index | None = None

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """What web_search gives."""
        pages, index = self._current()
        if not _runs(query):
            raise ValueError("the query has no words")
        hits, whole = index.search(query, limit)
        results = [{"title": hit.page.title, "url": hit.page.url, "snippet": hit.snippet} for hit in hits]
        notes = []
        if not hits:
            notes.append(f"none of the {len(pages)} saved pages has these words, and there are no others")
        elif not whole:
            notes.append("no saved page has all of these words; these have some")
        if self._failed:
            notes.append(f"{len(self._failed)} saved pages could not be read: {', '.join(self._failed[:5])}")
        return {"results": results, **({"note": "; ".join(notes)} if notes else {})}

    def fetch(self, url: str, part: int) -> str:
        """What web_fetch gives."""
        pages, index = self._current()
        page = _page_at(pages, url)
        if page is None:
            raise ValueError(_unknown(pages, index, url))
        pieces = list(parts(page.text, PART))
        if part > len(pieces):
            raise ValueError(f"{page.url} has only {len(pieces)} parts")
        more = f"; the next: part={part + 1}" if part < len(pieces) else ""
        where = [f"part {part} of {len(pieces)}{more}"] if len(pieces) > 1 else []
        return "\n".join([page.title, page.url, *where, "", pieces[part - 1]])

    def _current(self) -> tuple[tuple[Page, ...], Index]:
        with self._lock:
            files = saved_files(self._rooted)
            if self._index is None or files != self._files:
                self._pages, self._failed = read_pages(self._rooted, files)
                self._index = Index(self._pages)
                self._files = files
            return self._pages, self._index


def snippet(text: str, words: Sequence[str]) -> str:
    """The piece of the text that holds the most of the words, on one line."""
    flat = " ".join(text.split())
    lower = unicodedata.normalize("NFKC", flat).casefold()
    if len(lower) != len(flat):  # places would not be the same
        lower = flat.lower() if len(flat.lower()) == len(flat) else flat
    found = [(match.start(), word) for word in dict.fromkeys(words) for match in _places(word, lower)]
    starts = sorted({place for place, _ in found})[:500] or [0]
    best = max(starts, key=lambda start: len({word for place, word in found if start <= place < start + SNIPPET - 60}))
    start = max(0, best - 40)
    if start and " " in flat[start:best]:
        start = flat.index(" ", start) + 1
    end = start + SNIPPET
    return ("… " if start else "") + flat[start:end].rstrip() + (" …" if end < len(flat) else "")


def _places(word: str, text: str) -> Iterator[re.Match[str]]:
    """Where a word, or another form of it, begins."""
    stem = word if len(word) < 5 else word[: max(4, len(word) - 3)]
    border = "" if _IS_PAIRED.match(word) else r"(?<!\w)"
    return re.finditer(border + re.escape(stem), text)


def _runs(text: str) -> list[str]:
    """The words of a query, without those that say nothing where others are there; text without spaces is one."""
    found = list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFKC", text[:_LONGEST]).casefold())))[:_MOST]
    return [word for word in found if word not in _EMPTY] or found


def _spaced(text: str) -> str:
    """The words for the index: those of the text, and of text without spaces each pair of characters."""
    runs = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return " ".join(word for run in runs for word in _indexed(run))


def _indexed(run: str) -> list[str]:
    """The last character stands alone too, so that each one begins a word of the index."""
    return [run[start : start + 2] for start in range(len(run))] if _IS_PAIRED.match(run) else [run]


def _looked_for(run: str) -> list[str]:
    words = _indexed(run)
    return words[:-1] if len(words) > 1 else words


def _phrase(run: str) -> str:
    """Quoted, so that nothing in it is an operator; a single character is the beginning of a pair."""
    single = len(run) == 1 and _IS_PAIRED.match(run)
    return f'"{" ".join(_looked_for(run))}"' + ("*" if single else "")


def _page_at(pages: Sequence[Page], url: str) -> Page | None:
    exact = next((page for page in pages if page.url == url.strip()), None)
    return exact or next((page for page in pages if _key(page.url) == _key(url)), None)


def _key(url: str) -> str:
    """An address however it is written: without scheme, `www.`, fragment and last slash, in small letters."""
    key = unquote(url.strip().split("#")[0]).casefold().rstrip("/")
    for start in ("https://", "http://", "local:", "www.", "/"):
        key = key.removeprefix(start)
    return key.lstrip("/")


def _unknown(pages: Sequence[Page], index: Index, url: str) -> str:
    keys = {_key(page.url): page.url for page in pages}
    close = [keys[key] for key in get_close_matches(_key(url)[:300], keys, n=3, cutoff=0.6)]
    words = re.sub(r"^\w+:|\.\w+", " ", unquote(url))
    close += [hit.page.url for hit in index.search(words, 3)[0]] if len(close) < 3 else []
    near = ", ".join(dict.fromkeys(close[:3])) or ", ".join(page.url for page in pages[:3])
    return f"{url[:200]!r} is not saved here, and only saved pages can be read" + (
        f"; close to it: {near}" if near else ""
    )
