from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toolbox.books import Value, encrypted_ods, encrypted_xlsx, ods, xlsx
from textcall.toolbox import tables
from textcall.toolbox.spreadsheet import CHARACTERS, COLUMNS, letter, spreadsheet_tools

ROWS: list[list[Value]] = [
    ["Day", "Item", "Amount", "Paid"],
    [date(2024, 2, 29), "tea", 0.1, True],
    [date(2024, 3, 1), "cake", 0.2, False],
    [None, "tab\tand\nbreak", 5.0, None],
]
SHOWN = "Day\tItem\tAmount\tPaid\n2024-02-29\ttea\t0.1\tTRUE\n2024-03-01\tcake\t0.2\tFALSE\n\ttab and break\t5\t"
EXAMPLES = Path(__file__).parents[2] / "examples"


def read(path: Path, **more: Any) -> str:
    return str(spreadsheet_tools(path.parent)[0].call({"path": path.name, **more}))


def summary(path: Path, column: str, **more: Any) -> dict[str, Any]:
    found = spreadsheet_tools(path.parent)[1].call({"path": path.name, "column": column, **more})
    assert isinstance(found, dict)
    return found


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_workbook_as_text(tmp_path: Path) -> None:
    book = xlsx(tmp_path / "b.xlsx", {"Bills": ROWS, "More": [["x"], [1.5]]})
    head = "b.xlsx, sheet Bills (other sheets: More): 3 rows, 4 columns; rows 1-3 below the header"
    assert read(book) == read(book, sheet="") == f"{head}\n{SHOWN}"
    assert read(book, sheet=" more") == (
        "b.xlsx, sheet More (other sheets: Bills): 1 rows, 1 columns; rows 1-1 below the header\nx\n1.5"
    )
    with pytest.raises(ValueError, match="holds no sheet 'Rest'; the sheets are: Bills, More"):
        read(book, sheet="Rest")


def test_open_document(tmp_path: Path) -> None:
    book = ods(tmp_path / "b.ods", [[value if value != "tab\tand\nbreak" else "x" for value in row] for row in ROWS])
    assert read(book).splitlines()[1:] == SHOWN.replace("tab and break", "x").splitlines()
    assert summary(book, "amount")["sum"] == 5.3


DELIMITED = [
    ("t.csv", "a,b\n1,2\n", "a\tb\n1\t2"),
    ("t.csv", "a;b\r\n1,5;2\r\n", "a\tb\n1,5\t2"),
    ("t.csv", '\ufeffa,b\n"1,000","x\ny"\n', "a\tb\n1,000\tx y"),
    ("t.tsv", "a,b\tc\n1\t2\n", "a,b\tc\n1\t2"),
    ("t.CSV", "a\n1\n\n\n", "a\n1"),
    ("t.csv", "1,2\n3,4\n", "A\tB\n1\t2\n3\t4"),
    ("t.csv", "a\n1,2,3\n", "a\tB\tC\n1\t2\t3"),
    ("t.csv", "地区,数量\n北,3\n", "地区\t数量\n北\t3"),
    ("t.csv", "名\t数\n北\t3\n".encode("utf-16"), "名\t数\n北\t3"),
]


@pytest.mark.parametrize(("name", "content", "shown"), DELIMITED)
def test_delimited_text(tmp_path: Path, name: str, content: str | bytes, shown: str) -> None:
    assert read(written(tmp_path / name, content)).split("\n", 1)[1] == shown


PARTS = [
    ({}, "rows 1-50 below the header; the next: start_row=51", 51),
    ({"start_row": 51, "rows": 1}, "rows 51-51 below the header; the next: start_row=52", 2),
    ({"start_row": 60, "rows": 1000}, "rows 60-60 below the header", 2),
]


@pytest.mark.parametrize(("more", "head", "lines"), PARTS)
def test_a_table_is_read_in_parts(tmp_path: Path, more: dict[str, int], head: str, lines: int) -> None:
    table = written(tmp_path / "t.csv", "n\n" + "".join(f"{n}\n" for n in range(1, 61)))
    text = read(table, **more)
    assert text.splitlines()[0] == f"t.csv: 60 rows, 1 columns; {head}"
    assert len(text.splitlines()) == lines + 1


def test_wide_and_long_tables_are_cut(tmp_path: Path) -> None:
    wide = written(tmp_path / "w.csv", ",".join(f"c{n}" for n in range(300)) + "\n" + ",".join(["y" * 500] * 300))
    head, names, row = read(wide).splitlines()
    assert head.startswith(f"w.csv: 1 rows, 300 columns, of which {COLUMNS} are shown")
    assert len(names.split("\t")) == len(row.split("\t")) == COLUMNS
    long = written(tmp_path / "l.csv", "a\n" + ("z" * 150 + "\n") * 900)
    text = read(long, rows=1000)
    assert len(text) < CHARACTERS + 200
    assert "rows 1-79 below the header; the next: start_row=80" in text


def test_behind_the_end_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has only 1 rows: start_row=2 is behind its end"):
        read(written(tmp_path / "t.csv", "a\n1\n"), start_row=2)
    assert read(written(tmp_path / "e.csv", "")) == "e.csv is empty"
    assert read(written(tmp_path / "h.csv", "a,b\n")) == "h.csv: 0 rows, 2 columns\na\tb"
    assert read(xlsx(tmp_path / "e.xlsx", {"S": []})) == "e.xlsx, sheet S is empty"
    with pytest.raises(ValueError, match="sheet S is empty"):
        summary(tmp_path / "e.xlsx", "a")


SUMMARIES = [
    ("a\n0.1\n0.2\n", "a", {"count": 2, "sum": 0.3, "mean": 0.15, "min": 0.1, "max": 0.2}),
    ("a\n1\n2\n2\n", "A", {"count": 3, "sum": 5, "mean": 1.66666666667, "min": 1, "max": 2}),
    ('a,b\nx,"1,234.50"\ny,-1\n', "b", {"count": 2, "sum": 1233.5, "mean": 616.75, "min": -1, "max": 1234.5}),
    (
        "a;b\nx;1,234\ny;2\n",
        "b",
        {"count": 1, "sum": 2, "mean": 2, "min": 2, "max": 2, "not_numbers": "1 cells, such as '1,234'"},
    ),
    (
        "a,b\n1,\n,x\nn/a,x\nn/a,x\n5%,x\n\n\n",
        "a",
        {
            "count": 1,
            "sum": 1,
            "mean": 1,
            "min": 1,
            "max": 1,
            "not_numbers": "3 cells, such as 'n/a', '5%'",
            "empty": 1,
        },
    ),
    ("n\n9007199254740993\n0.5\n", "n", {"count": 2, "sum": "9007199254740993.5", "min": 0.5, "max": 9007199254740993}),
    ("Unit price (EUR)\n3\n", "unit_price EUR", {"sum": 3}),
    ("B,A\n1,2\n", "A", {"sum": 2}),
    ("B,C\n1,2\n", "A", {"column": "B", "sum": 1}),
    ("x,x\n1,2\n", "B", {"sum": 2}),
    ("1\n2\n", "A", {"sum": 3}),
]


@pytest.mark.parametrize(("content", "column", "expected"), SUMMARIES)
def test_the_sum_of_a_column(tmp_path: Path, content: str, column: str, expected: dict[str, Any]) -> None:
    found = summary(written(tmp_path / "t.csv", content), column)
    assert {key: found.get(key) for key in expected} == expected
    assert (set(found) - {"file", "column"} == set(expected)) or len(expected) < 5


@given(st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=1))
def test_sums_are_exact(tmp_path_factory: pytest.TempPathFactory, numbers: list[Decimal]) -> None:
    table = written(tmp_path_factory.getbasetemp() / "exact.csv", "n\n" + "".join(f"{n}\n" for n in numbers))
    found = summary(table, "n")
    assert (Decimal(str(found["sum"])), found["count"]) == (sum(numbers), len(numbers))


WRONG_COLUMNS = [
    ("a,b\n1,2\n", "c", "has no column 'c'; the columns are: A a, B b"),
    ("a,b,a\n1,2,3\n", "a", "has 2 columns 'a': give the letter, A or C"),
    ("a,b\nx,2\n", "a", "no numbers in column 'a' of t.csv; it holds 'x'"),
    ("a,b\n,2\n", "a", "no numbers in column 'a' of t.csv$"),
    ("a,b\n1,2\n", "", "has no column ''"),
]


@pytest.mark.parametrize(("content", "column", "message"), WRONG_COLUMNS)
def test_which_column(tmp_path: Path, content: str, column: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summary(written(tmp_path / "t.csv", content), column)


def test_columns_keep_their_letters(tmp_path: Path) -> None:
    rows = '<row r="3"><c r="C3" t="inlineStr"><is><t>n</t></is></c></row><row r="4"><c r="C4"><v>7</v></c></row>'
    book = xlsx(tmp_path / "b.xlsx", {"S": rows})
    assert summary(book, "C")["sum"] == summary(book, "n")["sum"] == 7
    with pytest.raises(ValueError, match="the columns are: C n"):
        summary(book, "A")
    assert [letter(n) for n in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


BAD = [
    ("cut.xlsx", b"PK\x03\x04 and no more", "is damaged or no workbook"),
    ("noise.xls", random.Random(1).randbytes(5000), "is damaged or no workbook"),
    ("empty.ods", b"", "is damaged or no workbook"),
    ("text.xlsx", b"a,b\n1,2\n", "is damaged or no workbook"),
    ("latin.csv", b"caf\xe9,1\n", r"no UTF-8 text \(7 B\): save it as CSV in UTF-8"),
    ("nul.csv", b"a,b\n\0,1\n", r"no text but binary data \(line 2\)|line contains NUL"),
    ("field.csv", b'"' + b"x" * 200_000, "is no table, line 1: field larger"),
    ("line.csv", b"x," * 600_000, "a line of more than 1,000,000 characters"),
    ("picture.png", b"\x89PNG", "picture.png is no spreadsheet: .xlsx"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_what_cannot_be_read_says_so(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(written(tmp_path / name, content))


def test_encrypted_workbooks(tmp_path: Path) -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + b"\x09\x08\x10\0\0\x06\x05\0" + bytes(12) + b"\x2f\0\x36\0"
    paths = encrypted_xlsx(tmp_path / "e.xlsx"), encrypted_ods(tmp_path / "e.ods"), written(tmp_path / "e.xls", old)
    for path in paths:
        with pytest.raises(ValueError, match="it is encrypted: save it without a password"):
            read(path)


def test_a_workbook_that_would_take_all_memory_ends_only_its_own_process(tmp_path: Path) -> None:
    corner = '<row r="1048576"><c r="XFD1048576"><v>5</v></c></row>'  # 17 billion cells lie between
    rows = f'<row r="1"><c r="A1"><v>5</v></c></row>{corner}'
    with pytest.raises(ValueError, match="it is too large or damaged"):
        read(xlsx(tmp_path / "bomb.xlsx", {"S": rows}))


def test_damaged_workbooks_never_raise_anything_else(tmp_path: Path) -> None:
    whole = xlsx(tmp_path / "whole.xlsx", {"S": ROWS}).read_bytes()
    dice = random.Random(7)
    for _ in range(25):
        broken = bytearray(whole)
        for _ in range(dice.randint(1, 30)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        try:
            read(written(tmp_path / "broken.xlsx", bytes(broken)))
        except ValueError as error:
            assert str(error).startswith("broken.xlsx")


def test_a_large_file_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = xlsx(tmp_path / "b.xlsx", {"S": ROWS})
    monkeypatch.setattr(tables, "LARGEST", 100)
    with pytest.raises(ValueError, match=r"too large: .* 100 B at most"):
        read(book)


def test_a_slow_one_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = written(tmp_path / "child.py", "import time; time.sleep(60)")
    monkeypatch.setattr(tables, "_CHILD", child)
    monkeypatch.setattr(tables, "SECONDS", 0.3)
    with pytest.raises(ValueError, match="it is too large or damaged"):
        read(xlsx(tmp_path / "b.xlsx", {"S": ROWS}))


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'pip install "textcall\[sheets\]"'):
        read(xlsx(tmp_path / "b.xlsx", {"S": ROWS}))
    assert read(written(tmp_path / "t.csv", "a\n1\n")).endswith("a\n1")


def test_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    xlsx(tmp_path / "b.xlsx", {"S": ROWS})
    for tool, more in zip(spreadsheet_tools(tmp_path / "in"), ({}, {"column": "a"}), strict=True):
        assert tool.parallel_safe
        with pytest.raises(ValueError, match="leads out of the folder"):
            tool.call({"path": "../b.xlsx", **more})


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    script = written(tmp_path / "make_sales.py", (EXAMPLES / "make_sales.py").read_bytes())
    subprocess.run([sys.executable, str(script)], check=True)
    assert read(tmp_path / "sales.xlsx", rows=1000) == read(EXAMPLES / "sales.xlsx", rows=1000)
    assert summary(EXAMPLES / "sales.xlsx", "Units")["count"] == 36
    spec = importlib.util.spec_from_file_location("make_sales", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert summary(EXAMPLES / "sales.xlsx", "Units")["sum"] == sum(row[3] for row in module.rows()[1:])
