"""The script that `make` installs llama-cpp-python with."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "build_progress.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("build_progress", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


LINES = [
    "Collecting llama-cpp-python>=0.3.36\n",
    "  Downloading llama_cpp_python-0.3.36.tar.gz (76.6 MB)\n",
    "  Installing build dependencies: started\n",
    "  Installing collected packages: ninja\n",
    "  Installing build dependencies: finished with status 'done'\n",
    "  Building wheel for llama-cpp-python (pyproject.toml): started\n",
    *(f"  [{number}/40] c++ -o part{number}.o\n" for number in range(1, 41)),
    "  Building wheel for llama-cpp-python (pyproject.toml): finished with status 'done'\n",
    "Installing collected packages: llama-cpp-python\n",
]


def test_elsewhere_a_line_for_each_tenth(script) -> None:
    out, log = io.StringIO(), io.StringIO()
    script.show(LINES, log, script.Display(out))
    words = [line.split(" ", 4)[4] for line in out.getvalue().splitlines()]
    assert words[:3] == ["downloading", "getting the build tools", "configuring"]
    assert words[3] == "compiling [--------------------] 1/40"
    assert words[-2:] == ["compiling [####################] 40/40", "installing"]
    assert len(words) == 3 + 11 + 1
    assert log.getvalue() == "".join(LINES)


def test_on_a_terminal_one_line_redrawn(script) -> None:
    out = Terminal()
    display = script.Display(out)
    script.show(LINES, io.StringIO(), display)
    display.end()
    assert "\n" not in out.getvalue()
    assert out.getvalue().count("\r") == 4 + 40 + 1
    assert "compiling [##########----------] 20/40" in out.getvalue()


def test_make_without_ninja_counts_in_percent(script) -> None:
    out = io.StringIO()
    script.show(["[ 50%] Building C object\n", "  [100%] Linking\n"], io.StringIO(), script.Display(out))
    assert [line.rpartition(" ")[2] for line in out.getvalue().splitlines()] == ["50/100", "100/100"]


def run(tmp_path: Path, requirement: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The script as make runs it, with a pip that reaches nothing and an empty cache of its own."""
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(f'[project]\ndependencies = ["regex", "{requirement}"]\n')
    offline = {"PIP_NO_INDEX": "1", "PIP_CACHE_DIR": str(tmp_path / "cache"), "PIP_FIND_LINKS": str(tmp_path)}
    command = [sys.executable, str(SCRIPT), str(pyproject), str(tmp_path / "logs" / "build.log")]
    return subprocess.run(
        command, env=os.environ | offline | environ, capture_output=True, text=True, check=False, timeout=60
    )


def test_what_is_installed_already_needs_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "llama-cpp-python>=0.3.36")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "logs").exists()


def test_without_a_compiler_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "llama-cpp-python>=999", CC="no-such-compiler -O2")
    assert done.returncode == 1
    assert done.stderr == (
        "llama-cpp-python has to be compiled, and there is no C compiler (Debian: apt install g++).\n"
    )


def test_a_failure_shows_the_end_of_the_log_and_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "llama-cpp-python>=999", CC=sys.executable, CXX=sys.executable)
    assert done.returncode == 1
    assert "is compiled now: about 5 minutes" in done.stderr
    assert "No matching distribution found for llama-cpp-python>=999" in done.stderr
    assert done.stderr.endswith(f"the whole log: {tmp_path / 'logs' / 'build.log'}\n")
    assert "No matching distribution" in (tmp_path / "logs" / "build.log").read_text()
