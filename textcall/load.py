"""A user's own tools from a module, a Python file or a JSON file."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from textcall.errors import TextcallError, ToolsError
from textcall.tools import Tool, Toolset


def load_tools(spec: str) -> Toolset:
    """The tools of `module.path`, `path/to/file.py` or `file.json`; `:NAME` behind it takes one of them.

    Of a module: its `TOOLS` where it has them, else every Tool at its top level, in order. Of a JSON file: a list of
    descriptions in OpenAI's form, which the model may call and this program cannot run. Raises ToolsError, in one line
    that says where.
    """
    source, _, wanted = spec.partition(":") if not Path(spec).exists() else (spec, "", "")
    tools = _json_tools(Path(source)) if source.endswith(".json") else _module_tools(_module(source), source)
    if wanted:
        chosen = tools.get(wanted)
        if chosen is None:
            raise ToolsError(f"{source}: there is no tool {wanted!r}; there are {', '.join(tools.names)}")
        return Toolset([chosen])
    return tools


def _json_tools(path: Path) -> Toolset:
    try:
        descriptions = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolsError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ToolsError(f"{path}: not JSON: {error}") from error
    if isinstance(descriptions, dict) and isinstance(descriptions.get("tools"), list):
        descriptions = descriptions["tools"]
    if not isinstance(descriptions, list) or not descriptions:
        raise ToolsError(f"{path}: a list of tools was expected")
    return _named(path, descriptions)


def _module_tools(module: ModuleType, source: str) -> Toolset:
    found = getattr(module, "TOOLS", None)
    if found is None:
        values = list(vars(module).values())
        found = list({id(value): value for value in values if isinstance(value, Tool)}.values())
    if not isinstance(found, Toolset | list | tuple) or not found:
        raise ToolsError(f"{source}: there are no tools in it; mark functions with @tool (from textcall import tool)")
    return _named(source, found)


def _named(source: object, things: Any) -> Toolset:
    try:
        return Toolset.of(things)
    except TextcallError as error:
        raise type(error)(f"{source}: {error}") from error


def _module(source: str) -> ModuleType:
    path = Path(source)
    if source.endswith(".py") or "/" in source or "\\" in source:
        return _file_module(path)
    with _told(source):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(source)
        finally:
            sys.path.remove(str(Path.cwd()))


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise ToolsError(f"{path}: {'is a folder' if path.is_dir() else 'there is no such file'}")
    name = f"textcall_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolsError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type hints are looked up through it
    folder = str(path.resolve().parent)
    with _told(str(path)):
        sys.path.insert(0, folder)  # its siblings can be imported while it loads
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        finally:
            sys.path.remove(folder)
    return module


@contextmanager
def _told(source: str) -> Iterator[None]:
    """Whatever goes wrong while a module loads, in one line with the place in it."""
    try:
        yield
    except TextcallError as error:
        raise type(error)(f"{_place(error, source)}: {error}") from error
    except ModuleNotFoundError as error:
        where = source if error.name == source else _place(error, source)
        raise ToolsError(f"{where}: there is no module {error.name!r}") from error
    except SyntaxError as error:
        raise ToolsError(f"{error.filename or source}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # the file is somebody else's code
        raise ToolsError(f"{_place(error, source)}: {type(error).__name__}: {error}") from error


def _place(error: BaseException, source: str) -> str:
    """`file:line` of the last line of the source that the error went through."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == Path(source).name
    ]
    return f"{source}:{lines[-1]}" if lines else source
