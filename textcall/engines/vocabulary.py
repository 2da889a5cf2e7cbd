"""A model's vocabulary: text to tokens, tokens to bytes, and two indexes that the token loop looks things up in."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

import llama_cpp
import numpy as np
import numpy.typing as npt

from textcall.errors import EngineError

Ids = npt.NDArray[np.int32]


class Model:
    """The weights in memory: the owner of the C object. Whoever uses it holds it, so that it outlives every use."""

    def __init__(self, pointer: llama_cpp.llama_model_p) -> None:
        self._pointer = pointer
        self._lock = threading.RLock()  # one that a signal handler may enter again, so that it can close the model
        self._uses = 0
        self._closed = False

    @property
    def pointer(self) -> llama_cpp.llama_model_p:
        """The C object, for one who `held` it or closes it himself. Raises EngineError where the model is closed."""
        if self._closed:
            raise EngineError("the model is closed")
        return self._pointer

    @contextlib.contextmanager
    def held(self) -> Iterator[llama_cpp.llama_model_p]:
        """The C object, which is not freed meanwhile. Raises EngineError where the model is closed."""
        with self._lock:
            self._uses += 1
        try:
            yield self.pointer
        finally:
            with self._lock:
                self._uses -= 1
                self._free_if_unused()

    def close(self) -> None:
        """Free the memory, as soon as nobody holds it. Calling it twice does nothing."""
        with self._lock:
            self._closed = True
            self._free_if_unused()

    def _free_if_unused(self) -> None:
        if self._closed and self._uses == 0 and self._pointer is not None:
            pointer, self._pointer = self._pointer, None
            llama_cpp.llama_model_free(pointer)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be half gone
            self._uses = 0  # nobody is left who could hold it
            self.close()


class Vocabulary:
    """The vocabulary of a loaded model. Keeps no text, only the pieces of the tokens."""

    def __init__(self, model: Model) -> None:
        self._model = model
        with self._held() as vocab:
            self.size: int = llama_cpp.llama_vocab_n_tokens(vocab)
            self.bos: int = llama_cpp.llama_vocab_bos(vocab)
            self.eos: int = llama_cpp.llama_vocab_eos(vocab)
            self.adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(vocab))

    @property
    def pointer(self) -> llama_cpp.llama_vocab_p:
        """The C object, part of the model's. Raises EngineError where the model is closed."""
        return llama_cpp.llama_model_get_vocab(self._model.pointer)

    @contextlib.contextmanager
    def _held(self) -> Iterator[llama_cpp.llama_vocab_p]:
        """The C object, which another thread cannot free meanwhile."""
        with self._model.held() as model:
            yield llama_cpp.llama_model_get_vocab(model)

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of `text`. special: whether text such as `<|im_end|>` becomes the control token of that name."""
        data = text.encode("utf-8", errors="replace")
        if not data:
            return []
        size = len(data) + 8
        tokens = (llama_cpp.llama_token * size)()
        with self._held() as vocab:
            count = llama_cpp.llama_tokenize(vocab, data, len(data), tokens, size, False, special)
        if count < 0:
            raise EngineError(f"llama.cpp could not tokenize a text of {len(data)} bytes")
        return list(tokens[:count])

    def is_end(self, token: int) -> bool:
        """Whether `token` ends a reply."""
        return token in self.ends

    def piece(self, token: int) -> bytes:
        """The bytes of `token`; b"" for control tokens."""
        return self.pieces[token]

    def written(self, token: int) -> str:
        """The text of `token`, the names of control tokens such as `<|im_end|>` included."""
        with self._held() as vocab:
            return _piece(vocab, token, special=True).decode("utf-8", errors="replace")

    @cached_property
    def ends(self) -> frozenset[int]:
        """The tokens that end a reply."""
        with self._held() as vocab:
            return frozenset(t for t in range(self.size) if llama_cpp.llama_vocab_is_eog(vocab, t))

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of every token, by id."""
        with self._held() as vocab:
            return [_piece(vocab, token) for token in range(self.size)]

    @cached_property
    def longest(self) -> int:
        """The length of the longest piece, in bytes."""
        return max(map(len, self.pieces))

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted((piece, token) for token, piece in enumerate(self.pieces) if piece)

    @cached_property
    def _by_first_byte(self) -> dict[int, Ids]:
        lists: dict[int, list[int]] = {}
        for piece, token in self._sorted:
            lists.setdefault(piece[0], []).append(token)
        return {first: np.array(tokens, dtype=np.int32) for first, tokens in lists.items()}

    def longer(self, piece: bytes) -> Iterator[tuple[bytes, int]]:
        """The tokens whose bytes begin with `piece` and go on."""
        start = bisect_left(self._sorted, (piece, -1))
        for index in range(start, len(self._sorted)):
            other, token = self._sorted[index]
            if not other.startswith(piece):
                return
            if len(other) > len(piece):
                yield other, token

    def beginning(self, first_bytes: frozenset[int]) -> Ids:
        """The tokens whose first byte is one of `first_bytes`."""
        found = [self._by_first_byte[byte] for byte in sorted(first_bytes) if byte in self._by_first_byte]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int32)


def _piece(vocab: llama_cpp.llama_vocab_p, token: int, *, special: bool = False) -> bytes:
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = llama_cpp.llama_token_to_piece(vocab, token, buffer, size, 0, special)
        if length >= 0:
            return buffer.raw[:length]
        size = -length
