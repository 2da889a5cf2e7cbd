"""The real models. SmolLM2 is there wherever the tests are installed; the 1.5B only where its file is in models/."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from textcall.engines.llama import LlamaEngine
from textcall.errors import ModelError
from textcall.resolve import resolve_model


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing that a test or a process that it starts evaluates is kept in the user's own folder."""
    os.environ["TEXTCALL_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def smollm2() -> Iterator[LlamaEngine]:
    engine = LlamaEngine(resolve_model("smollm2").path, n_ctx=2048, threads=1)  # other tests run beside
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def qwen() -> Iterator[LlamaEngine]:
    try:
        path = resolve_model("qwen2.5-coder-1.5b").path
    except ModelError as error:
        pytest.skip(f"the 1.5B is not here: {error}")
    engine = LlamaEngine(path, n_ctx=4096)
    yield engine
    engine.close()
