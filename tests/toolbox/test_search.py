from __future__ import annotations

import os
import re
import sqlite3
import threading
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcall.errors import ToolsError
from textcall.toolbox import corpus
from textcall.toolbox.corpus import PAGES, page_of, parts, read_pages, saved_files
from textcall.toolbox.rooted import Rooted
from textcall.toolbox.search import PART, SNIPPET, Index, search_tools, snippet

OWN = read_pages(Rooted(PAGES), saved_files(Rooted(PAGES)))[0]
INDEX = Index(OWN)


def search(query: str, folder: Path | None = None, **more: int) -> dict[str, Any]:
    found = search_tools(folder)[0].call({"query": query, **more})
    assert isinstance(found, dict)
    return found


def fetch(url: str, folder: Path | None = None, **more: int) -> str:
    return str(search_tools(folder)[1].call({"url": url, **more}))


FOUND = [
    ("Which football matches are on Monday?", "league/monday"),
    ("Friday matches", "league/friday"),
    ("match wednesday", "league/wednesday"),
    ("MATCHES ON SUNDAYS", "league/sunday"),
    ("barometer price", "products/barometer-b4"),
    ("How much is the Cargo Two?", "products/cargo-two"),
    ("museum opening hours", "museum/opening-hours"),
    ("When does the last ferry leave?", "city/ferries"),
    ("leek soup recipe", "recipes/leek-potato-soup"),
    ("who is the head of Tideglass", "companies/tideglass"),
    ("why tides", "general/tides"),
    ("星期五的比赛", "zh/league"),
    ("Friday 比赛", "zh/league"),
    ("今天有哪些比赛", "zh/league"),
    ("博物馆几点开门", "zh/museum"),
    ("门票", "zh/museum"),
    ("云雀茶业有多少员工", "zh/companies/skylark"),
    ("绿茶 水温", "zh/general/green-tea"),
    ("番茄炒蛋怎么做", "zh/recipes/tomato-eggs"),
    ("ＢＡＲＯＭＥＴＥＲ Ｂ４", "products/barometer-b4"),
]


@pytest.mark.parametrize(("query", "path"), FOUND)
def test_the_best_page_comes_first(query: str, path: str) -> None:
    best = search(query)["results"][0]
    assert best["url"] == f"https://portvelm.example/{path}"
    assert len(best["snippet"]) <= SNIPPET + 4


def test_every_day_has_its_page() -> None:
    for number in range(7):
        day = f"{date(2024, 1, 1) + timedelta(number):%A}"
        url = search(f"matches {day}")["results"][0]["url"]
        assert f"matches on {day}s" in fetch(url)


def test_every_pair_of_characters_is_found() -> None:
    """All words of two characters; the trigram tokenizer, for comparison, finds none of them."""
    trigrams = sqlite3.connect(":memory:")
    trigrams.execute("CREATE VIRTUAL TABLE pages USING fts5(text, tokenize='trigram')")
    trigrams.executemany("INSERT INTO pages VALUES (?)", [(page.text,) for page in OWN])
    pairs = 0
    for page in OWN:
        for word in set(re.findall(r"(?=([\u4e00-\u9fff]{2}))", page.text)):
            pairs += 1
            hits, whole = INDEX.search(word, 50)
            assert whole
            assert page in [hit.page for hit in hits], word
            assert all(word in hit.page.title + hit.page.text for hit in hits), word
            assert word in next(hit.snippet for hit in hits if hit.page == page)
            assert not trigrams.execute("SELECT 1 FROM pages WHERE pages MATCH ?", (f'"{word}"',)).fetchall()
    trigrams.close()
    assert pairs > 200


@pytest.mark.parametrize("char", ["馆", "茶", "港"])
def test_a_single_character_is_found(char: str) -> None:
    found = [hit.page for hit in INDEX.search(char, 50)[0]]
    assert found
    assert set(found) == {page for page in OWN if char in page.title + page.text}


SYNTAX = [
    '"',
    "a AND",
    "NOT",
    "(",
    ")",
    "title:x",
    "a*",
    "^b",
    "-c",
    "a NEAR/3 b",
    "{a b}:c",
    "'",
    "a\0b",
    "\ud800",
    "+",
    "a" * 10**5,
]


@pytest.mark.parametrize("query", [*SYNTAX, "(tide OR", '"tide', "tide* AND (", " ".join(map(str, range(1000)))])
def test_the_syntax_of_the_index_is_text(query: str) -> None:
    try:
        found = search(query)
    except ValueError as error:
        assert str(error) == "the query has no words"
        return
    assert ("tide" not in query) or found["results"]


@given(st.text(st.characters(codec=None)))
def test_any_query_is_answered(query: str) -> None:
    hits, _ = INDEX.search(query, 3)
    assert len(hits) <= 3
    assert all(len(snippet(hit.page.text, [query])) <= SNIPPET + 4 for hit in hits)


def test_all_words_then_any_then_none() -> None:
    assert "note" not in search("barometer price")
    some = search("barometer unicorn")
    assert some["note"] == "no saved page has all of these words; these have some"
    assert some["results"][0]["title"] == "Barometer B4"
    none = search("unicorn")
    assert none == {"results": [], "note": "none of the 23 saved pages has these words, and there are no others"}
    assert len(search("the matches", limit=2)["results"]) == 2


ADDRESSES = [
    "https://portvelm.example/league/friday",
    "http://www.portvelm.example/league/friday/",
    "portvelm.example/League/Friday#top",
    " https://portvelm.example/league/fri%64ay ",
]


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_page_by_its_address(url: str) -> None:
    text = fetch(url)
    assert text.startswith("Harbour League: matches on Fridays\nhttps://portvelm.example/league/friday\n\n# Matches")
    assert "\nKick-off | Home | Away | Ground\n18:30 | Lantern Athletic | Velm Mariners | Lamp Street\n" in text


UNKNOWN = [
    ("https://portvelm.example/league/fridays", "close to it: https://portvelm.example/league/friday"),
    ("https://elsewhere.example/barometer", "close to it: .*https://portvelm.example/products/barometer-b4"),
    ("file:///etc/passwd", "only saved pages can be read"),
    ("../../../../etc/passwd", "only saved pages can be read"),
    ("", "only saved pages can be read"),
    ("x" * 10**5, "only saved pages can be read"),
]


@pytest.mark.parametrize(("url", "message"), UNKNOWN)
def test_an_address_that_is_not_saved(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fetch(url)


HTML = [
    ("<title> A &amp;\n B </title><p>x", "A & B", "x"),
    ("<h1>Top</h1><p>one<p>two", "Top", "# Top\n\none\n\ntwo"),
    ("<style>p{}</style><script>if (a<b) x()</script><nav>menu <b>y</b></nav><p>text</p>", "f", "text"),
    ("<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>d</li><li>e</li></ol>", "f", "- a\n- b\n  - c\n\n1. d\n2. e"),
    ("<table><tr><th>a<th>b<tr><td><p>1</p><td>2 <br>3</table>", "f", "a | b\n1 | 2 3"),
    ("<table><tr><td></td><td>x</td></tr></table>", "f", "| x"),
    ("<pre>a\n  b\n\nc</pre>d", "f", "a\n  b\n\nc\n\nd"),
    ("<nav>never closed <p>text", "f", "never closed\n\ntext"),
    ("<p>a<svg><title>no</title></svg>b", "f", "ab"),
    ("a &lt;b&gt; &nbsp;c<!-- d -->", "f", "a <b> c"),
    ("<div>" * 20_000 + "deep", "f", "deep"),
    ("", "f", ""),
    ("<![CDATA[ <x <<< &#xFFFFFFFF; </", None, None),
]


@pytest.mark.parametrize(("html", "title", "text"), HTML)
def test_html_as_text(html: str, title: str | None, text: str | None) -> None:
    page = page_of(html.encode(), "f.html")
    if title is not None:
        assert (page.title, page.text) == (title, text)


@given(
    st.lists(
        st.sampled_from(
            re.findall(r"\S+", "<p> </p> <td> <tr> <table> </table> <li> <ol> </ul> <pre> </pre> <nav> x <h1>")
        )
    )
)
def test_any_tags_give_text(tags: list[str]) -> None:
    assert "x" not in tags or "x" in page_of("".join(tags).encode(), "f.html").text or "<nav>" in tags


PLAIN = [
    ("a.md", "---\ntitle: T\nurl: https://x.example/a\n---\n# H\ntext", ("T", "https://x.example/a", "# H\ntext")),
    ("a.md", "---\nurl: 'http://x.example'\nother: 1\n---\n# H", ("H", "http://x.example", "# H")),
    ("a.txt", "url: https://x.example/a\ntitle: T\n\ntext", ("T", "https://x.example/a", "text")),
    (
        "d/a.txt",
        "First line\nurl: https://no.example",
        ("First line", "local:/d/a.txt", "First line\nurl: https://no.example"),
    ),
    ("a.md", "---\nno end", ("---", "local:/a.md", "---\nno end")),
    ("a.md", "url: javascript:alert(1)\nx", ("x", "local:/a.md", "x")),
    ("a.md", "", ("a", "local:/a.md", "")),
]


@pytest.mark.parametrize(("name", "content", "expected"), PLAIN)
def test_text_with_and_without_a_front_matter(name: str, content: str, expected: tuple[str, str, str]) -> None:
    page = page_of(content.encode(), name)
    assert (page.title, page.url, page.text) == expected


CANONICAL = [
    ('<link rel="canonical" href="https://x.example/a">', "https://x.example/a"),
    ('<LINK HREF=https://x.example/a REL="alternate canonical">', "https://x.example/a"),
    ('<link rel="canonical" href="/a">', "local:/f.html"),
    ('<link rel="canonical">', "local:/f.html"),
    ('<link rel="stylesheet" href="https://x.example/a">', "local:/f.html"),
]


@pytest.mark.parametrize(("html", "url"), CANONICAL)
def test_the_address_that_a_page_gives_itself(html: str, url: str) -> None:
    assert page_of(html.encode(), "f.html").url == url


ENCODED = [
    ('<meta charset="gb2312">青岛'.encode("gb2312"), "青岛"),
    ('<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">寿司'.encode("shift_jis"), "寿司"),
    ("\ufeff青岛".encode(), "青岛"),
    ("青岛".encode("utf-16"), "青岛"),
    ('<meta charset="no-such">é'.encode(), "é"),
    ('<meta charset="hex">é'.encode(), "é"),
    (b"caf\xe9", "caf\ufffd"),
]


@pytest.mark.parametrize(("data", "text"), ENCODED)
def test_encodings(data: bytes, text: str) -> None:
    assert page_of(data, "f.html").text == text


def test_a_long_page_comes_in_parts(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} {'x' * 100}" for number in range(200))
    (tmp_path / "long.txt").write_text(text + "\n" + "y" * (PART + 10))
    first = fetch("local:/long.txt", tmp_path)
    head = first.split("\n\n", 1)[0]
    count = int(re.findall(r"of (\d+)", head)[0])
    assert head.endswith(f"part 1 of {count}; the next: part=2")
    last = fetch("long.txt", tmp_path, part=count)
    assert f"part {count} of {count}\n\n" in last
    with pytest.raises(ValueError, match=f"has only {count} parts"):
        fetch("long.txt", tmp_path, part=count + 1)


@given(st.text(st.sampled_from("ab\n"), max_size=60), st.integers(1, 10))
def test_parts_are_the_whole(text: str, length: int) -> None:
    pieces = list(parts(text, length))
    assert all(len(piece) <= length for piece in pieces)
    assert "".join(pieces).replace("\n", "") == text.replace("\n", "")


def test_two_pages_with_one_address_are_both_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"url: https://x.example\ntext of {name}")
    urls = {found["url"] for found in search("text", tmp_path)["results"]}
    assert urls == {"https://x.example", "local:/b.md"}


def test_a_changed_folder_is_read_again(tmp_path: Path) -> None:
    find, read = search_tools(tmp_path)
    with pytest.raises(ValueError, match="not saved here"):
        read.call({"url": "new.md"})
    (tmp_path / "new.md").write_text("# New\nlighthouse")
    assert find.call({"query": "lighthouse"})["results"][0]["url"] == "local:/new.md"
    (tmp_path / "new.md").unlink()
    assert find.call({"query": "lighthouse"})["results"] == []


def test_what_is_no_page_is_left_alone_and_what_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.md").write_text("lighthouse")
    (tmp_path / "in" / "picture.png").write_bytes(b"lighthouse")
    (tmp_path / "in" / "big.md").write_text("lighthouse " * 100)
    (tmp_path / "in" / "small.md").write_text("lighthouse")
    if os.name == "posix":
        (tmp_path / "in" / "link.md").symlink_to(tmp_path / "secret.md")
        (tmp_path / "in" / "folder").symlink_to(tmp_path)
        os.mkfifo(tmp_path / "in" / "pipe.md")
    monkeypatch.setattr(corpus, "LARGEST", 100)
    found = search("lighthouse", tmp_path / "in")
    assert [result["url"] for result in found["results"]] == ["local:/small.md"]
    assert found["note"] == "1 saved pages could not be read: big.md"
    monkeypatch.setattr(corpus, "MOST", 1)
    with pytest.raises(ValueError, match="more than 1 pages"):
        search("lighthouse", tmp_path / "in")


def test_searches_beside_one_another() -> None:
    find, read = search_tools()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(find.call({"query": "matches"})["results"]))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [5] * 8
    assert find.parallel_safe
    assert read.parallel_safe


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match="no such folder"):
        search_tools(tmp_path / "none")


def test_the_packaged_pages_are_short_and_have_addresses() -> None:
    assert len(OWN) == 23
    assert all(page.url.startswith("https://portvelm.example/") for page in OWN)
    assert all(len(page.text) < 1_500 for page in OWN)
