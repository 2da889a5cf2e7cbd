from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textcall.errors import SchemaError, ToolsError
from textcall.load import load_tools

TOOL = "from textcall import tool\n@tool\ndef f(x: int) -> int:\n    'F.'\n    return x\n"
SECOND = "@tool\ndef g() -> str:\n    return 'g'\n"
FILES: dict[str, str | bytes] = {
    "good.py": TOOL + SECOND,
    "listed.py": TOOL + "def h(a: int) -> int:\n    return -a\nTOOLS = [h, f]\n",
    "public.py": TOOL + SECOND + "__all__ = ['g']\n",
    "borrowed.py": "from good import f\nfrom good import f as again\n",
    "later.py": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    + TOOL.replace("int)", "P)")
    .replace("@tool", "@dataclass\nclass P:\n    n: int\n@tool")
    .replace("return x", "return x.n"),
    "moves.py": "import os, sys\nsys.path.clear()\n" + TOOL,
    "one.json": '[{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}, {"name": "b"}]',
    "wrapped.json": '\ufeff{"tools": [{"name": "a"}]}',
    # failures
    "syntax.py": "x = 1\ndef f(:\n",
    "nul.py": b"x = 1\0\n",
    "latin.py": b"x = '\xff'\n",
    "brackets.py": "(" * 1000,
    "no_module.py": "\nimport textcall_no_such_module\n",
    "no_name.py": "\n\nfrom json import no_such_name\n",
    "divides.py": "\n\n1 / 0\n",
    "leaves.py": "import sys\nsys.exit(3)\n",
    "own_base.py": "class E(BaseException):\n    pass\nraise E('x')\n",
    "lines.py": "raise ValueError('a\\n\\nb')\n",
    "silent.py": "assert 0\n",
    "mute.py": "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E\n",
    "half.py": "raise ValueError('\\ud800')\n",
    "endless.py": "def f():\n    f()\nf()\n",
    "sibling.py": "\nimport divides\n",
    "sibling_syntax.py": "\nimport syntax\n",
    "evaluates.py": "\neval('(')\n",
    "positional.py": "\nfrom textcall import tool\n@tool\ndef f(*a):\n    pass\n",
    "unknown_type.py": "from __future__ import annotations\n" + TOOL.replace("int)", "Nope)"),
    "own_error.py": "from textcall.errors import ToolsError\nclass E(ToolsError):\n    def __init__(self, a, b):\n"
    "        super().__init__(a)\nraise E('mine', 2)\n",
    "empty.py": "",
    "functions.py": "def f(x):\n    pass\n",
    "lazy.py": "def __getattr__(name):\n    raise RuntimeError(name)\n",
    "twice.py": TOOL + "@tool(name='f')\ndef g():\n    pass\n",
    "number.py": "TOOLS = 5\n",
    "numbers.py": "TOOLS = [5]\n",
    "cut.json": '[\n{"name": ',
    "deep.json": "[" * 100_000,
    "bytes.json": b"\xff\xfe",
    "nan.json": '[{"name": "a", "parameters": {"default": NaN}}]',
    "scalar.json": "5",
    "none.json": "[]",
    "entry.json": "[5]",
    "name.json": '[{"name": "a b"}]',
    "name_type.json": '[{"name": 5}]',
    "description.json": '[{"name": "a", "description": 5}]',
    "twice.json": '[{"name": "a"}, {"name": "a"}]',
    "schema.json": '[{"name": "a", "parameters": {"type": "strin"}}]',
    "schema_type.json": '[{"name": "a", "parameters": 5}]',
    "schema_kind.json": '[{"name": "a", "parameters": {"type": "array"}}]',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files in the working directory; what they import is forgotten afterwards."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.json").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in FILES:
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    before = set(sys.modules)
    importlib.invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


GOOD = [
    ("good.py", ["f", "g"]),
    ("./good.py", ["f", "g"]),
    ("good.py:", ["f", "g"]),
    ("good.py:g", ["g"]),
    ("good", ["f", "g"]),
    ("good:f", ["f"]),
    ("listed.py", ["h", "f"]),
    ("public.py", ["g"]),
    ("borrowed.py", ["f"]),
    ("later.py", ["f"]),
    ("moves.py", ["f"]),
    ("one.json", ["a", "b"]),
    ("one.json:b", ["b"]),
    ("wrapped.json", ["a"]),
    ("textcall.toolbox:calculator", ["calculator"]),
]


@pytest.mark.parametrize(("spec", "names"), GOOD)
def test_loaded(folder: Path, spec: str, names: list[str]) -> None:
    assert list(load_tools(spec).names) == names


def test_an_absolute_path_with_a_colon_in_it(folder: Path) -> None:
    path = folder / "a:b.py"
    path.write_text(TOOL)
    assert load_tools(str(path)).names == load_tools(f"{path}:f").names == ("f",)


def test_the_tools_run(folder: Path) -> None:
    assert load_tools("good.py")[0].call({"x": 5}) == 5
    assert load_tools("later.py")[0].call({"x": {"n": 7}}) == 7


def test_a_tool_of_a_json_file_has_no_function(folder: Path) -> None:
    with pytest.raises(ToolsError, match="the tool 'a' has no function"):
        load_tools("one.json")[0].call({})


def test_two_files_of_one_name_stay_apart(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "good.py").write_text(TOOL.replace("return x", "return -x"))
    first, second = load_tools("good.py"), load_tools("other/good.py")
    assert (first[0].call({"x": 1}), second[0].call({"x": 1})) == (1, -1)
    modules = {sys.modules[tools[0].function.__module__] for tools in (first, second) if tools[0].function}
    assert len(modules) == 2


def test_the_path_is_as_it_was(folder: Path) -> None:
    before = list(sys.path)
    load_tools("good.py")
    load_tools("good")
    with pytest.raises(ToolsError):
        load_tools("divides.py")
    assert sys.path == before


BAD = [
    ("missing.py", "missing.py: there is no such file"),
    ("missing.json", "missing.json: cannot be read: No such file or directory"),
    ("folder.py", "folder.py: is a folder"),
    ("folder.json", "folder.json: cannot be read: Is a directory"),
    ("no.such.module", "no.such.module: there is no module 'no'"),
    ("good.py:h", "good.py: there is no tool 'h'; there are f, g"),
    ("one.json:c", "one.json: there is no tool 'c'; there are a, b"),
    ("json", "json: there are no tools in it"),
    ("", "neither a .py file, a .json file, nor a module: ''"),
    (":f", "neither a .py file, a .json file, nor a module"),
    ("..", "neither a .py file, a .json file, nor a module"),
    ("two words", "neither a .py file, a .json file, nor a module"),
    ("C:\\missing.py", "C:\\missing.py: there is no such file"),
    ("\0.py", "cannot be the name of a file: '\\x00.py'"),
    ("\ud800.json", "cannot be the name of a file: '\\ud800.json'"),
    ("a" * 5000 + ".py", "cannot be the name of a file"),
    ("syntax.py", "syntax.py:2: invalid syntax"),
    ("syntax", "syntax.py:2: invalid syntax"),
    ("nul.py", "nul.py: source code string cannot contain null bytes"),
    ("latin.py", "latin.py:1: (unicode error)"),
    ("brackets.py", "brackets.py:1: "),
    ("no_module.py", "no_module.py:2: there is no module 'textcall_no_such_module'"),
    ("no_name.py", "no_name.py:3: ImportError: cannot import name 'no_such_name'"),
    ("divides.py", "divides.py:3: ZeroDivisionError: division by zero"),
    ("divides", "divides.py:3: ZeroDivisionError: division by zero"),
    ("leaves.py", "leaves.py:2: SystemExit: 3"),
    ("own_base.py", "own_base.py:3: E: x"),
    ("lines.py", "lines.py:1: ValueError: a b"),
    ("silent.py", "silent.py:1: AssertionError"),
    ("mute.py", "mute.py:4: E"),
    ("half.py", "half.py:1: ValueError: ?"),
    ("endless.py", "endless.py:2: RecursionError: maximum recursion depth exceeded"),
    ("sibling.py", "divides.py:3: ZeroDivisionError"),
    ("sibling_syntax.py", "syntax.py:2: invalid syntax"),
    ("evaluates.py", "evaluates.py:2: "),
    ("positional.py", "positional.py:3: the tool 'f' takes *a by position"),
    (
        "unknown_type.py",
        "unknown_type.py:3: the signature of 'f' cannot be read: NameError: name 'Nope' is not defined",
    ),
    ("own_error.py", "own_error.py:5: mine"),
    ("empty.py", "empty.py: there are no tools in it; mark functions with @tool"),
    ("functions.py", "functions.py: there are no tools in it"),
    ("lazy.py", "lazy.py: there are no tools in it"),
    ("twice.py", "twice.py: more than one tool is called 'f'"),
    ("number.py", "number.py: TOOLS must be a list of tools, not int"),
    ("numbers.py", "numbers.py: neither a tool nor a function: 5"),
    ("cut.json", "cut.json:2: not JSON: Expecting value, column "),
    ("deep.json", "deep.json: not JSON: "),
    ("bytes.json", "bytes.json: not JSON: "),
    ("nan.json", "nan.json: not JSON: NaN is not allowed"),
    ("scalar.json", "scalar.json: a list of tools was expected"),
    ("none.json", "none.json: a list of tools was expected"),
    ("entry.json", "entry.json: neither a tool nor a function: 5"),
    ("name.json", "name.json: 'a b' is no name for a tool"),
    ("name_type.json", "name_type.json: 5 is no name for a tool"),
    ("description.json", "description.json: the description of 'a' must be text, not int"),
    ("twice.json", "twice.json: more than one tool is called 'a'"),
]


@pytest.mark.parametrize(("spec", "said"), BAD)
def test_one_line_that_says_where(folder: Path, spec: str, said: str) -> None:
    with pytest.raises(ToolsError) as caught:
        load_tools(spec)
    text = str(caught.value)
    assert said in text
    assert "\n" not in text
    assert len(text.encode()) < 500


@pytest.mark.parametrize(
    ("spec", "said"), [("schema", "at /type"), ("schema_type", "but int"), ("schema_kind", "'array'")]
)
def test_a_schema_that_is_none_names_the_tool(folder: Path, spec: str, said: str) -> None:
    with pytest.raises(SchemaError, match=rf"^{spec}.json: the parameters of 'a' .*{re.escape(said)}"):
        load_tools(f"{spec}.json")


def test_an_unreadable_import_leaves_no_module_behind(folder: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(ToolsError):
        load_tools("divides.py")
    assert not {name for name in set(sys.modules) - before if "divides" in name}


def test_ctrl_c_while_a_file_loads_passes_through(folder: Path) -> None:
    (folder / "stops.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_tools("stops.py")


@settings(max_examples=60)
@given(st.text(st.characters(codec=None)).map(lambda text: text.replace("/", "") + ".json"))
def test_any_name_of_a_missing_file_is_told(name: str) -> None:
    with pytest.raises(ToolsError):
        load_tools(name)


KEYS = st.sampled_from(["name", "function", "parameters", "tools", "type", "description", "properties"])
VALUES = st.none() | st.integers() | st.text() | st.sampled_from(["a", "object", "function"])
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.lists(JSON).map(lambda v: json.dumps(v).encode())
)
def test_any_json_file_gives_tools_or_one_line(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)
    try:
        assert load_tools(str(path))
    except (ToolsError, SchemaError) as error:
        assert "any.json" in str(error)
        assert "\n" not in str(error)
