"""Writing a trace while the run goes on: a line an event, flushed at once, so that a crash loses nothing before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TextIO

from textcall.engines.base import Written
from textcall.errors import UsageError
from textcall.events import RunEvent
from textcall.messages import compact_json
from textcall.trace.as_json import event_json

_PIECE = 80  # characters of one kind that are written as one line; less waits for what follows


class TraceWriter:
    """A listener that writes what it hears. Raises UsageError where the file cannot be made, OSError from writing."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: TextIO = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror}") from error
        self._waiting: Written | None = None

    def __call__(self, event: RunEvent) -> None:
        """Write one event. Single tokens are joined: a line is written where the kind of text changes."""
        if isinstance(event, Written):
            self._add(event)
            return
        if event_json(event) is not None:
            self._write_waiting()
            self._write(event)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        """Write what still waits, and close the file."""
        try:
            self._write_waiting()
        finally:
            self._file.close()

    def _add(self, event: Written) -> None:
        waiting = self._waiting
        if waiting is not None and waiting.forced == event.forced and not event.overruled:
            self._waiting = replace(waiting, text=waiting.text + event.text)
        else:
            self._write_waiting()
            self._waiting = event
        if len(self._waiting.text) >= _PIECE:
            self._write_waiting()

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._write(waiting)

    def _write(self, event: RunEvent) -> None:
        self._file.write(compact_json(event_json(event)) + "\n")
        self._file.flush()
