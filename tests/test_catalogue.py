from __future__ import annotations

import doctest
import re
from itertools import chain

import pytest

import textcall.catalogue
from textcall.catalogue import CATALOGUE, by_file, find, megabytes
from textcall.download import sha256
from textcall.resolve import packaged_file


def test_examples() -> None:
    results = doctest.testmod(textcall.catalogue)
    assert results.attempted
    assert not results.failed


def test_names_are_unique() -> None:
    names = list(chain.from_iterable((model.name, *model.aliases) for model in CATALOGUE))
    files = [model.file for model in CATALOGUE]
    assert len(set(names)) == len(names)
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.name)
def test_entries_are_whole(model) -> None:
    assert re.fullmatch("[0-9a-f]{64}", model.sha256)
    assert model.file.endswith(".gguf")
    assert model.licence == "Apache-2.0"
    assert (model.inside is None) == (model.url is not None) == (model.packages is not None)
    if model.packages:
        parts = model.packages
        assert (parts.count - 1) * parts.part_size < model.size <= parts.count * parts.part_size
        assert parts.requirement(parts.count).endswith(f"{parts.count}=={parts.version}")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("1.5b", "qwen2.5-coder-1.5b"),
        (" 0.5B ", "qwen2.5-coder-0.5b"),
        ("SmolLM2", "smollm2"),
        ("qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"),
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", None),
        ("qwen", None),
        ("", None),
    ],
)
def test_find(name: str, found: str | None) -> None:
    model = find(name)
    assert (model.name if model else None) == found


def test_by_file_is_exact() -> None:
    for model in CATALOGUE:
        assert by_file(model.file) is model
    assert by_file("smollm2") is None
    assert by_file(CATALOGUE[0].file.upper()) is None


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999_999, "999,999 bytes"), (1_117_320_768, "1,117 MB"), (98_362_432, "98 MB")]
)
def test_megabytes(size: int, text: str) -> None:
    assert megabytes(size) == text


@pytest.mark.model
def test_the_packaged_model_is_the_one_described() -> None:
    smollm2 = find("smollm2")
    assert smollm2 is not None
    path = packaged_file(smollm2)
    assert path is not None, 'pip install "textcall[demo]"'
    assert (path.stat().st_size, sha256(path)) == (smollm2.size, smollm2.sha256)
