"""Kept prompt states, with the real SmolLM2: the same text with and without, and nothing doubtful is ever used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from textcall.engines.base import Noticed, Sampling
from textcall.engines.llama import LlamaEngine
from textcall.engines.snapshot import MAGIC, WORTH, Snapshots, fingerprint
from textcall.messages import Message
from textcall.resolve import resolve_model

pytestmark = pytest.mark.model

SYSTEM = Message.system("You know the ferries of the isles. " + "The boat to Mull leaves Oban at nine. " * 6)
SHORT = Sampling(max_tokens=6)


class Machine:
    """SmolLM2 with a cache folder; `ask` forgets what is in memory first, as a new process would have to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = LlamaEngine(resolve_model("smollm2").path, n_ctx=1024, threads=1, cache=folder)
        self.notices: list[str] = []

    def ask(self, question: str = "When does the boat leave?", system: Message = SYSTEM) -> tuple[str, int]:
        self.engine.context.keep(0)
        self.notices = []
        messages = [system, Message.user(question)]
        generation = self.engine.generate(messages, sampling=SHORT, listener=self._listen)
        return generation.text, generation.usage.cached_tokens

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.kv"))

    def _listen(self, event: object) -> None:
        if isinstance(event, Noticed):
            self.notices.append(event.text)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("kv"))
    yield machine
    machine.engine.close()


@pytest.fixture
def machine(shared: Machine, tmp_path: Path) -> Machine:
    shared.folder = tmp_path / "cache"
    shared.engine._snapshots = Snapshots.of(shared.engine.path, shared.folder)
    return shared


def test_the_second_time_the_system_prompt_is_not_evaluated(machine: Machine) -> None:
    text, cached = machine.ask()
    assert cached == 0
    assert len(machine.files()) == 1
    again, cached = machine.ask()
    assert again == text
    assert cached > WORTH
    assert machine.notices == []


def test_another_question_uses_it_and_another_system_prompt_does_not(machine: Machine) -> None:
    machine.ask()
    assert machine.ask("Which port?")[1] > WORTH
    other = Message.system((SYSTEM.content or "").replace("Mull", "Skye"))
    assert machine.ask(system=other)[1] == 0
    assert len(machine.files()) == 2


def test_a_short_system_prompt_is_not_worth_a_file(machine: Machine) -> None:
    machine.ask(system=Message.system("Be short."))
    assert machine.files() == []


def test_what_is_damaged_is_said_and_not_used(machine: Machine) -> None:
    expected, _ = machine.ask()
    (path,) = machine.files()
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut": whole[:middle],
        "empty": b"",
        "one bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "another version": b"textcall kv 0\n" + whole[len(MAGIC) :],
        "longer": whole + b"x",
        "not ours": b"GGUF" * 1000,
    }
    for what, data in damaged.items():
        path.write_bytes(data)
        text, cached = machine.ask()
        assert (text, cached) == (expected, 0), what
        assert len(machine.notices) == 1, what
        assert "damaged" in machine.notices[0], what
        assert path.read_bytes() == whole, what  # written again


def test_a_file_under_the_name_of_another_is_not_used(machine: Machine) -> None:
    machine.ask()
    (first,) = machine.files()
    other = Message.system((SYSTEM.content or "").replace("nine", "noon"))
    expected, _ = machine.ask(system=other)
    second = next(path for path in machine.files() if path != first)
    second.write_bytes(first.read_bytes())
    assert machine.ask(system=other) == (expected, 0)
    assert len(machine.notices) == 1


def test_another_model_uses_no_state_of_this_one(machine: Machine) -> None:
    machine.ask()
    snapshots = machine.engine._snapshots
    assert snapshots is not None
    machine.engine._snapshots = Snapshots(machine.folder, b"another model")
    assert machine.ask()[1] == 0
    machine.engine._snapshots = snapshots
    assert machine.ask()[1] > WORTH


def test_a_state_that_llama_cpp_refuses_is_not_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, _ = machine.ask()
    monkeypatch.setattr(type(machine.engine.context), "state", lambda self: b"\x07" * 5000)
    (path,) = machine.files()
    path.unlink()
    machine.ask()  # writes a whole file with nonsense in it
    monkeypatch.undo()
    assert machine.ask() == (expected, 0)
    assert "does not fit" in machine.notices[0]


def test_the_folder_stays_small(machine: Machine) -> None:
    machine.ask()
    size = machine.files()[0].stat().st_size
    machine.engine._snapshots = Snapshots(machine.folder, b"m", most=2 * size + size // 2)
    systems = [Message.system((SYSTEM.content or "").replace("Mull", name)) for name in ("Coll", "Tiree", "Barra")]
    for age, system in enumerate(systems):
        machine.ask(system=system)
        for path in machine.files():
            os.utime(path, (time.time() - 50 + age, path.stat().st_mtime - 1))
    assert len(machine.files()) == 2
    assert machine.ask(system=systems[-1])[1] > WORTH
    assert machine.ask(system=systems[0])[1] == 0


def test_what_a_killed_process_left_is_cleared_away_later(machine: Machine) -> None:
    machine.folder.mkdir()
    old, new = machine.folder / "dead.tmp", machine.folder / "writing.tmp"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    machine.ask()
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("obstacle", ["a file in its place", "a folder with the snapshot's name"])
def test_a_folder_that_cannot_be_used_costs_one_line(machine: Machine, obstacle: str) -> None:
    expected, _ = machine.ask()
    (path,) = machine.files()
    path.unlink()
    if obstacle == "a file in its place":
        machine.folder.rmdir()
        machine.folder.write_text("not a folder")
    else:
        path.mkdir()
    assert machine.ask() == (expected, 0)
    assert machine.notices
    assert all(str(machine.folder) in notice for notice in machine.notices)
    assert not list(machine.folder.glob("*.tmp"))


def test_a_full_disk_leaves_nothing_half_written(machine: Machine) -> None:
    """A child process whose files may not grow beyond 1 MB stands for the full disk."""
    code = f"""
import resource, signal, sys
from pathlib import Path
from textcall.engines.base import Noticed, Sampling
from textcall.engines.llama import LlamaEngine
from textcall.messages import Message
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
engine = LlamaEngine({str(machine.engine.path)!r}, n_ctx=1024, cache=Path({str(machine.folder)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
seen = []
messages = [Message.system({SYSTEM.content!r}), Message.user("?")]
engine.generate(messages, sampling=Sampling(max_tokens=2), listener=seen.append)
print([event.text for event in seen if isinstance(event, Noticed)])
"""
    if sys.platform == "win32":
        pytest.skip("Windows has no limit of file sizes to set")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "nothing was kept" in done.stdout
    assert list(machine.folder.iterdir()) == []


def test_the_fingerprint_sees_every_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    data = bytearray(os.urandom(3_000_000))
    path.write_bytes(data)
    first = fingerprint(path)
    assert fingerprint(path) == first
    for place in (0, 1_000_000 // 3, len(data) - 1):
        changed = bytearray(data)
        changed[place : place + 60_000] = bytes(len(changed[place : place + 60_000]))
        path.write_bytes(changed)
        assert fingerprint(path) != first
    path.write_bytes(data[:-1])
    assert fingerprint(path) != first
    path.write_bytes(b"tiny")
    assert fingerprint(path)
