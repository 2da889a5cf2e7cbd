"""The real models. SmolLM2 is there wherever the tests are installed; the 1.5B only where its file is in models/."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from textcall.engines.llama import LlamaEngine
from textcall.errors import ModelError
from textcall.resolve import resolve_model


@pytest.fixture(scope="session")
def smollm2() -> Iterator[LlamaEngine]:
    engine = LlamaEngine(resolve_model("smollm2").path, n_ctx=2048)
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
