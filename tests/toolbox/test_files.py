from __future__ import annotations

import os
import socket
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import textcall.toolbox.rooted as rooted_module
from textcall.errors import ToolsError
from textcall.toolbox.files import CHARACTERS, ENTRIES, LINE, file_tools
from textcall.toolbox.rooted import Rooted, size

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes as POSIX has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "root-beside").mkdir()
    (tmp_path / "root-beside" / "secret.txt").write_text("secret")
    (folder / "five.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (folder / ".hidden").write_text("here")
    (folder / "notes" / "trip.md").write_text("Rome")
    (folder / "notes" / "deep" / "青岛.txt").write_text("啤酒", encoding="utf-8")
    return folder


def listed(root: Path, folder: str = ".") -> str:
    return str(file_tools(root)[0].call({"folder": folder}))


def read(root: Path, path: str, **more: int) -> str:
    return str(file_tools(root)[1].call({"path": path, **more}))


def test_a_folder_is_listed_with_hidden_files_and_sizes(root: Path) -> None:
    assert listed(root) == "the folder: 3 entries\nnotes/\n.hidden  4 B\nfive.txt  24 B"
    assert listed(root, "notes/deep/") == "notes/deep: 1 entries\n青岛.txt  6 B"


def test_a_full_folder_is_cut(root: Path) -> None:
    for number in range(ENTRIES + 3):
        (root / "notes" / f"{number:04}").touch()
    lines = listed(root, "notes").splitlines()
    assert lines[0] == f"notes: {ENTRIES + 5} entries"
    assert lines[-1] == "… and 5 more, which are not shown"


PARTS = [
    ({}, "five.txt: lines 1-5 of 5\none\ntwo\nthree\nfour\nfive"),
    ({"start_line": 2, "lines": 2}, "five.txt: lines 2-3 of 5; the next: start_line=4\ntwo\nthree"),
    ({"start_line": 5, "lines": 1}, "five.txt: lines 5-5 of 5\nfive"),
    ({"start_line": 4, "lines": 1000}, "five.txt: lines 4-5 of 5\nfour\nfive"),
]


@pytest.mark.parametrize(("more", "expected"), PARTS)
def test_a_file_is_read_in_parts(root: Path, more: dict[str, int], expected: str) -> None:
    assert read(root, "five.txt", **more) == expected


CONTENTS = [
    (b"", "f is empty"),
    (b"\n", "f: lines 1-1 of 1\n"),
    (b"a\r\nb", "f: lines 1-2 of 2\na\nb"),
    (b"\xef\xbb\xbfmark", "f: lines 1-1 of 1\nmark"),
    ("é\n中".encode(), "f: lines 1-2 of 2\né\n中"),
]


@pytest.mark.parametrize(("content", "expected"), CONTENTS)
def test_text_as_it_is_stored(root: Path, content: bytes, expected: str) -> None:
    (root / "f").write_bytes(content)
    assert read(root, "f") == expected


PATHS = ["five.txt", "./five.txt", "notes/../five.txt", "notes\\trip.md", "notes//trip.md", "notes/deep/青岛.txt"]


@pytest.mark.parametrize("path", PATHS)
def test_paths_that_lead_to_a_file(root: Path, path: str) -> None:
    assert "of" in read(root, path)
    assert "of" in read(root, str(root / path.replace("\\", "/")))  # absolute, and inside


OUT = [
    "../secret.txt",
    "notes/../../secret.txt",
    "/etc/passwd",
    "..",
    "../root-beside/secret.txt",
    "../none",
    "/",
    "//",
]


@pytest.mark.parametrize("path", [*OUT, "..\\secret.txt"])
def test_no_way_out(root: Path, path: str) -> None:
    with pytest.raises(ValueError, match="leads out of the folder"):
        read(root, path)
    with pytest.raises(ValueError, match="leads out of the folder"):
        listed(root, path)


REFUSED = [
    ("", "the path is empty"),
    (" ", "the path is empty"),
    (".", "is no file but a folder: list_files"),
    ("notes", "notes is no file but a folder"),
    ("five.txt/x", "five.txt is a file, not a folder"),
    ("a\0b", "cannot be the path"),
    ("x" * 5000, "cannot be the path|there is no"),
    ("\ud800", "cannot be the path|there is no"),
    ("trip.md", r"did you mean notes/trip.md\? the folder holds: .hidden, five.txt, notes"),
    ("notes/Trip", r"did you mean notes/trip.md\? notes holds: deep, trip.md"),
    ("fiev.txt", r"did you mean five.txt\?"),
    ("none/of/these", "there is no 'none/of/these'; the folder holds: .hidden"),
]


@pytest.mark.parametrize(("path", "message"), REFUSED)
def test_what_is_refused_and_why(root: Path, path: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(root, path)


def test_a_file_is_no_folder(root: Path) -> None:
    with pytest.raises(ValueError, match=r"five\.txt is no folder but a file: read_file"):
        listed(root, "five.txt")


def test_behind_the_end(root: Path) -> None:
    with pytest.raises(ValueError, match="has only 5 lines: start_line=6 is behind its end"):
        read(root, "five.txt", start_line=6)


BINARY = [
    (b"GIF89a\0\1", "no text but binary data, 8 B"),
    (b"caf\xe9 au lait", "no UTF-8 text, 12 B"),
    ("text".encode("utf-16"), "no UTF-8 text|binary"),
    (b"a\n" * 9000 + b"\0", r"binary data \(line 9001\), 18.0 kB"),
    (b"a\n" * 9000 + b"\xff", r"no UTF-8 text \(line 9001\), 18.0 kB"),
]


@pytest.mark.parametrize(("content", "message"), BINARY)
def test_what_is_no_text(root: Path, content: bytes, message: str) -> None:
    (root / "b.bin").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        start = content.count(b"\n") + 1
        read(root, "b.bin", start_line=start)


def test_a_long_line_and_a_long_part_are_cut(root: Path) -> None:
    (root / "long.txt").write_text("ä" * 50_000 + "\nend\n", encoding="utf-8")
    head, first, last = read(root, "long.txt").splitlines()
    assert head == "long.txt: lines 1-2 of 2"
    assert (first, last) == ("ä" * LINE + " … (the line has 100.0 kB)", "end")
    (root / "many.txt").write_text(("x" * 99 + "\n") * 1000)
    text = read(root, "many.txt", lines=1000)
    assert text.startswith("many.txt: lines 1-120 of 1000; the next: start_line=121\n")
    assert len(text) < CHARACTERS + 100


def test_a_big_file_is_not_loaded(root: Path) -> None:
    with (root / "big.txt").open("wb") as file:
        file.write(b"a" * 30_000_000)  # one line
        file.write(b"\nb\n" * 100_000)
    tracemalloc.start()
    text = read(root, "big.txt", start_line=100_000, lines=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.startswith("big.txt: lines 100000-100001 of 200000; the next: start_line=100002\n")
    assert peak < 6_000_000


@posix
def test_links_that_lead_out_are_refused_and_those_inside_are_followed(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "out-folder").symlink_to(root.parent)
    (root / "beside").symlink_to(root.parent / "root-beside")
    (root / "inside").symlink_to(root / "notes" / "trip.md")
    (root / "ring").symlink_to("ring")
    for path in ("out", "out-folder/secret.txt", "beside/secret.txt", "out-folder/root/five.txt/../../secret.txt"):
        with pytest.raises(ValueError, match="leads out"):
            read(root, path)
    with pytest.raises(ValueError, match="leads out"):
        listed(root, "out-folder")
    with pytest.raises(ValueError, match=r"cannot be the path|there is no"):
        read(root, "ring")
    assert read(root, "inside").endswith("Rome")
    assert "out  (a link)" in listed(root)
    assert "secret" not in listed(root)


@posix
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_is_put_there_after_the_check_leads_nowhere(
    root: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = Rooted.find

    def swapped(self: Rooted, path: str) -> Path:
        found = find(self, path)
        if what == "file":
            (root / "notes" / "trip.md").unlink()
            (root / "notes" / "trip.md").symlink_to(root.parent / "secret.txt")
        else:
            (root / "notes").rename(root / "gone")
            (root / "notes").symlink_to(root.parent)
        monkeypatch.setattr(Rooted, "find", find)
        return found

    (root.parent / "trip.md").write_text("secret")
    rooted = Rooted(root)
    monkeypatch.setattr(Rooted, "find", swapped)
    with pytest.raises(ValueError, match=r"trip\.md"), rooted.open("notes/trip.md") as file:
        pytest.fail(f"{file.read()!r} was read")


@posix
@pytest.mark.parametrize("kind", ["a pipe", "a socket"])
def test_what_would_hang_is_refused(root: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    if kind == "a pipe":
        os.mkfifo("thing")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("thing")
    with pytest.raises(ValueError, match=f"thing is no file but {kind}, which is not read"):
        read(root, "thing")
    assert "thing  (no file)" in listed(root)


@posix
def test_a_device_is_refused() -> None:
    with pytest.raises(ValueError, match="null is no file but a device"):
        read(Path("/dev"), "null")


@posix
def test_a_name_with_a_line_break_stays_on_its_line(root: Path) -> None:
    (root / "a\nb").write_text("x")
    assert "a\\nb  1 B" in listed(root)


def test_without_openat(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooted_module, "_BY_STEPS", False)
    assert read(root, "notes/trip.md").endswith("Rome")
    assert "notes/" in listed(root)


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match="there is no such folder"):
        file_tools(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(ToolsError, match="no folder"):
        file_tools(tmp_path / "file")


def test_the_arguments_are_bounded(root: Path) -> None:
    for wrong in ({"start_line": 0}, {"lines": 0}, {"lines": 10**9}):
        with pytest.raises(ValueError, match="do not fit"):
            read(root, "five.txt", **wrong)
    assert all(tool.parallel_safe for tool in file_tools(root))


@given(
    st.text(st.characters(codec=None), max_size=20)
    | st.lists(st.sampled_from(["..", "/", "notes", "\\", "."])).map("".join)
)
def test_any_path_is_read_or_refused(path: str) -> None:
    for tool in file_tools(Path(__file__).parent.parent / "data"):
        try:
            tool.function(path)  # type: ignore[misc]
        except ValueError:
            continue


SIZES = [
    (0, "0 B"),
    (999, "999 B"),
    (1000, "1.0 kB"),
    (1_234_567, "1.2 MB"),
    (5 * 10**9, "5.0 GB"),
    (10**12, "1000.0 GB"),
]


@pytest.mark.parametrize(("count", "text"), SIZES)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text
