"""Engines: messages in, text out."""

from __future__ import annotations

import os

# Both are read when llama.cpp's library is loaded, which the modules of this room do.
#
# Without the first, a native abort starts a debugger to print a backtrace.
os.environ.setdefault("GGML_NO_BACKTRACE", "1")
# Threads that wait for one another give the processor away instead of turning in circles. By default one other busy
# process makes a token take many times as long: 507 ms against 29 ms on two cores shared with three processes (SmolLM2,
# mean of 60), because a thread that is not running keeps the others spinning for it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
