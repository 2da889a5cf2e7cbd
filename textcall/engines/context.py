"""A loaded GGUF model with one context: the thin layer over llama.cpp's C interface.

Everything that can end the process in C is kept out of reach here: sizes are checked before `llama_decode`, a null
pointer is an exception, and llama.cpp's log is read instead of printed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import llama_cpp
import numpy as np
import numpy.typing as npt

from textcall.engines.vocabulary import Model, Vocabulary
from textcall.errors import ContextOverflow, EngineError, ModelFileError

Logits = npt.NDArray[np.float32]

_FIRST = 16  # tokens


class _Log(threading.local):
    """What llama.cpp said, by thread: the reason of a failure must not be a line of another engine."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=200)


_log = _Log()


def _keep_log(_level: int, text: bytes, _data: ctypes.c_void_p) -> None:
    _log.lines.append(text.decode("utf-8", errors="replace"))


_log_callback = llama_cpp.llama_log_callback(_keep_log)  # kept alive: C holds the pointer
_ready = threading.Lock()


def _start_backend() -> None:
    with _ready:
        llama_cpp.llama_log_set(_log_callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()


class Context:
    """One model, one context, one thread at a time (`in_use`).

    tokens: what the context holds, in order; `decode` appends to it, `keep` cuts it. layout: how `state` is laid out.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_ctx: int = 8192,
        threads: int | None = None,
        gpu_layers: int = -1,
        vocab_only: bool = False,
        progress: Callable[[float], None] = lambda _fraction: None,
    ) -> None:
        _check_file(path)
        self.path = path
        self.tokens: list[int] = []
        self._lock = threading.RLock()  # one that a signal handler may enter again, so that it can close the model
        self._user: int | None = None  # the thread that generates
        self._closed = False
        self._ctx: llama_cpp.llama_context_p | None = None
        with contextlib.ExitStack() as undo:
            with _noted_interrupts() as interrupts:
                _start_backend()
                self._model = Model(_load(path, gpu_layers, vocab_only, progress, interrupts))
                undo.callback(self.close)
                self.vocab = Vocabulary(self._model)
                if not vocab_only:
                    self._make(n_ctx, threads or _threads())
            undo.pop_all()

    def _make(self, n_ctx: int, threads: int) -> None:
        trained = llama_cpp.llama_model_n_ctx_train(self._model.pointer)
        params = _params(min(n_ctx, trained) if trained > 0 else n_ctx, threads)
        self._ctx = _open(self._model.pointer, params)
        self.threads = threads
        self.layout = f"k{params.type_k} v{params.type_v} flash{params.flash_attn_type}"
        self.n_ctx: int = llama_cpp.llama_n_ctx(self._ctx)
        self._memory = llama_cpp.llama_get_memory(self._ctx)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Have the context alone, as a generation must: other threads wait.

        Raises EngineError where this very thread has it already, which is a listener that calls the engine: what it
        evaluated would stand in the middle of the reply that it listens to.
        """
        if self._user == threading.get_ident():
            raise EngineError("the engine is in use: a listener must not call it")
        with self._lock:
            self._user = threading.get_ident()
            try:
                yield
            finally:
                self._user = None
                if self._closed:
                    self._free()

    def close(self) -> None:
        """Free the model's memory. Calling it twice does nothing.

        Another thread's generation is waited for. The generation of this very thread, where a listener or a signal
        handler closes, ends with EngineError before it evaluates anything more, and the memory is freed then.
        """
        if self._user == threading.get_ident():
            self._closed = True
            return
        with self._lock:
            self._closed = True
            self._free()

    def _free(self) -> None:
        if self._ctx is not None:
            pointer, self._ctx = self._ctx, None
            llama_cpp.llama_free(pointer)
        self._model.close()

    @property
    def _open_ctx(self) -> llama_cpp.llama_context_p:
        """The C object. Raises EngineError where it is closed, or about to be."""
        if self._closed or self._ctx is None:
            raise EngineError("the model is closed")
        return self._ctx

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be half gone
            if self._ctx is not None:  # before the model, which goes when nobody holds it any more
                llama_cpp.llama_free(self._ctx)
                self._ctx = None

    def metadata(self, key: str) -> str | None:
        """The GGUF metadata value of `key` as text, or None."""
        with self._model.held() as model:
            size = llama_cpp.llama_model_meta_val_str(model, key.encode(), None, 0)
            if size < 0:
                return None
            buffer = ctypes.create_string_buffer(size + 1)
            llama_cpp.llama_model_meta_val_str(model, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", errors="replace")

    def chat_template(self) -> str | None:
        """The GGUF's Jinja chat template, or None for a base model."""
        with self._model.held() as model:
            text = llama_cpp.llama_model_chat_template(model, None)
        return text.decode("utf-8", errors="replace") if text else None

    def description(self) -> str:
        """Architecture, number of weights and quantisation: `qwen2, 1.54 billion weights, Q4_K - Medium`."""
        buffer = ctypes.create_string_buffer(256)
        with self._model.held() as model:
            llama_cpp.llama_model_desc(model, buffer, 256)
            weights = llama_cpp.llama_model_n_params(model)
        _architecture, _guessed_size, *quantisation = buffer.value.decode("utf-8", errors="replace").split(" ")
        size = f"{weights / 1e9:.3g} billion" if weights >= 1e9 else f"{weights / 1e6:.0f} million"
        return f"{self.metadata('general.architecture') or 'unknown'}, {size} weights, {' '.join(quantisation)}"

    def reuse(self, tokens: Sequence[int]) -> int:
        """Keep the longest common beginning of the context and `tokens`; return its length.

        One token at least is always left to decode, so that there are logits to sample from.
        """
        limit = min(len(self.tokens), len(tokens) - 1)
        same = next((i for i in range(limit) if self.tokens[i] != tokens[i]), max(limit, 0))
        return self.keep(same)

    def keep(self, count: int) -> int:
        """Cut the context to its first `count` tokens; return what is left (0 where the model cannot be cut)."""
        # always, not only where `tokens` is longer: an interrupted `decode` may have left cells unknown to it
        self._open_ctx  # noqa: B018  raises where closed
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, count, -1):
            count = 0  # recurrent and sliding-window models forget all or nothing
            llama_cpp.llama_memory_clear(self._memory, True)
        del self.tokens[count:]
        return len(self.tokens)

    def decode(self, tokens: Sequence[int], batch: int = 64) -> Iterator[int]:
        """Evaluate `tokens` after what the context holds, `batch` at a time; yields how many are done.

        Raises ContextOverflow before anything is evaluated, EngineError where llama.cpp fails.
        """
        if len(self.tokens) + len(tokens) > self.n_ctx:
            raise ContextOverflow(
                f"the conversation needs {len(self.tokens) + len(tokens)} tokens, the context holds {self.n_ctx}"
            )
        for start, part in _pieces(tokens, batch):
            array = (llama_cpp.llama_token * len(part))(*part)
            _log.lines.clear()
            status = llama_cpp.llama_decode(self._open_ctx, llama_cpp.llama_batch_get_one(array, len(part)))
            if status != 0:
                reason = _last_error()
                self.keep(0)
                raise EngineError(f"llama.cpp failed to evaluate {len(part)} tokens (status {status}): {reason}")
            self.tokens.extend(part)
            yield start + len(part)

    def state(self) -> bytes:
        """What llama.cpp keeps of the tokens so far: for a context of the same model, library and `layout`."""
        size = llama_cpp.llama_state_seq_get_size(self._open_ctx, 0)
        buffer = (ctypes.c_uint8 * size)()
        written = llama_cpp.llama_state_seq_get_data(self._open_ctx, buffer, size, 0)
        return bytes(memoryview(buffer)[:written])

    def set_state(self, state: bytes | memoryview, tokens: Sequence[int]) -> None:
        """Take over a `state`, which is that of `tokens`. Raises EngineError, with nothing held, where it does not fit.

        There are no `logits` after it: decode a token first.
        """
        self.keep(0)
        size = len(state)
        buffer = (ctypes.c_uint8 * size).from_buffer_copy(state)
        if len(tokens) > self.n_ctx:
            raise EngineError(f"a kept state of {len(tokens)} tokens does not fit: the context holds {self.n_ctx}")
        _log.lines.clear()
        if llama_cpp.llama_state_seq_set_data(self._open_ctx, buffer, size, 0) == 0:
            reason = _last_error()
            self.keep(0)
            raise EngineError(f"llama.cpp refused a kept state of {len(tokens)} tokens: {reason}")
        self.tokens.extend(tokens)

    def logits(self) -> Logits:
        """The scores of the next token, shape (vocab.size,). A view: valid until the next `decode`."""
        pointer = llama_cpp.llama_get_logits_ith(self._open_ctx, -1)
        if not pointer:
            raise EngineError("llama.cpp has no scores for the last token")
        return np.ctypeslib.as_array(pointer, shape=(self.vocab.size,))


def _pieces(tokens: Sequence[int], size: int) -> Iterator[tuple[int, Sequence[int]]]:
    """Where each piece begins, and the piece. The first of many is small: on a slow machine a bar should move soon."""
    start, length = 0, _FIRST if len(tokens) > size else size
    while start < len(tokens):
        yield start, tokens[start : start + length]
        start, length = start + length, size


def _threads() -> int:
    with contextlib.suppress(AttributeError):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, (os.cpu_count() or 2) // 2)


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from error
    if magic != b"GGUF":
        raise ModelFileError(f"{path}: not a GGUF file (it does not begin with 'GGUF')")


@contextlib.contextmanager
def _noted_interrupts() -> Iterator[list[BaseException]]:
    """While C code calls back, with its log too, Ctrl-C is noted and raised at the end.

    An exception cannot cross C: raised in a callback it would be lost. Whatever else is noted is raised at the end too.
    """
    noted: list[BaseException] = []
    before = signal.getsignal(signal.SIGINT)
    # only the main thread gets signals; and where no function of Python answers to Ctrl-C, none raises either
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield noted
        return
    signal.signal(signal.SIGINT, lambda *_args: noted.append(KeyboardInterrupt()))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            raise noted[0]


def _load(
    path: Path,
    gpu_layers: int,
    vocab_only: bool,
    progress: Callable[[float], None],
    interrupted: list[BaseException],
) -> llama_cpp.llama_model_p:

    def on_progress(fraction: float, _data: ctypes.c_void_p) -> bool:
        try:
            progress(fraction)
        except BaseException as error:  # an exception must not cross C; Ctrl-C stops the load  # noqa: BLE001
            interrupted.append(error)
        return not interrupted

    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = gpu_layers
    params.vocab_only = vocab_only
    callback = llama_cpp.llama_progress_callback(on_progress)
    params.progress_callback = callback
    _log.lines.clear()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if interrupted:
        if model:
            llama_cpp.llama_model_free(model)
        raise interrupted[0]
    if not model:
        raise ModelFileError(f"{path}: llama.cpp cannot load it: {_last_error()}")
    return model


def _params(n_ctx: int, threads: int) -> llama_cpp.llama_context_params:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = threads
    params.no_perf = True
    return params


def _open(model: llama_cpp.llama_model_p, params: llama_cpp.llama_context_params) -> llama_cpp.llama_context_p:
    _log.lines.clear()
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise EngineError(f"no context of {params.n_ctx} tokens could be made (out of memory?): {_last_error()}")
    return context


def _last_error() -> str:
    lines = [line.strip() for line in "".join(_log.lines).splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower() or "failed" in line.lower() or "corrupt" in line.lower()]
    return (wrong or lines or ["no reason given"])[0]
