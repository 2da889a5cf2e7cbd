"""Install llama-cpp-python, showing how far its compilation is.

    python scripts/build_progress.py pyproject.toml LOG

Runs `python -m pip install -v …` as a child with the version that the project asks for, keeps its output in LOG,
shows one redrawn line on a terminal, or a line for each tenth elsewhere. Says beforehand what will happen, and stops
with one line where a compiler would be needed and is not there. On failure the end of LOG is shown. Exits as pip
does. Standard library only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] ")  # ninja's status
PERCENT = re.compile(r"^\s*\[ *(\d+)%\] ")  # that of make, where there is no ninja
STAGES = (  # what pip says -> what is told
    (re.compile(r" *Downloading llama_cpp_python-"), "downloading"),
    (re.compile(r" *Installing build dependencies: started"), "getting the build tools"),
    (re.compile(r" *Building wheel for llama-cpp-python .*: started"), "configuring"),
    (re.compile(r"Installing collected packages: "), "installing"),
)
PACKAGE = "llama-cpp-python"
PIP = (sys.executable, "-m", "pip")
TAIL = 25  # lines of the log that are shown on failure


class Display:
    """What is shown: `stage` for a word, `step` for a count of compiled files."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.live = out.isatty()
        self.began = time.monotonic()
        self.tenth = -1

    def stage(self, words: str) -> None:
        self._show(words, keep=True)

    def step(self, done: int, total: int) -> None:
        tenth = 10 * done // total
        bar = "#" * (2 * tenth) + "-" * (20 - 2 * tenth)
        self._show(f"compiling [{bar}] {done}/{total}", keep=tenth > self.tenth)
        self.tenth = max(tenth, self.tenth)

    def end(self) -> None:
        if self.live:
            self.out.write("\r\x1b[K")
            self.out.flush()

    def _show(self, words: str, *, keep: bool) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        line = f"  llama-cpp-python {minutes}:{seconds:02d} {words}"
        if self.live:
            self.out.write(f"\r\x1b[K{line}")
        elif keep:
            self.out.write(f"{line}\n")
        self.out.flush()


def show(lines: Iterable[str], log: TextIO, display: Display) -> list[str]:
    """Copy `lines` into the log, tell the display what they mean, and return the last of them."""
    last: deque[str] = deque(maxlen=TAIL)
    for line in lines:
        log.write(line)
        log.flush()
        last.append(line)
        if step := STEP.match(line):
            display.step(int(step[1]), int(step[2]))
        elif percent := PERCENT.match(line):
            display.step(int(percent[1]), 100)
        else:
            for pattern, told in STAGES:
                if pattern.match(line):
                    display.stage(told)
    return list(last)


def is_cached() -> bool:
    """Whether pip keeps a llama-cpp-python wheel that it built before."""
    listed = subprocess.run([*PIP, "cache", "list", "llama_cpp_python"], capture_output=True, text=True, check=False)
    return "llama_cpp_python-" in listed.stdout


def is_installed(requirement: str) -> bool:
    """Whether pip would have nothing to do; asked without any network."""
    command = [*PIP, "install", "--dry-run", "--quiet", "--no-index", "--report", "-", requirement]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and '"install": []' in answer.stdout


def missing_compiler() -> str:
    """The compiler that is not there ('' where both are)."""
    for variable, language, names in (("CC", "C", ("cc", "gcc", "clang")), ("CXX", "C++", ("c++", "g++", "clang++"))):
        own = shlex.split(os.environ.get(variable, ""))
        if not any(shutil.which(name) for name in (own[:1] or names)):
            return language
    return ""


def install(log_path: Path, requirement: str, out: TextIO) -> int:
    """Run pip under the display and return its exit status."""
    display = Display(out)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    command = [*PIP, "install", "-v", requirement]
    with (
        log_path.open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        try:
            last = show(process.stdout, log, display)
        except KeyboardInterrupt:
            process.terminate()
            display.end()
            out.write("stopped; nothing was installed.\n")
            return 130
    display.end()
    if process.returncode:
        out.writelines(last)
        out.write(f"llama-cpp-python could not be installed; the whole log: {log_path}\n")
    return process.returncode


def wanted(pyproject: Path) -> str:
    """The project's own requirement of llama-cpp-python."""
    dependencies: list[str] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    return next(line for line in dependencies if line.startswith(PACKAGE))


def main(pyproject: str, log: str) -> int:
    out = sys.stderr
    requirement = wanted(Path(pyproject))
    if is_installed(requirement):
        return 0
    if is_cached():
        out.write("llama-cpp-python: pip has it built already.\n")
    elif language := missing_compiler():
        out.write(
            f"llama-cpp-python has to be compiled, and there is no {language} compiler (Debian: apt install g++).\n"
        )
        return 1
    else:
        out.write("llama-cpp-python is compiled now: about 5 minutes on two cores, once; pip keeps the result.\n")
    return install(Path(log), requirement, out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: build_progress.py PYPROJECT LOG")
    sys.exit(main(*sys.argv[1:]))
