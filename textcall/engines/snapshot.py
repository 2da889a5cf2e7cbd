"""The evaluated beginning of a prompt, kept on disk between runs: the KV state of the tokens that never change.

The tools stand at the beginning of every prompt, so their state is worth keeping: a second process reads megabytes
from disk in milliseconds instead of evaluating hundreds of tokens. A file is

    MAGIC, the key (32 bytes), the sha256 of the state (32 bytes), the state

and its name is the key: the model's fingerprint, llama.cpp's version, the layout of the state, and the tokens. Whatever
is not exactly that is left alone and said in one line. Files are written under another name and renamed when whole, so
processes may share the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import llama_cpp

from textcall.engines.context import Context
from textcall.errors import EngineError

MAGIC = b"textcall kv 1\n"
ENDING = ".kv"
WORTH = 64  # tokens; fewer are evaluated as fast as they are read
FOLDER_BYTES = 1 << 30
_SAMPLES, _SAMPLE = 64, 1 << 14
_STALE = 3600.0  # seconds after which an unfinished file is nobody's any more

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of one model in `folder`. fingerprint: of the model file. most: bytes that the folder may hold."""

    folder: Path
    fingerprint: bytes
    most: int = FOLDER_BYTES

    @classmethod
    def of(cls, model: Path, folder: Path) -> Snapshots:
        """For a model file. Raises OSError where that cannot be read."""
        return cls(folder, fingerprint(model))

    def restore(self, context: Context, prefix: Sequence[int], tell: Tell) -> bool:
        """Put the state of `prefix` into the context, in place of what it holds. False where there is none to use."""
        key = self._key(context, prefix)
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            tell(f"the cache {path} cannot be read: {error.strerror}")
            return False
        start = len(MAGIC) + len(key) + 32
        head, state = data[:start], memoryview(data)[start:]
        if head != MAGIC + key + hashlib.sha256(state).digest():
            tell(f"the cache {path} is damaged and was not used")
            return False
        try:
            context.set_state(state, prefix)
        except EngineError:
            tell(f"the cache {path} does not fit this llama.cpp and was not used")
            return False
        with contextlib.suppress(OSError):
            os.utime(path)  # used lately: it goes last
        return True

    def save(self, context: Context, tell: Tell) -> None:
        """Keep the state of all that the context holds. What goes wrong is told, and the run goes on without."""
        key = self._key(context, context.tokens)
        state = context.state()
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(self._path(key), MAGIC + key + hashlib.sha256(state).digest(), state)
            _shrink(self.folder, self.most)
        except OSError as error:
            tell(f"nothing was kept in the cache {self.folder}: {error.strerror or error}")

    def _key(self, context: Context, tokens: Sequence[int]) -> bytes:
        version = f"{llama_cpp.__version__} {context.layout}".encode()
        return hashlib.sha256(self.fingerprint + version + array("i", tokens).tobytes()).digest()

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()[:40]}{ENDING}"


def fingerprint(model: Path) -> bytes:
    """A short sum of a model file: its size, and samples from all over it. Reading all of it would cost seconds."""
    found = hashlib.sha256()
    size = model.stat().st_size
    found.update(size.to_bytes(8, "little"))
    with model.open("rb") as file:
        for index in range(_SAMPLES):
            file.seek(max(0, size - _SAMPLE) * index // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
    return found.digest()


def _write(path: Path, head: bytes, state: bytes) -> None:
    handle, unfinished = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head)
            file.write(state)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _shrink(folder: Path, most: int) -> None:
    """Delete what was used longest ago until the rest fits, and what an interrupted process left unfinished."""
    for path in folder.glob("*.tmp"):
        with contextlib.suppress(OSError):  # another process may be quicker
            if time.time() - path.stat().st_mtime > _STALE:
                path.unlink()
    kept = []
    for path in folder.glob(f"*{ENDING}"):
        with contextlib.suppress(OSError):
            info = path.stat()
            kept.append((info.st_mtime, info.st_size, path))
    total = sum(size for _used, size, _path in kept)
    for _used, size, path in sorted(kept):
        if total <= most:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
