"""A user's own tools from a module, a Python file or a JSON file."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import sysconfig
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import textcall.errors
from textcall.errors import TextcallError, ToolsError
from textcall.tools import Tool, Toolset

_FILE = re.compile(r"(.*?\.(?:py|json))(?::(.*))?", re.DOTALL)
# Code that is not the user's: an error is placed in the last line that is.
_LIBRARIES = [folder for key in ("stdlib", "purelib", "platlib") if (folder := sysconfig.get_path(key))]
_FOREIGN = tuple(f"{folder}/".replace("\\", "/") for folder in (*_LIBRARIES, str(Path(__file__).parent)))


def load_tools(spec: str) -> Toolset:
    """The tools of `module.path`, `path/to/file.py` or `file.json`; `:NAME` behind it takes one of them.

    Of a module: its `TOOLS` where it has them, else every Tool at its top level (of those in `__all__`, where it has
    one), in order. Of a JSON file: a list of descriptions in OpenAI's form, which the model may call and this program
    cannot run. Raises ToolsError or SchemaError, in one line that says where. Ctrl-C passes through.
    """
    source, wanted = _split(spec)
    tools = _json_tools(Path(source)) if source.endswith(".json") else _module_tools(_module(source), source)
    if not wanted:
        return tools
    chosen = tools.get(wanted)
    if chosen is None:
        raise ToolsError(f"{source}: there is no tool {wanted!r}; there are {', '.join(tools.names)}")
    return Toolset([chosen])


def _split(spec: str) -> tuple[str, str]:
    """The file or module, and the tool's name behind it. Both may hold a colon: `C:\\tools.py`."""
    match = _FILE.fullmatch(spec)
    if match is not None:
        source, wanted = match[1], match[2] or ""
    elif "/" in spec or "\\" in spec:
        source, wanted = spec, ""
    else:
        source, _, wanted = spec.partition(":")
        if not all(part.isidentifier() for part in source.split(".")):
            raise ToolsError(f"neither a .py file, a .json file, nor a module: {spec[:100]!r}")
    try:
        source.encode()
        Path(source).exists()
    except (ValueError, OSError):  # a lone surrogate, NUL, or thousands of characters
        raise ToolsError(f"this cannot be the name of a file: {spec[:100]!r}") from None
    if "\0" in source:
        raise ToolsError(f"this cannot be the name of a file: {spec[:100]!r}")
    return source, wanted


def _json_tools(path: Path) -> Toolset:
    try:
        descriptions = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_no_constant)
    except OSError as error:
        raise ToolsError(f"{path}: cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise ToolsError(f"{path}:{error.lineno}: not JSON: {error.msg}, column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise ToolsError(f"{path}: not JSON: {error}") from error
    if isinstance(descriptions, dict) and isinstance(descriptions.get("tools"), list):
        descriptions = descriptions["tools"]
    if not isinstance(descriptions, list) or not descriptions:
        raise ToolsError(f"{path}: a list of tools was expected")
    with _told(str(path)):
        return Toolset.of(descriptions)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def _module_tools(module: ModuleType, source: str) -> Toolset:
    content = vars(module)  # not getattr: a module may have a `__getattr__`
    found = content.get("TOOLS")
    if found is None:
        public = content.get("__all__")
        names = [name for name in content if not isinstance(public, list | tuple) or name in public]
        found = list({id(content[name]): content[name] for name in names if isinstance(content[name], Tool)}.values())
    if not isinstance(found, Toolset | list | tuple):
        raise ToolsError(f"{source}: TOOLS must be a list of tools, not {type(found).__name__}")
    if not found:
        raise ToolsError(f"{source}: there are no tools in it; mark functions with @tool (from textcall import tool)")
    with _told(source):
        return Toolset.of(found)


def _module(source: str) -> ModuleType:
    if source.endswith(".py") or "/" in source or "\\" in source:
        return _file_module(Path(source))
    with _told(source), _importable(Path.cwd()):
        return importlib.import_module(source)


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise ToolsError(f"{path}: {'is a folder' if path.is_dir() else 'there is no such file'}")
    # A name of its own for each file: two of them may be called tools.py.
    name = f"textcall_tools_{path.stem}_{zlib.crc32(str(path.resolve()).encode('utf-8', 'replace')):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolsError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type hints are looked up through it
    with _told(str(path)), _importable(path.resolve().parent):
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Modules of the folder can be imported, while it lasts."""
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):  # the module may have changed the path itself
            sys.path.remove(entry)


@contextmanager
def _told(source: str) -> Iterator[None]:
    """Whatever goes wrong while a module loads, in one line with the place in it."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except TextcallError as error:
        # Our own message stands; a user's subclass of one of our errors may want other arguments.
        ours = type(error) if type(error).__module__ == textcall.errors.__name__ else ToolsError
        raise ours(f"{_place(error, source)}: {_line(error)}") from error
    except ModuleNotFoundError as error:
        raise ToolsError(f"{_place(error, source)}: there is no module {error.name!r}") from error
    except SyntaxError as error:
        place = _place(error, source)
        if error.filename and Path(error.filename).is_file():  # else it is in a text that was given to eval
            place = _shown(error.filename, source) + (f":{error.lineno}" if error.lineno else "")
        raise ToolsError(f"{place}: {' '.join(str(error.msg).split())}") from error
    except BaseException as error:  # the file is somebody else's code: sys.exit, too
        text = _line(error)
        raise ToolsError(f"{_place(error, source)}: {type(error).__name__}{text and f': {text}'}") from error


def _line(error: BaseException) -> str:
    """The error's message on one line of at most 300 characters, whatever its author made of it."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  an error that cannot even be printed
        return ""
    return text[:300].encode("utf-8", "replace").decode()


def _place(error: BaseException, source: str) -> str:
    """`file:line` of the last line of the user's code that the error went through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith("<") and not frame.filename.replace("\\", "/").startswith(_FOREIGN):
            return f"{_shown(frame.filename, source)}:{frame.lineno}"
    return source


def _shown(filename: str, source: str) -> str:
    """A file as the user names it, else relative to the working directory where it is in there."""
    path = Path(filename).resolve()
    if path == Path(source).resolve():
        return source
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
