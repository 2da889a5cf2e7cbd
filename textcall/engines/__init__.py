"""Engines: messages in, text out."""

from __future__ import annotations

import os

# Both are read when llama.cpp's library is loaded, which the modules of this room do.
#
# Without the first, a native abort starts a debugger to print a backtrace.
os.environ.setdefault("GGML_NO_BACKTRACE", "1")
# Threads that wait for one another turn in circles for a moment, then give the processor away. By default gcc's OpenMP
# lets them turn for milliseconds, so that one other busy process makes a token take many times as long: a thread that
# does not run keeps the others spinning for it. SmolLM2 on two cores, mean of 25 tokens, idle / beside three busy
# processes: by default 13 / 101 ms, giving way at once (OMP_WAIT_POLICY=passive) 20 / 35, with 1000 turns 12 / 49.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
