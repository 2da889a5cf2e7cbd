"""Running a command as a user does: a real process, with or without a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def environment(**environ: str) -> dict[str, str]:
    return {**os.environ, "TEXTCALL_MODEL": "smollm2", "COLUMNS": "200", **environ}


def textcall(*arguments: str, cwd: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "textcall", *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, text=True, timeout=120, env=environment(**environ)
    )


def at_a_terminal(
    *arguments: str, cwd: Path, answers: Sequence[tuple[str, str]] = (), seconds: float = 120
) -> tuple[int, str]:
    """Exit code and all that a terminal shows. answers: what is typed once a text is seen, in order."""
    command = [sys.executable, "-m", "textcall", *arguments]
    terminal, child = pty.openpty()
    with subprocess.Popen(command, cwd=cwd, stdin=child, stdout=child, stderr=child, env=environment()) as process:
        os.close(child)
        seen, asked, deadline = "", list(answers), time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):  # the child has closed its end
                data = os.read(terminal, 65536)
                seen += data.decode("utf-8", errors="replace")
                if asked and asked[0][0] in seen:
                    os.write(terminal, asked.pop(0)[1].encode())
                    seen = seen + "⏎"
                continue
            break
        os.close(terminal)
        code = process.wait(timeout=20)
    return code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
