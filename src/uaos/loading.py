"""Load users' Python files by their content, so that any worker can load them again."""

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from uaos.errors import InvalidFile, UaosError
from uaos.files import read_text

# The files loaded in this process: module name → (file, source).
_loaded: dict[str, tuple[str, str]] = {}


def load_file(path: Path) -> ModuleType:
    """Run a Python file as a module.

    The module's name is derived from its content: a file called `json.py` hides nothing, and the
    same content is run once. Its folder is not put on the import path.
    """
    return load_source(str(path), read_text(path, "a Python file"))


def load_source(file: str, source: str) -> ModuleType:
    """Run Python source as a module; tracebacks name it `file`."""
    name = f"uaos_file_{source_hash(source)[:16]}"
    if name in _loaded:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module  # before it runs: its classes and functions can be pickled
    try:
        exec(compile(source, file, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        place = f"{file}{_line(error)}"
        if isinstance(error, UaosError):
            raise InvalidFile(f"{place}: {error}") from error
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        advice = (
            "; the file may import installed packages, but no files beside it"
            if isinstance(error, ImportError)
            else ""
        )
        raise InvalidFile(
            f"{place}: cannot be loaded ({type(error).__name__}: {reason}){advice}"
        ) from error
    _loaded[name] = (file, source)
    return module


def _line(error: BaseException) -> str:
    """Return the line of the loaded file at which its execution failed, such as ", line 3"."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    frame = error.__traceback__ and error.__traceback__.tb_next
    return f", line {frame.tb_lineno}" if frame else ""


def line_of(error: BaseException) -> str:
    """Return the innermost line of a loaded file in a traceback, such as "my.py, line 3", or ""."""
    files = {file for file, _ in _loaded.values()}
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""


def loaded_files() -> tuple[tuple[str, str], ...]:
    """Return all loaded files as pairs (file, source), so that a worker can load them."""
    return tuple(_loaded.values())


def module_source(name: str) -> tuple[str, str]:
    """Return the file and the source of a loaded module."""
    return _loaded[name]


def was_loaded(name: str) -> bool:
    """Return whether a module is a user's file that was loaded by its content."""
    return name in _loaded


def source_hash(source: str) -> str:
    """Hash a source."""
    return hashlib.sha256(source.encode()).hexdigest()[:32]
