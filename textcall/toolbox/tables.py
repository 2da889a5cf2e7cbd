"""Tables from files: workbooks by python-calamine in a process of its own, csv and tsv by the standard library."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from textcall.toolbox.rooted import Rooted, size

Cell = str | int | float | bool
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
TEXTS = (".csv", ".tsv", ".tab")
LARGEST = 50_000_000  # bytes of a workbook, which is read as a whole
MEMORY = 2_000_000_000  # bytes that reading one may take
SECONDS = 45
_LINE = 1_000_000  # characters of a line in a csv file
_CHILD = Path(__file__).with_name("workbook_child.py")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table. sheets: the names of all in the file, none where it has just one. rows: to be gone through once.

    comma: whether `1,234` may be meant as 1234. left: the number of the first column, where those before are empty.
    """

    file: str
    name: str
    sheets: tuple[str, ...]
    rows: Iterator[list[Cell]]
    comma: bool = True
    left: int = 0


@contextmanager
def open_sheet(rooted: Rooted, path: str, sheet: str | None) -> Iterator[Sheet]:
    """A sheet of the file, the first where none is named. Raises ValueError, also while its rows are read."""
    sheet = sheet if sheet and sheet.strip() else None
    name = rooted.name(rooted.find(path))
    kind = Path(name).suffix.lower()
    with rooted.open(path) as file:
        if kind in WORKBOOKS:
            with _workbook(file, name, sheet) as found:
                yield found
        elif kind in TEXTS:
            with _delimited(file, name, kind) as found:
                yield found
        else:
            raise ValueError(f"{name} is no spreadsheet: {', '.join((*WORKBOOKS, *TEXTS))} are; read_file reads text")


@contextmanager
def _delimited(file: BinaryIO, name: str, kind: str) -> Iterator[Sheet]:
    start = file.read(65_536)
    file.seek(0)
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))  # as Excel writes "Unicode text"
    encoding = "utf-16" if wide else "utf-8-sig"
    head = start.decode(encoding, errors="replace").split("\n", 1)[0]
    delimiter = "\t" if kind != ".csv" else _delimiter(head)
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        yield Sheet(name, "", (), _rows(text, name, delimiter), comma=delimiter != ";")
    finally:
        text.detach()  # the file is closed by whoever opened it


def _delimiter(head: str) -> str:
    """The one that cuts the first line into the most cells."""
    try:
        return max(",;\t|", key=lambda delimiter: len(next(csv.reader([head], delimiter=delimiter), [])))
    except csv.Error:
        return ","


def _rows(text: io.TextIOWrapper, name: str, delimiter: str) -> Iterator[list[Cell]]:
    reader = csv.reader(_bounded(text, name), delimiter=delimiter)
    try:
        for row in reader:
            if any("\0" in cell for cell in row):
                raise ValueError(f"{name} is no text but binary data (line {reader.line_num})")
            yield list(row)
    except csv.Error as error:
        raise ValueError(f"{name} is no table, line {reader.line_num}: {error}") from None
    except UnicodeError:
        length = size(os.fstat(text.fileno()).st_size)
        raise ValueError(f"{name} is no UTF-8 text ({length}): save it as CSV in UTF-8") from None


def _bounded(text: io.TextIOWrapper, name: str) -> Iterator[str]:
    while line := text.readline(_LINE):
        if len(line) == _LINE:
            raise ValueError(f"{name} is no table: it has a line of more than {_LINE:,} characters")
        yield line


@contextmanager
def _workbook(file: BinaryIO, name: str, sheet: str | None) -> Iterator[Sheet]:
    library = find_spec("python_calamine")
    if library is None or not library.origin:
        raise ValueError(f'{name} cannot be read: that needs python-calamine; pip install "textcall[sheets]"')
    length = os.fstat(file.fileno()).st_size
    if length > LARGEST:
        raise ValueError(f"{name} is too large: {size(length)}, and {size(LARGEST)} at most are read")
    folder = str(Path(library.origin).parent.parent)
    limits = (str(MEMORY), str(SECONDS))
    command = [sys.executable, "-I", str(_CHILD), folder, json.dumps(sheet), *limits]
    with subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            lines = _lines(process, name)
            head = next(lines)
            if not isinstance(head, dict):
                raise ValueError(f"{name} cannot be read")
            rows = (row for row in lines if isinstance(row, list))
            yield Sheet(name, head["sheet"], tuple(head["sheets"]), rows, left=head["left"])
        finally:
            timer.cancel()
            process.kill()


def _lines(process: subprocess.Popen[bytes], name: str) -> Iterator[object]:
    """What the process writes, up to its end mark. Raises ValueError where it says so, or ends before."""
    for line in process.stdout or ():
        value = json.loads(line) if line.endswith(b"\n") else {"error": "it is too large or damaged"}
        if isinstance(value, dict) and "error" in value:
            raise ValueError(f"{name} cannot be read: {value['error']}")
        if value == {"end": True}:
            return
        yield value
    raise ValueError(f"{name} cannot be read: it is too large or damaged")
