"""A folder that tools may look into, and nothing outside of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NoReturn

from textcall.errors import ToolsError

_SEEN = 5_000  # entries that are looked at to find a name that was meant
_NAMED = 20  # names in an error
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISLNK, "a link"))
_FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_BY_STEPS = bool(_NOFOLLOW and _DIRECTORY) and os.open in os.supports_dir_fd


class Rooted:
    """Opens what lies below a folder. Every way out of it is refused: `..`, absolute paths, links.

    A path is resolved and checked first; then it is opened step by step without following links any more, so that
    one that is put in its place meanwhile leads nowhere. Hard links cannot be told from files.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ToolsError where there is no such folder."""
        try:
            self.folder = Path(folder).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolsError(f"{folder}: there is no such folder") from error
        if not self.folder.is_dir():
            raise ToolsError(f"{folder}: this is no folder")

    def find(self, path: str) -> Path:
        """The resolved path of what is there. Raises ValueError where it is outside or missing."""
        if not path.strip():
            raise ValueError('the path is empty; "." is the whole folder')
        found = self._resolved(path)
        if not _exists(found) and "\\" in path:  # as it is written on Windows
            found = self._resolved(path.replace("\\", "/"))
        if not _exists(found):
            self._missing(path, found)
        return found

    def name(self, found: Path) -> str:
        """A resolved path as a model may give it: relative to the folder, with `/`."""
        return printable(found.relative_to(self.folder).as_posix())

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """The file, opened for reading. Raises ValueError for all that is no plain file, without waiting for it."""
        found = self.find(path)
        try:
            mode = found.lstat().st_mode
            if not stat.S_ISREG(mode):
                self._refuse(found, mode)
            handle = self._handle(found, _FILE)
        except OSError as error:
            raise ValueError(f"{self.name(found)} cannot be read: {error.strerror}") from error
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):  # changed meanwhile
                self._refuse(found, mode)
            if not _BY_STEPS and not os.path.samestat(os.fstat(handle), self._resolved(path).stat()):
                raise ValueError(f"{self.name(found)} changed while it was opened")
            yield file

    @contextmanager
    def scan(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        """The entries of a folder. Raises ValueError where it is none."""
        found = self.find(path)
        if not found.is_dir():
            raise ValueError(f"{self.name(found)} is no folder but a file: read_file reads it")
        try:
            if not _BY_STEPS or os.scandir not in os.supports_fd:
                with os.scandir(found) as entries:
                    yield entries
                return
            handle = self._handle(found, _FILE | _DIRECTORY)
            try:
                with os.scandir(handle) as entries:
                    yield entries
            finally:
                os.close(handle)
        except OSError as error:
            raise ValueError(f"{self.name(found)} cannot be read: {error.strerror}") from error

    def walk(self) -> Iterator[Path]:
        """All plain files below the folder, in order; links are not followed."""
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                with suppress(OSError):
                    if stat.S_ISREG(path.lstat().st_mode):
                        yield path

    def _resolved(self, path: str) -> Path:
        try:
            found = (self.folder / path).resolve()
        except (OSError, RuntimeError, ValueError):  # NUL, links in a ring, a name that is too long
            raise ValueError(f"{printable(path)!r} cannot be the path of a file") from None
        if not found.is_relative_to(self.folder):
            raise ValueError(
                f"{printable(path)!r} leads out of the folder; give a path below it, as list_files shows it"
            )
        return found

    def _handle(self, found: Path, flags: int) -> int:
        """A resolved path, opened; where the system can, no link is followed on the way."""
        if not _BY_STEPS:
            return os.open(found, flags | _NOFOLLOW)
        handle = os.open(self.folder, _FILE | _DIRECTORY)
        parts = found.relative_to(self.folder).parts
        for index, part in enumerate(parts):
            try:
                step = flags if index == len(parts) - 1 else _FILE | _DIRECTORY
                inner = os.open(part, step | _NOFOLLOW, dir_fd=handle)
            finally:
                os.close(handle)
            handle = inner
        return handle

    def _refuse(self, found: Path, mode: int) -> NoReturn:
        kind = next((name for test, name in _KINDS if test(mode)), "a device")
        hint = ": list_files shows what is in it" if kind == "a folder" else ", which is not read"
        raise ValueError(f"{self.name(found)} is no file but {kind}{hint}")

    def _missing(self, path: str, found: Path) -> NoReturn:
        parent = next(above for above in found.parents if _exists(above))
        with suppress(OSError):
            if not parent.is_dir():
                raise ValueError(f"there is no {printable(path)!r}: {self.name(parent)} is a file, not a folder")
            beside = sorted(parent.iterdir())
            close = self._close(found, beside)
            names = [printable(entry.name) for entry in beside]
            place = "the folder" if parent == self.folder else self.name(parent)
            there = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            raise ValueError(
                f"there is no {printable(path)!r}"
                + (f"; did you mean {' or '.join(close)}?" if close else ";")
                + f" {place} holds: {there or 'nothing'}"
            )
        raise ValueError(f"there is no {printable(path)!r}")

    def _close(self, found: Path, beside: list[Path]) -> list[str]:
        """Up to three paths that may have been meant: the same name elsewhere, or one that is spelled nearly so."""
        wanted = printable(found.name).casefold()
        known: dict[str, list[str]] = {}
        for path in (*beside, *islice(self.walk(), _SEEN)):
            for key in (path.name.casefold(), path.stem.casefold()):
                known.setdefault(key, []).append(self.name(path))
        matches = get_close_matches(wanted, known, n=3, cutoff=0.75)
        return list(dict.fromkeys(name for match in matches for name in known[match]))[:3]


def printable(text: str) -> str:
    """The text with control characters, line breaks and lone surrogates written as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def size(count: int) -> str:
    """A number of bytes as people read it."""
    units = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
    return next((f"{count / step:.1f} {unit}" for unit, step in units if count >= step), f"{count} B")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
