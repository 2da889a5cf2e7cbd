"""What the wheel and the sdist hold, built from the tree by the project's own build backend."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import textcall

ROOT = Path(__file__).parents[1]


def build(kind: str, source: Path, target: Path) -> Path:
    """Call hatchling's `build_wheel` or `build_sdist` in `source` and return the file made in `target`."""
    code = f"import sys, hatchling.build as build; print(build.build_{kind}(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_package_and_its_grammars(wheel: Path) -> None:
    names = members(wheel)
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "textcall").rglob("*.py")}
    grammars = {f"textcall/grammars/{path.name}" for path in (ROOT / "grammars").glob("*.gbnf")}
    assert {"textcall/grammars/json.gbnf", "textcall/grammars/call.gbnf"} <= grammars
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "textcall/toolbox/pages").rglob("*.*")}
    assert len(pages) > 20
    assert sources | grammars | pages | {"textcall/py.typed"} <= names


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    info = f"textcall-{textcall.__version__}.dist-info/"
    names = members(wheel)
    assert {f"{info}licenses/LICENSE", f"{info}METADATA", f"{info}entry_points.txt"} <= names
    assert {name for name in names if not name.startswith(("textcall/", info))} == set()
    assert {Path(name).suffix for name in names if name.startswith("textcall/")} == {
        *(".py", ".typed", ".gbnf"),
        *(".html", ".md", ".txt"),  # the pages of the search
        *(".css", ".jinja"),  # the report
    }
    assert wheel.stat().st_size < 1_000_000


def test_the_wheel_is_for_any_machine_and_names_its_licence(wheel: Path) -> None:
    assert wheel.name == f"textcall-{textcall.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"textcall-{textcall.__version__}.dist-info/METADATA").decode()
        scripts = archive.read(f"textcall-{textcall.__version__}.dist-info/entry_points.txt").decode()
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "textcall = textcall.__main__:main" in scripts


def test_the_sdist_makes_the_same_wheel_and_carries_no_model(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path, filter="data")
    assert not [name for name in names if name.endswith((".gguf", ".part"))]
    (unpacked,) = tmp_path.iterdir()
    assert (unpacked / "models" / "README.md").is_file()
    (tmp_path / "out").mkdir()
    assert members(build("wheel", unpacked, tmp_path / "out")) == members(wheel)


def test_an_unpacked_wheel_runs_beside_no_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import textcall, textcall.resolve as r; print(textcall.__file__);"
        "print(*r.model_folders({'XDG_DATA_HOME': 'data', 'LOCALAPPDATA': 'data'}));"
        "from textcall.toolbox import GROUPS;"
        "print(GROUPS['search'](None)[0].call({'query': 'barometer'})['results'][0]['title'])"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    where, folders, found = done.stdout.splitlines()
    assert Path(where) == tmp_path / "textcall" / "__init__.py"
    assert found == "Barometer B4"
    assert folders == f"models {Path('data/textcall/models')}"
