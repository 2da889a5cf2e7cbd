"""Files of one folder: what is there, and what it says. Only text is read, and only by lines."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import Field

from textcall.toolbox.rooted import Rooted, printable, size
from textcall.tools import Tool, tool

ENTRIES = 400  # of a folder, in one answer
CHARACTERS = 12_000  # of a file, in one answer
LINE = 2_000  # characters of one line
_HEAD = 4 * LINE + 8
_SAMPLE = 8_192
_CHUNK = 1 << 20


def file_tools(root: Path) -> tuple[Tool, ...]:
    """`list_files` and `read_file` for what lies below `root`. Raises ToolsError where that is no folder."""
    rooted = Rooted(root)

    @tool(parallel_safe=True, volatile=True)
    def list_files(folder: Annotated[str, Field(description='such as "reports"; "." is all of it')] = ".") -> str:
        """List the files and folders in a folder."""
        name = rooted.name(rooted.find(folder))
        with rooted.scan(folder) as entries:
            found = sorted((not _is_folder(entry), entry.name, _shown(entry)) for entry in entries)
        lines = [line for _, _, line in found[:ENTRIES]]
        if len(found) > ENTRIES:
            lines.append(f"… and {len(found) - ENTRIES} more, which are not shown")
        return "\n".join([f"{'the folder' if name == '.' else name}: {len(found)} entries", *lines])

    @tool(parallel_safe=True, volatile=True)
    def read_file(
        path: Annotated[str, Field(description="as list_files shows it, behind its folder: reports/may.txt")],
        start_line: Annotated[int, Field(ge=1)] = 1,
        lines: Annotated[int, Field(ge=1, le=1000, description="how many at most")] = 200,
    ) -> str:
        """Read lines of a text file."""
        name = rooted.name(rooted.find(path))
        with rooted.open(path) as file:
            _check_text(file, name)
            return _read(file, name, max(1, start_line), max(1, lines))

    return list_files, read_file


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _shown(entry: os.DirEntry[str]) -> str:
    """`name/`, `name  1.2 kB`, or what else it is."""
    name = printable(entry.name)
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name}  (cannot be looked at)"
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    if stat.S_ISREG(status.st_mode):
        return f"{name}  {size(status.st_size)}"
    return f"{name}  ({'a link' if stat.S_ISLNK(status.st_mode) else 'no file'})"


def _check_text(file: BinaryIO, name: str) -> None:
    """Raises ValueError where the first bytes are no text. Leaves the file at its beginning."""
    start = file.read(_SAMPLE)
    file.seek(0)
    _decoded(start, name, file)


def _read(file: BinaryIO, name: str, start: int, lines: int) -> str:
    """Up to `lines` lines from line `start`, below a line that says which they are, and how many there are."""
    taken: list[str] = []
    seen, room = 0, CHARACTERS
    for head, length in _lines(file):
        seen += 1
        if seen < start:
            continue
        text = _shortened(_decoded(head, name, file, seen), head, length)
        room -= len(text) + 1
        if taken and room < 0:
            break
        taken.append(text)
        if len(taken) == lines:
            break
    total = seen + _count(file)
    if total < start and not (total == 0 and start == 1):
        raise ValueError(f"{name} has only {total} lines: start_line={start} is behind its end")
    last = start + len(taken) - 1
    if not total:
        return f"{name} is empty"
    more = f"; the next: start_line={last + 1}" if last < total else ""
    return "\n".join([f"{name}: lines {start}-{last} of {total}{more}", *taken])


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The first bytes of each line, without its end, and how many it has. No line is held as a whole."""
    while head := file.readline(_HEAD):
        length, end = len(head), head
        while not end.endswith(b"\n") and (end := file.readline(_CHUNK)):
            length += len(end)
        yield head.rstrip(b"\r\n"), length


def _count(file: BinaryIO) -> int:
    """How many lines there are from here on."""
    count, last = 0, b"\n"
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")


def _decoded(data: bytes, name: str, file: BinaryIO, line: int = 0) -> str:
    """UTF-8 with or without a mark in front; a character may be cut off at the end. Raises ValueError."""
    where = f" (line {line})" if line else ""
    length = size(os.fstat(file.fileno()).st_size)
    if b"\0" in data:
        raise ValueError(f"{name} is no text but binary data{where}, {length}: it cannot be read as lines")
    try:
        return codecs.getincrementaldecoder("utf-8-sig" if line < 2 else "utf-8")().decode(data)
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no UTF-8 text{where}, {length}: it cannot be read as lines") from None


def _shortened(text: str, head: bytes, length: int) -> str:
    if len(text) <= LINE and length <= len(head) + 2:
        return text
    return f"{text[:LINE]} … (the line has {size(length)})"
