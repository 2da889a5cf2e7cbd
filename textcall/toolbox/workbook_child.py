"""Reads one sheet of a workbook from standard input and writes its rows as lines of JSON. Run as a process of its own:
a damaged workbook may panic, take all memory or abort, and then only this process ends (see `workbook`).

Lines: `{"sheets": [names], "sheet": name, "left": first column}`, a list for each row, `{"end": true}`; or
`{"error": text}` in place of any.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import sys
import zipfile
from contextlib import suppress
from typing import Any

_FILEPASS = re.compile(rb"\x09\x08\x10\x00\x00\x06\x05\x00.{12}\x2f\x00", re.DOTALL)  # the second record of an .xls


def main(library: str, wanted: str | None, memory: int, seconds: int) -> None:
    """library: the folder of python_calamine. wanted: the sheet's name, None for the first. The rest are limits."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path.append(library)
    data = b""
    try:
        data = sys.stdin.buffer.read()
        _write(data, wanted)
    except BaseException as error:  # noqa: BLE001  the panics of the library are no Exception
        _put({"error": _told(error, data)})


def _write(data: bytes, wanted: str | None) -> None:
    import python_calamine

    workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    kinds = python_calamine.SheetTypeEnum.WorkSheet, python_calamine.SheetVisibleEnum.Visible
    names = [sheet.name for sheet in workbook.sheets_metadata if sheet.typ == kinds[0]]
    visible = [sheet.name for sheet in workbook.sheets_metadata if (sheet.typ, sheet.visible) == kinds]
    if not names:
        _put({"error": "it holds no sheet with cells"})
        return
    name = (visible or names)[0] if wanted is None else _named(wanted, names)
    if name is None:
        _put({"error": f"it holds no sheet {wanted!r}; the sheets are: {', '.join(names)}"})
        return
    sheet = workbook.get_sheet_by_name(name)
    _put({"sheets": names, "sheet": name, "left": sheet.start[1] if sheet.start else 0})
    if sheet.height:  # an empty one has no rows to iterate over
        for row in sheet.iter_rows():
            _put([_plain(cell) for cell in row])
    _put({"end": True})


def _named(wanted: str, names: list[str]) -> str | None:
    if wanted in names:
        return wanted
    return next((name for name in names if name.strip().casefold() == wanted.strip().casefold()), None)


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: whole floats as integers, others with a spreadsheet's 15 digits, dates as ISO."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 1e15 else float(f"{cell:.15g}")
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return cell if isinstance(cell, bool | int | str) else str(cell)


def _told(error: BaseException, data: bytes) -> str:
    if isinstance(error, MemoryError):
        return "it is too large"
    if _is_encrypted(data):
        return "it is encrypted: save it without a password"
    return f"it is damaged or no workbook ({' '.join(str(error).split())[:200] or type(error).__name__})"


def _is_encrypted(data: bytes) -> bool:
    """Looked for by hand: the library says only that it does not know the format."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):  # the container of .xls, and of any encrypted workbook
        return "EncryptedPackage".encode("utf-16-le") in data or _FILEPASS.search(data) is not None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("META-INF/manifest.xml") as manifest:
            return b"encryption-data" in manifest.read(1_000_000)
    except Exception:  # noqa: BLE001  whatever is wrong with it, it is not that
        return False


def _put(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    with suppress(OSError):
        sys.stdout.flush()
