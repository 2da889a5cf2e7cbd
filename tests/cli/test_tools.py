"""`textcall tools check`: the report of the grammar as a person and as a program read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from textcall.cli import app
from textcall.cli.options import toolset

BOOK = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{2}$", "format": "colour"},
            "day": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "x-widget": "chips"},
            "a/b": {"type": "string", "format": "no-such-format"},
        },
        "required": ["code"],
        "if": {"required": ["day"]},
        "then": {"required": ["tags"]},
    },
}
EXPECTED = {
    ("/properties/code", "pattern"): "enforced",
    ("/properties/code", "format"): "ignored",
    ("/properties/day", "format"): "approximated",
    ("/properties/tags", "items"): "enforced",
    ("/properties/tags", "uniqueItems"): "checked after",
    ("/properties/tags", "x-widget"): "ignored",
    ("/properties/a~1b", "format"): "ignored",
    ("", "required"): "enforced",
    ("", "if"): "checked after",
    ("", "then"): "checked after",
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([BOOK, {"name": "ping", "parameters": {"type": "object", "properties": {}}}]))
    return str(path)


def test_each_keyword_has_its_status(file: str) -> None:
    done = CliRunner().invoke(app, ["tools", "check", "--json", file])
    assert done.exit_code == 0
    book, ping = map(json.loads, done.stdout.splitlines())
    found = {(entry["path"], entry["keyword"]): entry["status"] for entry in book["keywords"]}
    assert {key: found.get(key) for key in EXPECTED} == EXPECTED
    assert (book["name"], ping["name"]) == ("book", "ping")


def test_a_person_sees_one_row_for_each_place(file: str) -> None:
    done = CliRunner().invoke(app, ["tools", "check", file], env={"COLUMNS": "120"})
    lines = done.stdout.splitlines()
    assert lines[0].startswith("book  ")
    assert lines[0].endswith("3 checked after · 3 ignored")
    (tags,) = [line for line in lines if line.split()[:1] == ["/properties/tags"]]
    assert tags.split() == ["/properties/tags", "type", "items", "uniqueItems", "x-widget"]
    assert any(line.startswith("ignored: neither") for line in lines)


def test_the_built_in_tools_are_guaranteed() -> None:
    done = CliRunner().invoke(app, ["tools", "check", "--json"])
    statuses = {entry["status"] for line in done.stdout.splitlines() for entry in json.loads(line)["keywords"]}
    assert statuses == {"enforced"}


GROUPS = [
    ("files", ["list_files", "read_file"]),
    ("files:{folder}", ["list_files", "read_file"]),
    ("sheets", ["read_spreadsheet", "column_summary"]),
    ("sheets:{folder}", ["read_spreadsheet", "column_summary"]),
    ("search", ["web_search", "web_fetch"]),
    ("search:{folder}", ["web_search", "web_fetch"]),
    ("builtin", ["get_weather", "stock_price", "calculator", "current_time"]),
]


@pytest.mark.parametrize(("spec", "names"), GROUPS)
def test_groups_of_tools(spec: str, names: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tools", "check", "--json", spec.format(folder=tmp_path)])
    assert done.exit_code == 0
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["name"] for report in reports] == names
    assert {entry["status"] for report in reports for entry in report["keywords"]} == {"enforced"}


def test_a_group_has_the_folder_that_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "a.txt").write_text("one")
    (tmp_path / "there" / "b.txt").write_text("two")
    monkeypatch.chdir(tmp_path / "here")
    for specs, expected in ((["files"], "a.txt  3 B"), ([f"files:{tmp_path / 'there'}"], "b.txt  3 B")):
        (listed,) = [tool.call({}) for tool in toolset(specs) if tool.name == "list_files"]
        assert listed == f"the folder: 1 entries\n{expected}"
    assert len(toolset(["builtin", "files", "sheets", "search"])) == 10


@pytest.mark.parametrize("spec", ["files:no-such-folder", "files:", "search:no-such-folder", "sheets:\0"])
def test_a_group_without_its_folder(spec: str) -> None:
    done = CliRunner().invoke(app, ["tools", "check", spec])
    assert done.exit_code == 2
    assert "folder" in done.stderr


def test_a_file_that_is_none(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tools", "check", str(tmp_path / "none.json")])
    assert done.exit_code == 2
