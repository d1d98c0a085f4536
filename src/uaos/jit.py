"""Numba's compiler, with a cache folder that can be written to."""

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import config
from numba.misc import appdirs

__all__ = ["linked", "njit"]

# Set when numba is imported, so mypy does not know it.
_settings: Any = config


def keep_somewhere() -> None:
    """Set a cache folder if numba would not find one, because it fails without.

    Numba looks beside the source and in the user's cache; on clusters and in containers both may be
    read-only. The folder holds code, so nobody but the user may write to it. Child processes use
    the same folder.
    """
    if _settings.CACHE_DIR or any(map(_writable, usual_folders())):
        return
    folder = Path(tempfile.gettempdir()) / f"uaos-{_user()}"
    if not (_writable(folder) and _own(folder)):
        folder = Path(tempfile.mkdtemp(prefix="uaos-"))
    _settings.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)


def usual_folders() -> tuple[Path, Path]:
    """Return the folders in which numba caches by default."""
    user_cache: str = appdirs.user_cache_dir("numba", False)  # type: ignore[no-untyped-call]
    return Path(__file__).parent / "__pycache__", Path(user_cache)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own(folder: Path) -> bool:
    """Return whether only the user can write to or replace the folder."""
    found = folder.lstat()
    return found.st_uid == _user() and not (folder.is_symlink() or found.st_mode & 0o077)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


keep_somewhere()


def linked(function: Callable[..., Any]) -> Any:
    """Compile a function that calls kernels of other modules.

    What is cached includes them, but numba would compile it anew only when the file of the
    function itself has changed, not when theirs has.
    """
    if _settings.DISABLE_JIT:
        return np.errstate(all="ignore")(function)  # compiled code does not warn either
    compiled: Any = njit(cache=True, nogil=True)(function)
    compiled._cache._cache_file._source_stamp = _kernel_files()
    return compiled


@cache
def _kernel_files() -> tuple[tuple[float, int], ...]:
    """Time and size of the files with kernels that others call."""
    package = Path(__file__).parent
    files = [package / "optimizers" / "base.py"]
    for folder in ("selection", "optimizers/de"):
        files += sorted((package / folder).rglob("*.py"))
    return tuple((found.st_mtime, found.st_size) for found in map(os.stat, files))
