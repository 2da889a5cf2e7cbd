"""Saved pages (.html, .htm, .md, .txt) of a folder as plain text, with a title and an address."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

from textcall.toolbox.rooted import Rooted

PAGES = Path(__file__).with_name("pages")
KINDS = (".html", ".htm", ".md", ".txt")
MOST = 20_000  # pages
LARGEST = 5_000_000  # bytes of a page
_CHARSET = re.compile(rb"<meta[^>]*?charset\s*=\s*[\"']?\s*([\w:-]+)", re.IGNORECASE)
_FIELD = re.compile(r"(title|url)\s*:\s*(.+)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)

_SKIPPED = frozenset(("script", "style", "nav", "noscript", "template", "svg", "iframe", "select"))
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form "
        "header hr html legend li main ol p pre section summary table tbody tfoot thead tr ul",
    )
)
_SPACED = frozenset(("p", "table", "ul", "ol", "dl", "pre", "blockquote"))
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


@dataclass(frozen=True, slots=True)
class Page:
    """One saved page. url: what the page says that it is, else `local:/` and the file's path."""

    title: str
    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Saved:
    """The file of a page, as it was when it was looked at."""

    path: Path
    size: int
    changed: int


def saved_files(rooted: Rooted) -> tuple[Saved, ...]:
    """The files that are pages. Raises ValueError where there are too many."""
    found: list[Saved] = []
    for path in rooted.walk():
        if path.suffix.lower() not in KINDS:
            continue
        with suppress(OSError):  # gone meanwhile
            status = path.lstat()
            found.append(Saved(path, status.st_size, status.st_mtime_ns))
        if len(found) > MOST:
            raise ValueError(f"{rooted.folder} holds more than {MOST:,} pages: choose a smaller folder")
    return tuple(found)


def read_pages(rooted: Rooted, files: tuple[Saved, ...]) -> tuple[tuple[Page, ...], tuple[str, ...]]:
    """The pages, and the files that could not be read. Of two with the same address the second gets a local one."""
    pages: list[Page] = []
    failed: list[str] = []
    known: set[str] = set()
    for saved in files:
        name = saved.path.relative_to(rooted.folder).as_posix()
        if saved.size > LARGEST:
            failed.append(name)
            continue
        try:
            with rooted.open(name) as file:
                page = page_of(file.read(LARGEST), name)
        except ValueError:
            failed.append(name)
            continue
        if page.url in known:
            page = Page(page.title, f"local:/{name}", page.text)
        known.add(page.url)
        pages.append(page)
    return tuple(pages), tuple(failed)


def page_of(data: bytes, name: str) -> Page:
    """A page from the content of its file. name: the path below the folder, with `/`."""
    html = name.lower().endswith((".html", ".htm"))
    text = _decoded(data, html).replace("\r\n", "\n").replace("\r", "\n")
    title, url, text = _html(text) if html else _plain(text)
    title = " ".join(title.split())[:200] or Path(name).stem
    return Page(title, url if _ADDRESS.fullmatch(url) else f"local:/{name}", text.strip())


def _decoded(data: bytes, html: bool) -> str:
    """The text: by its mark, by what the page says, else UTF-8; what does not fit is replaced."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    said = _CHARSET.search(data[:2048]) if html else None
    if said is not None and not said[1].lower().startswith(b"utf"):
        try:
            return data.decode(said[1].decode("ascii", "replace"), errors="replace")
        except (LookupError, UnicodeError):  # no such encoding, or none of texts
            pass
    return data.decode("utf-8-sig", errors="replace")


def _plain(text: str) -> tuple[str, str, str]:
    """Title, address and text of .md and .txt; both may stand in a front matter."""
    lines = text.split("\n")
    fenced = lines[0].strip() == "---"
    end = 0
    if fenced:
        end = next((number for number, line in enumerate(lines[:60]) if number and line.strip() == "---"), 0)
        fields = lines[1:end]
    else:
        while end < len(lines) and _FIELD.fullmatch(lines[end].strip()):
            end += 1
        fields = lines[:end]
    matches = [match for line in fields if (match := _FIELD.fullmatch(line.strip()))]
    said = {match[1].lower(): match[2].strip().strip("\"'") for match in matches}
    rest = lines[end + 1 if fenced and end else end :]
    heading = next((line for line in rest if line.startswith("# ")), None)
    first = next((line for line in rest if line.strip()), "")
    return said.get("title") or (heading or first).lstrip("# ")[:100], said.get("url", ""), "\n".join(rest)


def _html(text: str) -> tuple[str, str, str]:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    result = reader.text()
    if not result.strip() and reader.skipping:  # something that is left out was never closed
        reader = _Reader(skipped=frozenset(("script", "style")))
        reader.feed(text)
        reader.close()
        result = reader.text()
    heading = next((line.lstrip("# ") for line in result.split("\n") if line.startswith("# ")), "")
    return reader.title or heading, reader.url, result


class _Reader(HTMLParser):
    """Gathers the lines of a page: headings with `#`, items with `-` or a number, the cells of a row between ` | `."""

    def __init__(self, skipped: frozenset[str] = _SKIPPED) -> None:
        super().__init__(convert_charrefs=True)
        self.title = self.url = ""
        self.skipping: list[str] = []
        self._skipped = skipped
        self._lines: list[str] = []
        self._line: list[str] = []
        self._start = ""  # what the line begins with
        self._lists: list[int | None] = []  # the number of the last item, None where items have none
        self._cells = 0  # of the row
        self._pre = 0
        self._in_title = self._in_cell = False

    def text(self) -> str:
        """All lines, with one empty line at most between two."""
        self._end_line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._skipped:
            self.skipping.append(tag)
        if self.skipping:
            return
        if tag == "title":
            self._in_title = not self.title
        elif tag == "link":
            self._link({key: value or "" for key, value in attrs})
        elif tag in ("td", "th"):
            self._line.append(" | " if self._cells else "")
            self._cells += 1
            self._in_cell = True
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._block(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.skipping:
            if tag in self.skipping:
                del self.skipping[self.skipping.index(tag) :]
            return
        if tag == "title":
            self._in_title = False
        elif tag in ("td", "th"):
            self._in_cell = False
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._block_end(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif self._pre and not self.skipping:
            first, *rest = data.split("\n")
            self._line.append(first)
            for line in rest:
                self._end_line()
                self._line.append(line)
        elif not self.skipping:
            self._line.append(re.sub(r"\s+", " ", data))

    def _link(self, attributes: dict[str, str]) -> None:
        if "canonical" in attributes.get("rel", "").lower().split() and not self.url:
            self.url = attributes.get("href", "").strip()

    def _block(self, tag: str) -> None:
        if tag in ("tr", "table"):
            self._in_cell = False
        if self._in_cell:  # paragraphs in a cell do not end its row
            self._line.append(" ")
            return
        self._end_line()
        if tag in _HEADINGS:
            self._lines.append("")
            self._start = _HEADINGS[tag] + " "
        elif tag in _SPACED and not self._lists:
            self._lines.append("")
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag == "pre":
            self._pre += 1

    def _block_end(self, tag: str) -> None:
        if tag in ("tr", "table"):
            self._in_cell = False
        if self._in_cell:
            self._line.append(" ")
            return
        self._end_line()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "pre":
            self._pre = max(0, self._pre - 1)
        if tag in _HEADINGS or (tag in _SPACED and not self._lists):
            self._lines.append("")

    def _item(self) -> None:
        indent = "  " * min(10, max(0, len(self._lists) - 1))
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        self._start = indent + ("- " if number is None else f"{number + 1}. ")

    def _end_line(self) -> None:
        joined = "".join(self._line)
        line = joined.rstrip() if self._pre else re.sub(r" {2,}", " ", joined).strip()
        if line:
            self._lines.append(self._start + line)
            self._start = ""
        elif self._pre and self._line:
            self._lines.append("")
        self._line.clear()
        self._cells = 0


def parts(text: str, length: int) -> Iterator[str]:
    """The text in pieces of `length` characters at most, cut between lines where that is possible."""
    taken: list[str] = []
    room = length
    for line in text.split("\n"):
        for piece in _pieces(line, length):
            if taken and len(piece) + 1 > room:
                yield "\n".join(taken)
                taken, room = [], length
            taken.append(piece)
            room -= len(piece) + 1
    yield "\n".join(taken)


def _pieces(line: str, length: int) -> Iterator[str]:
    if not line:
        yield line
    signs = iter(line)
    while piece := "".join(islice(signs, length)):
        yield piece
